"""Puts decoded floats where they belong in the host's memory, or adds them to what is there."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arith.float_add import FloatAdd
from ..config import LANES, check_choice
from ..stream.beat import SIDE, BeatStream, beat_layout
from ..stream.delay import Delay
from ..stream.outlet import Outlet
from ..stream.queue import Queue
from .transfer import COMPLETION, NOTHING, Completed, Status, done_layout, request_layout

__all__ = ["LANDING", "Lander"]

LANDING = data.StructLayout({
    "address": 64, "bytes": 32, "add": 1, "data": 1, "final": 1, "entry": 8, "tag": 32,
    "count": 32, "status": Status})
"""Where a frame goes: with ``data`` a piece of ``bytes`` bytes at ``address``, both multiples of
4, to be stored or added. With ``final`` the region ``entry`` is done with it, and is completed
with ``tag``, ``count`` and ``status``."""



class Lander(wiring.Component):
    """Writes each frame to its piece of memory; with ``add``, reads, adds and writes.

    A frame holds whole buckets, and may be longer than its piece: the rest is left out. A sum
    never reads what an earlier piece is about to write: it waits for the answer to that piece.
    So the result of several sums into the same bytes is that of one after the other.

    A region's completion comes when all its writes are answered. If one was answered with an
    error, or a read was, it says so: WRITE_ERROR or READ_ERROR, and what stands there is not
    defined.

    One beat a clock. A sum asks for its bytes ``pieces`` pieces ahead at most.

    Parameters
    ----------
    lanes : int
    regions : int
        Entries that records name, 1 to 256.
    pieces : int
        Pieces that may be under way, a power of two.
    side : data.StructLayout

    Members
    -------
    landing : In, stream of LANDING, one for each frame, in order, and others without data between
    i : In, stream of beats
    read : Out, stream of requests without a tag; read_data : In, stream of beats, what was read
    write : Out, stream of requests without a tag; write_data : Out, stream of beats
    written : In, stream of answers to them
    completion : Out, stream of COMPLETION
    idle : Out(1), nothing is under way
    """

    def __init__(self, *, lanes, regions=16, pieces=8, side=SIDE):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.pieces = check_choice("pieces", pieces, (2, 4, 8, 16))
        self.regions = regions
        self.side = side
        super().__init__({
            "landing": In(stream.Signature(LANDING)),
            "i": In(BeatStream(lanes, side)),
            "read": Out(stream.Signature(request_layout(NOTHING))),
            "read_data": In(BeatStream(lanes, NOTHING)),
            "write": Out(stream.Signature(request_layout(NOTHING))),
            "write_data": Out(BeatStream(lanes, NOTHING)),
            "written": In(stream.Signature(done_layout(NOTHING))),
            "completion": Out(stream.Signature(COMPLETION)),
            "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.work = work = Queue(
            data.StructLayout({"words": 30, "add": 1}), self.pieces)
        m.submodules.ends = ends = Queue(
            data.StructLayout({name: LANDING[name].shape
                               for name in ("data", "add", "final", "entry", "tag", "count",
                                            "status")}), 2 * self.pieces)
        # Whether what was read for a sum came without an error, in order.
        m.submodules.reads = reads = Queue(1, 2 * self.pieces)
        self._issue(m, work, ends)
        self._join(m, work, reads)
        self._finish(m, ends, reads)
        return m

    def _issue(self, m, work, ends):
        """Asks for memory, in the order of the records."""
        piece = Signal(LANDING, reset_less=True)
        # The pieces under way: where each begins and ends, in words.
        bounds = data.StructLayout({"begin": 62, "end": 63})
        m.submodules.pieces = ram = memory.Memory(
            shape=bounds, depth=self.pieces, init=[], attrs={"ram_style": "distributed"})
        store, look = ram.write_port(), ram.read_port()
        newest = Signal(range(self.pieces))
        oldest = Signal(range(self.pieces))
        held = Signal(range(self.pieces + 1))
        at = Signal(range(self.pieces))
        todo = Signal(range(self.pieces + 1))
        seen = Signal(bounds, reset_less=True)
        looking = Signal(2)  # an entry comes out of the memory, and is in the register
        begin = piece.address[2:]
        end = Signal(63, reset_less=True)
        clash = Signal()
        gone = Signal()
        added = Signal()
        m.d.comb += [
            look.en.eq(1), look.addr.eq(at),
            store.addr.eq(newest), store.data.begin.eq(begin), store.data.end.eq(end),
            store.en.eq(added),
            clash.eq((begin < seen.end) & (seen.begin < end)),
            gone.eq(self.written.valid & self.written.ready),
            self.read.p.address.eq(piece.address), self.read.p.bytes.eq(piece.bytes),
            self.write.p.address.eq(piece.address), self.write.p.bytes.eq(piece.bytes),
            work.i.p.words.eq(piece.bytes[2:]), work.i.p.add.eq(piece.add),
            *(ends.i.p[name].eq(piece[name]) for name in ends.i.p.shape().members),
        ]
        m.d.sync += held.eq(held + added - gone)
        with m.If(gone):
            m.d.sync += oldest.eq(oldest + 1)
        with m.If(added):
            m.d.sync += newest.eq(newest + 1)
        read_sent, write_sent = Signal(), Signal()
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.comb += self.landing.ready.eq(1)
                m.d.sync += piece.eq(self.landing.p)
                with m.If(self.landing.valid):
                    m.next = "MEASURE"
            with m.State("MEASURE"):
                m.d.sync += [
                    end.eq(begin + piece.bytes[2:]), read_sent.eq(0), write_sent.eq(0)]
                with m.If(~piece.data):
                    m.next = "MARK"
                with m.Elif(held != self.pieces):
                    m.d.sync += [at.eq(oldest), todo.eq(held), looking.eq(0)]
                    m.next = "LOOK"
                    with m.If(~piece.add | (held == 0)):
                        m.next = "ISSUE"
            # One piece after the other; if one is in the way, all again, until it is answered.
            with m.State("LOOK"):
                m.d.sync += [looking.eq(Cat(todo != 0, looking[0])), seen.eq(look.data)]
                with m.If(looking[1] & clash):
                    m.next = "MEASURE"
                with m.Elif((todo == 0) & (looking == 0)):
                    m.next = "ISSUE"
                with m.If(todo != 0):
                    m.d.sync += [todo.eq(todo - 1), at.eq(at + 1)]
            with m.State("ISSUE"):
                m.d.comb += [
                    self.read.valid.eq(piece.add & ~read_sent),
                    self.write.valid.eq(~write_sent),
                ]
                m.d.sync += [
                    read_sent.eq(read_sent | self.read.ready),
                    write_sent.eq(write_sent | self.write.ready),
                ]
                with m.If(write_sent & (read_sent | ~piece.add) & work.i.ready & ends.i.ready):
                    m.d.comb += [work.i.valid.eq(1), ends.i.valid.eq(1), added.eq(1)]
                    m.next = "IDLE"
            with m.State("MARK"):
                m.d.comb += ends.i.valid.eq(1)
                with m.If(ends.i.ready):
                    m.next = "IDLE"
        m.d.comb += self.idle.eq(
            fsm.ongoing("IDLE") & ~self.landing.valid & ~ends.o.valid & (held == 0))

    def _join(self, m, work, reads):
        """Brings what came and what was read together, and cuts the frame at its piece."""
        lanes = self.lanes
        words_bits = len(work.o.p.words)
        left = Signal(words_bits, reset_less=True)
        need = Signal(words_bits)
        begin = Signal(init=1)
        skip = Signal()  # the frame goes on behind its piece
        go = Signal()
        step = Signal()
        final = Signal()
        latency = FloatAdd.latency
        m.submodules.outlet = outlet = Outlet(beat_layout(lanes, NOTHING), latency + 8)
        m.d.comb += [
            need.eq(Mux(begin, work.o.p.words, left)),
            final.eq(need <= lanes),
            go.eq(work.o.valid & outlet.room & (self.read_data.valid | ~work.o.p.add)
                  & (reads.i.ready | ~final)),
            step.eq(self.i.valid & go & ~skip),
            self.i.ready.eq(go | skip),
            self.read_data.ready.eq(step & work.o.p.add),
            work.o.ready.eq(step & final),
            reads.i.valid.eq(step & final & work.o.p.add),
            reads.i.p.eq(~self.read_data.p.error),
            outlet.reserve.eq(step),
        ]
        with m.If(step):
            m.d.sync += [left.eq(need - lanes), begin.eq(final), skip.eq(final & ~self.i.p.last)]
        with m.If(skip & self.i.valid & self.i.p.last):
            m.d.sync += skip.eq(0)

        about = data.StructLayout({"valid": 1, "add": 1, "first": 1, "last": 1,
                                   "empty": len(outlet.i.empty)})
        now = Signal(about)
        m.d.comb += [
            now.valid.eq(step), now.add.eq(work.o.p.add), now.first.eq(begin),
            now.last.eq(final),
            now.empty.eq(Mux(final, (-need << 2)[:len(now.empty)], 0)),
        ]
        stages = [now]
        for n in range(latency):
            stage = Signal(about, name=f"beside_{n}")
            m.d.sync += stage.eq(stages[-1])
            stages.append(stage)
        then = stages[-1]
        m.submodules.plain = plain = Delay(32 * lanes, latency)
        m.d.comb += [
            plain.i.eq(self.i.p.data),
            outlet.i_valid.eq(then.valid),
            outlet.i.first.eq(then.first), outlet.i.last.eq(then.last),
            outlet.i.empty.eq(then.empty),
        ]
        for n in range(lanes):
            m.submodules[f"add_{n}"] = add = FloatAdd()
            m.d.comb += [
                add.a.eq(self.i.p.data[n]), add.b.eq(self.read_data.p.data[n]),
                outlet.i.data[n].eq(Mux(then.add, add.o, plain.o.word_select(n, 32))),
            ]
        wiring.connect(m, outlet.o, wiring.flipped(self.write_data))

    def _finish(self, m, ends, reads):
        """Completes regions when what belongs to them is answered."""
        end = ends.o.p
        bad_read = Signal(self.regions)  # by entry: something of the region went wrong
        bad_write = Signal(self.regions)
        completion = Signal(COMPLETION, reset_less=True)
        valid = Signal()
        free = Signal()
        arrived = Signal()
        failed_read = Signal()
        failed_write = Signal()
        m.d.comb += [
            self.completion.valid.eq(valid), self.completion.p.eq(completion),
            free.eq(~valid),
            arrived.eq(ends.o.valid & free & (
                ~end.data | self.written.valid & (reads.o.valid | ~end.add))),
            ends.o.ready.eq(arrived),
            self.written.ready.eq(arrived & end.data),
            reads.o.ready.eq(arrived & end.data & end.add),
            failed_read.eq(bad_read.bit_select(end.entry, 1)
                           | end.data & end.add & ~reads.o.p),
            failed_write.eq(bad_write.bit_select(end.entry, 1)
                            | end.data & self.written.p.error),
        ]
        with m.If(self.completion.ready):
            m.d.sync += valid.eq(0)
        with m.If(arrived):
            m.d.sync += [
                bad_read.bit_select(end.entry, 1).eq(failed_read & ~end.final),
                bad_write.bit_select(end.entry, 1).eq(failed_write & ~end.final),
                valid.eq(end.final),
                completion.eq(0),
                completion.kind.eq(Completed.REGION_FILLED),
                completion.index.eq(end.entry),
                completion.tag.eq(end.tag),
                completion.count.eq(end.count),
                completion.status.eq(Mux(
                    end.status != Status.OK, end.status, Mux(
                        failed_write, Status.WRITE_ERROR, Mux(
                            failed_read, Status.READ_ERROR, Status.OK)))),
            ]
