"""FloatAdd is the addition of numpy's float32, but for the NaN."""

import random

import numpy as np
import pytest

from tightwire.arith.float_add import FloatAdd
from tightwire.formats import NAN

from ..support.bench import clocked

SEED = 23

CLASSES = [  # of each class the ends, and what is next to them
    0x00000000, 0x00000001, 0x00000002, 0x007FFFFE, 0x007FFFFF, 0x00800000, 0x00800001,
    0x00FFFFFF, 0x01000000, 0x0C000000, 0x33800000, 0x3F7FFFFF, 0x3F800000, 0x3F800001,
    0x4B800000, 0x7E800000, 0x7F000000, 0x7F7FFFFE, 0x7F7FFFFF, 0x7F800000, 0x7F800001,
    0x7FC00000, 0x7FFFFFFF,
]


def _numpy(pairs):
    a, b = (np.array(side, dtype=np.uint32).view(np.float32) for side in zip(*pairs, strict=True))
    with np.errstate(all="ignore"):
        total = a + b
    return np.where(np.isnan(total), np.uint32(NAN), total.view(np.uint32)).tolist()


def _sums(pairs):
    dut = FloatAdd()
    seen = clocked(dut, [dut.a, dut.b], [dut.o], pairs, extra=dut.latency)
    return [value for value, in seen[dut.latency:]]


def _near(rng):
    """Two numbers whose exponents are close, of either sign."""
    exponent = rng.randint(0, 255)
    other = min(255, max(0, exponent + rng.randint(-28, 28)))
    fraction = rng.choice([rng.getrandbits(23), 0, 0x7FFFFF, 1 << rng.randrange(23)])
    return (rng.getrandbits(1) << 31 | exponent << 23 | fraction,
            rng.getrandbits(1) << 31 | other << 23 | rng.getrandbits(23))


def _ties(rng):
    """A sum whose exact value lies in the middle of two float32, or just beside it."""
    exponent = rng.randint(30, 250)
    down = rng.randint(1, 25)
    fraction = (rng.getrandbits(23) >> down << down) + rng.choice([-1, 0, 0, 1])
    return (rng.getrandbits(1) << 31 | exponent << 23 | rng.getrandbits(23),
            rng.getrandbits(1) << 31 | exponent - down << 23 | fraction & 0x7FFFFF)


def _opposite(rng):
    """What cancels to the last bits."""
    word = rng.getrandbits(31)
    return word, 0x80000000 | word ^ rng.getrandbits(rng.randint(0, 4))


def test_classes():
    words = [sign | word for word in CLASSES for sign in (0, 0x80000000)]
    pairs = [(a, b) for a in words for b in words]
    assert _sums(pairs) == _numpy(pairs)


@pytest.mark.parametrize("kind", [
    _near, _ties, _opposite, lambda rng: (rng.getrandbits(32), rng.getrandbits(32))],
    ids=["near", "ties", "opposite", "any"])
def test_random(kind):
    rng = random.Random(SEED)
    pairs = [kind(rng) for _ in range(8000)]
    for pair, sum_, expected in zip(pairs, _sums(pairs), _numpy(pairs), strict=True):
        assert sum_ == expected, f"{pair[0]:#x} + {pair[1]:#x}, seed {SEED}"
