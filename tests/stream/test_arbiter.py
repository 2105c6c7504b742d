"""Arbiter and Route: whole frames, in order, in turns."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring

from tightwire.stream.arbiter import Arbiter
from tightwire.stream.beat import beat_layout
from tightwire.stream.route import Route

from ..support.bench import PACES, Sink, Source, simulate
from ..support.frames import frame, random_frames
from ..support.layouts import split

SEED = 25
N = 3


def _flat(frames):
    return [beat for beats in frames for beat in beats]


def _whole(lanes, beats):
    """The frames that a list of beats is made of."""
    layout, frames, begun = beat_layout(lanes), [], []
    for beat in beats:
        parts = split(layout, beat)
        assert parts["first"] == (not begun)
        begun.append(beat)
        if parts["last"]:
            frames.append(begun)
            begun = []
    assert not begun
    return frames


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", [1, 4])
def test_every_frame_once_and_in_the_order_of_its_input(lanes, paces):
    rng = random.Random(SEED)
    dut = Arbiter(lanes=lanes, n=N)
    come, go = paces
    inputs = []
    for n in range(N):  # the side band says where a frame comes from
        frames = random_frames(lanes, rng, longest=9, count=20)
        inputs.append([frame(lanes, rng, len(one), side=n << 1) for one in frames])
    sources = [Source(dut.i[n], _flat(inputs[n]), random.Random(SEED + n), come)
               for n in range(N)]
    sink = Sink(dut.o, sum(len(_flat(one)) for one in inputs), random.Random(SEED - 1), go)
    simulate(dut, *(source.run for source in sources), sink.run)
    layout = beat_layout(lanes)
    got = [[] for _ in range(N)]
    for one in _whole(lanes, sink.items):
        side = split(layout, one[0])["side"]
        got[side["codec"]["levels"]].append(one)
    assert got == inputs, f"seed {SEED}"
    if paces == (1, 1):
        begin = sink.clocks[0]
        assert begin == Arbiter.latency
        assert sink.clocks == list(range(begin, begin + len(sink.clocks)))


def test_inputs_take_turns():
    """One that always has a frame lets the others in after each of its own."""
    rng = random.Random(SEED)
    dut = Arbiter(lanes=1, n=N)
    inputs = [[frame(1, rng, 3, side=n << 1) for _ in range(20)] for n in range(N)]
    sources = [Source(dut.i[n], _flat(inputs[n]), rng) for n in range(N)]
    sink = Sink(dut.o, 180, rng)
    simulate(dut, *(source.run for source in sources), sink.run)
    order = [split(beat_layout(1), one[0])["side"]["codec"]["levels"]
             for one in _whole(1, sink.items)]
    assert all(set(order[n:n + N]) == set(range(N)) for n in range(0, 60, N))


class _Steered(wiring.Component):
    """A Route in which a frame itself says where it goes."""

    def __init__(self, lanes):
        self.route = Route(lanes=lanes, n=N)
        super().__init__({name: self.route.signature.members[name] for name in ("i", "o")})

    def elaborate(self, platform):
        m = Module()
        m.submodules.route = route = self.route
        wiring.connect(m, wiring.flipped(self.i), route.i)
        for n in range(N):
            wiring.connect(m, route.o[n], wiring.flipped(self.o[n]))
        m.d.comb += route.to.eq(self.i.p.side.codec.levels)
        return m


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", [1, 4])
def test_route(lanes, paces):
    """To each output what is for it; what is for none is gone."""
    rng = random.Random(SEED)
    dut = _Steered(lanes)
    come, go = paces
    layout = beat_layout(lanes)
    frames = [frame(lanes, rng, len(one), side=rng.randrange(N + 1) << 1)
              for one in random_frames(lanes, rng, longest=9, count=40)]

    def place(one):
        return split(layout, one[0])["side"]["codec"]["levels"]

    expected = [[beat for one in frames if place(one) == n for beat in one] for n in range(N)]
    source = Source(dut.i, _flat(frames), random.Random(SEED), come)
    sinks = [Sink(dut.o[n], len(expected[n]), random.Random(SEED + n), go, 3000)
             for n in range(N)]
    simulate(dut, source.run, *(sink.run for sink in sinks))
    assert [sink.items for sink in sinks] == expected, f"seed {SEED}"
    if paces == (1, 1):
        assert source.clocks == list(range(len(source.items)))
