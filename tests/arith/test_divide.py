"""Divider is the floor of a quotient."""

import random

import pytest

from tightwire.arith.divide import Divider

from .pipelines import results, spaced

SEED = 8

LOW, HIGH = 1 << 23, (1 << 24) - 1
EDGES = [LOW, LOW + 1, 7 << 21, (7 << 21) - 1, (7 << 21) + 1, 127 << 17, (127 << 17) - 1,
         (127 << 17) + 1, HIGH - 1, HIGH]


def _cases(rng, count):
    cases = [(a, b) for a in EDGES for b in EDGES]
    return cases + [(rng.randint(LOW, HIGH), rng.randint(LOW, HIGH)) for _ in range(count)]


@pytest.mark.parametrize("gap", [0, 5])
@pytest.mark.parametrize("interval", [1, 2, 3, 4, 8, 9, 10, 64])
def test_quotients(interval, gap):
    rng = random.Random(SEED)
    cases = _cases(rng, 100)
    if interval > 10:
        cases = rng.sample(cases, 50)
    dut = Divider(interval=interval)
    found = results(
        dut, [dut.i_valid, dut.a, dut.b], [dut.o_valid, dut.quotient, dut.shifted],
        spaced(rng, cases, interval=interval, widths=[24, 24], gap=gap))
    for (a, b), quotient in zip(cases, found, strict=True):
        x = a if a >= b else 2 * a
        assert quotient == ((x << 17) // b, a < b), f"seed {SEED}: {a} / {b}"
