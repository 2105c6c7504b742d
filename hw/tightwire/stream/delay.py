"""A fixed delay for wide data, in distributed RAM."""

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Delay"]


class Delay(wiring.Component):
    """``o`` is ``i`` of ``clocks`` clocks ago.

    A ring in distributed RAM with a registered output: a sixth of the logic of a shift register
    where the family has no shift register primitive, and half where it has.

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
        depth = self.latency - 1  # the output register is the last place
        at = Signal(range(depth))
        m.submodules.ring = ring = memory.Memory(
            shape=self.shape, depth=depth, init=[], attrs={"ram_style": "distributed"})
        write = ring.write_port()
        read = ring.read_port(domain="comb")
        held = Signal(self.shape, reset_less=True)
        m.d.comb += [
            write.en.eq(1), write.addr.eq(at), write.data.eq(self.i),
            read.addr.eq(at), self.o.eq(held),
        ]
        m.d.sync += [at.eq(Mux(at == depth - 1, 0, at + 1)), held.eq(read.data)]
        return m
