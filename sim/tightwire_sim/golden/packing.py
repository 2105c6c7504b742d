"""Codes of fixed width in the bytes of a record's body (docs/wire-format.md, section 3)."""

import numpy as np

__all__ = ["pack", "unpack"]


def pack(codes, bits):
    """Codes next to each other, the first one lowest.

    Parameters
    ----------
    codes : numpy.ndarray
        uint8, shape (buckets, bucket); each below 2^bits.
    bits : int
        2, 4 or 8.

    Returns
    -------
    numpy.ndarray of uint8, shape (buckets, bucket * bits / 8)
    """
    per_byte = 8 // bits
    packed = codes[:, ::per_byte].copy()
    for place in range(1, per_byte):
        packed |= codes[:, place::per_byte] << place * bits
    return packed


def unpack(body, bits):
    """The codes of packed bodies: the opposite of ``pack``.

    Parameters
    ----------
    body : numpy.ndarray
        uint8, shape (buckets, bytes).
    bits : int
        2, 4 or 8.

    Returns
    -------
    numpy.ndarray of uint8, shape (buckets, bytes * 8 / bits)
    """
    per_byte = 8 // bits
    codes = np.empty((*body.shape, per_byte), np.uint8)
    for place in range(per_byte):
        codes[:, :, place] = body >> place * bits & (1 << bits) - 1
    return codes.reshape(len(body), -1)
