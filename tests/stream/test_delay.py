"""Delay is a delay."""

import random

import pytest

from tightwire.stream.delay import Delay

from ..support.bench import clocked

SEED = 99


@pytest.mark.parametrize("width, clocks", [
    (1, 3), (1, 4), (8, 5), (40, 9), (71, 16), (72, 3), (72, 4), (80, 17), (512, 6)])
def test_what_comes_out_is_what_went_in(width, clocks):
    rng = random.Random(SEED)
    dut = Delay(width, clocks)
    assert dut.latency == clocks
    values = [rng.getrandbits(width) for _ in range(4 * clocks + 7)]
    seen = clocked(dut, [dut.i], [dut.o], [(value,) for value in values], extra=0)
    assert [value for value, in seen[clocks:]] == values[:-clocks], f"seed {SEED}"


@pytest.mark.parametrize("clocks", [-1, 0, 1, 2])
def test_too_short_is_refused(clocks):
    with pytest.raises(ValueError, match=f"clocks must be 3 or more, not {clocks}"):
        Delay(8, clocks)
