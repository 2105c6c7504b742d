"""The factors between a bucket's norm and its levels (docs/wire-format.md, sections 6 and 9).

Both are 18 bits wide, what one multiplier of a small FPGA takes.
"""

import numpy as np

from tightwire.formats import Levels

__all__ = ["reciprocals", "split", "steps"]


def split(norms):
    """Exponent field q and 24-bit significand n of norm words, as int64.

    The norm is n * 2^(q-150) where q is neither 0 nor 255; the sign is dropped.
    """
    norms = norms.astype(np.int64)
    return norms >> 23 & 0xFF, norms & 0x7FFFFF | 1 << 23


def reciprocals(norms, codec):
    """K and t of section 6: c/N is K * 2^(150-q-t), or more by less than 2^-17 of itself.

    Parameters
    ----------
    norms : numpy.ndarray
        uint32 norm words. K and t of a norm that is 0 or not finite mean nothing.
    codec : Codec
        Not raw.

    Returns
    -------
    tuple of two numpy.ndarray of int64, shaped as ``norms``
        K, from 2^17 to 2^18 - 1, and t.
    """
    _, n = split(norms)
    c = codec.top if codec.levels == Levels.UNIFORM else 1
    k = c.bit_length() - 1
    # The largest t with c * 2^t < 2^18 * n, which says the same as K < 2^18. c * 2^(23-k) and n
    # are both in [2^23, 2^24), so it is 41 - k or one less.
    t = 41 - k - (n <= c << 23 - k)
    return (c << t) // n, t


def steps(norms, codec):
    """W and j of section 9: N/top is W * 2^(q-150-j), or more by less than 2^-17 of itself.

    Parameters
    ----------
    norms : numpy.ndarray
        uint32 norm words. W and j of a norm that is 0 or not finite mean nothing.
    codec : Codec
        Uniform.

    Returns
    -------
    tuple of two numpy.ndarray of int64, shaped as ``norms``
        W, from 2^17 to 2^18 - 1, and j, from -6 to 1.
    """
    _, n = split(norms)
    top = codec.top
    k = top.bit_length() - 1
    # The largest j with n * 2^j < 2^18 * top: as for t, one of two.
    j = k - 5 - (n >= top << 23 - k)
    return (n << j + 6) // (top << 6), j
