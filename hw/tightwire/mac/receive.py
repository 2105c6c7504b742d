"""What is checked of a received frame, and its way into the card's clock domain."""

from amaranth.hdl import Array, Module, Mux, Signal
from amaranth.lib import data, fifo, wiring
from amaranth.lib.wiring import In, Out

from ..config import ConfigError, check_choice
from ..stream.beat import BeatStream
from ..stream.buffer import Buffer
from .fcs import INIT, residue, step

__all__ = ["REASONS", "DROPS", "ETHERNET", "ReceiveCheck", "ReceiveQueue"]

REASONS = ("phy", "long", "runt", "fcs", "overrun", "start")
"""Why a frame is not good. Where several are true, the first of these is given: the PHY said so;
it is longer than the limit; shorter than 64 bytes with its FCS; the FCS is wrong; the card did not
take it in time; there was no start delimiter."""

DROPS = data.StructLayout(dict.fromkeys(REASONS, 1))

ETHERNET = data.StructLayout({"bypass": 1})
"""A side band that says only that a frame is to pass as it is."""

_CODE = {name: n for n, name in enumerate(REASONS, 1)}  # 0 is good
_FCS_BYTES = 4
_SHORTEST = 64


def _word(lanes):
    return data.StructLayout({
        "data": 32 * lanes, "empty": range(4 * lanes), "last": 1, "error": 1})


def _checked(lanes):
    return data.StructLayout({
        "data": 32 * lanes, "empty": range(4 * lanes), "last": 1, "reason": 3})


class ReceiveCheck(wiring.Component):
    """Frames with FCS in, frames without out, with what is wrong with them on the last word.

    There is no ready: a wire does not wait. A frame that is longer than the limit is cut there.
    One that is not longer than its FCS leaves as one marked word. Latency 3 clocks from the last
    word; one word a clock.

    Parameters
    ----------
    lanes : int
        1 or 2.
    max_frame : int
        The longest frame, in bytes, without FCS.

    Members
    -------
    i_valid, i : In; the unused bytes of the last word are 0, ``error`` may be at any word
    o_valid, o : Out; ``reason`` counts with ``last``: 0, or the place in ``REASONS`` from 1 on
    """

    latency = 3

    def __init__(self, *, lanes, max_frame):
        self.lanes = check_choice("lanes", lanes, (1, 2))
        if not isinstance(max_frame, int) or not 60 <= max_frame <= 65536:
            raise ConfigError(f"max_frame must be an int from 60 to 65536, not {max_frame!r}")
        self.max_frame = max_frame
        super().__init__({"i_valid": In(1), "i": In(_word(lanes)),
                          "o_valid": Out(1), "o": Out(_checked(lanes))})

    def elaborate(self, platform):
        m = Module()
        size = 4 * self.lanes
        limit = self.max_frame + _FCS_BYTES
        most = -(-limit // size)  # words of the longest frame
        i = self.i
        begin = Signal(init=1)
        skip = Signal()
        words = Signal(range(most + 1))  # before this one
        crc = Signal(32, reset_less=True)
        marked = Signal(reset_less=True)

        # First clock: the register of the FCS, and the length.
        word = Signal(_word(self.lanes), reset_less=True)
        valid = Signal()
        short = Signal(reset_less=True)
        long = Signal(reset_less=True)
        cut = Signal()
        m.d.comb += cut.eq(~i.last & (words == most))
        m.d.sync += valid.eq(self.i_valid & ~skip)
        with m.If(self.i_valid):
            m.d.sync += [
                word.eq(i),
                word.last.eq(i.last | cut),
                marked.eq(i.error | ~begin & marked),
                crc.eq(step(Mux(begin, INIT, crc), i.data)),
                begin.eq(i.last),
                short.eq(words < _SHORTEST // size - 1),
                words.eq(Mux(i.last, 0, Mux(words == most, most, words + 1))),
                skip.eq(~i.last & (skip | cut)),
            ]
            # The word of the shortest and the longest frame's end has a limit of its own.
            m.d.sync += long.eq(cut | (words == most)
                                | (words == most - 1) & (i.empty < most * size - limit))
            with m.If(words == _SHORTEST // size - 1):
                m.d.sync += short.eq(i.empty != 0)
        # Second clock: the verdict.
        good = Array(residue(zeros) for zeros in range(size))[word.empty]
        reason = Signal(3)
        with m.If(marked):
            m.d.comb += reason.eq(_CODE["phy"])
        with m.Elif(long):
            m.d.comb += reason.eq(_CODE["long"])
        with m.Elif(short):
            m.d.comb += reason.eq(_CODE["runt"])
        with m.Elif(crc != good):
            m.d.comb += reason.eq(_CODE["fcs"])
        # A word is held until it is known whether the FCS begins behind it.
        held = Signal(_checked(self.lanes), reset_less=True)
        held_valid = Signal()
        out = Signal(_checked(self.lanes), reset_less=True)
        m.d.comb += self.o.eq(out)
        m.d.sync += [out.eq(held), self.o_valid.eq(held_valid & (valid | held.last))]
        with m.If(held.last):
            m.d.sync += held_valid.eq(0)
        ends_before = Signal()
        m.d.comb += ends_before.eq(
            valid & word.last & (word.empty >= size - _FCS_BYTES) & held_valid & ~held.last)
        with m.If(ends_before):
            m.d.sync += [
                out.last.eq(1), out.reason.eq(reason), held_valid.eq(0),
                out.empty.eq(word.empty - (size - _FCS_BYTES)),
            ]
        with m.Elif(valid):
            m.d.sync += [
                held_valid.eq(1),
                held.data.eq(word.data), held.last.eq(word.last), held.reason.eq(reason),
                held.empty.eq(Mux(word.last & (word.empty < size - _FCS_BYTES),
                                  word.empty + _FCS_BYTES, 0)),
            ]
        return m


class ReceiveQueue(wiring.Component):
    """From a PHY's clock domain into ``sync``: a FIFO, and the account of what did not fit.

    A frame for whose first word there is no room is swallowed; one that runs out of room ends
    there with a mark. Both are counted as ``overrun``.

    Parameters
    ----------
    lanes, depth : int
    domain : str
        Where the words come from.
    side : data.StructLayout
    fields : dict
        What the side band says on every beat.

    Members
    -------
    i_valid, i : In, of ``ReceiveCheck``, in ``domain``
    no_start : In(1), in ``domain``: something without a start delimiter came
    o : Out, stream of beats
    drop : Out, of layout ``DROPS``, a clock high for each frame that is not good
    """

    def __init__(self, *, lanes, depth, domain, side, fields):
        self.lanes = lanes
        self.depth = depth
        self.domain = domain
        self.side = side
        self.fields = fields
        super().__init__({
            "i_valid": In(1), "i": In(_checked(lanes)), "no_start": In(1),
            "o": Out(BeatStream(lanes, side)), "drop": Out(DROPS)})

    def elaborate(self, platform):
        m = Module()
        shape = _checked(self.lanes)
        entry = data.StructLayout({"word": shape, "note": 1})  # note: a reason without a frame
        m.submodules.fifo = queue = fifo.AsyncFIFO(
            width=entry.size, depth=self.depth, w_domain=self.domain, r_domain="sync")
        here = m.d[self.domain]
        put = Signal(entry)
        begun = Signal()
        skip = Signal()
        owed = Signal()  # a frame's end that there was no room for
        take = Signal()
        lost = Signal()
        noted = Signal()
        overruns, starts = Signal(16), Signal(16)  # frames that are not noted yet
        m.d.comb += [
            take.eq(self.i_valid & queue.w_rdy & ~skip & ~owed),
            lost.eq(self.i_valid & ~take & ~skip),
            put.word.eq(self.i),
            queue.w_data.eq(put),
            queue.w_en.eq(take),
        ]
        with m.If(~take & queue.w_rdy):
            with m.If(owed):
                m.d.comb += [queue.w_en.eq(1), put.word.last.eq(1), put.word.empty.eq(0),
                             put.word.reason.eq(_CODE["overrun"])]
                here += owed.eq(0)
            with m.Elif(((overruns != 0) | (starts != 0)) & ~begun):
                m.d.comb += [
                    queue.w_en.eq(1), put.note.eq(1), noted.eq(1),
                    put.word.reason.eq(Mux(overruns != 0, _CODE["overrun"], _CODE["start"]))]
        with m.If(take):
            here += begun.eq(~self.i.last)
        with m.If(self.i_valid):
            here += skip.eq((skip | lost) & ~self.i.last)
        with m.If(lost & begun):
            here += [owed.eq(1), begun.eq(0)]
        here += [
            overruns.eq(overruns + (lost & ~begun) - (noted & (overruns != 0))),
            starts.eq(starts + self.no_start - (noted & (overruns == 0))),
        ]

        got = data.View(entry, queue.r_data)
        m.submodules.buffer = buffer = Buffer(self.o.p.shape())
        wiring.connect(m, buffer.o, wiring.flipped(self.o))
        first = Signal(init=1)
        ended = Signal()
        beat = buffer.i.p
        m.d.comb += [
            buffer.i.valid.eq(queue.r_rdy & ~got.note),
            queue.r_en.eq(buffer.i.ready | got.note),
            beat.data.as_value().eq(got.word.data),
            beat.empty.eq(Mux(got.word.last, got.word.empty, 0)),
            beat.first.eq(first),
            beat.last.eq(got.word.last),
            beat.error.eq(got.word.last & (got.word.reason != 0)),
            *(beat.side[name].eq(value) for name, value in self.fields.items()),
            ended.eq(queue.r_rdy & queue.r_en & (got.word.last | got.note)),
        ]
        m.d.sync += [self.drop[name].eq(ended & (got.word.reason == code))
                     for name, code in _CODE.items()]
        with m.If(queue.r_rdy & queue.r_en & ~got.note):
            m.d.sync += first.eq(got.word.last)
        return m
