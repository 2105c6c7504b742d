"""A ring of descriptors in the host's memory."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..stream.queue import Queue
from .axi import ADDRESS_BITS, AxiRead
from .reader import Reader

__all__ = ["DESCRIPTOR_BYTES", "DESCRIPTOR_WORDS", "FETCHED", "INDEX_BITS", "Ring"]

DESCRIPTOR_BYTES = 64
"""Distance of two descriptors, a cache line: one is never torn by the next being written."""

DESCRIPTOR_WORDS = 8
"""Words of a descriptor that are read; the rest is reserved."""

INDEX_BITS = 16

FETCHED = data.StructLayout({
    "words": data.ArrayLayout(32, DESCRIPTOR_WORDS), "index": INDEX_BITS, "error": 1})
"""A descriptor; ``index``: the consumer index behind it; ``error``: it could not be read."""

_NOTHING = data.StructLayout({})


class Ring(wiring.Component):
    """Fetches descriptors, in order, as soon as the host says that they are there.

    The ring has ``1 << log2_size`` places of ``DESCRIPTOR_BYTES``. The indices run freely: place
    ``index mod size``; producer - consumer are there to be fetched, never more than the size.
    Several are fetched ahead. Once ``enable`` has been low nothing is fetched, what was fetched is
    let go, and the indices return to 0; only when all that was asked of memory has come does the
    ring begin anew, however soon ``enable`` is high again.

    From the doorbell to the descriptor: ``latency`` clocks, and those of the memory; with less
    than ``DESCRIPTOR_WORDS`` lanes one more for each further beat. A descriptor takes 5 clocks.

    Parameters
    ----------
    lanes : int
    ahead : int
        Descriptors that are fetched ahead, 2 or more.

    Members
    -------
    enable : In(1)
    base : In(64), a multiple of ``DESCRIPTOR_BYTES`` (lower bits are not looked at), steady while
        enabled
    log2_size : In(4), 1 to 15, likewise
    producer : In(16), index behind the last descriptor that the host has made: the doorbell
    consumer : Out(16), index behind the last descriptor that was fetched: its place is free
    axi : Out, AxiRead
    o : Out, stream of FETCHED
    idle : Out(1), nothing is under way in memory
    """

    def __init__(self, *, lanes, ahead=4):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.ahead = ahead
        self._reader = {
            "lanes": lanes, "tag": _NOTHING, "depth": max(16, ahead * DESCRIPTOR_WORDS // lanes),
            "pieces": ahead, "aligned": 4 * lanes <= DESCRIPTOR_BYTES}
        self.latency = 1 + Reader(**self._reader).latency + Queue.latency
        super().__init__({
            "enable": In(1), "base": In(ADDRESS_BITS), "log2_size": In(4),
            "producer": In(INDEX_BITS), "consumer": Out(INDEX_BITS), "axi": Out(AxiRead(lanes)),
            "o": Out(stream.Signature(FETCHED)), "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.lanes
        m.submodules.reader = reader = Reader(**self._reader)
        m.submodules.queue = queue = Queue(FETCHED, self.ahead)
        wiring.connect(m, reader.axi, wiring.flipped(self.axi))
        asked = Signal(INDEX_BITS)    # index behind the last one that is asked for
        given = Signal(INDEX_BITS)    # and behind the last one that went into the queue
        mask = Signal(INDEX_BITS)
        address = Signal(ADDRESS_BITS, reset_less=True)
        ask = Signal()
        running = Signal()
        empty = Signal()              # nothing is left of what was asked for
        m.d.comb += [
            empty.eq(self.idle & ~reader.o.valid & ~queue.o.valid),
            mask.eq((1 << self.log2_size) - 1),
            reader.request.valid.eq(ask),
            reader.request.p.address.eq(address),
            reader.request.p.bytes.eq(4 * DESCRIPTOR_WORDS),
            self.idle.eq(reader.idle & ~ask),
            self.consumer.eq(given),
        ]
        # An address takes a clock, which a descriptor can spare.
        with m.If(ask):
            with m.If(reader.request.ready):
                m.d.sync += ask.eq(0)
        with m.Elif(running & (asked != self.producer)):
            base = Cat(Const(0, 6), self.base[6:])
            m.d.sync += [
                address.eq(base + ((asked & mask) * DESCRIPTOR_BYTES)),
                asked.eq(asked + 1), ask.eq(1)]

        beats = max(1, DESCRIPTOR_WORDS // lanes)
        beat = reader.o.p
        words = Signal(FETCHED["words"].shape)
        held = Signal(FETCHED["words"].shape, reset_less=True)
        count = Signal(range(beats + 1))
        m.d.comb += [
            queue.i.valid.eq(reader.o.valid & beat.last & running),
            reader.o.ready.eq(~beat.last | queue.i.ready | ~running),
            queue.i.p.words.eq(words), queue.i.p.index.eq(given + 1),
            queue.i.p.error.eq(beat.error),
        ]
        for n in range(DESCRIPTOR_WORDS):
            now = (count == n // lanes) if beats > 1 else 1
            m.d.comb += words[n].eq(held[n])
            with m.If(now):
                m.d.comb += words[n].eq(beat.data[n % lanes])
        with m.If(reader.o.valid & reader.o.ready):
            m.d.sync += [held.eq(words), count.eq(count + 1)]
            with m.If(beat.last):
                m.d.sync += [count.eq(0), given.eq(given + 1)]
        m.d.sync += running.eq(self.enable & (running | empty))
        with m.If(~running & empty):
            m.d.sync += [asked.eq(0), given.eq(0)]
        m.d.comb += [
            self.o.p.eq(queue.o.p),
            self.o.valid.eq(queue.o.valid & running),
            queue.o.ready.eq(self.o.ready | ~running),
        ]
        return m
