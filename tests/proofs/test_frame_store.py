"""Proofs: FrameStore gives out whole frames, all of those that are right, and no others."""

import pytest
from amaranth.hdl import Cat, Mux, Signal
from amaranth.lib import stream

from tightwire.stream.beat import beat_layout
from tightwire.stream.frame_fifo import FrameStore

from .contracts import drive, feed_frames, keep_order, keep_still
from .faults import spoil
from .prove import Proof, unreached


def _store(depth, *, fault=None):
    """A proof of a store of ``depth`` beats of one word, of which one bit is followed.

    Faults are those of ``spoil`` and some of the store's own: it does not see an error ``mark``,
    it gives out ``marked`` frames, it does not say that a frame was too ``long``.
    """
    dut = FrameStore(lanes=1, store_bytes=4 * depth)
    proof = Proof()
    m = proof.m
    m.submodules.dut = dut
    o = dut.o
    if fault in ("alter", "hide", "lose", "repeat"):
        o = spoil(proof, o, fault)
    elif fault == "marked":
        o = spoil(proof, o, "alter", beat_layout(1)["error"].offset)
    i = stream.Signature(beat_layout(1)).create(path=("source",))
    drive(proof, i, o)
    beat = i.p
    feed_frames(proof, i, beat.side.bypass)
    m.d.comb += [dut.i.valid.eq(i.valid), dut.i.p.eq(beat), i.ready.eq(dut.i.ready)]
    if fault == "mark":
        m.d.comb += dut.i.p.error.eq(0)
    said = 0 if fault == "long" else dut.dropped_long
    keep_still(proof, o, Cat(o.p.data[0][0], o.p.first, o.p.last, o.p.error))

    # What becomes of the frame that is coming in.
    marked = beat.last & beat.error & ~beat.side.bypass
    come = Signal()
    held = Signal(range(depth + 1))  # beats of it that are inside
    whole = Signal(range(2 * depth + 4))  # beats of whole frames inside
    let_go = Signal()                # it did not fit
    long = Signal()
    commit = Signal()
    back = Signal()
    left = Signal()
    m.d.comb += [
        come.eq(i.valid & i.ready & ~let_go),
        left.eq(o.valid & o.ready),
        long.eq(held == depth),
        back.eq(long | come & marked),
        commit.eq(come & beat.last & ~marked),
    ]
    with m.If(i.valid & i.ready & beat.last):
        m.d.sync += let_go.eq(0)
    with m.If(long):
        m.d.sync += [held.eq(0), let_go.eq(1)]
    with m.Elif(come):
        m.d.sync += held.eq(Mux(beat.last, 0, held + 1))
    m.d.sync += whole.eq(whole - left + Mux(commit, held + 1, 0))

    # One beat is followed, any one: until its frame is taken back, or it has left.
    pick = proof.free("pick")
    followed = Signal()
    ahead = Signal.like(whole)
    wanted = Signal()
    sure = Signal()
    there = followed & left & (ahead == 0)
    with m.If(~followed):
        with m.If(pick & come & ~back):
            m.d.sync += [followed.eq(1), sure.eq(beat.last), wanted.eq(beat.data[0][0]),
                         ahead.eq(whole + held - left)]
    with m.Else():
        m.d.sync += [
            followed.eq(~there & (sure | ~back)),
            sure.eq(sure | commit),
            ahead.eq(ahead - left),
        ]

    within = Signal()
    with m.If(left):
        m.d.sync += within.eq(~o.p.last)
    late = Signal(range(dut.latency + 1))
    m.d.sync += late.eq(Mux((whole != 0) & ~o.valid, late + 1, 0))

    taken_back = Signal()
    with m.If(come & marked):
        m.d.sync += taken_back.eq(1)
    passed_marked = left & o.p.last & o.p.error
    proof.may |= {
        "the longest frame leaves": there & o.p.last & (whole == depth),
        "a frame after one too long": there & let_go,
        "a frame after one taken back": there & taken_back,
        "a marked frame that only passes": passed_marked,
    }
    proof.must |= {
        "nothing is made up": ~left | (whole != 0),
        "in order": ~there | sure & (o.p.data[0][0] == wanted),
        "in time": late < dut.latency,
        "whole": ~o.valid | (o.p.first == ~within),
        "without a bubble": ~within | o.valid,
        "no mark": ~(o.valid & o.p.last & o.p.error & ~o.p.side.bypass),
        "takes what fits": i.ready | (whole + held >= depth),
        "long is said": said == (let_go & i.valid & beat.last & ~marked),
    }
    return proof


def _cut_through():
    """A proof that with cut_through all beats leave, marks with them."""
    dut = FrameStore(lanes=1, store_bytes=12)
    on_the_way = 2
    proof = Proof()
    proof.m.submodules.dut = dut
    proof.m.d.comb += dut.cut_through.eq(1)
    drive(proof, dut.i, dut.o)
    feed_frames(proof, dut.i)
    looked_at = [Cat(beat.data[0][0], beat.first, beat.last, beat.error)
                 for beat in (dut.i.p, dut.o.p)]
    keep_still(proof, dut.o, looked_at[1])
    keep_order(
        proof, dut.o, come=dut.i.valid & dut.i.ready, value=looked_at[0], seen=looked_at[1],
        capacity=dut.depth + on_the_way, latency=dut.latency)
    proof.must["never too long"] = ~dut.dropped_long
    return proof


@pytest.mark.parametrize("make", [lambda: _store(3), _cut_through], ids=["store", "cut-through"])
def test_proof(make, tmp_path):
    assert make().broken(tmp_path) == []


def test_all_of_it_comes_about_with_cut_through(tmp_path):
    assert unreached(tmp_path, depth=14, proof=_cut_through(), faults=[]) == []


def test_a_fault_breaks_the_proof(tmp_path):
    faults = [(broken, _store(2, fault=fault)) for broken, fault in [
        ("valid stays", "hide"), ("payload stays", "alter"), ("nothing is made up", "mark"),
        ("in order", "alter"), ("in order", "lose"), ("in time", "hide"), ("whole", "lose"),
        ("without a bubble", "hide"), ("no mark", "marked"), ("takes what fits", "repeat"),
        ("long is said", "long")]]
    assert unreached(tmp_path, depth=12, proof=_store(2), faults=faults) == []
