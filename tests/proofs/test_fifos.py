"""Proofs: what goes into a queue or an outlet leaves, once, in order, in time."""

import pytest
from amaranth.hdl import Cat, Signal

from tightwire.stream.buffer import Buffer
from tightwire.stream.frame_fifo import FrameFifo
from tightwire.stream.outlet import Outlet
from tightwire.stream.queue import Queue
from tightwire.stream.ram_queue import RamQueue

from .contracts import drive, feed_frames, keep_order, keep_still
from .faults import spoil
from .prove import Proof, unreached


def _stream(dut, depth, *, extra=0, fault=None):
    """A proof of a FIFO with stream ports; ``depth`` fit, ``extra`` more may be on the way out."""
    proof = Proof()
    proof.m.submodules.dut = dut
    o = spoil(proof, dut.o, fault) if fault else dut.o
    drive(proof, dut.i, o)
    keep_still(proof, o, o.payload)
    inside = keep_order(
        proof, o, come=dut.i.valid & dut.i.ready, value=dut.i.payload, seen=o.payload,
        capacity=depth + extra, latency=dut.latency)
    proof.must["takes what fits"] = dut.i.ready | (inside >= depth)
    return proof


def _frame_fifo(part, *, steady=False, room=False):
    """A proof of FrameFifo: that it has ``room``, or else all the rest.

    ``part`` of the beat is looked at; ``steady`` says whether it is the same in all of a frame.
    """
    dut = FrameFifo(lanes=1, depth=3, frames=2)
    on_the_way = 2  # beats that have left the memory
    proof = Proof()
    proof.m.submodules.dut = dut
    drive(proof, dut.i, dut.o)
    feed_frames(proof, dut.i, part(dut.i.p) if steady else None)
    seen = part(dut.o.p)
    keep_still(proof, dut.o, seen)
    inside = keep_order(
        proof, dut.o, come=dut.i.valid & dut.i.ready, value=part(dut.i.p), seen=seen,
        capacity=dut.depth + on_the_way, latency=dut.latency)
    frames = Signal(range(8))
    proof.m.d.sync += frames.eq(
        frames + (dut.i.valid & dut.i.ready & dut.i.p.last)
        - (dut.o.valid & dut.o.ready & dut.o.p.last))
    if room:
        proof.must = {
            "takes what fits": dut.i.ready | (inside >= dut.depth) | (frames >= dut.frames)}
    return proof


def _outlet(depth, fault=None):
    """A proof of Outlet behind a pipeline of any length, which may also change its length.

    Faults: with ``reserve``, room is reserved where there is none, with ``keep`` where nothing
    is to come.
    """
    dut = Outlet(1, depth)
    proof = Proof()
    proof.m.submodules.dut = dut
    room = 1 if fault == "reserve" else dut.room
    reserve = Signal()
    on_the_way = Signal(range(2 * depth + 2))
    proof.m.d.comb += [
        reserve.eq(proof.free("reserve") & room),
        dut.reserve.eq(reserve | (proof.free("keep") if fault == "keep" else 0)),
        dut.i_valid.eq(proof.free("i_valid") & (on_the_way != 0)),
        dut.i.eq(proof.free("i")),
        dut.o.ready.eq(proof.free("o_ready")),
    ]
    proof.m.d.sync += on_the_way.eq(on_the_way + reserve - dut.i_valid)
    proof.assume(on_the_way <= 2 * depth)
    keep_still(proof, dut.o, dut.o.payload)
    inside = keep_order(proof, dut.o, come=dut.i_valid, value=dut.i, seen=dut.o.payload,
                        capacity=depth, latency=dut.latency)
    proof.must["room where it fits"] = dut.room | (inside + on_the_way >= depth)
    return proof


PROOFS = {
    "Buffer": lambda: _stream(Buffer(2), 2),
    "Queue-2": lambda: _stream(Queue(1, 2), 2),
    "Queue-3": lambda: _stream(Queue(1, 3), 3),
    "RamQueue-3": lambda: _stream(RamQueue(1, 3), 3, extra=2),
    "FrameFifo-beat": lambda: _frame_fifo(
        lambda beat: Cat(beat.data[0][31], beat.empty[0], beat.first, beat.last, beat.error)),
    "FrameFifo-room": lambda: _frame_fifo(lambda beat: beat.last, room=True),
    "FrameFifo-side": lambda: _frame_fifo(
        lambda beat: Cat(beat.side.bypass, beat.side.span[15]), steady=True),
    "Outlet": lambda: _outlet(3),
}


@pytest.mark.parametrize("name", PROOFS)
def test_proof(name, tmp_path):
    assert PROOFS[name]().broken(tmp_path) == []


@pytest.mark.parametrize("name", ["Buffer", "RamQueue-3", "FrameFifo-beat"])
def test_all_of_it_comes_about(name, tmp_path):
    assert unreached(tmp_path, depth=16, proof=PROOFS[name](), faults=[]) == []


def test_a_fault_breaks_the_proof(tmp_path):
    faults = [(broken, _stream(Queue(1, 3), 3, fault=fault)) for broken, fault in [
        ("valid stays", "hide"), ("payload stays", "alter"), ("nothing is made up", "repeat"),
        ("in order", "alter"), ("in order", "lose"), ("in time", "hide"),
        ("no more than fits", "lose")]]
    faults.append(("takes what fits", _stream(Queue(1, 3), 4)))
    assert unreached(tmp_path, depth=12, proof=PROOFS["Queue-3"](), faults=faults) == []


def test_a_fault_breaks_the_proof_of_the_outlet(tmp_path):
    faults = [("in order", _outlet(3, "reserve")), ("room where it fits", _outlet(3, "keep"))]
    assert unreached(tmp_path, depth=16, proof=_outlet(3), faults=faults) == []
