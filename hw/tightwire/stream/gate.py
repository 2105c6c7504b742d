"""Lets frames pass, or swallows them."""

from amaranth.hdl import Module
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .beat import SIDE, BeatStream
from .buffer import Buffer

__all__ = ["Gate"]


class Gate(wiring.Component):
    """A stream of frames from which whole frames are left out, as a stream of verdicts says.

    The n-th frame passes if the n-th verdict is 1. Latency ``latency`` clocks, one beat a clock;
    a frame waits for its verdict.

    Parameters
    ----------
    lanes : int
    side : data.StructLayout

    Members
    -------
    i, o : streams of beats
    verdict : In, stream of 1 bit
    """

    latency = Buffer.latency

    def __init__(self, *, lanes, side=SIDE):
        self.lanes = lanes
        self.side = side
        super().__init__({
            "i": In(BeatStream(lanes, side)), "o": Out(BeatStream(lanes, side)),
            "verdict": In(stream.Signature(1)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = Buffer(self.o.p.shape())
        wiring.connect(m, buffer.o, wiring.flipped(self.o))
        m.d.comb += [
            buffer.i.p.eq(self.i.p),
            buffer.i.valid.eq(self.i.valid & self.verdict.valid & self.verdict.p),
            self.i.ready.eq(self.verdict.valid & (buffer.i.ready | ~self.verdict.p)),
            self.verdict.ready.eq(self.i.valid & self.i.ready & self.i.p.last),
        ]
        return m
