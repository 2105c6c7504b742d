"""FrameCheck lets through what its side band promises, and counts and marks the rest."""

import itertools
import random
from collections import Counter

import pytest

from tightwire.codec.check import DROPS, FrameCheck
from tightwire.formats import Codec, FormatError
from tightwire.stream.beat import beat_layout

from ..golden.cases import CODECS
from ..support.bench import PACES, pump
from ..support.frames import frame
from ..support.layouts import join, split
from .buckets import side_of

SEED = 17

MAX_BUCKET = 256


def _legal(byte):
    try:
        codec = Codec.from_byte(byte)
    except FormatError:
        return False
    return codec in CODECS


ILLEGAL = [byte for byte in range(256) if not _legal(byte)]


def _length(lanes, codec, bucket, span, records):
    """Beats of a frame, and the bytes of the last one that are empty."""
    words = span * (codec.record_words(bucket) if records else bucket)
    return -(-words // lanes), 4 * (-words % lanes)


def _frames(rng, lanes, records, count):
    """Frames of all kinds: the beats, what is to leave, and why they are dropped, if they are."""
    layout = beat_layout(lanes)
    for _ in range(count):
        codec = rng.choice(CODECS)
        bucket = rng.choice([64, 64, 64, 128, 256])
        span = rng.choice([1, 1, 2, 3])
        side = side_of(codec, bucket, span, stream=rng.getrandbits(16), first=rng.getrandbits(32))
        beats, empty = _length(lanes, codec, bucket, span, records)
        fate = rng.choice(["right", "right", "short", "long", "empty", "marked", "marked long",
                           "codec", "bucket", "span", "all wrong", "bypass"])
        error = "marked" in fate
        if fate == "short":
            beats = rng.randint(1, beats)
        elif "long" in fate:
            beats += rng.randint(1, beats)
        if fate == "empty":
            empty = rng.randrange(4 * lanes)
        if fate in ("codec", "all wrong"):
            side["codec"] = split(layout["side"].shape["codec"].shape, rng.choice(ILLEGAL))
        if fate in ("bucket", "all wrong"):
            side["log2_bucket"] = rng.choice([0, 5, 9, 13, 14, 15])
        if fate in ("span", "all wrong"):
            side["span"] = 0
        if fate == "bypass":
            side = {name: rng.getrandbits(8) for name in ("log2_bucket", "span", "stream")}
            side["bypass"], error, beats = 1, rng.getrandbits(1), rng.randint(1, 9)
            empty = rng.randrange(4 * lanes)
        made = frame(lanes, rng, beats, side=join(layout["side"].shape, side), error=error,
                     empty=empty)
        yield made, *_expected(lanes, fate, made, error, empty,
                               _length(lanes, codec, bucket, span, records))


def _expected(lanes, fate, made, error, empty, right):
    if fate == "bypass":
        return made, None
    if fate in ("codec", "bucket", "span", "all wrong"):
        return [], "codec" if fate == "all wrong" else fate
    layout = beat_layout(lanes)
    beats, right_empty = right
    leave = made[:beats]
    if len(made) <= beats and error:
        reason = "marked"
    elif (len(made), empty) != (beats, right_empty):
        reason = "length"
    else:
        return leave, None
    mark = 1 << layout["last"].offset | 1 << layout["error"].offset
    return [*leave[:-1], leave[-1] | mark], reason


def _seen(layout, items):
    """Beats as dicts; an error mark counts with last, and what is empty then does not."""
    for item in items:
        beat = split(layout, item)
        beat["error"] &= beat["last"]
        if beat["error"] and not beat["side"]["bypass"]:
            beat["empty"] = None
        yield beat


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("records", [False, True])
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_frames(lanes, records, paces):
    layout = beat_layout(lanes)
    rng = random.Random(SEED)
    frames = list(_frames(rng, lanes, records, 14 if lanes == 1 else 20 + 3 * lanes))
    dut = FrameCheck(lanes=lanes, max_bucket=MAX_BUCKET, records=records)
    drops = Counter()

    async def watch(ctx):
        async for *_, drop in ctx.tick().sample(dut.drop.as_value()):
            drops.update(name for name in DROPS.members if split(DROPS, drop)[name])

    expected = list(itertools.chain.from_iterable(leave for _, leave, _ in frames))
    _, sink = pump(dut, [beat for made, *_ in frames for beat in made], len(expected), seed=SEED,
                   paces=paces, background=[watch], patience=9000)
    for n, (found, beat) in enumerate(zip(
            _seen(layout, sink.items), _seen(layout, expected), strict=True)):
        assert found == beat, f"seed {SEED}: beat {n}"
    assert drops == Counter(reason for *_, reason in frames if reason), f"seed {SEED}"


@pytest.mark.parametrize("records", [False, True])
def test_latency_and_one_beat_a_clock(records):
    rng = random.Random(SEED)
    lanes, bucket = 4, 64
    dut = FrameCheck(lanes=lanes, max_bucket=MAX_BUCKET, records=records)
    beats = []
    for codec in CODECS:
        count, empty = _length(lanes, codec, bucket, 1, records)
        side = join(beat_layout(lanes)["side"].shape, side_of(codec, bucket, 1))
        beats += frame(lanes, rng, count, side=side, empty=empty)
    source, sink = pump(dut, beats, len(beats), seed=SEED)
    layout = beat_layout(lanes)
    assert list(_seen(layout, sink.items)) == list(_seen(layout, beats))
    assert source.clocks == list(range(len(beats)))
    assert sink.clocks == [clock + dut.latency for clock in source.clocks]


def test_all_codec_bytes():
    """A frame of one bucket for each of them: the legal ones leave."""
    rng = random.Random(SEED)
    lanes, layout = 16, beat_layout(16)
    frames = []
    for byte in range(256):
        side = side_of(CODECS[0], 64, 1)
        side["codec"] = split(layout["side"].shape["codec"].shape, byte)
        frames.append(frame(lanes, rng, 4, side=join(layout["side"].shape, side), empty=0))
    expected = [beat for byte, made in enumerate(frames) if _legal(byte) for beat in made]
    dut = FrameCheck(lanes=lanes, max_bucket=64, records=False)
    _, sink = pump(dut, [beat for made in frames for beat in made], len(expected), seed=SEED)
    assert sink.items == expected
