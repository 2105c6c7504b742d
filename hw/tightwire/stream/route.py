"""One stream of frames into several."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .beat import SIDE, BeatStream
from .buffer import Buffer

__all__ = ["Route"]


class Route(wiring.Component):
    """Each frame goes to the output that ``to`` names, or to none.

    Latency ``latency`` clocks, one beat a clock.

    Parameters
    ----------
    lanes : int
    n : int
    side : data.StructLayout

    Members
    -------
    i : In, stream of beats
    to : In, beside the beat at ``i``, the same for all of a frame: an output, or ``n`` and more
        for none
    o : Out, n streams of beats
    """

    latency = Buffer.latency

    def __init__(self, *, lanes, n, side=SIDE):
        self.lanes = lanes
        self.n = n
        self.side = side
        super().__init__({
            "i": In(BeatStream(lanes, side)), "to": In(range(n + 1)),
            "o": Out(BeatStream(lanes, side)).array(n)})

    def elaborate(self, platform):
        m = Module()
        ready = Signal()
        m.d.comb += [ready.eq(self.to >= self.n), self.i.ready.eq(ready)]
        for n in range(self.n):
            m.submodules[f"buffer_{n}"] = buffer = Buffer(self.i.p.shape())
            wiring.connect(m, buffer.o, wiring.flipped(self.o[n]))
            mine = self.to == n
            m.d.comb += [buffer.i.p.eq(self.i.p), buffer.i.valid.eq(self.i.valid & mine)]
            with m.If(mine):
                m.d.comb += ready.eq(buffer.i.ready)
        return m
