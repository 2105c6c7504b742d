"""Packer writes the payload of the golden model."""

import random

import numpy as np
import pytest

from tightwire.codec.packer import Packer

from ..support.bench import PACES, Sink, simulate
from ..support.layouts import join, split
from .buckets import codec_value
from .payloads import frames

SEED = 19


def _items(frame):
    """The inputs of a frame: the item as an int without last and error, and raw words."""
    for item in frame.items:
        value = {"codec": codec_value(frame.codec), "whole": "raw" in item}
        if "codes" in item:
            value |= {"norm_valid": item["norm"] is not None, "norm": item["norm"] or 0,
                      "codes": item["codes"]}
        yield value, item.get("raw")


def _pack(lanes, work, *, paces, delay, count, seed=SEED):
    """Feeds items that are ``delay`` clocks behind their reservation; the Sink, and the clocks."""
    dut = Packer(lanes=lanes)
    shape = dut.i.shape()
    rng = random.Random(seed)
    sink = Sink(dut.o, count, random.Random(seed + 1), paces[1], patience=2000)
    clocks = []

    async def feed(ctx):
        pipeline = [None] * delay
        raws = [None] * dut.raw_latency
        left = list(work)
        clock = 0
        rest = delay + dut.raw_latency + 1
        while left or rest:
            rest -= not left
            item = None
            if left and ctx.get(dut.room) and rng.random() < paces[0]:
                item = left.pop(0)
            ctx.set(dut.reserve, item is not None)
            ctx.set(dut.reserve_last, item[0]["last"] if item else rng.getrandbits(1))
            pipeline.append(item)
            now = pipeline.pop(0)
            ctx.set(dut.i_valid, now is not None)
            ctx.set(dut.i.as_value(), join(shape, now[0]) if now else rng.getrandbits(shape.size))
            if now:
                clocks.append(clock)
            raws.append(now[1] if now else None)
            raw = raws.pop(0)
            ctx.set(dut.raw.as_value(), rng.getrandbits(32 * lanes) if raw is None else raw)
            await ctx.tick()
            clock += 1

    simulate(dut, feed, sink.run)
    return dut, sink, clocks


def _work(made, rng, broken):
    """The items of frames, and the beats that are to come: data or None, empty, last, error."""
    work, beats = [], []
    for frame in made:
        items = list(_items(frame))
        error = rng.random() < broken
        if error:
            items = items[:rng.randint(1, len(items))]
        for n, (value, raw) in enumerate(items):
            last = n == len(items) - 1
            work.append((value | {"last": last, "error": last and error}, raw))
        beats.append((frame, len(items), error))
    return work, beats


def _check(lanes, dut, sink, expected):
    at = 0
    for frame, _, error in expected:
        start = at
        while not split(dut.beat, sink.items[at])["last"]:
            at += 1
        at += 1
        found = [split(dut.beat, item) for item in sink.items[start:at]]
        datas = [item & (1 << 32 * lanes) - 1 for item in sink.items[start:at]]
        assert found[-1]["error"] == error, f"seed {SEED}"
        assert not any(beat["empty"] for beat in found[:-1]), f"seed {SEED}"
        if error:
            # It ends early; what is before its last beat is as it should be.
            assert datas[:-1] == frame.beats[:len(datas) - 1], f"seed {SEED}: {frame.codec}"
        else:
            assert datas == frame.beats, f"seed {SEED}: {frame.codec}"
            assert found[-1]["empty"] == frame.empty, f"seed {SEED}: {frame.codec}"
    assert at == len(sink.items)


def _count(lanes, expected):
    """How many beats come of frames, some of which are cut."""
    count = 0
    for frame, items, _ in expected:
        if "raw" in frame.items[0]:
            count += items
            continue
        bits = lanes * frame.codec.bits
        sizes = [(n + 1) * bits // 32 - n * bits // 32
                 + (frame.items[n]["norm"] is not None) for n in range(items)]
        count += -(-sum(sizes) // lanes)
        # The mark wants a beat, also where nothing is left to be put into it.
        count += sizes[-1] == 0 and sum(sizes) % lanes == 0
    return count


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_payloads(lanes, paces):
    made = list(frames(np.random.default_rng(SEED), lanes, 16 if lanes == 1 else 40))
    work, expected = _work(made, random.Random(SEED), 0.2)
    dut, sink, _ = _pack(lanes, work, paces=paces, delay=7, count=_count(lanes, expected))
    _check(lanes, dut, sink, expected)


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_latency_and_one_item_a_clock(lanes):
    """The end of each frame is a beat that its last item completes."""
    made = list(frames(np.random.default_rng(SEED), lanes, 14, buckets=(64,), spans=(1,)))
    work, expected = _work(made, random.Random(SEED), 0)
    dut, sink, clocks = _pack(lanes, work, paces=(1, 1), delay=7, count=_count(lanes, expected))
    _check(lanes, dut, sink, expected)
    assert clocks == list(range(clocks[0], clocks[0] + len(work)))
    ended = [clock for clock, (item, _) in zip(clocks, work, strict=True) if item["last"]]
    left = [clock for clock, item in zip(sink.clocks, sink.items, strict=True)
            if split(dut.beat, item)["last"]]
    # One later where the item ends two beats.
    assert {b - a for a, b in zip(ended, left, strict=True)} <= {dut.latency, dut.latency + 1}
    assert dut.latency in [b - a for a, b in zip(ended, left, strict=True)]
