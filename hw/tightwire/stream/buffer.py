"""A register between two modules, in both directions."""

from amaranth.hdl import Module, Shape, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Buffer"]


class Buffer(wiring.Component):
    """A stream of ``shape`` through registers: valid, payload and ready.

    No path from any input to any output. Latency 1 clock, one item a clock; holds two.
    """

    latency = 1

    def __init__(self, shape):
        self.shape = shape
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        width = Shape.cast(self.shape).width
        held = Signal(width, reset_less=True)
        spare = Signal(width, reset_less=True)
        spare_valid = Signal()
        m.d.comb += [self.o.payload.eq(held), self.i.ready.eq(~spare_valid)]
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += [
                self.o.valid.eq(self.i.valid | spare_valid),
                spare_valid.eq(0),
            ]
            with m.If(spare_valid):
                m.d.sync += held.eq(spare)
            with m.Else():
                m.d.sync += held.eq(self.i.payload)
        with m.Elif(self.i.ready):
            m.d.sync += spare_valid.eq(self.i.valid)
        with m.If(self.i.ready):
            m.d.sync += spare.eq(self.i.payload)
        return m
