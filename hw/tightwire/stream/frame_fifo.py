"""A FIFO of beats in block RAM that knows frames."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from .beat import SIDE, BeatStream, beat_layout
from .ram_queue import RamReader, following

__all__ = ["FrameFifo", "FrameStore"]


class _FrameRam(wiring.Component):
    """The memory and the read side that both FIFOs share.

    The owner writes at ``write_at`` and says by ``add`` how many beats have become readable;
    ``o`` gives them out, with one entry of the side memory for each frame.
    """

    def __init__(self, *, lanes, depth, frames, side):
        self.depth = depth
        self.frames = frames
        self.side = side
        super().__init__({
            "write": In(1),
            "write_at": In(range(depth)),
            "beat": In(beat_layout(lanes, side)),
            "side_at": In(range(frames)),
            "add": In(range(depth + 1)),
            "taken": Out(1),       # a beat was read: its place is free
            "taken_side": Out(1),  # a frame has left: its side entry is free
            "o": Out(BeatStream(lanes, side)),
        })

    def elaborate(self, platform):
        m = Module()
        stored = data.StructLayout({
            name: self.beat[name].shape() for name in ("data", "empty", "last", "error")})
        m.submodules.beats = beats = RamReader(stored, self.depth)
        # The next frame's entry is read ahead, over and over, so that the last look is not older
        # than the beat that it goes with.
        m.submodules.sides = sides = memory.Memory(
            shape=self.side, depth=self.frames, init=[],
            attrs={"ram_style": "block" if self.frames > 16 else "distributed"})
        write_side, read_side = sides.write_port(), sides.read_port()
        side_at = Signal(range(self.frames))
        side_next = Signal(range(self.frames))
        held_side = Signal(self.side, reset_less=True)
        begin = Signal()
        first = Signal(init=1)
        held_first = Signal(reset_less=True)
        m.d.comb += [
            beats.write.eq(self.write),
            beats.write_at.eq(self.write_at),
            *(beats.data[name].eq(self.beat[name]) for name in stored.members),
            beats.add.eq(self.add),
            self.taken.eq(beats.taken),
            write_side.en.eq(self.write),
            write_side.addr.eq(self.side_at),
            write_side.data.eq(self.beat.side),

            begin.eq(beats.moved & first),
            side_next.eq(Mux(begin, following(side_at, self.frames), side_at)),
            read_side.en.eq(1),
            read_side.addr.eq(side_next),
            self.taken_side.eq(beats.moved & beats.next.last),
            self.o.valid.eq(beats.o.valid),
            beats.o.ready.eq(self.o.ready),
            *(self.o.p[name].eq(beats.o.p[name]) for name in stored.members),
            self.o.p.first.eq(held_first),
            self.o.p.side.eq(held_side),
        ]
        with m.If(beats.moved):
            m.d.sync += [held_first.eq(first), first.eq(beats.next.last)]
        with m.If(begin):
            m.d.sync += held_side.eq(read_side.data)
        m.d.sync += side_at.eq(side_next)
        return m


class FrameFifo(wiring.Component):
    """A FIFO of beats, in order, nothing lost.

    Latency 3 clocks, one beat a clock. ``i.ready`` comes from counters only.

    Parameters
    ----------
    lanes : int
    depth : int
        Beats held, 2 or more.
    frames : int
        Frames held, 2 or more.
    side : data.StructLayout
        Side band of the beats.
    """

    latency = 3

    def __init__(self, *, lanes, depth, frames, side=SIDE):
        self.lanes = lanes
        self.depth = depth
        self.frames = frames
        self.side = side
        super().__init__({"i": In(BeatStream(lanes, side)), "o": Out(BeatStream(lanes, side))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = _FrameRam(
            lanes=self.lanes, depth=self.depth, frames=self.frames, side=self.side)
        wiring.connect(m, ram.o, wiring.flipped(self.o))
        free = Signal(range(self.depth + 1), init=self.depth)
        slots = Signal(range(self.frames + 1), init=self.frames)
        write = Signal()
        m.d.comb += [
            # The slot of a frame is counted at its last beat, so a frame that has begun has one.
            self.i.ready.eq((free != 0) & (slots != 0)),
            write.eq(self.i.valid & self.i.ready),
            ram.write.eq(write),
            ram.beat.eq(self.i.p),
            ram.add.eq(write),
        ]
        m.d.sync += [
            free.eq(free - write + ram.taken),
            slots.eq(slots - (write & self.i.p.last) + ram.taken_side),
        ]
        with m.If(write):
            m.d.sync += ram.write_at.eq(following(ram.write_at, self.depth))
            with m.If(self.i.p.last):
                m.d.sync += ram.side_at.eq(following(ram.side_at, self.frames))
        return m


class FrameStore(wiring.Component):
    """A FIFO that lets a frame out once it is whole, and a broken one not at all.

    A frame whose last beat says ``error`` is taken back, unless it is a bypass frame: that one
    passes with its mark. A frame that does not fit the memory is dropped whole.

    With ``cut_through`` high (to be changed only while nothing is inside) every beat leaves as
    soon as it can, and a broken frame leaves with its mark.

    Latency 3 clocks from the last beat in, or from the same beat with ``cut_through``; one beat
    a clock. ``i.ready`` comes from counters only.

    Parameters
    ----------
    lanes : int
    store_bytes : int
        What is held, in bytes; also the longest frame.
    side : data.StructLayout
        Side band of the beats, with a member ``bypass``. What it says with a frame's last beat
        goes with the whole frame: so it may say what is only known there, such as a length. Not
        so with ``cut_through``.
    lossy : bool
        Whether a frame for which there is no room is dropped, where otherwise it waits. Then
        ``i.ready`` is always high: for what comes from a wire.

    Members
    -------
    i, o : streams of beats
    cut_through : In(1)
    kept : Out(1), with the last beat of a frame that will leave
    dropped_long, dropped_full : Out(1), high for one clock at the end of a frame that did not
        fit, or that found no room, and that nothing else is wrong with
    """

    latency = 3

    def __init__(self, *, lanes, store_bytes, side=SIDE, lossy=False):
        self.lanes = lanes
        self.side = side
        self.lossy = lossy
        self.depth = -(-store_bytes // (4 * lanes))
        self.frames = min(self.depth, 64)
        super().__init__({
            "i": In(BeatStream(lanes, side)),
            "o": Out(BeatStream(lanes, side)),
            "cut_through": In(1),
            "kept": Out(1),
            "dropped_long": Out(1),
            "dropped_full": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = _FrameRam(
            lanes=self.lanes, depth=self.depth, frames=self.frames, side=self.side)
        wiring.connect(m, ram.o, wiring.flipped(self.o))
        free = Signal(range(self.depth + 1), init=self.depth)
        slots = Signal(range(self.frames + 1), init=self.frames)
        begun = Signal(range(self.depth + 1))  # beats written of the frame that is not whole yet
        begun_at = Signal(range(self.depth))
        skip = Signal()                        # the rest of a frame that did not fit is let go
        full = Signal()                        # that is because there was no room
        room = Signal()
        too_long = Signal()
        no_room = Signal()
        write = Signal()
        end = Signal()
        fine = Signal()
        back = Signal()
        beat = self.i.p
        m.d.comb += [
            too_long.eq((begun == self.depth) & ~skip),
            room.eq((free != 0) & (slots != 0)),
            self.i.ready.eq(room | skip | bool(self.lossy)),
            write.eq(self.i.valid & room & ~skip),
            no_room.eq(self.i.valid & ~room & ~skip & bool(self.lossy)),
            end.eq(write & beat.last),
            back.eq(end & beat.error & ~beat.side.bypass & ~self.cut_through),
            # One that is broken as well has been counted by who found that.
            fine.eq(self.i.valid & beat.last & (~beat.error | beat.side.bypass)),
            self.dropped_long.eq((skip & ~full | no_room & too_long) & fine),
            self.dropped_full.eq((skip & full | no_room & ~too_long) & fine),
            self.kept.eq(end & ~back),
            ram.write.eq(write),
            ram.beat.eq(beat),
        ]
        with m.If(skip & self.i.valid & beat.last):
            m.d.sync += skip.eq(0)
        with m.If(too_long | no_room):
            m.d.sync += [
                skip.eq(~(no_room & beat.last)), full.eq(~too_long), begun.eq(0),
                ram.write_at.eq(begun_at)]
        with m.Elif(back):
            m.d.sync += [begun.eq(0), ram.write_at.eq(begun_at)]
        with m.Elif(write):
            m.d.sync += ram.write_at.eq(following(ram.write_at, self.depth))
            with m.If(end | self.cut_through):
                m.d.comb += ram.add.eq(begun + 1)
                m.d.sync += [begun.eq(0), begun_at.eq(following(ram.write_at, self.depth))]
            with m.Else():
                m.d.sync += begun.eq(begun + 1)
            with m.If(end):
                m.d.sync += ram.side_at.eq(following(ram.side_at, self.frames))
        given_back = Signal(range(self.depth + 1))
        m.d.comb += given_back.eq(Mux(too_long | no_room, begun, Mux(back, begun + 1, 0)))
        m.d.sync += [
            free.eq(free - write + ram.taken + given_back),
            slots.eq(slots - (end & ~back) + ram.taken_side),
        ]
        return m
