"""From codes back to elements (docs/wire-format.md, section 9)."""

import numpy as np

from tightwire.formats import NAN, FormatError, Levels

from .scale import split, steps
from .words import SMALLEST_NORMAL, check_norms, cut

__all__ = ["dequantize", "magnitudes"]

_SIGN = np.uint32(1 << 31)


def magnitudes(norms, *, codec):
    """What every level stands for under every norm.

    Parameters
    ----------
    norms : numpy.ndarray
        uint32, shape (buckets,): norm words, as received. Their sign is ignored, an exponent
        field of 0 makes the norm 0.
    codec : Codec
        Not raw.

    Returns
    -------
    numpy.ndarray of uint32, shape (buckets, top + 1)
        Magnitudes as float32 words, level 0 first.

    Raises
    ------
    FormatError
        For norms of another kind or raw levels.
    """
    if codec.levels == Levels.RAW:
        raise FormatError("codec must have uniform or exponential levels, not raw")
    check_norms(norms, len(norms))
    q, n = split(norms)
    levels = np.arange(codec.top + 1)
    if codec.levels == Levels.UNIFORM:
        # A level has up to 7 bits and W 18: the product is exact.
        step, j = steps(norms, codec)
        table = cut(np.ldexp(step, q - 150 - j)[:, None] * levels)
    else:
        table = (q << 23 | n & 0x7FFFFF)[:, None] - (codec.top - levels << 23)
        table *= table >= SMALLEST_NORMAL
        table[:, 0] = 0
    # Of a norm with exponent field 0 nothing has reached the smallest normal number.
    table[q == 0xFF] = NAN
    return table.astype(np.uint32)


def dequantize(codes, norms, *, codec):
    """The elements that codes stand for.

    Parameters
    ----------
    codes : numpy.ndarray
        uint8, shape (buckets, bucket); each below 2^bits.
    norms : numpy.ndarray
        uint32, shape (buckets,): norm words, as received.
    codec : Codec
        Not raw.

    Returns
    -------
    numpy.ndarray of float32, shaped as ``codes``
        Of zeros only +0, of NaNs only 0x7FC00000, never a subnormal.

    Raises
    ------
    FormatError
        For arrays of another kind, codes that are too large or raw levels.
    """
    if not isinstance(codes, np.ndarray) or codes.dtype != np.uint8 or codes.ndim != 2:
        raise FormatError(f"codes must be a numpy array of uint8 with 2 dimensions, not {codes!r}")
    check_norms(norms, len(codes))
    table = magnitudes(norms, codec=codec)
    if codes.size and codes.max() >> codec.bits:
        raise FormatError(f"codes must be below {1 << codec.bits}, not {codes.max()}")
    # Zero has no sign, nor has the NaN.
    signed = table | _SIGN * ((table != 0) & (table != NAN))
    table = np.concatenate([table, signed], axis=1)
    places = codes.astype(np.intp)
    places += np.arange(len(codes))[:, None] << codec.bits
    return table.reshape(-1).take(places).view(np.float32)
