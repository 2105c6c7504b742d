"""Scale chooses the norm that the golden model finds, and its K and t."""

import random

import numpy as np
import pytest

from tightwire.codec.scale import NORM_REQUEST, Scale
from tightwire.formats import NAN

from ..golden.cases import QUANTISED
from ..support.bench import Source, simulate
from ..support.layouts import join
from .buckets import codec_value, scale_of

SEED = 7

INFINITE = 0x7F800000
EDGES = [0, 1, (1 << 23) - 1, 1 << 23, (1 << 23) + 1, 0x3F800000, 0x3F7FFFFF, 0x3FE00000,
         0x3FE00001, 0x3FDFFFFF, 0x3FFE0000, 0x3FFDFFFF, 0x3FFE0001, 0x7F7FFFFF, INFINITE, NAN,
         0x7FFFFFFF]


def _requests(rng, count):
    """Requests as values, the root that goes with each or None, and the norm that follows."""
    for n in range(count):
        codec = QUANTISED[n % len(QUANTISED)]
        largest = rng.choice(EDGES) if rng.random() < 0.5 else rng.randrange(1 << 31)
        euclidean = rng.getrandbits(1)
        # A root is never far below the largest, and of no meaning where that is not a number.
        root = rng.choice([largest - 1, largest, largest + rng.randrange(1 << 25), NAN])
        root = min(max(root, 0), INFINITE)
        norm = max(largest, root) if euclidean else largest
        if largest < 1 << 23:
            norm = 0
        elif largest >= INFINITE or norm >= INFINITE:
            norm = NAN
        request = join(NORM_REQUEST, {
            "largest": largest, "euclidean": euclidean, "codec": codec_value(codec)})
        yield request, root if euclidean else None, norm, codec


def _run(dut, requests, paces):
    """The scales that came, and at which clocks; and those at which the requests were taken."""
    source = Source(dut.i, [request for request, *_ in requests], random.Random(SEED), paces[0])
    roots = Source(dut.root, [root for _, root, *_ in requests if root is not None],
                   random.Random(SEED + 1), paces[1])
    came = []

    async def watch(ctx):
        clock = 0
        while len(came) < len(requests):
            *_, valid, scale = await ctx.tick().sample(dut.o_valid, dut.o.as_value())
            if valid:
                came.append((clock, scale))
            clock += 1
        for _ in range(dut.latency + dut.interval):
            *_, valid = await ctx.tick().sample(dut.o_valid)
            assert not valid, f"seed {SEED}: one scale too many"

    simulate(dut, source.run, roots.run, watch)
    return came, source.clocks


@pytest.mark.parametrize("paces", [(1, 1), (0.5, 1), (1, 0.1), (0.4, 0.4)], ids=str)
@pytest.mark.parametrize("interval", [1, 4, 64])
def test_scales(interval, paces):
    requests = list(_requests(random.Random(SEED), 240 if interval < 64 else 36))
    dut = Scale(interval=interval)
    came, taken = _run(dut, requests, paces)
    for (clock, scale), taken_at, (_, _, norm, codec) in zip(came, taken, requests, strict=True):
        expected, = scale_of(np.array([norm], np.uint32), codec)
        if norm in (0, NAN):  # K and t mean nothing
            scale &= (1 << 32) - 1
            expected &= (1 << 32) - 1
        assert scale == expected, f"seed {SEED}: norm {norm:#x}, {codec}"
        assert clock == taken_at + dut.latency
    spacing = np.diff(taken)
    assert spacing.min() == interval if paces == (1, 1) else spacing.min() >= interval
    if paces == (1, 1):
        assert spacing.max() == interval
