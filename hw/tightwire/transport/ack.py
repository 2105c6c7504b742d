"""ACK frames, to and from what they say."""

from amaranth.hdl import Cat, Module, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..formats import LOG2_BUCKET_MIN, WINDOW, FrameKind
from ..frame.side import RX_SIDE, TX_SIDE
from ..stream.beat import BeatStream
from ..stream.queue import Queue

__all__ = ["ACK", "ACK_BYTES", "ACK_TO", "AckBuilder", "AckReader"]

ACK_BYTES = WINDOW // 8
"""Payload of an ACK frame: the bitmap, little-endian."""

_STATE = {"stream": 16, "sequence": 32, "bitmap": WINDOW}

ACK = data.StructLayout(_STATE | {"source": 32})
"""What an ACK frame says: the lowest ``sequence`` that its sender has not had, which of the
frames from there on it has had (bit 0 is 0), and the IP address that it came from."""

ACK_TO = data.StructLayout(_STATE | {"peer": 8})
"""The same, to be said to the entry ``peer`` of the table of peers."""

# What an ACK frame's header says beside stream and sequence (docs/card.md).
_FIXED = {"bypass": 0, "codec": 0, "log2_bucket": LOG2_BUCKET_MIN, "message": 0, "first": 0,
          "span": 0, "kind": FrameKind.ACK, "flags": 0, "records": 0}

_WORDS = ACK_BYTES // 4


class AckBuilder(wiring.Component):
    """Makes an ACK frame of each item: a payload of 8 bytes, and its header beside it.

    Latency 1 clock; one ACK in ``clocks`` clocks. ``i.ready`` comes from registers only.

    Parameters
    ----------
    lanes : int

    Members
    -------
    i : In, stream of ``ACK_TO``
    o : Out, stream of beats with TX_SIDE
    """

    latency = 1

    def __init__(self, *, lanes):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.clocks = 3 if lanes == 1 else 2
        super().__init__({
            "i": In(stream.Signature(ACK_TO)), "o": Out(BeatStream(lanes, TX_SIDE))})

    def elaborate(self, platform):
        m = Module()
        held = Signal(ACK_TO, reset_less=True)
        beat = self.o.p
        m.d.comb += [
            self.i.ready.eq(~self.o.valid),
            *(beat.side[name].eq(value) for name, value in _FIXED.items()),
            beat.side.bytes.eq(ACK_BYTES),
            *(beat.side[name].eq(held[name]) for name in ("stream", "sequence", "peer")),
        ]
        words = [held.bitmap[32 * n:32 * n + 32] for n in range(_WORDS)]
        with m.If(self.i.ready):
            m.d.sync += [self.o.valid.eq(self.i.valid), held.eq(self.i.p)]
        if self.lanes == 1:
            second = Signal()
            m.d.comb += [
                beat.data[0].eq(words[0]), beat.first.eq(~second), beat.last.eq(second)]
            with m.If(second):
                m.d.comb += beat.data[0].eq(words[1])
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += [second.eq(~second), self.o.valid.eq(~second)]
        else:
            m.d.comb += [
                *(beat.data[n].eq(word) for n, word in enumerate(words)),
                beat.empty.eq(4 * self.lanes - ACK_BYTES), beat.first.eq(1), beat.last.eq(1),
            ]
            with m.If(self.o.valid & self.o.ready):
                m.d.sync += self.o.valid.eq(0)
        return m


class AckReader(wiring.Component):
    """Takes what ACK frames say out of them.

    A frame that is not exactly as ``AckBuilder`` makes it, or that has an error mark, is dropped
    and counted by ``bad``. The network never waits for it: what comes while ``depth`` are not
    taken is dropped and counted by ``overrun``, which costs time but no data, since the next ACK
    says it all again.

    Latency ``latency`` clocks from the last beat; one beat a clock. ``i.ready`` is high from the
    first clock after reset on.

    Parameters
    ----------
    lanes : int
    depth : int
        ACKs held, 2 or more.

    Members
    -------
    i : In, stream of beats with RX_SIDE
    o : Out, stream of ``ACK``
    bad, overrun : Out(1), high for one clock with each frame dropped
    """

    latency = 1 + Queue.latency

    def __init__(self, *, lanes, depth=16):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.depth = depth
        super().__init__({
            "i": In(BeatStream(lanes, RX_SIDE)), "o": Out(stream.Signature(ACK)),
            "bad": Out(1), "overrun": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(ACK, self.depth)
        wiring.connect(m, queue.o, wiring.flipped(self.o))
        beat, side = self.i.p, self.i.p.side
        found = Signal(ACK, reset_less=True)
        ends = Signal()       # a frame has ended,
        right = Signal(reset_less=True)  # and was right
        length = Signal()
        step = Signal()
        m.d.comb += step.eq(self.i.valid & self.i.ready)
        m.d.sync += [
            self.i.ready.eq(1),
            ends.eq(step & beat.last),
            found.stream.eq(side.stream),
            found.sequence.eq(side.sequence),
            found.source.eq(side.source.ip),
        ]
        if self.lanes == 1:
            low = Signal(32, reset_less=True)
            second = Signal()  # the beat before was a frame's first one
            m.d.comb += length.eq(second & (beat.empty == 0))
            m.d.sync += found.bitmap.eq(Cat(low, beat.data[0]))
            with m.If(step):
                m.d.sync += [low.eq(beat.data[0]), second.eq(beat.first & ~beat.last)]
        else:
            m.d.comb += length.eq(beat.first & (beat.empty == 4 * self.lanes - ACK_BYTES))
            m.d.sync += found.bitmap.eq(Cat(beat.data[n] for n in range(_WORDS)))
        header = Cat(Value.cast(side[name]) == value for name, value in _FIXED.items()).all()
        m.d.sync += right.eq(length & ~beat.error & header)
        good = Signal()
        m.d.comb += [
            good.eq(ends & right & ~found.bitmap[0]),
            queue.i.valid.eq(good),
            queue.i.p.eq(found),
            self.bad.eq(ends & ~good),
            self.overrun.eq(good & ~queue.i.ready),
        ]
        return m
