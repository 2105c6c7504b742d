"""BucketCounter knows where buckets begin and end."""

import random

import pytest

from tightwire.codec.bucket import BucketCounter

from ..support.bench import clocked

SEED = 3


@pytest.mark.parametrize("lanes, max_bucket", [
    (1, 64), (4, 64), (16, 64), (16, 512), (32, 8192), (64, 128)])
def test_first_and_last(lanes, max_bucket):
    rng = random.Random(SEED)
    rows, expected = [], []
    for _ in range(20):
        log2 = rng.randint(6, min(9, max_bucket.bit_length() - 1))
        beats = (1 << log2) // lanes
        count = rng.randint(1, 2 * beats)  # a frame may end within a bucket
        for n in range(count):
            wait = rng.random() < 0.2
            rows += [(0, log2, rng.getrandbits(1))] * wait + [(1, log2, n == count - 1)]
            expected += [(n % beats == 0, n % beats == beats - 1)] * (1 + wait)
    dut = BucketCounter(lanes=lanes, max_bucket=max_bucket)
    seen = clocked(dut, [dut.step, dut.log2_bucket, dut.end], [dut.first, dut.last], rows, extra=0)
    assert seen == expected, f"seed {SEED}"
