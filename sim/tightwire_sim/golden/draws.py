"""The draws of stochastic rounding (docs/wire-format.md, section 8).

A step of xorshift is linear over GF(2), so the state any number of steps ahead is the exclusive
or of table entries that the bytes of the present state select. The model jumps from a frame's
sixteen states to many starting points that way and then steps from all of them at once.
"""

from functools import cache

import numpy as np

from tightwire.formats import FormatError, check_field

__all__ = ["PIECE", "draws", "mix", "pieces", "states"]

_GENERATORS = 16
_STARTS = 128  # starting points per generator
_STEPS = 16    # steps from each of them

PIECE = _STARTS * _STEPS * _GENERATORS
"""How many elements ``pieces`` serves at a time. The arrays of that many elements that the model
makes on its way stay in a processor's second-level cache."""

_GOLDEN_RATIO = 0x9E3779B9
_NOT_ZERO = 0x6D2B79F5


def mix(x):
    """The 32-bit finaliser of MurmurHash3, of an int from 0 to 2^32 - 1."""
    x = (x ^ x >> 16) * 0x85EBCA6B & 0xFFFFFFFF
    x = (x ^ x >> 13) * 0xC2B2AE35 & 0xFFFFFFFF
    return x ^ x >> 16


def states(*, stream=0, message=0, first=0):
    """The states that a frame's sixteen generators start from, before their first step.

    Parameters
    ----------
    stream, message, first : int
        The frame's header fields: 16, 16 and 32 bits.

    Returns
    -------
    numpy.ndarray of uint32, shape (16,)

    Raises
    ------
    FormatError
        For an argument that does not fit its field.
    """
    seed = check_field("stream", stream, 16) << 16 | check_field("message", message, 16)
    first = check_field("first", first, 32)
    base = mix(seed ^ mix((first + _GOLDEN_RATIO) & 0xFFFFFFFF))
    mixed = (mix((base + g * _GOLDEN_RATIO) & 0xFFFFFFFF) for g in range(1, _GENERATORS + 1))
    # Zero is the one state that xorshift never leaves.
    return np.array([state or _NOT_ZERO for state in mixed], np.uint32)


def _step(state, out):
    """One step of xorshift from every state in the uint32 array ``state``, into ``out``."""
    np.left_shift(state, 13, out=out)
    out ^= state
    out ^= out >> 17
    out ^= out << 5


@cache
def _jumps():
    """Tables of jumps: state -> the state k * _STEPS steps on, for every k below _STARTS.

    The jump is the exclusive or over p of entry [p, k, byte p of the state]; uint32.
    """
    powers = np.empty((_STARTS, 32), np.uint32)  # what becomes of each bit of the state
    state = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
    ahead = np.empty_like(state)
    for k in range(_STARTS):
        powers[k] = state
        for _ in range(_STEPS):
            _step(state, ahead)
            state, ahead = ahead, state
    tables = np.zeros((4, _STARTS, 256), np.uint32)
    for bit in range(32):
        table, value = tables[bit // 8], 1 << bit % 8
        table[:, value:2 * value] = table[:, :value] ^ powers[:, bit, None]
    return tables


def pieces(count, start):
    """The draws of a frame's first ``count`` elements in order, PIECE at a time.

    An iterator over uint16 arrays of PIECE elements, the last one shorter where ``count`` wants
    it. ``start`` is what ``states`` returns for the frame.
    """
    for begin in range(0, count, PIECE):
        length = min(PIECE, count - begin)
        starts = -(-length // (_STEPS * _GENERATORS))
        state = np.zeros((starts, _GENERATORS), np.uint32)
        for p, table in enumerate(_jumps()):
            state ^= table[:starts].take(start >> 8 * p & 0xFF, axis=1)
        after = np.empty((_STEPS, starts, _GENERATORS), np.uint32)
        for step in range(_STEPS):
            _step(state, after[step])
            state = after[step]
        start = state[-1]
        # In memory a step's states lie side by side; an element's place is by starting point,
        # then step, then generator.
        upper = (after >> 16).astype(np.uint16)
        yield upper.transpose(1, 0, 2).reshape(-1)[:length]


def draws(count, *, stream=0, message=0, first=0):
    """The draw U of each of the first ``count`` elements of a frame (section 8).

    Parameters
    ----------
    count : int
        Elements, counted from the first of the first bucket that the frame covers.
    stream, message, first : int
        The frame's header fields: 16, 16 and 32 bits.

    Returns
    -------
    numpy.ndarray of uint16, shape (count,)

    Raises
    ------
    FormatError
        For an argument that does not fit its field, or a count below 1.
    """
    if check_field("count", count, 32) == 0:
        raise FormatError("count must be at least 1, not 0")
    start = states(stream=stream, message=message, first=first)
    return np.concatenate(list(pieces(count, start)))
