"""The 32-bit finaliser of MurmurHash3, pipelined."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Mix"]

_FACTORS = (0x85EBCA6B, 0xC2B2AE35)


class Mix(wiring.Component):
    """``o`` is ``mix(i)`` of ``Mix.latency`` clocks ago (wire-format.md, section 8).

    One value a clock. A product modulo 2^32 is three products of 16 bits, a multiplier each.
    """

    latency = 4

    def __init__(self):
        super().__init__({"i": In(32), "o": Out(32)})

    def elaborate(self, platform):
        m = Module()
        value = Signal(32)
        m.d.comb += value.eq(self.i ^ (self.i >> 16))
        for n, (factor, shift) in enumerate(zip(_FACTORS, (13, 16), strict=True)):
            low = Signal(32, name=f"low_{n}", reset_less=True)
            high = [Signal(16, name=f"high_{n}_{k}", reset_less=True) for k in range(2)]
            product = Signal(32, name=f"product_{n}", reset_less=True)
            m.d.sync += [
                low.eq(value[:16] * (factor & 0xFFFF)),
                high[0].eq(value[16:] * (factor & 0xFFFF)),
                high[1].eq(value[:16] * (factor >> 16)),
                product.eq(low + ((high[0] + high[1]) << 16)),
            ]
            value = product ^ (product >> shift)
        m.d.comb += self.o.eq(value)
        return m
