"""Proofs: what leaves through AxisOutput obeys AXI-Stream; AxisInput lets in anything at all."""

import pytest
from amaranth.hdl import Signal, Value

from tightwire.stream.axis import AxisInput, AxisOutput
from tightwire.stream.beat import beat_layout

from .contracts import drive, feed_frames, feed_still, keep_still
from .faults import spoil
from .prove import Proof, unreached

LANES = 2
KEEP = 32 * LANES  # where tkeep begins in the payload
LAST = KEEP + 4 * LANES


def _output(fault=None, bit=0):
    dut = AxisOutput(lanes=LANES)
    proof = Proof()
    proof.m.submodules.dut = dut
    o = spoil(proof, dut.o, fault, bit) if fault else dut.o
    drive(proof, dut.i, o)
    feed_frames(proof, dut.i)
    feed_still(proof, dut.i)
    keep_still(proof, o, o.payload)
    axis = o.p
    keep = axis.tkeep
    proof.must |= {
        "keep from lane 0": ~o.valid | keep[0],
        "keep without a hole": ~o.valid | ~(~keep[:-1] & keep[1:]).any(),
        "keep all before last": ~o.valid | axis.tlast | keep.all(),
        "error with last": ~o.valid | axis.tlast | ~axis.tuser[0],
    }
    proof.may["a beat of one byte"] = o.valid & (keep == 1)
    return proof


def _input(fault=None, bit=0):
    dut = AxisInput(lanes=LANES)
    proof = Proof()
    proof.m.submodules.dut = dut
    o = spoil(proof, dut.o, fault, bit) if fault else dut.o
    drive(proof, dut.i, o)
    keep_still(proof, o, o.payload)
    beat = o.p
    begin = Signal(init=1)
    side = Signal.like(Value.cast(beat.side))
    with proof.m.If(o.valid & o.ready):
        proof.m.d.sync += [begin.eq(beat.last), side.eq(beat.side)]
    proof.must |= {
        "first": ~o.valid | (beat.first == begin),
        "whole before last": ~o.valid | beat.last | (beat.empty == 0),
        "side is steady": ~o.valid | begin | (Value.cast(beat.side) == side),
    }
    proof.may["a marked frame of several beats"] = (
        o.valid & ~beat.first & beat.last & beat.error & (beat.empty == 5))
    return proof


@pytest.mark.parametrize("make", [_input, _output])
def test_proof(make, tmp_path):
    assert make().broken(tmp_path) == []


def test_a_fault_in_the_output_breaks_the_proof(tmp_path):
    faults = [(broken, _output("alter", bit)) for broken, bit in [
        ("keep from lane 0", KEEP), ("keep without a hole", KEEP + 1),
        ("keep all before last", LAST), ("error with last", LAST)]]
    assert unreached(tmp_path, depth=6, proof=_output(), faults=faults) == []


def test_a_fault_in_the_input_breaks_the_proof(tmp_path):
    beat = beat_layout(LANES)
    faults = [(broken, _input("alter", beat[member].offset)) for broken, member in [
        ("first", "first"), ("whole before last", "empty"), ("side is steady", "side")]]
    assert unreached(tmp_path, depth=6, proof=_input(), faults=faults) == []
