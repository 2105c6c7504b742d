"""Tells the host what is done: a queue in its memory, and an interrupt."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..stream.queue import Queue
from ..stream.turns import Turns
from .axi import ADDRESS_BITS, AxiWrite
from .transfer import COMPLETION
from .writer import Writer

__all__ = ["ENTRY_BYTES", "CompletionQueue"]

ENTRY_BYTES = 16

_INDEX_BITS = 16
_NOTHING = data.StructLayout({})


class CompletionQueue(wiring.Component):
    """Writes completions into a ring in the host's memory, those of each input in order.

    An entry's phase bit is 1 in the first lap, 0 in the second, and so on: so the host sees that
    an entry is new without asking the card. It says by ``consumer`` how far it has read; while the
    ring is full completions wait. Nothing is lost.

    The interrupt is high from when ``count`` entries were written, or ``time`` clocks after the
    first one that was, until the host acknowledges; entries count once memory has answered. The
    host acknowledges first and reads the queue then, so that none is missed.

    An entry takes 6 clocks or more, with less than four lanes the rest of its beats as well. Once
    ``enable`` has been low completions wait, and the indices return to 0; only when memory has
    answered all entries does the queue begin anew, however soon ``enable`` is high again.

    Parameters
    ----------
    lanes : int
    n : int
        Inputs.

    Members
    -------
    i : In, n streams of COMPLETION, whose phase is not looked at
    enable : In(1)
    base : In(64), a multiple of ``ENTRY_BYTES``, steady while enabled
    log2_size : In(4), 1 to 15 likewise
    consumer : In(16), index behind the last entry that the host has read: a doorbell
    producer : Out(16), index behind the last entry that was written
    count : In(16), time : In(32), acknowledge : In(1), high for one clock
    interrupt : Out(1)
    axi : Out, AxiWrite
    failed : Out(1), high for one clock when memory answered an entry with an error
    idle : Out(1), nothing is under way in memory
    """

    def __init__(self, *, lanes, n):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.n = n
        super().__init__({
            "i": In(stream.Signature(COMPLETION)).array(n),
            "enable": In(1), "base": In(ADDRESS_BITS), "log2_size": In(4),
            "consumer": In(_INDEX_BITS), "producer": Out(_INDEX_BITS),
            "count": In(16), "time": In(32), "acknowledge": In(1), "interrupt": Out(1),
            "axi": Out(AxiWrite(lanes)), "failed": Out(1), "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.lanes
        m.submodules.turns = turns = Turns(self.n)
        m.submodules.chosen = chosen = Queue(COMPLETION, 4)
        m.submodules.writer = writer = Writer(
            lanes=lanes, tag=_NOTHING, side=_NOTHING)
        wiring.connect(m, writer.axi, wiring.flipped(self.axi))
        for n, one in enumerate(self.i):
            mine = turns.any & (turns.index == n)
            m.d.comb += [turns.ask[n].eq(one.valid), one.ready.eq(mine & chosen.i.ready)]
            with m.If(mine):
                m.d.comb += chosen.i.p.eq(one.p)
        m.d.comb += [
            chosen.i.valid.eq(turns.any), turns.next.eq(turns.any & chosen.i.ready)]

        written = Signal(_INDEX_BITS)
        mask = Signal(_INDEX_BITS)
        used = Signal(_INDEX_BITS)
        entry = Signal(COMPLETION, reset_less=True)
        address = Signal(ADDRESS_BITS, reset_less=True)
        words = data.View(data.ArrayLayout(32, 4), entry.as_value())
        beats = max(1, 4 // lanes)
        sent = Signal(range(beats + 1))
        m.d.comb += [
            mask.eq((1 << self.log2_size) - 1),
            used.eq(written - self.consumer),
            writer.request.p.address.eq(address),
            writer.request.p.bytes.eq(ENTRY_BYTES),
            writer.i.p.first.eq(sent == 0),
            writer.i.p.last.eq(sent == beats - 1),
            writer.i.p.empty.eq(max(0, 4 * lanes - ENTRY_BYTES)),
        ]
        for n in range(min(lanes, 4)):
            with m.Switch(sent):
                for k in range(beats):
                    with m.Case(k):
                        m.d.comb += writer.i.p.data[n].eq(words[k * lanes + n])
        answered = Signal()
        running = Signal()
        m.d.sync += running.eq(self.enable & (running | self.idle))
        with m.FSM() as fsm:
            with m.State("IDLE"):
                with m.If(running):
                    with m.If(chosen.o.valid & (used <= mask)):
                        m.d.comb += chosen.o.ready.eq(1)
                        m.d.sync += [
                            entry.eq(chosen.o.p),
                            entry.phase.eq(~written.bit_select(self.log2_size, 1)),
                            address.eq(self.base + ((written & mask) * ENTRY_BYTES)),
                            written.eq(written + 1), sent.eq(0),
                        ]
                        m.next = "ASK"
                with m.Elif(writer.idle):
                    m.d.sync += written.eq(0)
            with m.State("ASK"):
                m.d.comb += writer.request.valid.eq(1)
                with m.If(writer.request.ready):
                    m.next = "WRITE"
            with m.State("WRITE"):
                m.d.comb += writer.i.valid.eq(1)
                with m.If(writer.i.ready):
                    m.d.sync += sent.eq(sent + 1)
                    with m.If(writer.i.p.last):
                        m.next = "IDLE"
        m.d.comb += [
            writer.done.ready.eq(1),
            answered.eq(writer.done.valid),
            self.failed.eq(answered & writer.done.p.error),
            self.idle.eq(fsm.ongoing("IDLE") & writer.idle),
        ]

        # ---- the interrupt ----
        unheard = Signal(_INDEX_BITS)  # entries written since the host acknowledged
        timer = Signal(32)
        due = Signal()
        m.d.comb += due.eq((unheard != 0) & ((unheard >= self.count) | (timer >= self.time)))
        m.d.sync += [
            # It stops at its end: a host that polls need not acknowledge.
            unheard.eq(Mux(self.acknowledge, 0, unheard)
                       + (answered & (self.acknowledge | ~unheard.all()))),
            timer.eq(Mux((unheard == 0) | self.acknowledge, 0, timer + (timer < self.time))),
            self.interrupt.eq(due & ~self.acknowledge),
        ]
        with m.If(answered):
            m.d.sync += self.producer.eq(self.producer + 1)
        with m.If(~running):
            m.d.sync += [self.producer.eq(0), unheard.eq(0)]
        return m
