"""Reads pieces of the host's memory."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..stream.beat import BeatStream, beat_layout
from ..stream.buffer import Buffer
from ..stream.queue import Queue
from ..stream.ram_queue import RamQueue
from .axi import AxiRead, Response
from .bursts import Bursts, piece_layout
from .transfer import request_layout

__all__ = ["Reader"]

_SHALLOW = 32  # a buffer of so many beats is not worth a row of block RAMs


class Reader(wiring.Component):
    """Each request becomes a frame of beats, its first byte in byte 0, what is behind its end 0.

    Room for a burst is kept before it is asked for, so what comes from memory never waits: several
    readers can share a port without one of them blocking another.

    One beat a clock for pieces that begin at a whole beat; one that does not may cost one clock
    more. A piece takes 4 clocks or more, 3 for each burst and 1. From a request to the first beat:
    ``latency`` clocks, and those of the memory from ar to r. An answer with an error (SLVERR,
    DECERR) marks the frame.

    Parameters
    ----------
    lanes : int
    tag : shape-like
        Goes beside the frame.
    depth : int
        Beats that are on their way from memory, or have come and not been taken, 16 to 4,096: as
        many as the memory's latency, for a beat a clock.
    pieces : int
        Requests that are under way, 2 or more. With short pieces this, too, has to cover the
        memory's latency: 100 clocks take 32 pieces of 4 beats.
    aligned : bool
        All pieces begin at a whole beat: lower bits of an address are not looked at, and nothing
        is built that turns words.

    Members
    -------
    request : In, stream of ``request_layout``
    axi : Out, AxiRead
    o : Out, stream of beats
    idle : Out(1), nothing is under way in memory
    """

    def __init__(self, *, lanes, tag, depth=256, pieces=16, aligned=False):
        self.lanes = check_choice("lanes", lanes, LANES)
        if not 16 <= depth <= 4096:
            raise ValueError(f"depth must be from 16 to 4096, not {depth}")
        self.tag = tag
        self.depth = depth
        self.pieces = pieces
        self.aligned = aligned
        self._kind = Queue if depth <= _SHALLOW else RamQueue
        self.latency = Bursts.latency + self._kind.latency + Buffer.latency
        super().__init__({
            "request": In(stream.Signature(request_layout(tag))),
            "axi": Out(AxiRead(lanes)),
            "o": Out(BeatStream(lanes, tag)),
            "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.lanes
        # Of a small buffer, half may be asked for at a time, so that the other half can be.
        m.submodules.bursts = bursts = Bursts(
            lanes=lanes, tag=self.tag, most_beats=min(256, self.depth // 2))
        m.submodules.pieces = pieces = Queue(piece_layout(lanes, self.tag), self.pieces)
        m.submodules.come = come = self._kind(
            data.StructLayout({"data": data.ArrayLayout(32, lanes), "bad": 1}), self.depth)
        m.submodules.out = out = Buffer(beat_layout(lanes, self.tag))
        request = self.request
        m.d.comb += [
            bursts.request.valid.eq(request.valid), request.ready.eq(bursts.request.ready),
            bursts.request.p.eq(request.p),
        ]
        if self.aligned:
            low = (4 * lanes).bit_length() - 1
            m.d.comb += bursts.request.p.address.eq(
                Cat(Const(0, low), request.p.address[low:]))
        wiring.connect(m, bursts.piece, pieces.i)
        wiring.connect(m, bursts.burst, wiring.flipped(self.axi.ar))
        wiring.connect(m, out.o, wiring.flipped(self.o))

        free = Signal(range(self.depth + 1), init=self.depth)
        away = Signal(range(self.depth + 1))  # beats asked for that have not come
        asked = Signal(range(self.depth + 1))
        with m.If(self.axi.ar.valid & self.axi.ar.ready):
            m.d.comb += asked.eq(self.axi.ar.p.beats + 1)
        taken = come.o.valid & come.o.ready
        arrived = self.axi.r.valid
        m.d.sync += [free.eq(free - asked + taken), away.eq(away + asked - arrived)]
        m.d.comb += [
            bursts.room.eq(free),
            self.axi.r.ready.eq(1),
            come.i.valid.eq(arrived),
            come.i.p.data.eq(self.axi.r.p.data),
            come.i.p.bad.eq((self.axi.r.p.response == Response.SLVERR)
                            | (self.axi.r.p.response == Response.DECERR)),
            self.idle.eq((away == 0) & ~self.axi.ar.valid & ~pieces.o.valid),
        ]

        # What has come, turned so that the piece's first word is word 0, and put together with
        # what was left of the beat before.
        piece = pieces.o.p
        skip = Const(0, len(piece.skip)) if self.aligned else piece.skip
        words = Array(come.o.p.data[n] for n in range(lanes))
        turned = Signal(data.ArrayLayout(32, lanes))
        rest = Signal(data.ArrayLayout(32, lanes), reset_less=True)  # turned, of the last beat
        begun = Signal()   # the piece has given a beat already
        held = Signal()    # ``rest`` is of this piece
        bad = Signal()
        left = Signal(len(piece.bytes), reset_less=True)
        need = Signal(len(piece.bytes))
        final = Signal()   # the piece ends with the beat that is made now
        flush = Signal()   # and nothing more need come for that
        make = Signal()
        use = Signal()
        step = Signal()
        beat = out.i.p
        room_in_rest = Signal(range(4 * lanes + 1))
        m.d.comb += [
            *(turned[n].eq(words[(n + skip)[:max(1, (lanes - 1).bit_length())]]
                           if lanes > 1 else words[0]) for n in range(lanes)),
            need.eq(Mux(begun, left, piece.bytes)),
            final.eq(need <= 4 * lanes),
            room_in_rest.eq(4 * lanes - (skip << 2)),
            # The rest of the beat before is enough, or this first beat is.
            flush.eq(held & (need <= room_in_rest)),
            make.eq((skip == 0) | held | (need <= room_in_rest)),
            step.eq(pieces.o.valid & (out.i.ready | ~make) & (come.o.valid | flush)),
            use.eq(step & ~flush),
            come.o.ready.eq(use),
            out.i.valid.eq(pieces.o.valid & make & (come.o.valid | flush)),
            pieces.o.ready.eq(step & make & final),
            beat.first.eq(~begun),
            beat.last.eq(final),
            beat.error.eq(final & (bad | use & come.o.p.bad)),
            beat.side.eq(piece.tag),
            beat.empty.eq(Mux(final, (-need)[:len(beat.empty)], 0)),
        ]
        for n in range(lanes):
            word = Signal(32, name=f"word_{n}")
            # ``turned`` has this beat's words first and the next ones' behind them, so where
            # ``rest`` has one, it comes before.
            in_rest = held & (n < lanes - skip)
            m.d.comb += word.eq(Mux(in_rest, rest[n], turned[n]))
            for k in range(4):
                m.d.comb += beat.data[n][8 * k:8 * k + 8].eq(
                    Mux(need > 4 * n + k, word[8 * k:8 * k + 8], 0))
        with m.If(use):
            m.d.sync += rest.eq(turned)
        with m.If(step):
            m.d.sync += [bad.eq(bad | use & come.o.p.bad), held.eq(skip != 0)]
            with m.If(make):
                m.d.sync += [begun.eq(1), left.eq(need - 4 * lanes)]
                with m.If(final):
                    m.d.sync += [begun.eq(0), held.eq(0), bad.eq(0)]
        return m
