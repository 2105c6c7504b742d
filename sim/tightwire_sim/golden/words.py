"""float32 numbers as 32-bit words, read the way the quantisers do (docs/wire-format.md, section 4).

A word is the number's bit pattern as an unsigned integer. With the sign taken off, words are
ordered as the magnitudes they stand for, which is what most of the model relies on.
"""

import numpy as np

from tightwire.formats import FormatError

__all__ = ["MAGNITUDE", "SMALLEST_NORMAL", "INFINITY", "as_words", "check_norms", "cut", "flush"]

MAGNITUDE = np.uint32(0x7FFFFFFF)
"""Mask of everything but the sign."""

SMALLEST_NORMAL = np.uint32(1 << 23)
"""The smallest magnitude that counts; a quantiser takes what is below it for zero."""

INFINITY = np.uint32(0x7F800000)
"""The smallest magnitude that is not finite."""


def as_words(name, values, ndim):
    """The words of a float32 array, C-contiguous; a view where the array itself is.

    Parameters
    ----------
    name : str
        What the caller calls the array, for the error's text.
    values : numpy.ndarray
        float32, not empty.
    ndim : int
        How many dimensions it must have.

    Returns
    -------
    numpy.ndarray of uint32, of the same shape
        Every bit is kept, those of a NaN too.

    Raises
    ------
    FormatError
        For anything else. Nothing is converted: a float64 rounded on the way in would make the
        model answer a question that was not asked.
    """
    if not isinstance(values, np.ndarray) or values.dtype != np.float32:
        found = f"of {values.dtype}" if isinstance(values, np.ndarray) else type(values).__name__
        raise FormatError(f"{name} must be a numpy array of float32 in this machine's byte order, "
                          f"not {found}")
    if values.ndim != ndim or values.size == 0:
        raise FormatError(f"{name} must have {ndim} dimension{'s' * (ndim > 1)} and at least one "
                          f"element, not shape {values.shape}")
    return np.ascontiguousarray(values).view(np.uint32)


def check_norms(norms, count):
    """``norms`` itself where it is a uint32 array of ``count`` norm words, else FormatError."""
    if not isinstance(norms, np.ndarray) or norms.dtype != np.uint32 or norms.shape != (count,):
        raise FormatError(f"norms must be a numpy array of {count} uint32, one for each bucket, "
                          f"not {norms!r}")
    return norms


def flush(magnitudes):
    """Sets what is below the smallest normal number to 0, in place; returns the array."""
    magnitudes *= magnitudes >= SMALLEST_NORMAL
    return magnitudes


def cut(numbers):
    """The float32 words of non-negative float64 numbers, cut to 24 significant bits.

    What is below the smallest normal float32 becomes 0. Returns int64, not uint32: the exponent
    field of a number that is too large runs on past 254, for the caller to judge.
    """
    # The fraction's upper 23 bits, with the exponent above it, are the word but for the bias.
    words = (numbers.view(np.int64) >> 29) - ((1023 - 127) << 23)
    words *= words >= SMALLEST_NORMAL
    return words
