"""Pad: whole buckets, whatever comes."""

import random

import pytest

from tightwire.dma.pad import Pad
from tightwire.stream.beat import SIDE, beat_layout

from ..support.bench import PACES, pump
from ..support.layouts import join

SEED = 73


def _beats(lanes, words, side, error=0):
    layout = beat_layout(lanes)
    return [join(layout, {
        "data": words[n:n + lanes], "first": n == 0, "last": n + lanes >= len(words),
        "empty": 4 * max(0, n + lanes - len(words)), "side": side,
        "error": error and n + lanes >= len(words)}) for n in range(0, len(words), lanes)]


def _case(rng, lanes, words, *, span=1, log2_bucket=6, error=0, bypass=0):
    side = {"span": span, "log2_bucket": log2_bucket, "bypass": bypass,
            "stream": rng.getrandbits(16)}
    side = join(SIDE, side)
    content = [rng.getrandbits(32) for _ in range(words)]
    came = _beats(lanes, content, side, error)
    if bypass:
        return came, came
    total = span << log2_bucket
    padded = (content + [0] * total)[:total]
    return came, _beats(lanes, padded, side, error or words > total)


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", [1, 4, 16, 64])
def test_whole_buckets_come_out(lanes, paces):
    rng = random.Random(SEED)
    cases = [_case(rng, lanes, words, bypass=bypass) for bypass in (0, 1)
             for words in (1, 63, 64, lanes, max(1, lanes - 1))]
    cases += [_case(rng, lanes, rng.randint(1, 64 * 3), span=3, error=rng.random() < 0.2)
              for _ in range(20)]
    cases += [_case(rng, lanes, 200, log2_bucket=7), _case(rng, lanes, 65), _case(rng, lanes, 5)]
    came = [beat for case in cases for beat in case[0]]
    expected = [beat for case in cases for beat in case[1]]
    _, sink = pump(Pad(lanes=lanes), came, len(expected), seed=SEED, paces=paces)
    assert sink.items == expected


def test_one_beat_a_clock():
    rng = random.Random(SEED)
    cases = [_case(rng, 4, words, span=2) for words in (128, 100, 128, 1, 128)]
    came = [beat for case in cases for beat in case[0]]
    expected = [beat for case in cases for beat in case[1]]
    _, sink = pump(Pad(lanes=4), came, len(expected), seed=SEED)
    assert sink.clocks == list(range(Pad.latency, Pad.latency + len(expected)))
