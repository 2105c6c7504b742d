"""Fills frames of float32 up to whole buckets."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..stream.beat import SIDE, BeatStream
from ..stream.buffer import Buffer

__all__ = ["Pad"]


class Pad(wiring.Component):
    """A frame of at most ``span`` buckets, of any length, becomes one of exactly ``span``.

    The last bucket of a message may be short; on the wire it is filled up with +0 (wire-format.md,
    section 1). A frame that is longer is cut there, and marked with an error. Bypass frames pass
    as they are. Latency ``latency`` clocks, one beat a clock.

    Parameters
    ----------
    lanes : int
    side : data.StructLayout
        ``SIDE``, or one that has its members and more.

    Members
    -------
    i : In, stream of beats: whole words, 0 behind the end
    o : Out, stream of beats
    """

    latency = Buffer.latency

    def __init__(self, *, lanes, side=SIDE):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.side = side
        super().__init__({"i": In(BeatStream(lanes, side)), "o": Out(BeatStream(lanes, side))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = Buffer(self.o.p.shape())
        wiring.connect(m, buffer.o, wiring.flipped(self.o))
        beat, out = self.i.p, buffer.i.p
        bits = 16 + 13  # span << log2_bucket, in words
        total = Signal(bits)
        left = Signal(bits, reset_less=True)  # beats
        need = Signal(bits)
        side = Signal(self.side, reset_less=True)
        fill = Signal()   # the frame has ended, and zeros follow
        skip = Signal()   # the frame is cut, and the rest of it let go
        bad = Signal()
        final = Signal()
        step = Signal()
        m.d.comb += [
            total.eq((beat.side.span << beat.side.log2_bucket) >> (self.lanes.bit_length() - 1)),
            need.eq(Mux(beat.first & ~fill, total, left)),
            final.eq(need <= 1),
            out.eq(beat),
            buffer.i.valid.eq((self.i.valid | fill) & ~skip),
            self.i.ready.eq((buffer.i.ready & ~fill) | skip),
            step.eq(buffer.i.valid & buffer.i.ready),
        ]
        with m.If(fill):
            m.d.comb += [
                out.data.as_value().eq(0), out.side.eq(side), out.first.eq(0), out.empty.eq(0),
                out.last.eq(final), out.error.eq(final & bad)]
        with m.Elif(~beat.side.bypass):
            m.d.comb += [
                out.empty.eq(0),
                out.last.eq(final),
                out.error.eq(final & (beat.error | ~beat.last)),
            ]
        with m.If(step):
            m.d.sync += left.eq(need - 1)
            with m.If(fill):
                m.d.sync += fill.eq(~final)
            with m.Elif(~beat.side.bypass):
                m.d.sync += [
                    side.eq(beat.side), bad.eq(beat.error),
                    fill.eq(beat.last & ~final), skip.eq(final & ~beat.last)]
        with m.If(skip & self.i.valid & beat.last):
            m.d.sync += skip.eq(0)
        return m
