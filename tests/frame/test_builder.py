"""Builder against scapy."""

import random

import pytest

from tightwire.config import ConfigError
from tightwire.frame.builder import Builder
from tightwire.frame.header import HEADER_WORDS
from tightwire.frame.side import ADDRESS, TX_SIDE

from ..support.bench import PACES, pump
from ..support.layouts import join
from .stations import OURS, PEERS, ether, frame_beats, header, random_side

SEED = 80


def _cases(dut, rng, sizes):
    """(beats in, beats out) of payloads and of ordinary frames."""
    came, expected = [], []
    for size in sizes:
        payload = rng.randbytes(size)
        error = rng.random() < 0.1
        out = {"bypass": 1}
        if rng.random() < 0.3:
            side = {"bypass": 1, "bytes": rng.getrandbits(16)}
            whole = payload
        else:
            peer = rng.randrange(len(PEERS))
            side = random_side(rng)
            whole = ether(header(side) + payload, source=OURS, destination=PEERS[peer])
            side |= {"peer": peer, "bytes": size}
        came += frame_beats(dut.i.p.shape(), dut.lanes, payload, side=side, error=error)
        expected += frame_beats(dut.o.p.shape(), dut.lanes, whole, side=out, error=error)
    return came, expected


def _build(dut, came, count, **how):
    async def peers(ctx):
        ctx.set(dut.station.as_value(), join(ADDRESS, OURS))
        async for *_, at in ctx.tick().sample(dut.peer_at):
            ctx.set(dut.peer.as_value(), join(ADDRESS, PEERS[at % len(PEERS)]))
    return pump(dut, came, count, seed=SEED, background=[peers], **how)


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_frames_are_those_of_scapy(lanes, paces):
    rng = random.Random(SEED)
    dut = Builder(lanes=lanes)
    sizes = [8] * 64 + [1, 2, 3, 4 * lanes, 4 * lanes + 1, 60, 64, 65]
    sizes += [rng.randint(1, 400) for _ in range(30)]
    came, expected = _cases(dut, rng, sizes)
    _, sink = _build(dut, came, len(expected), paces=paces)
    assert sink.items == expected, f"seed {SEED}"


@pytest.mark.parametrize("lanes", [1, 2, 8, 16])
def test_latency_and_no_bubble(lanes):
    rng = random.Random(SEED)
    dut = Builder(lanes=lanes)
    came, expected = [], []
    for size in (8, 4 * lanes, 300, 8, 8):
        side = random_side(rng)
        payload = rng.randbytes(size)
        came += frame_beats(dut.i.p.shape(), lanes, payload,
                            side=join(TX_SIDE, side | {"peer": 1, "bytes": size}))
        expected += frame_beats(
            dut.o.p.shape(), lanes,
            ether(header(side) + payload, source=OURS, destination=PEERS[1]), side=1)
    source, sink = _build(dut, came, len(expected))
    assert sink.items == expected
    begin = source.clocks[0] + dut.latency
    assert sink.clocks == list(range(begin, begin + len(expected)))


@pytest.mark.parametrize("lanes", [0, 3, 2 * HEADER_WORDS])
def test_lanes_for_which_the_header_is_no_whole_beats(lanes):
    with pytest.raises(ConfigError, match="lanes must be one of 1, 2, 4, 8, 16"):
        Builder(lanes=lanes)
