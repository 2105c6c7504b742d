"""The norm of a bucket (docs/wire-format.md, section 5)."""

import numpy as np

from tightwire.formats import NAN, FormatError, Norm, check_bucket

from .words import INFINITY, MAGNITUDE, SMALLEST_NORMAL, as_words, cut, flush

__all__ = ["norms"]


def norms(values, norm):
    """The norm words of buckets.

    Parameters
    ----------
    values : numpy.ndarray
        float32, shape (buckets, bucket): one bucket in each row.
    norm : Norm

    Returns
    -------
    numpy.ndarray of uint32, shape (buckets,)
        Norms as float32 words: 0 for a bucket of zeros, NAN (0x7FC00000) for one that has an
        element that is not finite or whose Euclidean norm is too large for a float32.

    Raises
    ------
    FormatError
        For an array of another kind, a row that is no legal bucket, or an unknown norm.
    """
    words = as_words("values", values, 2)
    check_bucket(words.shape[1])
    try:
        norm = Norm(norm)
    except ValueError:
        raise FormatError(f"norm must be Norm.LARGEST or Norm.EUCLIDEAN, not {norm!r}") from None
    magnitudes = words & MAGNITUDE
    largest = magnitudes.max(axis=1)
    finite = largest < INFINITY
    if norm == Norm.LARGEST:
        result = largest * (largest >= SMALLEST_NORMAL)
    else:
        if not finite.all():
            magnitudes *= finite[:, None]
        result = _euclidean(flush(magnitudes), largest)
    return np.where(finite & (result < INFINITY), result, NAN).astype(np.uint32)


def _euclidean(magnitudes, largest):
    """Euclidean norms as int64 words, of magnitudes that are finite and not subnormal."""
    # E where there is a number at all; a bucket of zeros gets along with any.
    exponents = (largest >> 23).astype(np.int64)
    # a: floor(|v| * 2^(144-E)) is m >> (6 + E - e). Below 2^18, so squares and their sum over
    # 8192 elements stay below 2^49 and float64 adds them exactly, in any order.
    a = magnitudes.view(np.float32).astype(np.float64)
    a *= np.ldexp(1.0, 144 - exponents)[:, None]
    np.trunc(a, out=a)
    # The square root of an integer below 2^49 is never rounded up to an integer: the one next
    # to k is k - 1/2k, and float64 resolves that.
    roots = np.floor(np.sqrt(np.einsum("ij,ij->i", a, a)))
    # Cutting R may leave the norm just below the largest element.
    norms_ = cut(np.ldexp(roots, exponents - 144))
    return np.maximum(norms_, largest * (norms_ > 0))
