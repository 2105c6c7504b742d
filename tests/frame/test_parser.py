"""Parser against scapy: what is ours, what is ordinary, and what is wrong."""

import random

import pytest
from scapy.layers.inet import IP, TCP, UDP, IPOption_NOP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, Dot1Q, Ether

from tightwire.formats import HEADER_BYTES
from tightwire.frame.parser import DROPS, Parser
from tightwire.frame.side import ADDRESS, RX_SIDE

from ..support.bench import PACES, pump, simulate
from ..support.layouts import join, split
from .stations import OURS, PEERS, ether, frame_beats, header, random_side

SEED = 81


def _wrong(frame, at, value):
    """A frame with some bytes overwritten."""
    return frame[:at] + value + frame[at + len(value):]


def _sum(frame):
    """A frame with its IPv4 header checksum made right again."""
    words = [int.from_bytes(frame[n:n + 2], "big") for n in range(14, 34, 2) if n != 24]
    total = sum(words)
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return _wrong(frame, 24, (0xFFFF - total).to_bytes(2, "big"))


def _ours(rng, size, *, checksum=0, side=None, **how):
    """(frame, side, payload) of one that is right."""
    peer = rng.choice(PEERS)
    side = random_side(rng) if side is None else side
    payload = rng.randbytes(size)
    frame = ether(header(side, **how) + payload, source=peer, destination=OURS,
                  checksum=checksum)
    return frame, join(RX_SIDE, side | {"source": peer}), payload


def _broken(rng, size=100):
    """Frames of each kind that is wrong: (frame, error of the MAC, reason)."""
    good = _ours(rng, size)[0]
    summed = _ours(rng, size, checksum=None)[0]
    side = random_side(rng)
    return [
        (good, 1, "mac"),
        (good[:-1], 0, "truncated"),
        (good[:66], 0, "truncated"),
        (good[:64], 0, "truncated"),
        (good[:60], 0, "truncated"),
        (_wrong(good, 25, bytes([good[25] ^ 1])), 0, "ip_checksum"),
        (_sum(_wrong(good, 16, (len(good) - 14 + 1).to_bytes(2, "big"))), 0, "ip_length"),
        (_wrong(good, 38, b"\0\1"), 0, "ip_length"),
        (_sum(_wrong(_wrong(good, 38, b"\0\x1e"), 16, b"\0\x32")), 0, "udp_length"),
        (_ours(rng, size, magic=0x5458)[0], 0, "magic"),
        (_ours(rng, size, version=2)[0], 0, "version"),
        (_ours(rng, size, side=side | {"kind": 4})[0], 0, "kind"),
        (_ours(rng, size, side=side | {"flags": 2})[0], 0, "flags"),
        (_ours(rng, size, side=side | {"log2_bucket": 5})[0], 0, "bucket"),
        (_ours(rng, size, side=side | {"log2_bucket": 14})[0], 0, "bucket"),
        (_ours(rng, size, side=side | {"log2_bucket": 0x16})[0], 0, "bucket"),
        (_ours(rng, size, side=side | {"span": 3, "records": 4})[0], 0, "records"),
        (_wrong(summed, 80, bytes([summed[80] ^ 0x10])), 0, "udp_checksum"),
        (_wrong(summed, 50, bytes([summed[50] ^ 0x10])), 0, "udp_checksum"),
    ]


def _ordinary(rng):
    """Frames that are not ours."""
    to_us = {"source": PEERS[1], "destination": OURS}
    ip = IP(src="10.0.0.2", dst="10.0.0.1")
    udp = UDP(sport=5, dport=OURS["port"])
    mac = Ether(src="02:00:00:00:00:09", dst="02:00:00:00:00:01")
    frames = [
        bytes(mac / ARP()), bytes(mac / ip / TCP() / rng.randbytes(100)),
        bytes(mac / IPv6() / udp / rng.randbytes(90)),
        bytes(mac / Dot1Q(vlan=5) / ip / udp / rng.randbytes(90)),
        bytes(mac / IP(src="10.0.0.2", dst="10.0.0.1", options=[IPOption_NOP()]) / udp
              / rng.randbytes(90)),
        ether(rng.randbytes(90), **to_us, frag=5), ether(rng.randbytes(90), **to_us, flags="MF"),
        ether(rng.randbytes(90), source=PEERS[1], destination=OURS | {"port": 99}),
        ether(rng.randbytes(90), source=PEERS[1], destination=OURS | {"ip": 5}),
        rng.randbytes(14), rng.randbytes(5), rng.randbytes(1), rng.randbytes(64),
        rng.randbytes(300),
    ]
    return [frame.ljust(60, b"\0") if 14 <= len(frame) < 60 else frame for frame in frames]


class _Cases:
    """Frames to be sent, and what is to come of them."""

    def __init__(self, dut):
        self.dut, self.came, self.expected = dut, [], []
        self.drops = dict.fromkeys(DROPS.members, 0)

    def _out(self, content, side, error=0):
        self.expected += frame_beats(self.dut.o.p.shape(), self.dut.lanes, content,
                                     side=side, error=error)

    def send(self, frame, error=0):
        self.came += frame_beats(self.dut.i.p.shape(), self.dut.lanes, frame,
                                 side=1, error=error)

    def ours(self, frame, side, payload):
        self.send(frame)
        self._out(payload, side)

    def ordinary(self, frame, error=0):
        self.send(frame, error)
        self._out(frame, 1, error)
        self.drops["mac"] += error


def _parse(cases, count=None, paces=(1, 1)):
    dut = cases.dut
    drops = dict.fromkeys(DROPS.members, 0)

    async def watch(ctx):
        ctx.set(dut.station.as_value(), join(ADDRESS, OURS))
        async for *_, said in ctx.tick().sample(dut.drop.as_value()):
            for name, one in split(DROPS, said).items():
                drops[name] += one

    source, sink = pump(dut, cases.came, len(cases.expected) if count is None else count,
                        seed=SEED, paces=paces, background=[watch])
    return source, sink, drops


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_ours_and_ordinary_ones(lanes, paces):
    """With and without a UDP checksum, with padding behind, of every length."""
    rng = random.Random(SEED)
    cases = _Cases(Parser(lanes=lanes))
    sizes = [8] * 32 + [1, 2, 3, 4, 4 * lanes - 1, 4 * lanes, 4 * lanes + 1]
    sizes += [rng.randint(1, 300) for _ in range(25)]
    for size in sizes:
        frame, side, payload = _ours(rng, size, checksum=rng.choice([0, None]))
        if rng.random() < 0.2:
            frame += bytes(rng.randint(1, 200))
        cases.ours(frame, side, payload)
        if rng.random() < 0.3:
            cases.ordinary(rng.choice(_ordinary(rng)), error=rng.random() < 0.2)
    for frame in _ordinary(rng):
        cases.ordinary(frame)
    *_, sink, drops = _parse(cases, paces=paces)
    assert sink.items == cases.expected, f"seed {SEED}"
    assert drops == cases.drops


@pytest.mark.parametrize("lanes", [1, 2, 16])
def test_each_fault_is_marked_counted_and_forgotten(lanes):
    """And the frames around it are right."""
    rng = random.Random(SEED)
    layout = Parser(lanes=lanes).o.p.shape()
    for frame, error, reason in _broken(rng):
        cases = _Cases(Parser(lanes=lanes))
        before, after = _ours(rng, 50), _ours(rng, 8)
        cases.ours(*before)
        mark = len(cases.expected)
        cases.send(frame, error)
        cases.ours(*after)
        tail = len(cases.expected) - mark
        # How many beats the broken frame makes is not said: look at what is around it.
        outs = []

        dut = cases.dut
        drops = dict.fromkeys(DROPS.members, 0)

        async def watch(ctx, dut=dut, drops=drops):
            ctx.set(dut.station.as_value(), join(ADDRESS, OURS))
            async for *_, said in ctx.tick().sample(dut.drop.as_value()):
                for name, one in split(DROPS, said).items():
                    drops[name] += one

        async def drain(ctx, dut=dut, outs=outs):
            ctx.set(dut.o.ready, 1)
            async for *_, valid, beat in ctx.tick().sample(dut.o.valid, dut.o.p.as_value()):
                if valid:
                    outs.append(beat)

        async def feed(ctx, dut=dut, came=cases.came):
            for beat in came:
                ctx.set(dut.i.p.as_value(), beat)
                ctx.set(dut.i.valid, 1)
                await ctx.tick().until(dut.i.ready)
            ctx.set(dut.i.valid, 0)
            await ctx.tick().repeat(60)

        simulate(dut, feed, background=[watch, drain])
        assert outs[:mark] == cases.expected[:mark], reason
        assert outs[len(outs) - tail:] == cases.expected[mark:], reason
        middle = [split(layout, beat) for beat in outs[mark:len(outs) - tail]]
        assert [beat["last"] for beat in middle] == [0] * (len(middle) - 1) + [1], reason
        assert middle[-1]["error"] and not middle[0]["side"]["bypass"], reason
        assert drops == dict.fromkeys(DROPS.members, 0) | {reason: 1}, (reason, drops)


@pytest.mark.parametrize("lanes", [1, 16])
def test_long_frames_with_wrong_headers_hold_up_nothing(lanes):
    """Of more beats than the Parser holds: their end comes long after what is wrong is known."""
    rng = random.Random(SEED)
    size = 100 * 4 * lanes
    for frame, reason in [
        (_ours(rng, size, magic=1)[0], "magic"),
        (_ours(rng, size, side=random_side(rng, kind=9))[0], "kind"),
        (_wrong(_ours(rng, size)[0], 38, b"\0\1"), "ip_length"),
    ]:
        for error in (0, 1):
            cases = _Cases(Parser(lanes=lanes))
            cases.send(frame, error)
            after = _ours(rng, 8)
            cases.ours(*after)
            wanted = len(cases.expected)
            _, sink, drops = _parse(cases, wanted + 1)
            broken = split(cases.dut.o.p.shape(), sink.items[0])
            assert broken["first"] and broken["last"] and broken["error"]
            assert not broken["side"]["bypass"]
            assert sink.items[1:] == cases.expected
            assert drops == dict.fromkeys(DROPS.members, 0) | {reason: 1}, (reason, drops)


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", [1, 16])
def test_padding_longer_than_what_is_held(lanes, paces):
    """It is taken off, and what the MAC says at its end still counts."""
    rng = random.Random(SEED)
    cases = _Cases(Parser(lanes=lanes))
    layout = cases.dut.o.p.shape()
    mark = join(layout, {"error": 1})
    for error, wrong_sum in [(0, 0), (1, 0), (0, 1), (0, 0), (1, 1)]:
        for size in (8, 4 * lanes, 4 * lanes + 1, 9 * lanes):
            frame, side, payload = _ours(rng, size, checksum=None)
            if wrong_sum:
                frame = _wrong(frame, 64, bytes([frame[64] ^ 1]))
                payload = _wrong(payload, 0, bytes([payload[0] ^ 1]))
            cases.send(frame + rng.randbytes(rng.choice([1, 100, 400]) * lanes), error)
            beats = frame_beats(layout, lanes, payload, side=side)
            cases.expected += [*beats[:-1], beats[-1] | mark * (error | wrong_sum)]
            if error or wrong_sum:
                cases.drops["mac" if error else "udp_checksum"] += 1
        cases.ours(*_ours(rng, 3 * lanes))
    _, sink, drops = _parse(cases, paces=paces)
    assert sink.items == cases.expected, f"seed {SEED}"
    assert drops == cases.drops


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_one_beat_a_clock(lanes):
    """What comes never waits, from frame to frame."""
    rng = random.Random(SEED)
    cases = _Cases(Parser(lanes=lanes))
    for size in [8, 200, 8, 8, 8, 300, 64, 8] * 4:
        cases.ours(*_ours(rng, size, checksum=None))
    source, sink, _ = _parse(cases)
    assert sink.items == cases.expected
    assert source.clocks == list(range(len(cases.came)))


def test_latency():
    cases = _Cases(Parser(lanes=16))
    cases.ordinary(bytes(range(HEADER_BYTES)))
    source, sink, _ = _parse(cases)
    assert sink.clocks[0] == source.clocks[0] + Parser.latency
