"""Where a pipeline that cannot wait meets a stream that can."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .queue import Queue

__all__ = ["Outlet"]


class Outlet(wiring.Component):
    """A buffer at the end of a pipeline, with room reserved at its beginning.

    Latency 2 clocks, the output registered; one item a clock where ``depth`` is at least the
    pipeline's latency and 4.

    Parameters
    ----------
    shape : shape-like
    depth : int

    Members
    -------
    room : Out(1), an item may be reserved
    reserve : In(1), an item is on its way
    i_valid, i : In, an item that was reserved
    o : Out, stream
    """

    latency = 2

    def __init__(self, shape, depth):
        self.shape = shape
        self.depth = depth
        super().__init__({
            "room": Out(1), "reserve": In(1), "i_valid": In(1), "i": In(shape),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(self.shape, self.depth)
        free = Signal(range(self.depth + 1), init=self.depth)
        take = Signal()
        held = Signal(self.shape, reset_less=True)
        m.d.comb += [
            self.room.eq(free != 0),
            queue.i.valid.eq(self.i_valid),
            queue.i.payload.eq(self.i),
            queue.o.ready.eq(~self.o.valid | self.o.ready),
            take.eq(queue.o.valid & queue.o.ready),
            self.o.payload.eq(held),
        ]
        m.d.sync += free.eq(free - self.reserve + take)
        with m.If(queue.o.ready):
            m.d.sync += self.o.valid.eq(queue.o.valid)
        with m.If(take):
            m.d.sync += held.eq(queue.o.payload)
        return m
