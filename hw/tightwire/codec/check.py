"""Lets only frames through that the codec can work on."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..formats import BUCKETS, LOG2_BUCKET_MIN
from ..stream.beat import SIDE, BeatStream, beat_layout
from .bucket import BucketCounter
from .choice import is_legal, records_words

__all__ = ["FrameCheck", "DROPS"]

DROPS = data.StructLayout({
    "codec": 1, "bucket": 1, "span": 1, "length": 1, "marked": 1, "long": 1})
"""Why a frame is dropped: a codec byte that is reserved or not built; a bucket size that is
reserved or larger than ``max_bucket``; a span of zero; a length that is not that of its span; it
came in with an error mark; it is longer than where it would be stored."""


class FrameCheck(wiring.Component):
    """Holds frames to what their side band says.

    A frame with an impossible side band is swallowed whole. A frame that is too long or too
    short, or that came in marked, leaves with ``error`` on its last beat; one that is too long is
    cut at the length of its span. So what follows sees frames of whole beats, no longer than
    their span, and a frame without ``error`` is exactly right. Bypass frames pass as they are.

    Latency ``latency`` clocks; one beat a clock.

    Parameters
    ----------
    lanes : int
    max_bucket : int
    records : bool
        Whether the frames hold records, and not float32.
    side : data.StructLayout
        Side band of the beats: ``SIDE``, or one that has its members and more.

    Members
    -------
    i, o : streams of beats
    drop : Out, DROPS, a reason high for one clock when a frame is dropped or marked; ``long`` is
        not found here
    """

    floats_latency = 1
    records_latency = 2

    def __init__(self, *, lanes, max_bucket, records, side=SIDE):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.max_bucket = check_choice("max_bucket", max_bucket, BUCKETS)
        self.records = records
        self.side = side
        self.latency = self.records_latency if records else self.floats_latency
        super().__init__({
            "i": In(BeatStream(lanes, side)), "o": Out(BeatStream(lanes, side)),
            "drop": Out(DROPS),
        })

    def elaborate(self, platform):
        m = Module()
        held = Signal(beat_layout(self.lanes, self.side), reset_less=True)
        valid = Signal()
        go = Signal()      # the beat held leaves the register
        skip = Signal()    # the rest of its frame is let go
        final = Signal()   # by the side band the frame ends with this beat,
        empty = Signal.like(held.empty)  # and this much of it is not used
        side = held.side
        step = Signal()
        m.d.comb += step.eq(valid & go)

        if self.records:
            # The length takes two shifts and a sum: it is worked out a clock ahead.
            entry = Signal.like(held, reset_less=True)
            entry_valid = Signal()
            entry_go = Signal()
            words = Signal(_WORDS_BITS, reset_less=True)
            left = Signal(_WORDS_BITS, reset_less=True)
            need = Signal(_WORDS_BITS)
            m.d.comb += [
                entry_go.eq(~valid | go),
                self.i.ready.eq(~entry_valid | entry_go),
                need.eq(Mux(held.first, words, left)),
                final.eq(need <= self.lanes),
                empty.eq((-need << 2)[:len(empty)]),
            ]
            with m.If(self.i.ready):
                m.d.sync += [entry_valid.eq(self.i.valid), entry.eq(self.i.p)]
            with m.If(entry_go):
                m.d.sync += [valid.eq(entry_valid), held.eq(entry),
                             words.eq(records_words(entry.side, entry.side.span))]
            with m.If(step):
                m.d.sync += left.eq(need - self.lanes)
        else:
            m.submodules.bucket = bucket = BucketCounter(
                lanes=self.lanes, max_bucket=self.max_bucket)
            left = Signal(16, reset_less=True)
            need = Signal(16)
            m.d.comb += [
                self.i.ready.eq(~valid | go),
                bucket.log2_bucket.eq(side.log2_bucket),
                bucket.step.eq(step),
                bucket.end.eq(held.last | skip | side.bypass),
                need.eq(Mux(held.first, side.span, left)),
                final.eq(bucket.last & (need == 1)),
            ]
            with m.If(self.i.ready):
                m.d.sync += [valid.eq(self.i.valid), held.eq(self.i.p)]
            with m.If(step):
                m.d.sync += left.eq(need - bucket.last)

        wrong = {
            "codec": ~is_legal(side.codec),
            "bucket": (side.log2_bucket < LOG2_BUCKET_MIN)
            | (side.log2_bucket > self.max_bucket.bit_length() - 1),
            "span": side.span == 0,
        }
        refuse = Signal()
        wrong_length = Signal()
        beat = self.o.p
        m.d.comb += [
            refuse.eq(held.first & ~side.bypass & Cat(wrong.values()).any()),
            wrong_length.eq((held.last != final) | (held.empty != empty)),
            self.o.valid.eq(valid & ~skip & ~refuse),
            go.eq(self.o.ready | skip | refuse),
            beat.eq(held),
        ]
        with m.If(~side.bypass):
            m.d.comb += [
                beat.last.eq(held.last | final),
                beat.error.eq(held.last & held.error | wrong_length),
            ]
        with m.If(step):
            with m.If(held.last):
                m.d.sync += skip.eq(0)
            with m.Elif(beat.last | refuse):
                m.d.sync += skip.eq(1)

        before = 0
        for reason, is_wrong in wrong.items():
            m.d.comb += self.drop[reason].eq(step & ~skip & refuse & is_wrong & ~before)
            before = before | is_wrong
        ends = Signal()
        marked = Signal()
        m.d.comb += [
            ends.eq(step & ~skip & ~refuse & beat.last & ~side.bypass),
            marked.eq(held.last & held.error),
            self.drop.marked.eq(ends & marked),
            self.drop.length.eq(ends & ~marked & wrong_length),
        ]
        return m


_WORDS_BITS = 30  # 65,535 buckets of 8,192 words take 29
