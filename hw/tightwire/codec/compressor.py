"""float32 in, records out."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arith.draws import Draws
from ..config import LANES, check_choice
from ..formats import BUCKETS, Levels, Norm
from ..stream.beat import SIDE, BeatStream, beat_layout
from ..stream.delay import Delay
from ..stream.frame_fifo import FrameFifo, FrameStore
from ..stream.queue import Queue
from ..stream.ram_queue import RamQueue
from .bucket import BucketCounter
from .check import DROPS, FrameCheck
from .choice import is_euclidean, is_quantised
from .norm import EuclideanPass, LargestPass
from .packer import Packer
from .quantizer import Quantizer
from .scale import NORM_REQUEST, SCALE, Scale

__all__ = ["Compressor"]

_FEWEST_BEATS = 16
"""Frames of this many beats and more leave no bubble at the input."""


class Compressor(wiring.Component):
    """Frames of float32 to frames of records, the codec chosen frame by frame.

    A bucket is passed over three times: for its largest magnitude, for its Euclidean norm
    (frames of the other norm go by), and to be quantised. Between the passes it waits in block
    RAM, so the input moves a beat every clock for frames of 16 beats and more.

    Latency, first beat in to first beat out, nothing waiting: ``latency(codec, bucket)`` clocks.
    With a store, a frame leaves once it is whole, and a malformed one not at all; without, or
    with ``cut_through`` high, one whose first bucket has left already ends with an error mark.

    Parameters
    ----------
    lanes : int
    max_bucket : int
    store_bytes : int or None
        What the store at the output holds; None for no store.
    side : data.StructLayout
        Side band of the beats: ``SIDE``, or one that has its members and more. It comes out as it
        went in, on every beat of the frame.

    Members
    -------
    i : In, stream of beats: float32, whole buckets
    o : Out, stream of beats: the payload
    cut_through : In(1), as FrameStore; without effect where there is none
    drop : Out, DROPS, a reason high for one clock for each frame that is dropped or marked
    """

    def __init__(self, *, lanes, max_bucket=BUCKETS[-1], store_bytes=None, side=SIDE):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.max_bucket = check_choice("max_bucket", max_bucket, BUCKETS)
        self.store_bytes = store_bytes
        self.side = side
        super().__init__({
            "i": In(BeatStream(lanes, side)), "o": Out(BeatStream(lanes, side)),
            "cut_through": In(1), "drop": Out(DROPS),
        })

    def latency(self, codec, bucket):
        """Clocks from the first beat in to the first beat out, nothing waiting.

        For a frame that fills a beat, of ``bucket`` elements to a bucket; ``codec`` is a
        ``formats.Codec``.
        """
        issue_to_out = 1 + Quantizer.latency + Packer.latency
        store = 0 if self.store_bytes is None else FrameStore.latency
        if codec.levels == Levels.RAW:
            return FrameCheck.floats_latency + 2 * FrameFifo.latency + issue_to_out + store
        beats = bucket // self.lanes
        norm = (beats - 1 + LargestPass(lanes=self.lanes).latency + RamQueue.latency
                + Queue.latency + Scale.latency + RamQueue.latency)
        if codec.norm == Norm.EUCLIDEAN:
            norm += beats - 1 + EuclideanPass(
                lanes=self.lanes, max_bucket=self.max_bucket).latency
        # A beat out takes the codes of several beats in, and the norms between them.
        bits, fill = 0, 0
        while (bits := bits + 32 * (fill % beats == 0) + codec.bits * self.lanes) < (
                32 * self.lanes) and not (self.lanes == 1 and bits >= 32):
            fill += 1
        return FrameCheck.floats_latency + norm + fill + issue_to_out + store

    def elaborate(self, platform):
        m = Module()
        lanes, max_bucket = self.lanes, self.max_bucket
        bucket_beats = 64 // lanes  # of the smallest bucket
        most_beats = max_bucket // lanes

        m.submodules.check = check = FrameCheck(
            lanes=lanes, max_bucket=max_bucket, records=False, side=self.side)
        m.submodules.largest = largest = LargestPass(lanes=lanes)
        m.submodules.euclidean = euclidean = EuclideanPass(lanes=lanes, max_bucket=max_bucket)
        m.submodules.scale = scale = Scale(interval=bucket_beats)
        m.submodules.quantizer = quantizer = Quantizer(lanes=lanes)
        m.submodules.packer = packer = Packer(lanes=lanes)
        m.submodules.draws = draws = Draws(lanes=lanes)

        # Each FIFO holds the largest bucket and what comes in while its norm is being found.
        # The queues beside it hold one entry a bucket, or one a frame.
        wait_1 = largest.latency + RamQueue.latency + 4
        wait_2 = euclidean.latency + scale.latency + FrameFifo.latency + 6
        shortest = max(_FEWEST_BEATS, bucket_beats)
        depths = [most_beats + wait for wait in (wait_1, wait_2)]
        frames = [depth // shortest + 3 for depth in depths]
        buckets = [depth // bucket_beats + 3 for depth in depths]
        m.submodules.fifo_1 = fifo_1 = FrameFifo(
            lanes=lanes, depth=depths[0], frames=frames[0], side=self.side)
        m.submodules.fifo_2 = fifo_2 = FrameFifo(
            lanes=lanes, depth=depths[1], frames=frames[1], side=self.side)
        found = data.StructLayout({"largest": 31, "short": 1})
        m.submodules.founds = founds = RamQueue(found, buckets[0])
        m.submodules.requests = requests = Queue(NORM_REQUEST, wait_2 // bucket_beats + 3)
        m.submodules.roots = roots = Queue(31, 4)
        m.submodules.scales = scales = RamQueue(SCALE, buckets[1])
        m.submodules.seeds = seeds = RamQueue(draws.frame.p.shape(), sum(frames))
        m.submodules.sides = sides = Queue(self.side, Packer.depth)

        counters = []
        for n in range(3):
            m.submodules[f"bucket_{n + 1}"] = counter = BucketCounter(
                lanes=lanes, max_bucket=max_bucket)
            counters.append(counter)

        def count(counter, beat, step):
            m.d.comb += [
                counter.log2_bucket.eq(beat.side.log2_bucket),
                counter.step.eq(step),
                counter.end.eq(beat.last | beat.side.bypass),
            ]

        # A queue is written some clocks after its entry is certain to come: the entries on
        # their way are counted as if they were there.
        def reservation(queue, taken, given, name):
            free = Signal(range(queue.depth + 1), init=queue.depth, name=f"free_{name}")
            m.d.sync += free.eq(free - taken + given)
            return free != 0

        # ---- first pass: the largest magnitude ----
        wiring.connect(m, wiring.flipped(self.i), check.i)
        beat = check.o.p
        step_1 = Signal()
        quantised_1 = is_quantised(beat.side)
        bucket_end_1 = Signal()
        count(counters[0], beat, step_1)
        room_1 = reservation(
            founds, step_1 & bucket_end_1, founds.o.valid & founds.o.ready, "founds")
        may_1 = room_1 & seeds.i.ready
        m.d.comb += [
            bucket_end_1.eq(quantised_1 & (counters[0].last | beat.last)),
            fifo_1.i.p.eq(beat),
            fifo_1.i.valid.eq(check.o.valid & may_1),
            check.o.ready.eq(fifo_1.i.ready & may_1),
            step_1.eq(check.o.valid & check.o.ready),
            seeds.i.valid.eq(step_1 & beat.first & quantised_1),
            seeds.i.p.first.eq(beat.side.first),
            seeds.i.p.seed.eq(Cat(beat.side.message, beat.side.stream)),
            largest.i_valid.eq(step_1 & quantised_1),
            largest.i.eq(beat.data),
            largest.i_end.eq(bucket_end_1),
        ]
        # A broken frame may end within a bucket. No norm is found for what there is of it.
        short = ~counters[0].last
        for n in range(largest.latency):
            stage = Signal(name=f"short_{n}", reset_less=True)
            m.d.sync += stage.eq(short)
            short = stage
        m.d.comb += [
            founds.i.valid.eq(largest.o_valid),
            founds.i.p.largest.eq(largest.o),
            founds.i.p.short.eq(short),
        ]

        # ---- second pass: the Euclidean norm ----
        beat = fifo_1.o.p
        step_2 = Signal()
        begin_2 = Signal()
        counter = counters[1]
        quantised_2 = is_quantised(beat.side)
        count(counter, beat, step_2)
        use_root = is_euclidean(beat.side.codec) & ~founds.o.p.short
        room_2 = reservation(scales, step_2 & begin_2, scales.o.valid & scales.o.ready, "scales")
        may_2 = ~begin_2 | (founds.o.valid & requests.i.ready & room_2)
        exponent = Signal(8)
        exponent_held = Signal(8, reset_less=True)
        root_held = Signal(reset_less=True)
        m.d.comb += [
            begin_2.eq(quantised_2 & counter.first),
            fifo_2.i.p.eq(beat),
            fifo_2.i.valid.eq(fifo_1.o.valid & may_2),
            fifo_1.o.ready.eq(fifo_2.i.ready & may_2),
            step_2.eq(fifo_1.o.valid & fifo_1.o.ready),
            founds.o.ready.eq(step_2 & begin_2),
            requests.i.valid.eq(step_2 & begin_2),
            requests.i.p.largest.eq(founds.o.p.largest),
            requests.i.p.euclidean.eq(use_root),
            requests.i.p.codec.eq(beat.side.codec),
            euclidean.i_valid.eq(step_2 & quantised_2 & Mux(begin_2, use_root, root_held)),
            euclidean.i.eq(beat.data),
            euclidean.i_end.eq(counter.last),
            exponent.eq(exponent_held),
            euclidean.exponent.eq(exponent),
            euclidean.log2_bucket.eq(beat.side.log2_bucket),
            roots.i.valid.eq(euclidean.o_valid),
            roots.i.p.eq(euclidean.o),
        ]
        with m.If(begin_2):
            m.d.comb += exponent.eq(founds.o.p.largest[23:])
        with m.If(step_2 & begin_2):
            m.d.sync += [exponent_held.eq(exponent), root_held.eq(use_root)]

        wiring.connect(m, requests.o, scale.i)
        wiring.connect(m, roots.o, scale.root)
        m.d.comb += [scales.i.valid.eq(scale.o_valid), scales.i.p.eq(scale.o)]

        # ---- third pass: codes ----
        beat = fifo_2.o.p
        step_3 = Signal()
        begin_3 = Signal()
        counter = counters[2]
        quantised_3 = is_quantised(beat.side)
        count(counter, beat, step_3)
        may_3 = (packer.room & (~beat.first | sides.i.ready)
                 & (~quantised_3 | scales.o.valid & (~beat.first | draws.armed)))
        m.d.comb += [
            begin_3.eq(quantised_3 & counter.first),
            fifo_2.o.ready.eq(may_3),
            step_3.eq(fifo_2.o.valid & may_3),
            scales.o.ready.eq(step_3 & quantised_3 & (counter.last | beat.last)),
            draws.start.eq(step_3 & quantised_3 & beat.first),
            packer.reserve.eq(step_3),
            packer.reserve_last.eq(beat.last),
            sides.i.valid.eq(step_3 & beat.first),
            sides.i.p.eq(beat.side),
        ]
        wiring.connect(m, seeds.o, draws.frame)

        # One clock to fan out; then the control goes beside the quantiser.
        data_0 = Signal(data.ArrayLayout(32, lanes), reset_less=True)
        scale_0 = Signal(SCALE, reset_less=True)
        control = data.StructLayout({
            "whole": 1, "norm_valid": 1, "norm": 31, "empty": len(beat.empty),
            "codec": beat.side.codec.shape(), "first": 1, "last": 1, "error": 1})
        at = Signal(control, name="control_0", reset_less=True)
        valid = Signal(name="valid_0")
        m.d.sync += [
            data_0.eq(beat.data),
            scale_0.eq(scales.o.p),
            valid.eq(step_3),
            at.whole.eq(~quantised_3),
            at.norm_valid.eq(begin_3),
            at.norm.eq(scales.o.p.norm),
            at.empty.eq(beat.empty),
            at.codec.eq(beat.side.codec),
            at.first.eq(beat.first & quantised_3),
            at.last.eq(beat.last),
            at.error.eq(beat.error),
        ]
        m.d.comb += [
            quantizer.i.eq(data_0),
            quantizer.scale.eq(scale_0),
            quantizer.codec.eq(at.codec),
            quantizer.draws.eq(draws.draws),
        ]
        valids, ats = [valid], [at]
        for n in range(1, Quantizer.latency + 1):
            valid = Signal(name=f"valid_{n}")
            at = Signal(control, name=f"control_{n}", reset_less=True)
            m.d.sync += [valid.eq(valids[-1]), at.eq(ats[-1])]
            valids.append(valid)
            ats.append(at)
        use = Quantizer.draw_latency
        if use != Draws.lead:
            raise AssertionError("the draws come at another clock than the quantiser uses them")
        m.d.comb += [
            draws.load.eq(valids[use - 1] & ats[use - 1].first),
            draws.step.eq(valids[use] & ~ats[use].whole),
        ]
        m.submodules.raw = raw = Delay(32 * lanes, Quantizer.latency + Packer.raw_latency)
        m.d.comb += [
            raw.i.eq(data_0),
            packer.i_valid.eq(valids[-1]),
            packer.raw.eq(raw.o),
            packer.i.codes.eq(quantizer.o),
            *(packer.i[name].eq(at[name])
              for name in ("whole", "empty", "norm_valid", "norm", "codec", "last", "error")),
        ]

        # ---- out ----
        begin = Signal(init=1)
        out = stream.Signature(beat_layout(lanes, self.side)).create()
        m.d.comb += [
            out.valid.eq(packer.o.valid),
            packer.o.ready.eq(out.ready),
            *(out.p[name].eq(packer.o.p[name]) for name in ("data", "empty", "last", "error")),
            out.p.first.eq(begin),
            out.p.side.eq(sides.o.p),
            sides.o.ready.eq(out.valid & out.ready & out.p.last),
            self.drop.eq(check.drop),
        ]
        with m.If(out.valid & out.ready):
            m.d.sync += begin.eq(out.p.last)
        if self.store_bytes is None:
            wiring.connect(m, out, wiring.flipped(self.o))
        else:
            m.submodules.store = store = FrameStore(
                lanes=lanes, store_bytes=self.store_bytes, side=self.side)
            wiring.connect(m, out, store.i)
            wiring.connect(m, store.o, wiring.flipped(self.o))
            m.d.comb += [
                store.cut_through.eq(self.cut_through),
                self.drop.long.eq(store.dropped_long),
            ]
        return m
