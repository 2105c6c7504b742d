"""The norms of buckets are those of the golden model."""

import random

import numpy as np
import pytest

from tightwire.codec.norm import EuclideanPass, LargestPass
from tightwire.formats import NAN, Norm
from tightwire_sim import golden

from ..support.bench import clocked
from .buckets import beats_of, buckets

SEED = 5

SMALLEST, INFINITE = 1 << 23, 0x7F800000


def _beats(rows, lanes, columns, gaps):
    """Rows of a pass: each beat with ``columns`` of its bucket; idle ones in between."""
    dice = random.Random(SEED)
    for bucket, column in zip(rows, columns, strict=True):
        beats = beats_of(bucket, lanes)
        for n, beat in enumerate(beats):
            while dice.random() < gaps:
                yield (0, dice.getrandbits(32 * lanes), dice.getrandbits(1), *column)
            yield (1, beat, n == len(beats) - 1, *column)


def _results(dut, inputs, rows):
    """What came for each bucket, ``latency`` clocks behind its last beat."""
    rows = list(rows)
    seen = clocked(dut, inputs, [dut.o_valid, dut.o], rows, extra=dut.latency + 3)
    came = [clock for clock, (valid, _) in enumerate(seen) if valid]
    assert came == [clock + dut.latency for clock, (valid, _, end, *_) in enumerate(rows)
                    if valid and end]
    return [seen[clock][1] for clock in came]


@pytest.mark.parametrize("gaps", [0, 0.3])
@pytest.mark.parametrize("lanes", [1, 2, 4, 16, 64])
def test_largest(lanes, gaps):
    rng = np.random.default_rng(SEED)
    rows = buckets(rng, 64, 12 if lanes < 4 else 32)
    dut = LargestPass(lanes=lanes)
    found = _results(dut, [dut.i_valid, dut.i, dut.i_end],
                     _beats(rows, lanes, [()] * len(rows), gaps))
    expected = (rows.view(np.uint32) & 0x7FFFFFFF).max(axis=1).tolist()
    for one, largest in zip(found, expected, strict=True):
        # Of a subnormal only that it is one.
        assert one == largest if largest >= SMALLEST else one < SMALLEST, f"seed {SEED}"


def _check_euclidean(rows, found):
    largest = (rows.view(np.uint32) & 0x7FFFFFFF).max(axis=1).tolist()
    expected = golden.norms(rows, Norm.EUCLIDEAN).tolist()
    checked = 0
    for one, most, norm in zip(found, largest, expected, strict=True):
        if SMALLEST <= most < INFINITE:  # of others Scale does not ask
            checked += 1
            assert (NAN if one >= INFINITE else max(one, most)) == norm, f"seed {SEED}"
    assert checked > len(rows) // 2


@pytest.mark.parametrize("gaps", [0, 0.3])
@pytest.mark.parametrize("lanes", [1, 2, 4, 16, 64])
def test_euclidean(lanes, gaps):
    rng = np.random.default_rng(SEED)
    rows = buckets(rng, 64, 12 if lanes < 4 else 32)
    columns = [(int(word) >> 23, 6)
               for word in (rows.view(np.uint32) & 0x7FFFFFFF).max(axis=1)]
    dut = EuclideanPass(lanes=lanes, max_bucket=128)
    found = _results(dut, [dut.i_valid, dut.i, dut.i_end, dut.exponent, dut.log2_bucket],
                     _beats(rows, lanes, columns, gaps))
    _check_euclidean(rows, found)


@pytest.mark.parametrize("bucket", [128, 1024, 8192])
def test_euclidean_of_larger_buckets(bucket):
    """Among them the largest sum there is."""
    rng = np.random.default_rng(SEED)
    rows = np.array([np.full(bucket, 0x40FFFFFF, np.uint32).view(np.float32),
                     *buckets(rng, bucket, 3),
                     rng.standard_normal(bucket).astype(np.float32)])
    columns = [(int(word) >> 23, bucket.bit_length() - 1)
               for word in (rows.view(np.uint32) & 0x7FFFFFFF).max(axis=1)]
    dut = EuclideanPass(lanes=16, max_bucket=bucket)
    found = _results(dut, [dut.i_valid, dut.i, dut.i_end, dut.exponent, dut.log2_bucket],
                     _beats(rows, 16, columns, 0))
    _check_euclidean(rows, found)
