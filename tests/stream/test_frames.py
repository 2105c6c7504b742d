"""FrameFifo and FrameStore: every frame that should leaves, whole, and no other."""

import random

import pytest

from tightwire.stream.beat import beat_layout
from tightwire.stream.frame_fifo import FrameFifo, FrameStore

from ..support.bench import PACES, Sink, pump, simulate
from ..support.frames import frame, random_frames
from ..support.layouts import split

SEED = 20

LONGEST = 9


def _flat(frames):
    return [beat for beats in frames for beat in beats]


def _frames(lanes, count=40, longest=LONGEST):
    return random_frames(lanes, random.Random(SEED), longest=longest, count=count)


def _side(layout, beats):
    return split(layout, beats[0])["side"]


# ---- FrameFifo ----

@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes, depth, frames", [(1, 6, 3), (2, 16, 2), (4, 7, 16)])
def test_fifo_gives_out_what_came_in(lanes, depth, frames, paces):
    beats = _flat(_frames(lanes))
    dut = FrameFifo(lanes=lanes, depth=depth, frames=frames)
    _, sink = pump(dut, beats, len(beats), seed=SEED, paces=paces)
    assert sink.items == beats


def test_fifo_latency_and_one_beat_a_clock():
    beats = _flat(_frames(1))
    dut = FrameFifo(lanes=1, depth=8, frames=8)
    source, sink = pump(dut, beats, len(beats), seed=SEED)
    assert source.clocks == list(range(len(beats)))
    assert sink.clocks == [clock + dut.latency for clock in source.clocks]


@pytest.mark.parametrize("depth, frames, held", [(8, 3, 3), (4, 8, 4)])
def test_fifo_holds_its_frames_or_its_beats(depth, frames, held):
    """Frames of one beat, until a full FIFO takes no more."""
    dut = FrameFifo(lanes=1, depth=depth, frames=frames)
    taken = []

    async def fill(ctx):
        ctx.set(dut.i.valid, 1)
        ctx.set(dut.i.p.first, 1)
        ctx.set(dut.i.p.last, 1)
        for _ in range(20):
            *_, ready = await ctx.tick().sample(dut.i.ready)
            taken.append(ready)

    simulate(dut, fill)
    assert held <= sum(taken) <= held + 2
    assert not taken[-1]


# ---- FrameStore ----

def _store(lanes, depth=LONGEST):
    dut = FrameStore(lanes=lanes, store_bytes=4 * lanes * depth)
    assert dut.depth == depth
    return dut


def _through(dut, frames, expected, *, paces=(1, 1), cut_through=0):
    """Sends frames through a store; the source and the sink, and how often it said too long."""
    long = []

    async def watch(ctx):
        ctx.set(dut.cut_through, cut_through)
        async for *_, one in ctx.tick().sample(dut.dropped_long):
            long.append(one)

    expected = _flat(expected)
    source, sink = pump(dut, _flat(frames), len(expected), seed=SEED, paces=paces,
                        background=[watch])
    assert sink.items == expected, f"seed {SEED}"
    return source, sink, sum(long)


def _mixture(lanes, depth):
    """Frames of all fates, and those of them that are to leave."""
    rng = random.Random(SEED)
    layout = beat_layout(lanes)
    frames, leave, long = [], [], 0
    lengths = [1] * 64 + [1, 2, 3, 4, depth - 1, depth, depth + 1, depth, 2 * depth + 1, depth]
    lengths += [rng.choice([1, 2, 3, 4, depth // 2, depth - 1, depth, depth + 1, 3 * depth])
                for _ in range(60)]
    for beats in lengths:
        error = rng.random() < 0.3
        side = rng.getrandbits(layout["side"].shape.size)
        new = frame(lanes, rng, beats, side=side, error=error)
        frames.append(new)
        good = not error or _side(layout, new)["bypass"]
        if beats > depth:
            long += good  # what is broken as well has been counted elsewhere
        elif good:
            leave.append(new)
    assert long > 4 and 20 < len(leave) < len(frames) - 20
    return frames, leave, long


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes, depth", [(1, 9), (2, 16), (4, 5)])
def test_store_lets_out_what_is_right(lanes, depth, paces):
    frames, leave, long = _mixture(lanes, depth)
    *_, said = _through(_store(lanes, depth), frames, leave, paces=paces)
    assert said == long, f"seed {SEED}"


@pytest.mark.parametrize("paces", PACES, ids=str)
def test_store_with_cut_through_lets_out_all(paces):
    """Also what is marked, and what is longer than the store."""
    frames, _, _ = _mixture(1, LONGEST)
    *_, said = _through(_store(1), frames, frames, paces=paces, cut_through=1)
    assert said == 0


@pytest.mark.parametrize("bypass", [0, 1])
def test_store_and_a_marked_frame(bypass):
    """It is taken back, or passes with its mark if it is to pass as it is."""
    rng = random.Random(SEED)
    good, bad, after = (frame(1, rng, 3, side=bypass, error=error) for error in (0, 1, 0))
    frames = [good, bad, after]
    _through(_store(1), frames, frames if bypass else [good, after])


def test_store_and_lengths_around_its_own():
    rng = random.Random(SEED)
    frames = [frame(1, rng, LONGEST + extra, side=0, error=0) for extra in (-1, 0, 1, 0, 2, -1)]
    leave = [beats for beats in frames if len(beats) <= LONGEST]
    *_, said = _through(_store(1), frames, leave)
    assert said == 2


@pytest.mark.parametrize("error", [0, 1])
def test_store_counts_a_very_long_frame_once(error):
    """Not at all, where something else is wrong with it that was counted."""
    rng = random.Random(SEED)
    frames = [frame(1, rng, 7 * LONGEST, side=0, error=error), frame(1, rng, 1, side=0)]
    *_, said = _through(_store(1), frames, frames[1:])
    assert said == 1 - error


def test_store_with_more_frames_than_slots():
    """More frames of one beat than it has slots for, while nothing leaves: none is lost."""
    dut = _store(1, 100)
    assert dut.frames < dut.depth
    rng = random.Random(SEED)
    beats = _flat(frame(1, rng, 1, error=0) for _ in range(100))
    taken = []
    sink = Sink(dut.o, len(beats), rng)

    async def feed(ctx):
        for beat in beats:
            ctx.set(dut.i.payload.as_value(), beat)
            ctx.set(dut.i.valid, 1)
            await ctx.tick().until(dut.i.ready)
            taken.append(beat)
        ctx.set(dut.i.valid, 0)

    async def late(ctx):
        await ctx.tick().repeat(150)
        assert dut.frames <= len(taken) < len(beats)
        await sink.run(ctx)

    simulate(dut, feed, late)
    assert sink.items == beats, f"seed {SEED}"


@pytest.mark.parametrize("pace", [1, 0.5, 0.1])
@pytest.mark.parametrize("lanes, depth", [(1, 9), (2, 40)])
def test_lossy_store_never_waits_and_drops_whole_frames(lanes, depth, pace):
    """A wire can't wait: what finds no room is dropped whole, and each frame has one fate."""
    rng = random.Random(SEED)
    layout = beat_layout(lanes)
    dut = FrameStore(lanes=lanes, store_bytes=4 * lanes * depth, lossy=True)
    lengths = [1] * 64 + [rng.choice([1, 2, 3, depth // 2, depth, depth + 1, 2 * depth])
                          for _ in range(150)]
    frames = [frame(lanes, rng, beats, error=rng.random() < 0.2) for beats in lengths]
    good = [one for one in frames
            if not split(layout, one[-1])["error"] or _side(layout, one)["bypass"]]
    fates = dict.fromkeys(("kept", "dropped_long", "dropped_full"), 0)
    out = []

    async def feed(ctx):
        ctx.set(dut.i.valid, 1)
        for beat in _flat(frames):
            ctx.set(dut.i.payload.as_value(), beat)
            *_, ready = await ctx.tick().sample(dut.i.ready)
            assert ready
        ctx.set(dut.i.valid, 0)
        await ctx.tick().repeat(int((3 * depth + 20) / pace))

    async def drain(ctx):
        while True:
            ready = rng.random() < pace
            ctx.set(dut.o.ready, ready)
            *_, valid, beat = await ctx.tick().sample(dut.o.valid, dut.o.payload.as_value())
            if valid and ready:
                out.append(beat)

    async def watch(ctx):
        async for _, _, *said in ctx.tick().sample(*(getattr(dut, fate) for fate in fates)):
            for fate, one in zip(fates, said, strict=True):
                fates[fate] += one

    simulate(dut, feed, background=[drain, watch])
    left = iter(good)
    got = 0
    while out:
        one = next(left)  # StopIteration: what came out is not made of whole frames, in order
        if out[:len(one)] == one:
            del out[:len(one)]
            got += 1
    assert got == fates["kept"], f"seed {SEED}"
    assert sum(fates.values()) == len(good), f"seed {SEED}"
    long = sum(len(one) > depth for one in good)
    assert fates["dropped_long"] <= long
    assert fates["dropped_full"] > 0


@pytest.mark.parametrize("cut_through", [0, 1])
@pytest.mark.parametrize("beats", [1, 2, LONGEST])
def test_store_latency(beats, cut_through):
    dut = _store(1)
    frames = [frame(1, random.Random(SEED), beats, error=0)]
    source, sink, _ = _through(dut, frames, frames, cut_through=cut_through)
    assert sink.clocks[0] == source.clocks[0 if cut_through else -1] + dut.latency
    assert sink.clocks == list(range(sink.clocks[0], sink.clocks[0] + beats))


def test_store_one_beat_a_clock():
    """Frames of half the store: while one leaves the next one comes in."""
    rng = random.Random(SEED)
    frames = [frame(1, rng, 8, error=0) for _ in range(12)]
    source, sink, _ = _through(_store(1, 32), frames, frames)
    assert source.clocks == list(range(96))
    assert sink.clocks == list(range(sink.clocks[0], sink.clocks[0] + 96))
