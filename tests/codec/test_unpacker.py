"""Unpacker reads the payload of the golden model."""

import random

import numpy as np
import pytest

from tightwire.codec.unpacker import Unpacker
from tightwire.stream.beat import SIDE, beat_layout

from ..support.bench import PACES, Source, simulate
from ..support.layouts import join, split
from .payloads import frames

SEED = 23


def _beats(lanes, frame, count, error):
    """The first ``count`` beats of a frame, the last of them marked if ``error``."""
    for n, beat in enumerate(frame.beats[:count]):
        last = n == count - 1
        yield beat | join(beat_layout(lanes), {
            "empty": frame.empty * last, "first": n == 0, "last": last, "error": last and error,
            "side": frame.side})


def _unpack(lanes, beats, count, paces):
    """Items and their raw words, with the clocks they came at, and the source of the beats.

    ``count`` is how many frames are to end.
    """
    dut = Unpacker(lanes=lanes, max_bucket=256)
    source = Source(dut.i, beats, random.Random(SEED), paces[0])
    rng = random.Random(SEED + 1)
    shape = dut.o.shape()
    found = []

    async def watch(ctx):
        raws = [0] * dut.raw_lead
        due = [False] * dut.item_latency
        left, quiet, clock = count, 0, 0
        while left or quiet < 30:
            ctx.set(dut.room, rng.random() < paces[1])
            *_, issue, valid, item, raw = await ctx.tick().sample(
                dut.issue, dut.o_valid, dut.o.as_value(), dut.raw.as_value())
            assert valid == due.pop(0), f"seed {SEED}, clock {clock}: an item is early or late"
            due.append(issue)
            quiet = 0 if valid else quiet + 1
            assert quiet < 1000, f"seed {SEED}: {left} frames are missing"
            if valid:
                item = split(shape, item)
                found.append((clock, item, raws[0]))
                left -= item["last"]
            raws = [*raws[1:], raw]
            clock += 1

    simulate(dut, source.run, watch)
    assert len(source.clocks) == len(beats)
    return dut, found, source


def _check_item(frame, n, item, raw):
    where = f"seed {SEED}: {frame.codec}, item {n}"
    wanted = frame.items[n]
    last = n == len(frame.items) - 1
    assert (item["first"], item["last"]) == (n == 0, last), where
    assert item["side"] == split(SIDE, join(SIDE, frame.side)), where
    if "raw" in wanted:
        assert item["whole"] and not item["norm_valid"], where
        assert raw == wanted["raw"], where
        assert item["empty"] == frame.empty * last, where
        return
    assert not item["whole"] and not item["empty"], where
    assert item["norm_valid"] == (wanted["norm"] is not None), where
    if item["norm_valid"]:
        assert item["norm"] == wanted["norm"], where
    bits, top = frame.codec.bits, frame.codec.top
    assert item["codes"] == [(code >> bits - 1) << 7 | code & top for code in wanted["codes"]], (
        where)


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_payloads(lanes, paces):
    dice = random.Random(SEED)
    made, beats = [], []
    for frame in frames(np.random.default_rng(SEED), lanes, 16 if lanes == 1 else 50):
        error = dice.random() < 0.25
        count = dice.randint(1, len(frame.beats)) if error else len(frame.beats)
        made.append((frame, error))
        beats += _beats(lanes, frame, count, error)
    _, found, _ = _unpack(lanes, beats, len(made), paces)
    found = iter(found)
    for frame, error in made:
        for n in range(len(frame.items)):
            _, item, raw = next(found)
            if error and item["last"]:
                break
            _check_item(frame, n, item, raw)
            assert not (item["last"] and item["error"]), f"seed {SEED}: {frame.codec}"
        assert item["last"] and item["error"] == error, f"seed {SEED}: {frame.codec}"
    assert next(found, None) is None


def test_bypass_frames_pass_as_they_are():
    """Whatever their side band says."""
    lanes, rng = 4, random.Random(SEED)
    beats = []
    for frame in frames(np.random.default_rng(SEED), lanes, 20):
        frame.side["bypass"] = 1
        frame.empty = rng.randrange(16)
        beats += _beats(lanes, frame, rng.randint(1, len(frame.beats)), rng.getrandbits(1))
    lasts = [split(beat_layout(lanes), beat)["last"] for beat in beats]
    _, found, _ = _unpack(lanes, beats, sum(lasts), (0.7, 0.7))
    for (_, item, raw), beat in zip(found, beats, strict=True):
        wanted = split(beat_layout(lanes), beat)
        assert item["whole"] and raw == beat & (1 << 32 * lanes) - 1
        assert {name: item[name] for name in ("empty", "first", "last", "error", "side")} == {
            name: wanted[name] for name in ("empty", "first", "last", "error", "side")}


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_latency_and_one_item_a_clock(lanes):
    """A frame of each of some codecs: the first item at its time, and none later than the next."""
    for frame in frames(np.random.default_rng(SEED), lanes, 7, buckets=(128,), spans=(2,)):
        beats = list(_beats(lanes, frame, len(frame.beats), 0))
        dut, found, source = _unpack(lanes, beats, 1, (1, 1))
        clocks = [clock for clock, *_ in found]
        # With one lane a norm and its first codes are two beats, and other frames keep to that.
        assert clocks[0] == source.clocks[0] + dut.latency + (lanes == 1)
        if lanes > 1 and frame.codec.bits < 32:
            assert clocks == list(range(clocks[0], clocks[0] + len(clocks))), str(frame.codec)
