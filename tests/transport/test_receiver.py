"""Receiver against the rules of docs/card.md, written plainly."""

import itertools
import random
from collections import deque

import pytest
from amaranth.hdl import Value

from tightwire.config import NicConfig
from tightwire.dma.lander import LANDING
from tightwire.dma.transfer import Status
from tightwire.frame.side import ADDRESS, RX_SIDE
from tightwire.transport.ack import ACK_TO
from tightwire.transport.receiver import DROPS, OPEN, POST, Receiver

from ..support.bench import simulate
from ..support.layouts import join, split

SEED = 51
CONFIG = NicConfig(lanes=1, streams=3, regions=4, peers=4, max_bucket=512)
PEERS = [{"mac": 100 + n, "ip": 0x0A000001 + n, "port": 7} for n in range(256)]


class _Plain:
    """What a receiver is to do with a frame, as plainly as it can be said."""

    def __init__(self):
        self.streams = {}   # entry: [stream, expected, set of what is had beyond, peer]
        self.regions = {}   # entry: dict, received

    def open(self, command):
        if command["entry"] < CONFIG.streams:
            self.streams.pop(command["entry"], None)
            if command["open"]:
                self.streams[command["entry"]] = [
                    command["stream"], command["sequence"], set(), command["peer"]]

    def post(self, command):
        """The record that lands for it, or None."""
        entry = command["entry"]
        if entry >= CONFIG.regions:
            return None
        record = {"data": 0, "final": 1, "entry": entry}
        if not command["post"]:
            region = self.regions.pop(entry, None)
            if region is None:
                return None
            return record | {"tag": region["tag"], "count": region["received"],
                             "status": Status.CANCELLED.value}
        good = (entry not in self.regions and command["bytes"] and command["bytes"] % 4 == 0
                and command["address"] % 4 == 0 and 6 <= command["log2_bucket"] <= 9)
        if not good:
            return record | {"tag": command["tag"], "count": 0,
                             "status": Status.BAD_DESCRIPTOR.value}
        bucket = 4 << command["log2_bucket"]
        self.regions[entry] = command | {
            "buckets": -(-command["bytes"] // bucket), "received": 0}
        return None

    def frame(self, head):
        """(drop reason or None, record or None)."""
        for known in self.streams.values():
            if known[0] == head["stream"]:
                break
        else:
            return "unknown_stream", None
        _, expected, had, peer = known
        if PEERS[peer]["ip"] != head["source"]["ip"]:
            return "wrong_source", None
        ahead = (head["sequence"] - expected) % 2**32
        if ahead >= 2**31 or head["sequence"] in had:
            return "duplicate", None
        if ahead >= 64:
            return "beyond_window", None
        place = head["stream"], head["message"]
        entry = next((entry for entry, region in self.regions.items()
                      if (region["stream"], region["message"]) == place), None)
        if entry is None:
            return "unposted", None
        region = self.regions[entry]
        if region["log2_bucket"] != head["log2_bucket"]:
            return "bucket", None
        if head["first"] + head["span"] > region["buckets"]:
            return "outside", None
        had.add(head["sequence"])
        while known[1] in had:
            had.remove(known[1])
            known[1] = (known[1] + 1) % 2**32
        region["received"] += head["span"]
        begin = head["first"] * (4 << head["log2_bucket"])
        length = min(head["span"] * (4 << head["log2_bucket"]), region["bytes"] - begin)
        final = region["received"] == region["buckets"]
        if final:
            del self.regions[entry]
        return None, {
            "address": (region["address"] + begin) % 2**64, "bytes": length,
            "add": region["add"], "data": 1, "final": int(final), "entry": entry,
            "tag": region["tag"], "count": region["received"], "status": Status.OK.value}

    def state(self, stream):
        for known in self.streams.values():
            if known[0] == stream:
                bitmap = sum(1 << (one - known[1]) % 2**32 for one in known[2])
                return known[1], bitmap, known[3]
        return None


class _Bench:
    """Drives a Receiver step by step and compares each answer."""

    def __init__(self, rng, pace=1):
        self.rng = rng
        self.pace = pace
        self.dut = Receiver(config=CONFIG)
        self.verdicts, self.landings, self.acks = deque(), deque(), deque()
        self.drops = dict.fromkeys(DROPS.members, 0)
        self.plain = _Plain()
        self.busy = []

    async def watch(self, ctx, port, into):
        while True:
            ready = self.rng.random() < self.pace
            ctx.set(port.ready, ready)
            *_, valid, payload = await ctx.tick().sample(port.valid, Value.cast(port.payload))
            if valid and ready:
                into.append(payload)

    async def count(self, ctx):
        async for *_, said in ctx.tick().sample(self.dut.drop.as_value()):
            for name, one in split(DROPS, said).items():
                self.drops[name] += one

    async def peers(self, ctx):
        """The table of peers: its answer comes a clock later."""
        async for *_, at in ctx.tick().sample(self.dut.peer_at):
            ctx.set(self.dut.peer.as_value(), join(ADDRESS, PEERS[at]))

    def backgrounds(self):
        dut = self.dut

        def watch(port, into):
            async def run(ctx):
                await self.watch(ctx, port, into)
            return run

        return [watch(dut.verdict, self.verdicts), watch(dut.landing, self.landings),
                watch(dut.acknowledge, self.acks), self.count, self.peers]

    async def push(self, ctx, port, layout, value):
        ctx.set(Value.cast(port.payload), join(layout, value))
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)

    async def settle(self, ctx, clocks=120):
        await ctx.tick().repeat(clocks)

    async def open(self, ctx, **command):
        self.plain.open(command)
        await self.push(ctx, self.dut.open, OPEN, command)

    async def post(self, ctx, **command):
        expected = self.plain.post(command)
        await self.push(ctx, self.dut.post, POST, command)
        await self.settle(ctx, 40)
        self.landed(expected)

    def landed(self, expected):
        if expected is None:
            assert not self.landings
            return
        record = split(LANDING, self.landings.popleft())
        if not expected["data"]:
            record = {name: record[name] for name in expected}
        assert record == expected
        assert not self.landings

    async def frame(self, ctx, **head):
        reason, record = self.plain.frame(head)
        before = dict(self.drops)
        self.acks.clear()
        await self.push(ctx, self.dut.header, RX_SIDE, head)
        await self.settle(ctx)
        assert self.verdicts.popleft() == (reason is None)
        assert not self.verdicts
        assert {name for name in before if self.drops[name] != before[name]} == (
            {reason} if reason else set())
        self.landed(record)
        if reason in (None, "duplicate"):
            ack = split(ACK_TO, self.acks.popleft())
            assert (ack["sequence"], ack["bitmap"], ack["peer"]) == self.plain.state(
                head["stream"])
            assert ack["stream"] == head["stream"]
        assert not self.acks
        return reason


def _head(stream, message, sequence, first, span, *, peer=1, log2_bucket=6):
    return {"stream": stream, "message": message, "sequence": sequence % 2**32, "first": first,
            "span": span, "records": span, "log2_bucket": log2_bucket, "source": PEERS[peer]}


def _run(bench, process):
    try:
        simulate(bench.dut, process, background=bench.backgrounds())
    except AssertionError as error:
        raise AssertionError(f"seed {SEED}: {error}") from error


def test_each_rule_once():
    """One frame for each reason, and between them those that are right."""
    bench = _Bench(random.Random(SEED))

    async def process(ctx):
        await bench.open(ctx, open=1, entry=2, stream=9, sequence=2**32 - 2, peer=1)
        await bench.post(ctx, post=1, entry=3, stream=9, message=5, address=0x1_0000_0004,
                         bytes=10 * 256 + 8, add=1, log2_bucket=6, tag=77)

        async def frame(*args, **others):
            return await bench.frame(ctx, **_head(*args, **others))

        assert await frame(9, 5, -2, 0, 2) is None
        assert await frame(9, 5, -2, 0, 2) == "duplicate"
        assert await frame(8, 5, -1, 2, 2) == "unknown_stream"
        assert await frame(9, 5, -1, 2, 2, peer=2) == "wrong_source"
        assert await frame(9, 6, -1, 2, 2) == "unposted"
        assert await frame(9, 5, -1, 2, 2, log2_bucket=7) == "bucket"
        assert await frame(9, 5, -1, 10, 2) == "outside"
        assert await frame(9, 5, -1, 2**32 - 1, 2) == "outside"
        assert await frame(9, 5, 63, 2, 2) == "beyond_window"
        assert await frame(9, 5, 62, 2, 2) is None
        assert await frame(9, 5, 62, 2, 2) == "duplicate"
        assert await frame(9, 5, 0, 4, 6) is None
        assert await frame(9, 5, -1, 10, 1) is None  # the last: short, and it completes
        assert await frame(9, 5, 1, 0, 1) == "unposted"
        assert not bench.plain.regions

    _run(bench, process)


def test_regions_that_cannot_be_and_cancelling():
    bench = _Bench(random.Random(SEED))
    good = {"post": 1, "entry": 0, "stream": 1, "message": 2, "address": 64, "bytes": 512,
            "add": 0, "log2_bucket": 6, "tag": 5}

    async def process(ctx):
        await bench.open(ctx, open=1, entry=0, stream=1, sequence=0, peer=1)
        for change in ({"bytes": 0}, {"bytes": 6}, {"address": 66}, {"log2_bucket": 5},
                       {"log2_bucket": 10}, {"entry": 4}, {"post": 0}, {}, {"message": 3},
                       {"post": 0}, {"post": 0}, {}):
            await bench.post(ctx, **good | change)
        await bench.frame(ctx, **_head(1, 2, 0, 1, 1))
        await bench.post(ctx, **good | {"post": 0})
        assert await bench.frame(ctx, **_head(1, 2, 1, 0, 1)) == "unposted"
        await bench.open(ctx, open=0, entry=0, stream=1, sequence=0, peer=1)
        assert await bench.frame(ctx, **_head(1, 2, 0, 1, 1)) == "unknown_stream"

    _run(bench, process)


@pytest.mark.parametrize("pace", [1, 0.3])
def test_at_random(pace):
    """Streams, regions and frames near and beyond every limit."""
    rng = random.Random(SEED)
    bench = _Bench(rng, pace)
    reasons = dict.fromkeys([None, *DROPS.members], 0)

    async def process(ctx):
        begin = {}
        for n in range(400):
            if n % 80 == 0:
                entry = n // 80 % 3
                begin[entry] = rng.choice([0, 5, 2**32 - 3, 2**31])
                await bench.open(ctx, open=1, entry=entry, stream=entry, sequence=begin[entry],
                                 peer=entry)
            if rng.random() < 0.15:
                await bench.post(
                    ctx, post=rng.random() < 0.8, entry=rng.randrange(5), stream=rng.randrange(3),
                    message=rng.randrange(2), address=4 * rng.getrandbits(61),
                    bytes=4 * rng.randint(1, 1200), add=rng.getrandbits(1),
                    log2_bucket=rng.choice([6, 6, 7, 9]), tag=rng.getrandbits(32))
            stream = rng.randrange(4)
            state = bench.plain.state(stream)
            sequence = (state[0] if state else 0) + rng.choice([0, 0, 0, 1, 2, 62, 63, 64, -1, -9])
            reason = await bench.frame(ctx, **_head(
                stream, rng.randrange(2), sequence, rng.randrange(8), rng.randint(1, 4),
                peer=stream if rng.random() < 0.95 else 3, log2_bucket=rng.choice([6, 6, 6, 7])))
            reasons[reason] += 1

    # Two regions for one message would be the driver's fault: which one is taken is not said.
    post = bench.post

    async def once(ctx, **command):
        same = {(one["stream"], one["message"]) for one in bench.plain.regions.values()}
        if not command["post"] or (command["stream"], command["message"]) not in same:
            await post(ctx, **command)

    bench.post = once
    _run(bench, process)
    assert all(reasons.values()), reasons


def test_acknowledgements_get_their_turn():
    """While frames of one stream keep coming, another stream's acknowledgement is not starved."""
    bench = _Bench(random.Random(SEED))

    async def process(ctx):
        for stream in (0, 1):
            await bench.open(ctx, open=1, entry=stream, stream=stream, sequence=0, peer=1)
            await bench.post(ctx, post=1, entry=stream, stream=stream, message=0, address=0,
                             bytes=256 * 500, add=0, log2_bucket=6, tag=0)
        for n in range(40):
            stream = 0 if n == 3 else 1
            sequence = 0 if n == 3 else n - (n > 3)
            await bench.push(ctx, bench.dut.header, RX_SIDE, _head(stream, 0, sequence, n, 1))
        heard = [split(ACK_TO, one)["stream"] for one in bench.acks]
        assert 0 in heard[:8]
        assert len(heard) >= 18

    _run(bench, process)


def test_clocks_of_a_frame():
    bench = _Bench(random.Random(SEED))
    clocks = []

    async def ticks(ctx):
        async for *_, ready, valid in ctx.tick().sample(
                bench.dut.header.ready, bench.dut.header.valid):
            clocks.append(ready and valid)

    async def process(ctx):
        await bench.open(ctx, open=1, entry=0, stream=0, sequence=0, peer=1)
        await bench.post(ctx, post=1, entry=0, stream=0, message=0, address=0, bytes=256 * 500,
                         add=0, log2_bucket=6, tag=0)
        for n in range(30):
            await bench.push(ctx, bench.dut.header, RX_SIDE, _head(0, 0, n, n, 1))

    simulate(bench.dut, process, background=[*bench.backgrounds(), ticks])
    taken = [clock for clock, one in enumerate(clocks) if one]
    gaps = [b - a for a, b in itertools.pairwise(taken)]
    assert set(gaps) == {Receiver.clocks + Receiver.acknowledge_clocks}
