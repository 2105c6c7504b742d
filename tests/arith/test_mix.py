"""Mix and xorshift against plain Python."""

import random

import pytest
from amaranth.hdl import Cat, Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tightwire.arith import xorshift
from tightwire.arith.mix import Mix
from tightwire_sim import golden

from ..support.bench import clocked

SEED = 64

WORDS = [0, 1, 0xFFFFFFFF, 0x80000000, 0x0000FFFF, 0xFFFF0000]
WORDS += random.Random(SEED).choices(range(1 << 32), k=300)


def test_mix_is_that_of_the_golden_model():
    dut = Mix()
    seen = clocked(dut, [dut.i], [dut.o], [(word,) for word in WORDS], extra=dut.latency)
    assert [word for word, in seen[dut.latency:]] == [golden.mix(word) for word in WORDS]


class _Steps(wiring.Component):
    def __init__(self, times):
        self.times = times
        super().__init__({"i": In(32), "o": Out(32)})

    def elaborate(self, platform):
        m = Module()
        m.d.comb += self.o.eq(Cat(xorshift.step(self.i, self.times)))
        return m


def _stepped(state, times):
    for _ in range(times):
        state ^= state << 13 & 0xFFFFFFFF
        state ^= state >> 17
        state ^= state << 5 & 0xFFFFFFFF
    return state


@pytest.mark.parametrize("times", range(5))
def test_steps_of_xorshift(times):
    dut = _Steps(times)
    seen = clocked(dut, [dut.i], [dut.o], [(word,) for word in WORDS], extra=0)
    assert [word for word, in seen] == [_stepped(word, times) for word in WORDS]
