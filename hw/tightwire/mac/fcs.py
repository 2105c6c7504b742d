"""The frame check sequence (IEEE 802.3, 3.2.9), many bytes a clock."""

import zlib

from amaranth.hdl import Cat

__all__ = ["INIT", "step", "residue"]

INIT = 0xFFFFFFFF
_POLYNOMIAL = 0xEDB88320  # least significant bit first


def _advance(state, value, bits):
    """The register after ``bits`` bits of a number, the lowest first."""
    for n in range(bits):
        odd = (state ^ value >> n) & 1
        state = state >> 1 ^ (_POLYNOMIAL if odd else 0)
    return state


def residue(zeros):
    """What the register holds after a good frame, its FCS, and some bytes of zeros."""
    frame = b"any"
    state = INIT
    for byte in frame + zlib.crc32(frame).to_bytes(4, "little") + bytes(zeros):
        state = _advance(state, byte, 8)
    return state


def step(state, data):
    """The register, as an expression, after all bits of ``data``.

    It is linear: each bit is the exclusive-or of those that reach it.
    """
    width = len(data)
    terms = [[] for _ in range(32)]
    for n in range(32):
        reached = _advance(1 << n, 0, width)
        for bit in range(32):
            if reached >> bit & 1:
                terms[bit].append(state[n])
    for n in range(width):
        reached = _advance(0, 1 << n, width)
        for bit in range(32):
            if reached >> bit & 1:
                terms[bit].append(data[n])
    return Cat(Cat(*bits).xor() for bits in terms)
