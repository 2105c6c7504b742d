"""Draws are those of the golden model, whenever frames come and beats stall."""

import itertools
import random

import pytest

from tightwire.arith.draws import Draws
from tightwire.config import LANES, ConfigError
from tightwire_sim import golden

from ..support.bench import simulate

SEED = 128

ZERO_STATE = {"stream": 1, "message": 2, "first": 0xAFB171D8}
"""Where the eleventh generator would start from 0."""


def _shortest(lanes):
    """Beats of the shortest frame that need not wait for its draws."""
    return 32 if lanes <= 2 else 16


def _frames(rng, count):
    places = [ZERO_STATE, {"stream": 0xFFFF, "message": 0xFFFF, "first": 0xFFFFFFFF}]
    places += [{"stream": rng.getrandbits(16), "message": rng.getrandbits(16),
                "first": rng.getrandbits(32)} for _ in range(count - 2)]
    rng.shuffle(places)
    return places


def _draw(lanes, frames, beats, rng, *, late=0, pause=0.0):
    """The draws of frames that are started as soon as they may be, or up to ``late`` clocks later.

    ``pause`` is how likely a beat waits a clock. Also the clocks of the starts.
    """
    dut = Draws(lanes=lanes)
    found = [[] for _ in frames]
    starts = []

    async def feed(ctx):
        for place in frames:
            ctx.set(dut.frame.p.seed, place["stream"] << 16 | place["message"])
            ctx.set(dut.frame.p.first, place["first"])
            ctx.set(dut.frame.valid, 1)
            await ctx.tick().until(dut.frame.ready)
            ctx.set(dut.frame.valid, 0)
            if late:
                await ctx.tick().repeat(rng.randint(1, late))

    async def draw(ctx):
        pipeline = [None] * (dut.lead + 1)  # beats on their way: frame, and whether its first
        queue = [(n, beat == 0) for n, count in enumerate(beats) for beat in range(count)]
        wait = 0
        for clock in range(4000):
            beat = None
            if queue and wait == 0 and rng.random() >= pause and (
                    not queue[0][1] or ctx.get(dut.armed)):
                beat = queue.pop(0)
            wait = max(0, wait - 1)
            ctx.set(dut.start, beat is not None and beat[1])
            if beat is not None and beat[1]:
                starts.append(clock)
            if queue and queue[0][1] and beat is not None:
                wait = rng.randint(0, late)
            # What follows a start is at fixed clocks behind it.
            pipeline.insert(0, beat)
            loads, steps = pipeline[dut.lead], pipeline.pop()
            ctx.set(dut.load, loads is not None and loads[1])
            ctx.set(dut.step, steps is not None)
            if steps is not None:
                found[steps[0]] += [ctx.get(draw) for draw in dut.draws]
            await ctx.tick()
            if not queue and not any(pipeline):
                return

    simulate(dut, feed, draw)
    return found, starts


def _check(lanes, frames, beats, found):
    for place, count, draws in zip(frames, beats, found, strict=True):
        expected = golden.draws(count * lanes, **place).tolist()
        assert draws == expected, f"seed {SEED}: {place}"


@pytest.mark.parametrize("lanes", LANES)
def test_frames_that_follow_at_once(lanes):
    """The shortest frames, back to back, each started the moment the one before has ended."""
    rng = random.Random(SEED)
    frames = _frames(rng, 5 if lanes < 64 else 3)
    beats = [_shortest(lanes)] * len(frames)
    found, starts = _draw(lanes, frames, beats, rng)
    _check(lanes, frames, beats, found)
    assert [b - a for a, b in itertools.pairwise(starts[1:])] == beats[2:]


@pytest.mark.parametrize("lanes", LANES)
def test_frames_of_any_length_at_any_time(lanes):
    rng = random.Random(SEED)
    frames = _frames(rng, 8 if lanes < 64 else 2)
    beats = [rng.choice([1, 2, 3, 5, 16, 17, 33, 40]) for _ in frames]
    found, _ = _draw(lanes, frames, beats, rng, late=40, pause=0.3)
    _check(lanes, frames, beats, found)


@pytest.mark.parametrize("lanes", [0, 3, 128, True, "4", None])
def test_lanes_that_cannot_be_built_are_refused(lanes):
    with pytest.raises(ConfigError, match="lanes must be one of 1, 2, 4, 8, 16, 32, 64, not"):
        Draws(lanes=lanes)
