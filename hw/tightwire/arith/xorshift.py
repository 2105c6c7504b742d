"""Marsaglia's 32-bit xorshift as a linear map, for gateware."""

from functools import reduce
from operator import xor

__all__ = ["step"]

_SHIFTS = ((13, +1), (17, -1), (5, +1))  # Marsaglia 2003: left 13, right 17, left 5


def _rows():
    """For each bit of the next state, the set of bits of this one that it is the sum of."""
    rows = [{n} for n in range(32)]
    for shift, way in _SHIFTS:
        rows = [rows[n] ^ (rows[n - way * shift] if 0 <= n - way * shift < 32 else set())
                for n in range(32)]
    return rows


_ROWS = _rows()


def step(state, times=1):
    """The 32 bits, lowest first, of ``state`` stepped ``times`` times.

    Each is one sum over bits of ``state``, so that several steps in a row cost no more levels
    of logic than their number of inputs asks for.
    """
    rows = [{n} for n in range(32)]
    for _ in range(times):
        rows = [reduce(xor, (rows[n] for n in row)) for row in _ROWS]
    return [reduce(xor, (state[n] for n in sorted(row))) for row in rows]
