"""The AXI-Stream edges: every kind of tkeep on the way in, the rules on the way out."""

import random

import pytest

from tightwire.stream.axis import USER, AxisInput, AxisOutput
from tightwire.stream.beat import SIDE, beat_layout

from ..support.bench import PACES, pump
from ..support.frames import random_frames
from ..support.layouts import join, split

SEED = 5150
LANES = [1, 4, 16]


def _axis(rng, lanes, keeps):
    """A frame with these tkeeps at random else, as dicts of the members of a beat."""
    return [{"tdata": rng.getrandbits(32 * lanes), "tkeep": keep, "tlast": n == len(keeps) - 1,
             "tuser": rng.getrandbits(USER.size)} for n, keep in enumerate(keeps)]


def _keeps(rng, lanes):
    """The tkeeps of a frame, and whether they are right."""
    bytes_ = 4 * lanes
    full = (1 << bytes_) - 1
    right = [full] * rng.choice([0, 1, 2, 3, 7]) + [(1 << rng.randint(1, bytes_)) - 1]
    kind = rng.choice(["right", "right", "hole", "not from 0", "none", "short before last"])
    wrong = list(right)
    at = rng.randrange(len(right))
    if kind == "hole":
        wrong[at] = full & ~(1 << rng.randrange(1, bytes_ - 1))
    elif kind == "not from 0":
        wrong[at] = full & ~((1 << rng.randint(1, bytes_ - 1)) - 1)
    elif kind == "none":
        wrong[at] = 0
    elif kind == "short before last" and len(right) > 1:
        wrong[rng.randrange(len(right) - 1)] = full >> rng.randrange(1, bytes_)
    return wrong, wrong == right


def _beats(lanes, frame, right):
    """What an AxisInput makes of a frame: beats, with None for ``empty`` where it is not said."""
    side = split(USER, frame[0]["tuser"])
    for n, axis in enumerate(frame):
        kept = [byte for byte in range(4 * lanes) if axis["tkeep"] >> byte & 1]
        last = n == len(frame) - 1
        yield {
            "data": sum(axis["tdata"] & 0xFF << 8 * byte for byte in kept),
            "empty": (4 * lanes - len(kept) if right else None) if last else 0,
            "first": n == 0,
            "last": last,
            "error": last and (not right or split(USER, axis["tuser"])["error"]),
            "side": {name: side[name] for name in SIDE.members},
        }


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", LANES)
def test_input(lanes, paces):
    rng = random.Random(f"{SEED} {lanes}")
    dut = AxisInput(lanes=lanes)
    items, expected = [], []
    for n in range(110):
        full = (1 << 4 * lanes) - 1
        keeps, right = ([full >> rng.randrange(4 * lanes)], True) if n < 64 else _keeps(rng, lanes)
        frame = _axis(rng, lanes, keeps)
        items += [join(dut.i.p.shape(), axis) for axis in frame]
        expected += _beats(lanes, frame, right)
    _, sink = pump(dut, items, len(items), seed=SEED, paces=paces)
    for n, (item, beat) in enumerate(zip(sink.items, expected, strict=True)):
        found = split(beat_layout(lanes), item)
        found["data"] = item & (1 << 32 * lanes) - 1
        if beat["empty"] is None:
            found["empty"] = None
        assert found == beat, f"seed {SEED}: beat {n}"


def _user(beat):
    side = beat["side"]
    return {"error": beat["last"] & beat["error"]} | side


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", LANES)
def test_output(lanes, paces):
    rng = random.Random(f"{SEED} {lanes}")
    dut = AxisOutput(lanes=lanes)
    layout = beat_layout(lanes)
    items = [beat for frame in random_frames(lanes, rng, longest=9, count=20) for beat in frame]
    # What is said by an error mark before last is nothing.
    items = [beat | rng.randrange(2) << layout["error"].offset for beat in items]
    _, sink = pump(dut, items, len(items), seed=SEED, paces=paces)
    for n, (item, found) in enumerate(zip(items, sink.items, strict=True)):
        beat = split(layout, item)
        expected = join(dut.o.p.shape(), {
            "tdata": item & (1 << 32 * lanes) - 1,
            "tkeep": (1 << 4 * lanes - beat["empty"]) - 1,
            "tlast": beat["last"],
            "tuser": join(USER, _user(beat)),
        })
        assert found == expected, f"seed {SEED}: beat {n}"


@pytest.mark.parametrize("edge", [AxisInput, AxisOutput])
def test_latency_and_one_beat_a_clock(edge):
    dut = edge(lanes=1)
    last = join(dut.i.p.shape(), {"tkeep": 15, "tlast": 1} if edge is AxisInput else {"last": 1})
    source, sink = pump(dut, [last] * 40, 40, seed=SEED)
    assert source.clocks == list(range(40))
    assert sink.clocks == [clock + dut.latency for clock in source.clocks]
