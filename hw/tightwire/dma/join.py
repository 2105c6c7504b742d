"""Several masters on one AXI4 port."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..stream.buffer import Buffer
from ..stream.queue import Queue
from ..stream.turns import Turns
from .axi import AxiRead, AxiWrite

__all__ = ["ReadJoin", "WriteJoin", "id_bits"]


def id_bits(n):
    """Bits of an id that tells ``n`` masters apart."""
    return max(1, (n - 1).bit_length())


def _check(n):
    if not 2 <= n <= 16:
        raise ValueError(f"n must be from 2 to 16, not {n}")
    return n


def _bursts(m, masters, out, name, also):
    """Lets one burst out after the other, in turns; ``also``: a stream that takes each index."""
    n = len(masters)
    m.submodules[f"{name}_turns"] = turns = Turns(n)
    m.submodules[f"{name}_buffer"] = buffer = Buffer(out.p.shape())
    wiring.connect(m, buffer.o, out)
    free = buffer.i.ready if also is None else buffer.i.ready & also.ready
    chosen = turns.index
    for index, master in enumerate(masters):
        mine = turns.any & (turns.index == index)
        m.d.comb += [turns.ask[index].eq(master.valid), master.ready.eq(mine & free)]
        with m.If(mine):
            m.d.comb += [
                buffer.i.p.address.eq(master.p.address), buffer.i.p.beats.eq(master.p.beats)]
    m.d.comb += [
        buffer.i.valid.eq(turns.any & free), buffer.i.p.id.eq(chosen),
        turns.next.eq(turns.any & free),
    ]
    if also is not None:
        m.d.comb += [also.valid.eq(turns.any & free), also.p.eq(chosen)]


class ReadJoin(wiring.Component):
    """``n`` masters that read through one port; the id of a burst is the index of its master.

    Bursts go out in turns. Answers come back by their id, in any order between masters. A master
    that lets its answers wait holds up the others, so it should not: see Reader. Latency 1 clock
    each way, one beat a clock.

    Parameters
    ----------
    lanes, n : int

    Members
    -------
    masters : In, n times AxiRead
    axi : Out, AxiRead with ids
    """

    def __init__(self, *, lanes, n):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.n = _check(n)
        super().__init__({
            "masters": In(AxiRead(lanes)).array(n), "axi": Out(AxiRead(lanes, id_bits(n)))})

    def elaborate(self, platform):
        m = Module()
        _bursts(m, [master.ar for master in self.masters], wiring.flipped(self.axi.ar),
                "bursts", None)
        m.submodules.answers = answers = Buffer(self.axi.r.p.shape())
        wiring.connect(m, wiring.flipped(self.axi.r), answers.i)
        answer = answers.o
        for index, master in enumerate(self.masters):
            mine = answer.p.id == index
            m.d.comb += [
                master.r.valid.eq(answer.valid & mine),
                *(master.r.p[name].eq(answer.p[name]) for name in ("data", "response", "last")),
            ]
            with m.If(mine):
                m.d.comb += answer.ready.eq(master.r.ready)
        return m


class WriteJoin(wiring.Component):
    """``n`` masters that write through one port; the id of a burst is the index of its master.

    Bursts go out in turns, and their data in the same order. Latency 1 clock for bursts and
    answers, 1 for data; one beat a clock.

    Parameters
    ----------
    lanes, n : int

    Members
    -------
    masters : In, n times AxiWrite
    axi : Out, AxiWrite with ids
    """

    def __init__(self, *, lanes, n):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.n = _check(n)
        super().__init__({
            "masters": In(AxiWrite(lanes)).array(n), "axi": Out(AxiWrite(lanes, id_bits(n)))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.order = order = Queue(range(self.n), 16)
        _bursts(m, [master.aw for master in self.masters], wiring.flipped(self.axi.aw),
                "bursts", order.i)
        m.submodules.beats = beats = Buffer(self.axi.w.p.shape())
        wiring.connect(m, beats.o, wiring.flipped(self.axi.w))
        for index, master in enumerate(self.masters):
            mine = order.o.valid & (order.o.p == index)
            m.d.comb += master.w.ready.eq(mine & beats.i.ready)
            with m.If(mine):
                m.d.comb += [beats.i.p.eq(master.w.p), beats.i.valid.eq(master.w.valid)]
        m.d.comb += order.o.ready.eq(beats.i.valid & beats.i.ready & beats.i.p.last)

        m.submodules.answers = answers = Buffer(self.axi.b.p.shape())
        wiring.connect(m, wiring.flipped(self.axi.b), answers.i)
        answer = answers.o
        for index, master in enumerate(self.masters):
            mine = answer.p.id == index
            m.d.comb += [
                master.b.valid.eq(answer.valid & mine),
                master.b.p.response.eq(answer.p.response),
            ]
            with m.If(mine):
                m.d.comb += answer.ready.eq(master.b.ready)
        return m
