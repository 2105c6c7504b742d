"""SquareRoot is the floor of a root."""

import math
import random

import pytest

from tightwire.arith.root import SquareRoot

from .pipelines import results, spaced

SEED = 16

BITS = 52


def _cases(rng, count):
    roots = [0, 1, 2, 3, (1 << 17) - 1, 1 << 17, (1 << 25) - 1, 1 << 25, (1 << 26) - 1]
    roots += [rng.getrandbits(rng.randint(1, 26)) for _ in range(count)]
    near = [root * root + step for root in roots for step in (-1, 0, 1, 2 * root)]
    return [square for square in near if 0 <= square < 1 << BITS] + [(1 << BITS) - 1]


@pytest.mark.parametrize("gap", [0, 5])
@pytest.mark.parametrize("interval", [1, 2, 4, 12, 13, 14, 64])
def test_roots(interval, gap):
    rng = random.Random(SEED)
    cases = _cases(rng, 8 if interval > 4 else 30)
    if interval > 14:
        cases = rng.sample(cases, 30)
    dut = SquareRoot(interval=interval)
    found = results(
        dut, [dut.i_valid, dut.square], [dut.o_valid, dut.root],
        spaced(rng, [(case,) for case in cases], interval=interval, widths=[BITS], gap=gap))
    assert found == [(math.isqrt(case),) for case in cases], f"seed {SEED}"
