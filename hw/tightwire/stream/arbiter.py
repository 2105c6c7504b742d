"""Several streams of frames into one."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from .beat import SIDE, BeatStream
from .buffer import Buffer
from .turns import Turns

__all__ = ["Arbiter"]


class Arbiter(wiring.Component):
    """Frames of ``n`` inputs, one whole frame after the other, in turns.

    Latency ``latency`` clocks; one beat a clock, also from one frame to the next. Every input
    should come from where its frames are whole, since one that waits in mid-frame holds up all.

    Parameters
    ----------
    lanes : int
    n : int
    side : data.StructLayout

    Members
    -------
    i : In, n streams of beats
    o : Out, stream of beats
    """

    latency = Buffer.latency

    def __init__(self, *, lanes, n, side=SIDE):
        self.lanes = lanes
        self.n = n
        self.side = side
        super().__init__({
            "i": In(BeatStream(lanes, side)).array(n), "o": Out(BeatStream(lanes, side))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.turns = turns = Turns(self.n)
        m.submodules.buffer = buffer = Buffer(self.o.p.shape())
        wiring.connect(m, buffer.o, wiring.flipped(self.o))
        inside = Signal()  # a frame has begun and not ended
        held = Signal(range(self.n))
        at = Signal(range(self.n))
        m.d.comb += at.eq(Mux(inside, held, turns.index))
        for n, one in enumerate(self.i):
            mine = (at == n) & (inside | turns.any)
            m.d.comb += [turns.ask[n].eq(one.valid), one.ready.eq(mine & buffer.i.ready)]
            with m.If(mine):
                m.d.comb += [buffer.i.valid.eq(one.valid), buffer.i.p.eq(one.p)]
        step = buffer.i.valid & buffer.i.ready
        m.d.comb += turns.next.eq(step & ~inside)
        with m.If(step):
            m.d.sync += [inside.eq(~buffer.i.p.last), held.eq(at)]
        return m
