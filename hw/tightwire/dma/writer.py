"""Writes pieces of the host's memory."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..stream.beat import BeatStream
from ..stream.buffer import Buffer
from ..stream.queue import Queue
from .axi import AxiWrite, Response
from .bursts import Bursts, piece_layout
from .transfer import done_layout, request_layout

__all__ = ["Writer"]

_ANY_ROOM = (1 << 16) - 1


class Writer(wiring.Component):
    """Writes frames of beats, one to each piece, and says when they are written.

    The n-th frame holds exactly the bytes of the n-th request; its first byte goes to the
    piece's. Bytes outside of a piece are never written: their strobes are low.

    One beat a clock for pieces that begin at a whole beat; one that does not may cost one more.
    A piece takes 4 clocks or more. ``done`` comes in order, when memory has answered all bursts
    of a piece, a clock after the last answer; an answer with an error (SLVERR, DECERR) marks it.

    Answers of memory never wait, also where ``done`` does: so writers that share a port don't hold
    up each other's answers. Data do: a burst is asked for when its request is there, and other
    writers' data wait behind it. So a frame must be sure to come once its request is made.

    Parameters
    ----------
    lanes : int
    tag : shape-like
        Comes back in ``done``.
    side : data.StructLayout
        Side band of the beats, which is not looked at.
    bursts : int
        Bursts that are under way, and pieces whose ``done`` is not taken, each 2 or more.
        With short pieces this has to cover the memory's latency: see docs/dma.md.

    Members
    -------
    request : In, stream of ``request_layout``
    i : In, stream of beats
    axi : Out, AxiWrite
    done : Out, stream of ``done_layout``
    idle : Out(1), nothing is under way in memory
    """

    def __init__(self, *, lanes, tag, side, bursts=16):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.tag = tag
        self.bursts = bursts
        super().__init__({
            "request": In(stream.Signature(request_layout(tag))),
            "i": In(BeatStream(lanes, side)),
            "axi": Out(AxiWrite(lanes)),
            "done": Out(stream.Signature(done_layout(tag))),
            "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.lanes
        bursts = Bursts(lanes=lanes, tag=self.tag)
        m.submodules.bursts = bursts
        m.submodules.pieces = pieces = Queue(piece_layout(lanes, data.StructLayout({})), 4)
        m.submodules.lengths = lengths = Queue(8, self.bursts)
        m.submodules.away = away = Queue(
            data.StructLayout({"final": 1, "tag": self.tag}), self.bursts)
        m.submodules.dones = dones = Queue(self.done.p.shape(), self.bursts)
        wiring.connect(m, dones.o, wiring.flipped(self.done))
        slots = Signal(range(self.bursts + 1), init=self.bursts)  # of ``dones``, not promised
        wiring.connect(m, wiring.flipped(self.request), bursts.request)
        aw, w, b = self.axi.aw, self.axi.w, self.axi.b
        asked = Signal()
        may_ask = Signal()
        m.d.comb += [
            bursts.room.eq(_ANY_ROOM),
            bursts.piece.ready.eq(pieces.i.ready),
            pieces.i.valid.eq(bursts.piece.valid),
            pieces.i.p.bytes.eq(bursts.piece.p.bytes),
            pieces.i.p.skip.eq(bursts.piece.p.skip),
        ]
        # A burst goes out once, and so do its length and what is known of it.
        m.submodules.address = address = Buffer(aw.p.shape())
        wiring.connect(m, address.o, wiring.flipped(aw))
        m.d.comb += [
            address.i.p.eq(bursts.burst.p),
            may_ask.eq(address.i.ready & lengths.i.ready & away.i.ready
                       & (~bursts.final | (slots != 0))),
            asked.eq(bursts.burst.valid & may_ask),
            address.i.valid.eq(asked), lengths.i.valid.eq(asked), away.i.valid.eq(asked),
            bursts.burst.ready.eq(may_ask),
            lengths.i.p.eq(bursts.burst.p.beats),
            away.i.p.final.eq(bursts.final), away.i.p.tag.eq(bursts.tag),
        ]

        # The frame's words, turned to their places; what does not fit the beat goes to the next.
        piece = pieces.o.p
        skip = piece.skip
        beat = self.i.p
        at_bits = max(1, (lanes - 1).bit_length())
        words = Array(beat.data[n] for n in range(lanes))
        turned = Signal(data.ArrayLayout(32, lanes))
        rest = Signal(data.ArrayLayout(32, lanes), reset_less=True)
        begun = Signal()
        flush = Signal()    # the frame has come to its end, and a rest is left
        left = Signal(len(piece.bytes), reset_less=True)  # with the words skipped, from here on
        need = Signal(len(piece.bytes) + 1)
        final = Signal()
        step = Signal()
        count = Signal(8)   # beats of the burst that have gone
        m.submodules.out = out = Buffer(w.p.shape())
        wiring.connect(m, out.o, wiring.flipped(w))
        may = pieces.o.valid & lengths.o.valid & (self.i.valid | flush)
        m.d.comb += [
            *(turned[n].eq(words[(n - skip)[:at_bits]] if lanes > 1 else words[0])
              for n in range(lanes)),
            need.eq(Mux(begun, left, piece.bytes + (skip << 2))),
            final.eq(need <= 4 * lanes),
            out.i.valid.eq(may),
            step.eq(may & out.i.ready),
            self.i.ready.eq(step & ~flush),
            pieces.o.ready.eq(step & final),
            *(out.i.p.data[n].eq(Mux(n < skip, rest[n], turned[n])) for n in range(lanes)),
            out.i.p.strobes.eq(Cat((need > n) & (begun | (n // 4 >= skip))
                                   for n in range(4 * lanes))),
            out.i.p.last.eq(count == lengths.o.p),
            lengths.o.ready.eq(step & out.i.p.last),
        ]
        with m.If(step):
            m.d.sync += [
                rest.eq(turned), begun.eq(~final), left.eq(need - 4 * lanes),
                flush.eq(~flush & beat.last & ~final),
                count.eq(Mux(out.i.p.last, 0, count + 1)),
            ]

        # Answers come in the order of the bursts, and never wait: a piece's place in ``dones`` is
        # kept from before its last burst is asked for.
        answered = Signal()
        bad = Signal()
        error = Signal()
        m.d.comb += [
            b.ready.eq(1),
            answered.eq(b.valid & away.o.valid),
            error.eq(bad | (b.p.response == Response.SLVERR) | (b.p.response == Response.DECERR)),
            away.o.ready.eq(b.valid),
            dones.i.valid.eq(answered & away.o.p.final),
            dones.i.p.tag.eq(away.o.p.tag), dones.i.p.error.eq(error),
            self.idle.eq(~away.o.valid & ~pieces.o.valid & ~self.done.valid),
        ]
        m.d.sync += slots.eq(
            slots - (asked & bursts.final) + (self.done.valid & self.done.ready))
        with m.If(answered):
            m.d.sync += bad.eq(error & ~away.o.p.final)
        return m
