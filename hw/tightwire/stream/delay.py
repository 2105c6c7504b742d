"""A fixed delay for wide data, in memory."""

from amaranth.hdl import Module, Shape, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from .ram_queue import following

__all__ = ["Delay"]


class Delay(wiring.Component):
    """``o`` is ``i`` of ``clocks`` clocks ago.

    A ring in block RAM, or in distributed RAM where it is narrower than a block RAM, with a
    register behind it.

    Parameters
    ----------
    shape : shape-like
    clocks : int
        3 or more: latency and length.
    """

    def __init__(self, shape, clocks):
        if clocks < 3:
            raise ValueError(f"clocks must be 3 or more, not {clocks}")
        self.shape = Shape.cast(shape)
        self.latency = clocks
        super().__init__({"i": In(self.shape), "o": Out(self.shape)})

    def elaborate(self, platform):
        m = Module()
        # The RAM's register and ours are two of the places; one more keeps the place that is
        # read apart from the one that is written.
        depth = self.latency - 1
        at = Signal(range(depth))
        style = "block" if self.shape.width >= 72 else "distributed"
        m.submodules.ring = ring = memory.Memory(
            shape=self.shape, depth=depth, init=[], attrs={"ram_style": style})
        write, read = ring.write_port(), ring.read_port()
        held = Signal(self.shape, reset_less=True)
        m.d.comb += [
            write.en.eq(1), write.addr.eq(at), write.data.eq(self.i),
            read.en.eq(1), read.addr.eq(following(at, depth)),
            self.o.eq(held),
        ]
        m.d.sync += [at.eq(following(at, depth)), held.eq(read.data)]
        return m
