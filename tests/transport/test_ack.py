"""ACK frames: made, read, and refused where anything is wrong with them."""

import random

import pytest

from tightwire.config import ConfigError
from tightwire.formats import FrameKind
from tightwire.frame.side import RX_SIDE, TX_SIDE
from tightwire.stream.beat import beat_layout
from tightwire.transport.ack import ACK, ACK_TO, AckBuilder, AckReader

from ..support.bench import PACES, Sink, Source, pump, simulate
from ..support.layouts import join, split

SEED = 31

LANES = (1, 2, 4, 16, 64)

HEADER = {"bypass": 0, "codec": 0, "log2_bucket": 6, "message": 0, "first": 0, "span": 0,
          "kind": FrameKind.ACK.value, "flags": 0, "records": 0}


def _state(rng):
    return {"stream": rng.getrandbits(16), "sequence": rng.getrandbits(32),
            "bitmap": rng.getrandbits(64) & ~1}


def _beats(lanes, side, payload, *, layout=RX_SIDE, error=0):
    """The beats of a frame with a payload, bytes."""
    step = 4 * lanes
    pieces = [payload[n:n + step] for n in range(0, len(payload), step)]
    return [join(beat_layout(lanes, layout), {
        "data": int.from_bytes(piece, "little"), "empty": step - len(piece), "first": n == 0,
        "last": n == len(pieces) - 1, "error": error * (n == len(pieces) - 1), "side": side,
    }) for n, piece in enumerate(pieces)]


def _ack_frame(lanes, state, ip, *, length=8, error=0, **wrong):
    payload = (state["bitmap"].to_bytes(8, "little") * (1 + length // 8))[:length]
    side = HEADER | {name: state[name] for name in ("stream", "sequence")} | {
        "source": {"mac": 0x020000000001, "ip": ip, "port": 9}} | wrong
    return _beats(lanes, side, payload, error=error)


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", LANES)
def test_builder(lanes, paces):
    """Every item becomes a frame of 8 bytes, the bitmap little-endian, with an ACK's header."""
    rng = random.Random(SEED)
    items = [_state(rng) | {"peer": rng.getrandbits(8)} for _ in range(40)]
    expected = []
    for item in items:
        side = HEADER | {"bytes": 8} | {
            name: item[name] for name in ("stream", "sequence", "peer")}
        expected += _beats(lanes, side, item["bitmap"].to_bytes(8, "little"), layout=TX_SIDE)
    dut = AckBuilder(lanes=lanes)
    source, sink = pump(dut, [join(ACK_TO, item) for item in items], len(expected), seed=SEED,
                        paces=paces)
    assert sink.items == expected
    if paces == (1, 1):
        assert source.clocks == [dut.clocks * n for n in range(len(items))]
        assert sink.clocks[0] == source.clocks[0] + dut.latency


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", LANES)
def test_reader(lanes, paces):
    rng = random.Random(SEED)
    items = [_state(rng) | {"source": rng.getrandbits(32)} for _ in range(60)]
    beats = [beat for item in items for beat in _ack_frame(lanes, item, item["source"])]
    dut = AckReader(lanes=lanes, depth=64)
    source, sink = pump(dut, beats, len(items), seed=SEED, paces=paces)
    assert [split(ACK, item) for item in sink.items] == items
    if paces == (1, 1):
        assert source.clocks == list(range(1, 1 + len(beats)))  # ready one clock after reset
        each = len(beats) // len(items)
        assert sink.clocks == [clock + dut.latency for clock in source.clocks[each - 1::each]]


WRONG = [
    {"length": 4}, {"length": 5}, {"length": 7}, {"length": 9}, {"length": 12}, {"length": 16},
    {"length": 300}, {"error": 1}, {"bypass": 1}, {"codec": 9}, {"log2_bucket": 7},
    {"message": 1}, {"first": 1}, {"span": 1}, {"records": 1}, {"flags": 1},
    {"kind": FrameKind.DATA.value}, {"kind": 4},
]


@pytest.mark.parametrize("lanes", LANES)
def test_reader_drops_what_is_wrong(lanes):
    """Each wrong frame is counted, and the right ones before and behind it come out."""
    rng = random.Random(SEED)
    beats, expected = [], []
    for wrong in [*WRONG, "bit 0"]:
        state = _state(rng)
        if wrong == "bit 0":
            beats += _ack_frame(lanes, state | {"bitmap": state["bitmap"] | 1}, 1)
        else:
            beats += _ack_frame(lanes, state, 1, **wrong)
        expected.append(_state(rng) | {"source": 2})
        beats += _ack_frame(lanes, expected[-1], 2)
    dut = AckReader(lanes=lanes)
    bad, overrun = [], []

    async def watch(ctx):
        async for *_, one, other in ctx.tick().sample(dut.bad, dut.overrun):
            bad.append(one)
            overrun.append(other)

    _, sink = pump(dut, beats, len(expected), seed=SEED, paces=(0.7, 1), background=[watch])
    assert [split(ACK, item) for item in sink.items] == expected
    assert sum(bad) == len(WRONG) + 1
    assert not any(overrun)


def test_reader_never_makes_the_network_wait():
    """What does not fit is dropped and counted; what was held comes out."""
    rng = random.Random(SEED)
    items = [_state(rng) | {"source": 5} for _ in range(30)]
    beats = [beat for item in items for beat in _ack_frame(4, item, 5)]
    dut = AckReader(lanes=4, depth=16)
    source = Source(dut.i, beats, rng)
    sink = Sink(dut.o, 16, rng)
    overrun = []

    async def watch(ctx):
        async for *_, one in ctx.tick().sample(dut.overrun):
            overrun.append(one)

    async def late(ctx):
        await ctx.tick().repeat(60)
        await sink.run(ctx)

    simulate(dut, source.run, late, background=[watch])
    assert source.clocks == list(range(1, 31))
    assert [split(ACK, item) for item in sink.items] == items[:16]
    assert sum(overrun) == 14


@pytest.mark.parametrize("kind", [AckBuilder, AckReader])
def test_lanes_are_checked(kind):
    with pytest.raises(ConfigError, match="lanes"):
        kind(lanes=3)
