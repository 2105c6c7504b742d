"""From elements to codes (docs/wire-format.md, section 7, and the end of 3)."""

import numpy as np

from tightwire.formats import FormatError, Levels

from .scale import reciprocals, split
from .words import MAGNITUDE, as_words, check_norms, flush

__all__ = ["positions", "quantize"]


def positions(values, norms, *, codec):
    """Where elements lie between the levels, before rounding: level * 2^16 + fraction.

    Parameters
    ----------
    values : numpy.ndarray
        float32, shape (buckets, bucket).
    norms : numpy.ndarray
        uint32, shape (buckets,): norm words.
    codec : Codec
        Not raw.

    Returns
    -------
    numpy.ndarray of int32, shaped as ``values``
        0 to top * 2^16, without sign; 0 all over a bucket whose norm is 0 or not finite.

    Raises
    ------
    FormatError
        For arrays of another kind or raw levels.
    """
    words = as_words("values", values, 2)
    check_norms(norms, len(words))
    if codec.levels == Levels.RAW:
        raise FormatError("codec must have uniform or exponential levels, not raw")
    q, _ = split(norms)
    live = (q != 0) & (q != 0xFF)
    # m' in place of m: the lowest six bits of the fraction go.
    magnitudes = flush(words & (MAGNITUDE & ~np.uint32(0x3F)))
    if not live.all():
        magnitudes *= live[:, None]
    numbers = magnitudes.view(np.float32).astype(np.float64)
    # The product of m' and K has 36 bits: a float64 holds it exactly, and P * 2^-h with it.
    # Position 2^16 is level 1: 1/top of the norm or, exponential, 2^-s of it.
    factor, t = reciprocals(norms, codec)
    s = codec.top - 1 if codec.levels == Levels.EXPONENTIAL else 0
    numbers *= np.ldexp(factor, 150 - q - t + 16 + s)[:, None]
    if codec.levels == Levels.UNIFORM:
        np.minimum(numbers, codec.top << 16, out=numbers)
        return numbers.astype(np.int32)
    np.minimum(numbers, 2.0 ** (16 + s), out=numbers)
    # From level 1 on, a float64's exponent and the upper 16 bits of its fraction are level and
    # fraction, but for the constant that makes 2^16 the beginning; below it they come out
    # negative, and the number itself is the fraction.
    above = (numbers.view(np.int64) >> 36).astype(np.int32)
    above -= 1023 + 16 << 16
    np.maximum(above, 0, out=above)
    np.minimum(numbers, 1 << 16, out=numbers)
    above += numbers.astype(np.int32)
    return above


def quantize(values, norms, *, codec, draws):
    """The codes of elements: sign * 2^(bits-1) + level.

    Parameters
    ----------
    values : numpy.ndarray
        float32, shape (buckets, bucket).
    norms : numpy.ndarray
        uint32, shape (buckets,): norm words.
    codec : Codec
        Not raw.
    draws : numpy.ndarray
        uint16, shaped as ``values`` or of as many elements: U of each element.

    Returns
    -------
    numpy.ndarray of uint8, shaped as ``values``

    Raises
    ------
    FormatError
        For arrays of another kind or raw levels.
    """
    levels = positions(values, norms, codec=codec)
    if (not isinstance(draws, np.ndarray) or draws.dtype != np.uint16
            or draws.size != levels.size):
        raise FormatError(f"draws must be a numpy array of {levels.size} uint16, one for each "
                          f"element, not {draws!r}")
    # Adding 2^16 - 1 - U carries into the level exactly where U < fraction; at the top level
    # the fraction is 0, so it carries nowhere.
    levels += np.invert(draws).reshape(levels.shape)
    levels >>= 16
    codes = levels.astype(np.uint8)
    signs = np.signbit(values).view(np.uint8)
    signs &= codes != 0
    signs <<= codec.bits - 1
    codes |= signs
    return codes
