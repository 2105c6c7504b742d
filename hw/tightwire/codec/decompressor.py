"""Records in, float32 out."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..formats import BUCKETS
from ..stream.beat import SIDE, BeatStream, beat_layout
from ..stream.delay import Delay
from ..stream.frame_fifo import FrameStore
from ..stream.outlet import Outlet
from .check import DROPS, FrameCheck
from .dequantizer import Dequantizer
from .unpacker import Unpacker

__all__ = ["Decompressor"]


class Decompressor(wiring.Component):
    """Frames of records to frames of float32, the codec chosen frame by frame.

    The output moves a beat every clock for frames of 16 beats and more, as long as the input
    keeps up. Latency, first beat in to first beat out, nothing waiting: ``latency`` clocks.
    With a store, a frame is decoded once it is whole, and a malformed one not at all; without, or
    with ``cut_through`` high, one whose first beat has left already ends with an error mark.

    Parameters
    ----------
    lanes : int
    max_bucket : int
    store_bytes : int or None
        What the store at the input holds; None for no store.
    side : data.StructLayout
        Side band of the beats: ``SIDE``, or one that has its members and more. It comes out as it
        went in, on every beat of the frame.
    check : bool
        False where the frames have been through a ``FrameCheck`` already: its own is left out.

    Members
    -------
    i : In, stream of beats: the payload
    o : Out, stream of beats: float32, whole buckets
    cut_through : In(1), as FrameStore; without effect where there is none
    drop : Out, DROPS, a reason high for one clock for each frame that is dropped or marked
    """

    def __init__(self, *, lanes, max_bucket=BUCKETS[-1], store_bytes=None, side=SIDE,
                 check=True):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.max_bucket = check_choice("max_bucket", max_bucket, BUCKETS)
        self.store_bytes = store_bytes
        self.side = side
        self.check = check
        # With one lane a norm and its first codes are two beats.
        self.latency = ((FrameCheck.records_latency if check else 0)
                        + (0 if store_bytes is None else FrameStore.latency)
                        + Unpacker.latency + (lanes == 1) + Dequantizer.latency + Outlet.latency)
        super().__init__({
            "i": In(BeatStream(lanes, side)), "o": Out(BeatStream(lanes, side)),
            "cut_through": In(1), "drop": Out(DROPS),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.unpacker = unpacker = Unpacker(
            lanes=self.lanes, max_bucket=self.max_bucket, side=self.side)
        m.submodules.dequantizer = dequantizer = Dequantizer(lanes=self.lanes)
        m.submodules.outlet = outlet = Outlet(
            beat_layout(self.lanes, self.side), Unpacker.item_latency + Dequantizer.latency + 8)
        item = unpacker.o
        # What goes beside the codes. The ring has no reset, so valid has registers of its own.
        control = data.StructLayout({name: item[name].shape() for name in (
            "whole", "empty", "first", "last", "error", "side")})
        m.submodules.beside = beside = Delay(control, Dequantizer.latency)
        m.submodules.raw = raw = Delay(
            32 * self.lanes, Unpacker.raw_lead + Dequantizer.latency)
        before, after = Signal(control), Signal(control)
        valid = unpacker.o_valid
        for n in range(Dequantizer.latency):
            stage = Signal(name=f"valid_{n}")
            m.d.sync += stage.eq(valid)
            valid = stage

        frames = wiring.flipped(self.i)
        if self.check:
            m.submodules.check = check = FrameCheck(
                lanes=self.lanes, max_bucket=self.max_bucket, records=True, side=self.side)
            wiring.connect(m, frames, check.i)
            m.d.comb += self.drop.eq(check.drop)
            frames = check.o
        wiring.connect(m, outlet.o, wiring.flipped(self.o))
        if self.store_bytes is None:
            wiring.connect(m, frames, unpacker.i)
        else:
            m.submodules.store = store = FrameStore(
                lanes=self.lanes, store_bytes=self.store_bytes, side=self.side)
            wiring.connect(m, frames, store.i)
            wiring.connect(m, store.o, unpacker.i)
            m.d.comb += [
                store.cut_through.eq(self.cut_through),
                self.drop.long.eq(store.dropped_long),
            ]
        m.d.comb += [
            unpacker.room.eq(outlet.room),
            outlet.reserve.eq(unpacker.issue),
            dequantizer.norm_valid.eq(unpacker.o_valid & item.norm_valid),
            dequantizer.norm.eq(item.norm),
            dequantizer.codec.eq(item.side.codec),
            dequantizer.codes.eq(item.codes),
            *(before[name].eq(item[name]) for name in control.members),
            beside.i.eq(before),
            raw.i.eq(unpacker.raw),
            after.eq(beside.o),
            outlet.i_valid.eq(valid),
            *(outlet.i[name].eq(after[name])
              for name in ("empty", "first", "last", "error", "side")),
            outlet.i.data.eq(dequantizer.o),
        ]
        with m.If(after.whole):
            m.d.comb += outlet.i.data.as_value().eq(raw.o)
        return m
