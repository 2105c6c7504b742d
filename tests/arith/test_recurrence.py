"""Recurrence applies its step as often as it says, however much of it is unrolled."""

import random

import pytest
from amaranth.lib import data

from tightwire.arith.recurrence import Recurrence

from ..support.bench import clocked
from ..support.layouts import join
from .pipelines import results, spaced

SEED = 32

LAYOUT = data.StructLayout({"x": 8, "kept": 4})


def _step(m, state):
    return {"x": state.x * 5 + 3}


def _applied(x, count):
    for _ in range(count):
        x = (x * 5 + 3) & 0xFF
    return x


@pytest.mark.parametrize("gap", [0, 3])
@pytest.mark.parametrize("count", [1, 2, 5, 6])
@pytest.mark.parametrize("interval", [1, 2, 3, 5, 6, 7, 100])
def test_it_is_applied_count_times(interval, count, gap):
    rng = random.Random(SEED)
    dut = Recurrence(LAYOUT, _step, count=count, interval=interval)
    states = [{"x": rng.getrandbits(8), "kept": rng.getrandbits(4)} for _ in range(12)]
    rows = spaced(rng, [(join(LAYOUT, state),) for state in states], interval=interval,
                  widths=[12], gap=gap)
    found = results(dut, [dut.i_valid, dut.i], [dut.o_valid, dut.o], rows)
    expected = [join(LAYOUT, state | {"x": _applied(state["x"], count)}) for state in states]
    assert [value for value, in found] == expected, f"seed {SEED}"


def test_a_state_that_comes_too_soon_is_right_itself():
    dut = Recurrence(LAYOUT, _step, count=6, interval=6)
    rows = [(1, 7), (0, 0), (1, 9), *[(0, 0)] * 5]
    seen = clocked(dut, [dut.i_valid, dut.i], [dut.o_valid, dut.o.x], rows, extra=6)
    assert seen[2 + dut.latency] == (1, _applied(9, 6))
