"""From the beats of a payload to norms and codes (wire-format.md, section 3)."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..formats import BITS, BUCKETS
from ..stream.beat import BeatStream, SIDE
from ..stream.queue import Queue
from .bucket import BucketCounter
from .choice import by_bits, is_quantised

__all__ = ["Unpacker"]


class Unpacker(wiring.Component):
    """A beat of codes for every beat of elements, and the norm with the first of a bucket.

    The payload is written into a memory by beats and read by words, from wherever a record has
    got to. A frame that is marked as broken ends early, with an item that is marked.

    Latency ``Unpacker.latency`` clocks, one more with one lane, where a norm and its first codes
    are two beats; one item a clock. Nothing waits on the way out: ``room`` says whether another
    item may be made.

    Parameters
    ----------
    lanes : int
    max_bucket : int
    side : data.StructLayout
        Side band of the beats: ``SIDE``, or one that has its members and more.

    Members
    -------
    i : In, stream of beats, as FrameCheck leaves them
    room : In(1), an item may be made
    issue : Out(1), an item is made; it is out ``item_latency`` clocks later
    raw : Out, lanes words
    o_valid, o : Out, an item:
        whole : the beat is what ``raw`` was ``raw_lead`` clocks ago, with ``empty``
        norm_valid, norm : the item is the first of its bucket
        codes : lanes codes of 8 bits: sign, then level
        first, last, error, side : of the beat of elements
    """

    depth = 16
    item_latency = 3
    raw_lead = 2
    latency = 1 + item_latency

    def __init__(self, *, lanes, max_bucket, side=SIDE):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.max_bucket = check_choice("max_bucket", max_bucket, BUCKETS)
        self.side = side
        super().__init__({
            "i": In(BeatStream(lanes, side)),
            "room": In(1), "issue": Out(1), "raw": Out(data.ArrayLayout(32, lanes)),
            "o_valid": Out(1),
            "o": Out(data.StructLayout({
                "whole": 1, "empty": range(4 * lanes),
                "norm_valid": 1, "norm": 32, "codes": data.ArrayLayout(8, lanes),
                "first": 1, "last": 1, "error": 1, "side": side})),
        })

    def elaborate(self, platform):
        m = Module()
        lanes, depth = self.lanes, self.depth
        lanes_log2 = lanes.bit_length() - 1

        # The memory, a bank for each word, and what is said of a beat and of a frame.
        write_at = Signal(range(depth))
        read_at = Signal(range(depth))
        following_at = Signal(range(depth))
        at = Signal(lanes_log2)  # the next word, in the beat at read_at
        level = Signal(range(depth + 1))
        used = Signal(2)
        write = Signal()
        m.submodules.sides = sides = Queue(self.side, depth)
        m.d.comb += [
            following_at.eq(read_at + 1),
            self.i.ready.eq((level != depth) & sides.i.ready),
            write.eq(self.i.valid & self.i.ready),
            sides.i.valid.eq(write & self.i.p.first),
            sides.i.p.eq(self.i.p.side),
        ]
        m.d.sync += [level.eq(level + write - used), read_at.eq(read_at + used)]
        with m.If(write):
            m.d.sync += write_at.eq(write_at + 1)
        banks = []
        for lane in range(lanes):
            m.submodules[f"word_{lane}"] = ram = memory.Memory(
                shape=32, depth=depth, init=[], attrs={"ram_style": "distributed"})
            port = ram.write_port()
            m.d.comb += [
                port.en.eq(write), port.addr.eq(write_at), port.data.eq(self.i.p.data[lane]),
            ]
            banks.append(ram)
        # A norm and a word of codes are looked at together: a single bank is read twice for it.
        words_1 = Signal(data.ArrayLayout(32, max(lanes, 2)), reset_less=True)
        for n in range(len(words_1)):
            read = banks[n % lanes].read_port(domain="comb")
            # A table, since a comparison would be made of carries.
            later = Array(int(k > n) for k in range(lanes))[at] if lanes > 1 else n
            m.d.comb += read.addr.eq(Mux(later, following_at, read_at))
            m.d.sync += words_1[n].eq(read.data)
        about = data.StructLayout({"last": 1, "error": 1, "empty": range(4 * lanes)})
        m.submodules.abouts = abouts = memory.Memory(
            shape=about, depth=depth, init=[], attrs={"ram_style": "distributed"})
        port = abouts.write_port()
        this, following = abouts.read_port(domain="comb"), abouts.read_port(domain="comb")
        m.d.comb += [
            port.en.eq(write), port.addr.eq(write_at),
            *(port.data[name].eq(self.i.p[name]) for name in about.members),
            this.addr.eq(read_at), following.addr.eq(following_at),
        ]

        # 0: what the next beat of elements takes
        side = sides.o.p
        quantised = is_quantised(side)
        first = Signal(init=1)
        left = Signal(16, reset_less=True)
        need_buckets = Mux(first, side.span, left)
        m.submodules.bucket = bucket = BucketCounter(lanes=lanes, max_bucket=self.max_bucket)
        beats = [32 // (lanes * bits) or 1 for bits in BITS]  # that share a word
        counts = [lanes * bits // 32 or 1 for bits in BITS]   # words to a beat
        phase = Signal(range(max(beats)))
        word_done = by_bits(side.codec, *((phase | ~(n - 1)).all() for n in beats))
        count = by_bits(side.codec, *counts)
        seen = Signal(range(2 * lanes + 2))  # the end of the words that are looked at
        done = Signal(range(2 * lanes + 2))  # the end of those that are not needed any more
        crosses = Signal()
        broken = Signal()
        waits = Signal()   # for another beat
        final = Signal()
        last = Signal()
        error = Signal()
        m.d.comb += waits.eq(crosses & ~broken)
        if lanes == 1:
            # A norm and its first codes take two clocks to come. Other frames are held back by
            # that much, or there would be a bubble between the two kinds.
            with m.If(~quantised):
                m.d.comb += waits.eq(~this.data.last)
        m.d.comb += [
            seen.eq(at + bucket.first + count),
            done.eq(at + bucket.first + Mux(word_done, count, 0)),
            crosses.eq(quantised & (seen > lanes)),
            broken.eq(quantised & this.data.last & this.data.error),
            final.eq(bucket.last & (need_buckets == 1)),
            last.eq(Mux(quantised, final | broken, this.data.last)),
            error.eq(Mux(quantised & crosses & ~broken, following.data.error, this.data.error)),
            self.issue.eq(self.room & sides.o.valid
                          & ((level >= 2) | ((level == 1) & ~waits))),
            sides.o.ready.eq(self.issue & last),
            bucket.log2_bucket.eq(side.log2_bucket),
            bucket.step.eq(self.issue),
            bucket.end.eq(last | side.bypass),
        ]
        with m.If(self.issue):
            with m.If(~quantised | broken):
                m.d.comb += used.eq(1)
            with m.Elif(final):
                m.d.comb += used.eq(1 + crosses)
            with m.Else():
                m.d.comb += used.eq(done >= lanes)
            m.d.sync += [
                first.eq(last),
                left.eq(need_buckets - bucket.last),
                at.eq(Mux(last | ~quantised, 0, done)),
                phase.eq(Mux(last, 0, phase + 1)),
            ]

        # 1: words
        valid_1 = Signal()
        control = data.StructLayout({
            "quantised": 1, "norm_valid": 1, "first": 1, "last": 1, "error": 1,
            "empty": range(4 * lanes), "side": self.side})
        control_1 = Signal(control, reset_less=True)
        at_1 = Signal.like(at, reset_less=True)
        phase_1 = Signal.like(phase, reset_less=True)
        m.d.sync += [
            valid_1.eq(self.issue),
            control_1.quantised.eq(quantised),
            control_1.norm_valid.eq(quantised & bucket.first),
            control_1.first.eq(first),
            control_1.last.eq(last),
            control_1.error.eq(last & error),
            control_1.empty.eq(Mux(quantised, 0, this.data.empty)),
            control_1.side.eq(side),
            at_1.eq(at), phase_1.eq(phase),
        ]

        # 2: norm and codes side by side: first a window of whole groups, then from within it
        width = max(counts)
        groups = [Cat(words_1[k] for k in range(n, n + width))
                  for n in range(0, len(words_1), width)]
        group = at_1[width.bit_length() - 1:]
        window = Signal(data.ArrayLayout(32, 2 * width))
        m.d.comb += window.eq(Array(
            Cat(groups[n], groups[(n + 1) % len(groups)]) for n in range(len(groups)))[group])
        within = at_1[:width.bit_length() - 1]
        ahead = [window[n] for n in range(2 * width)]
        norm_2 = Signal(32, reset_less=True)
        words_2 = Signal(data.ArrayLayout(32, width), reset_less=True)
        # The window is rotated, not cut: past its end are the words of its beginning, and of
        # the beat after where the banks have crossed to it already.
        codes_at = within + control_1.norm_valid
        picked = Array(Cat(ahead[(shift + k) % (2 * width)] for k in range(width))
                       for shift in range(width + 1))
        m.d.sync += [
            norm_2.eq(Array(ahead[:width])[within]),
            words_2.eq(picked[codes_at]),
        ]
        valid_2 = Signal()
        control_2 = Signal(control, reset_less=True)
        phase_2 = Signal.like(phase, reset_less=True)
        m.d.sync += [valid_2.eq(valid_1), control_2.eq(control_1), phase_2.eq(phase_1)]
        m.d.comb += self.raw.eq(words_1)  # as many words as there are lanes

        # 3: codes of 8 bits each
        spread = []
        for bits, share in zip(BITS, beats, strict=True):
            source = words_2.as_value()
            if share > 1:
                source = Array(source[n * lanes * bits:(n + 1) * lanes * bits]
                               for n in range(share))[phase_2[:share.bit_length() - 1]]
            codes = [source[n * bits:(n + 1) * bits] for n in range(lanes)]
            spread.append(Cat(Cat(code[:-1], Const(0, 8 - bits), code[-1]) for code in codes))
        item = Signal(self.o.shape(), reset_less=True)
        m.d.sync += [
            self.o_valid.eq(valid_2),
            item.whole.eq(~control_2.quantised),
            item.norm.eq(norm_2),
            item.codes.eq(by_bits(control_2.side.codec, *spread)),
            *(item[name].eq(control_2[name])
              for name in ("empty", "norm_valid", "first", "last", "error", "side")),
        ]
        m.d.comb += self.o.eq(item)
        return m
