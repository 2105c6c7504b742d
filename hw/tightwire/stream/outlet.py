"""Where a pipeline that cannot wait meets a stream that can."""

from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .ram_queue import RamQueue

__all__ = ["Outlet"]


class Outlet(wiring.Component):
    """A buffer at the end of a pipeline, with room reserved at its beginning.

    Latency ``Outlet.latency`` clocks; one item a clock where ``depth`` is at least the pipeline's
    latency and 5.

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

    latency = RamQueue.latency

    def __init__(self, shape, depth):
        self.shape = shape
        self.depth = depth
        super().__init__({
            "room": Out(1), "reserve": In(1), "i_valid": In(1), "i": In(shape),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = RamQueue(self.shape, self.depth)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        free = Signal(range(self.depth + 1), init=self.depth)
        m.d.comb += [
            self.room.eq(free != 0),
            queue.i.valid.eq(self.i_valid),
            queue.i.payload.eq(self.i),
        ]
        m.d.sync += free.eq(free - self.reserve + (self.o.valid & self.o.ready))
        return m
