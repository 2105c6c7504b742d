"""Bitmaps of a window: bit n is for the numbers that are n modulo 64."""

from amaranth.hdl import Cat, Const, Mux, Signal

__all__ = ["between", "lowest", "highest", "rotated"]


def between(begin, end, full):
    """The bits from ``begin`` to the one before ``end``, around the end of the bitmap where need
    be: none if they are the same, or all with ``full``."""
    size = 1 << len(begin)
    wraps = (end < begin) | full
    return Cat(Mux(wraps, (n >= begin) | (n < end), (n >= begin) & (n < end))
               for n in range(size))


def lowest(m, bits, name):
    """(whether one is set, the number of the lowest one), as signals."""
    if len(bits) == 1:
        return bits, Const(0, 0)
    half = 1 << (len(bits) - 1).bit_length() - 1
    low_any, low = lowest(m, bits[:half], f"{name}_l")
    high_any, high = lowest(m, bits[half:], f"{name}_h")
    found = Signal(name=f"{name}_any")
    index = Signal((len(bits) - 1).bit_length(), name=f"{name}_index")
    m.d.comb += [
        found.eq(low_any | high_any),
        index.eq(Mux(low_any, low, high + half)),
    ]
    return found, index


def highest(m, bits, name):
    """(whether one is set, the number of the highest one), as signals, of 2^n bits."""
    found, index = lowest(m, Cat(reversed(bits)), name)
    return found, ~index


def rotated(m, bits, by, name):
    """``bits`` moved up by ``by`` places, those that fall out at the top coming in below."""
    for n in range(0, len(by), 2):
        moved = Signal(len(bits), name=f"{name}_{n}")
        with m.Switch(by[n:n + 2]):
            for times in range(1 << len(by[n:n + 2])):
                with m.Case(times):
                    m.d.comb += moved.eq(bits.rotate_left(times << n))
        bits = moved
    return bits
