"""A shallow queue of anything, in distributed RAM."""

from amaranth.hdl import Module, Shape
from amaranth.lib import fifo, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Queue"]


class Queue(wiring.Component):
    """A first-word-fall-through FIFO of ``shape``: Amaranth's ``SyncFIFO`` with stream ports.

    Latency 1 clock; one entry a clock.
    """

    latency = 1

    def __init__(self, shape, depth):
        self.shape = shape
        self.depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.fifo = queue = fifo.SyncFIFO(
            width=Shape.cast(self.shape).width, depth=self.depth)
        m.d.comb += [
            self.i.ready.eq(queue.w_rdy),
            queue.w_en.eq(self.i.valid),
            queue.w_data.eq(self.i.payload),
            self.o.valid.eq(queue.r_rdy),
            queue.r_en.eq(self.o.ready),
            self.o.payload.eq(queue.r_data),
        ]
        return m
