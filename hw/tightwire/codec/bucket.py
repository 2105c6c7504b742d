"""Counts the beats of uncompressed data into buckets."""

from amaranth.hdl import Array, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..formats import BUCKETS, LOG2_BUCKET_MAX, LOG2_BUCKET_MIN

__all__ = ["BucketCounter"]


class BucketCounter(wiring.Component):
    """Says of a beat whether it begins or ends a bucket; no latency.

    Members
    -------
    log2_bucket : In(4), constant within a frame
    step : In(1), the beat goes by
    end : In(1), it is the last of its frame: the next one begins a bucket
    first, last : Out(1)
    """

    def __init__(self, *, lanes, max_bucket):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.max_bucket = check_choice("max_bucket", max_bucket, BUCKETS)
        super().__init__({
            "log2_bucket": In(4), "step": In(1), "end": In(1), "first": Out(1), "last": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        lanes_log2 = self.lanes.bit_length() - 1
        width = self.max_bucket.bit_length() - 1 - lanes_log2
        at = Signal(width)
        over = Array(  # ones above the bits that count the beats of a bucket
            (-1 << (log2 - lanes_log2) & (1 << width) - 1)
            if LOG2_BUCKET_MIN <= log2 <= LOG2_BUCKET_MAX else 0 for log2 in range(16))
        m.d.comb += [
            self.first.eq(at == 0),
            self.last.eq((at | over[self.log2_bucket]).all()),
        ]
        with m.If(self.step):
            m.d.sync += at.eq(at + 1)
            with m.If(self.last | self.end):
                m.d.sync += at.eq(0)
        return m
