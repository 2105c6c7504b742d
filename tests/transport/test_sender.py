"""Sender against a receiving end written plainly, over a channel that loses frames."""

import itertools
import random

import pytest
from amaranth.hdl import Value

from tightwire.config import NicConfig
from tightwire.dma.transfer import COMPLETION, Status
from tightwire.formats import QSGDINF4, RAW, Codec
from tightwire.frame.side import ADDRESS, TX_SIDE
from tightwire.transport.ack import ACK
from tightwire.transport.sender import MESSAGE, OPEN_SENDER, Sender

from ..support.bench import simulate
from ..support.layouts import join, split

SEED = 52
CONFIG = NicConfig(lanes=1, streams=3, messages=4, peers=4, max_bucket=512)
PEERS = [{"mac": n, "ip": 50 + n, "port": 9} for n in range(256)]
TIMEOUT = 800


class _Peer:
    """The receiving end of all streams: what came, and what it acknowledges."""

    def __init__(self):
        self.expected, self.had, self.frames = {}, {}, []

    def open(self, stream, sequence):
        self.expected[stream], self.had[stream] = sequence, set()

    def take(self, side):
        stream, sequence = side["stream"], side["sequence"]
        ahead = (sequence - self.expected[stream]) % 2**32
        if ahead < 2**31 and sequence not in self.had[stream]:
            assert ahead < 64, "a frame beyond the window"
            self.had[stream].add(sequence)
            self.frames.append(side)
            while self.expected[stream] in self.had[stream]:
                self.had[stream].remove(self.expected[stream])
                self.expected[stream] = (self.expected[stream] + 1) % 2**32
        return {"stream": stream, "sequence": self.expected[stream],
                "bitmap": sum(1 << (one - self.expected[stream]) % 2**32
                              for one in self.had[stream])}


class _Bench:
    def __init__(self, *, loss=0.0, delay=20, reorder=0.0, double=0.0, tries=20, mute=()):
        self.rng = random.Random(SEED)
        self.dut = Sender(config=CONFIG)
        self.loss, self.delay, self.reorder, self.double = loss, delay, reorder, double
        self.tries, self.mute = tries, set(mute)
        self.peer = _Peer()
        self.requests, self.completions, self.acks = [], [], []
        self.clock = 0
        self.clocks = []
        self.counts = dict.fromkeys(
            ("sent", "sent_again", "timed_out", "acked", "ack_old", "ack_bad"), 0)

    async def ticks(self, ctx):
        ctx.set(self.dut.timeout, TIMEOUT)
        ctx.set(self.dut.tries, self.tries)
        ports = [getattr(self.dut, name) for name in self.counts]
        async for _, _, *said in ctx.tick().sample(*ports):
            self.clock += 1
            for name, one in zip(self.counts, said, strict=True):
                self.counts[name] += one

    async def peers(self, ctx):
        async for *_, at in ctx.tick().sample(self.dut.peer_at):
            ctx.set(self.dut.peer.as_value(), join(ADDRESS, PEERS[at]))

    async def frames(self, ctx):
        """Takes frames; each comes to the peer, and its acknowledgement back, or not."""
        port = self.dut.request
        layout = port.p.shape()
        ctx.set(port.ready, 1)
        async for *_, valid, payload in ctx.tick().sample(port.valid, Value.cast(port.payload)):
            if not valid:
                continue
            request = split(layout, payload)
            self.requests.append(request)
            self.clocks.append(self.clock)
            for _ in range(1 + (self.rng.random() < self.double)):
                if self.rng.random() < self.loss:
                    continue
                ack = self.peer.take(request["tag"])
                if self.rng.random() < self.loss or request["tag"]["stream"] in self.mute:
                    continue
                ack["source"] = PEERS[request["tag"]["peer"]]["ip"]
                late = 400 if self.rng.random() < self.reorder else 0
                self.acks.append((self.clock + self.delay + late, ack))

    async def answers(self, ctx):
        port = self.dut.ack
        while True:
            due = [one for one in self.acks if one[0] <= self.clock]
            if not due:
                await ctx.tick()
                continue
            self.acks.remove(due[0])
            ctx.set(Value.cast(port.payload), join(ACK, due[0][1]))
            ctx.set(port.valid, 1)
            await ctx.tick().until(port.ready)
            ctx.set(port.valid, 0)

    async def done(self, ctx):
        port = self.dut.completion
        ctx.set(port.ready, 1)
        async for *_, valid, payload in ctx.tick().sample(port.valid, Value.cast(port.payload)):
            if valid:
                self.completions.append(split(COMPLETION, payload))

    async def push(self, ctx, port, layout, value):
        ctx.set(Value.cast(port.payload), join(layout, value))
        ctx.set(port.valid, 1)
        await ctx.tick().until(port.ready)
        ctx.set(port.valid, 0)

    async def open(self, ctx, entry, stream, sequence=0, *, open=1):
        if open:
            self.peer.open(stream, sequence)
        await self.push(ctx, self.dut.open, OPEN_SENDER, {
            "open": open, "entry": entry, "stream": stream, "sequence": sequence})

    async def send(self, ctx, message):
        await self.push(ctx, self.dut.message, MESSAGE, message)

    async def complete(self, ctx, count, patience=200_000):
        begin = self.clock
        while len(self.completions) < count:
            await ctx.tick()
            assert self.clock - begin < patience, (
                f"seed {SEED}: {len(self.completions)} of {count} completed")

    def run(self, process):
        simulate(self.dut, process, background=[
            self.ticks, self.peers, self.frames, self.answers, self.done])


def _message(tag, *, stream=0, words=1000, span=2, codec=QSGDINF4, log2_bucket=6, **others):
    return {"index": tag & 0xFFFF, "tag": tag, "address": 0x1_0000_0000 + 0x10000 * tag,
            "bytes": 4 * words, "codec": codec.byte, "log2_bucket": log2_bucket,
            "stream": stream, "message": tag & 0xFFFF, "span": span, "peer": 1} | others


def _check_frames(message, sides, requests):
    """The frames of a message cover it, each at its place, and read just what it has."""
    bucket = 1 << message["log2_bucket"]
    words = message["bytes"] // 4
    buckets = -(-words // bucket)
    codec = Codec.from_byte(message["codec"])
    mine = {one["tag"]["first"]: one for one in requests
            if (one["tag"]["stream"], one["tag"]["message"])
            == (message["stream"], message["message"])}
    covered = []
    for side in sorted((one for one in sides if (one["stream"], one["message"])
                        == (message["stream"], message["message"])), key=lambda x: x["first"]):
        span = min(message["span"], buckets - side["first"])
        assert side["span"] == side["records"] == span
        assert side["flags"] == (side["first"] + span == buckets)
        assert join(TX_SIDE["codec"].shape, side["codec"]) == message["codec"]
        assert side["bytes"] == 4 * span * codec.record_words(bucket)
        assert (side["kind"], side["bypass"], side["peer"]) == (0, 0, message["peer"])
        request = mine[side["first"]]
        at = side["first"] * bucket * 4
        assert request["address"] == message["address"] + at
        assert request["bytes"] == min(span * bucket * 4, message["bytes"] - at)
        covered += range(side["first"], side["first"] + span)
    assert covered == list(range(buckets))


@pytest.mark.parametrize("loss, reorder, double", [
    (0, 0, 0), (0.01, 0.01, 0.01), (0.2, 0.2, 0.2)])
def test_every_message_arrives_once(loss, reorder, double):
    """Over three streams, whose numbers wrap, with all that a network may do."""
    bench = _Bench(loss=loss, reorder=reorder, double=double, tries=100)
    rng = random.Random(SEED)
    messages = [_message(n, stream=n % 3, words=rng.choice([1, 64, 65, 900, 5000, 9000]),
                         span=rng.choice([1, 2, 3]), codec=rng.choice([QSGDINF4, RAW]))
                for n in range(10)]

    async def process(ctx):
        for stream in range(3):
            await bench.open(ctx, stream, stream, (0, 2**32 - 5, 2**31 - 9)[stream])
        for message in messages:
            await bench.send(ctx, message)
        await bench.complete(ctx, len(messages))
        await ctx.tick().repeat(2 * TIMEOUT)
        assert ctx.get(bench.dut.idle)

    bench.run(process)
    for message in messages:
        _check_frames(message, bench.peer.frames, bench.requests)
    for stream in range(3):
        assert [one["tag"] for one in bench.completions if one["tag"] % 3 == stream] == [
            message["tag"] for message in messages if message["stream"] == stream]
        numbers = [one["sequence"] for one in bench.peer.frames if one["stream"] == stream]
        assert len(set(numbers)) == len(numbers)
    for one in bench.completions:
        assert one["status"] == Status.OK.value
        message = messages[one["tag"]]
        assert one["count"] == -(-message["bytes"] // 256)
    again = sum(one["detail"] for one in bench.completions)
    assert bench.counts["sent"] == len(bench.peer.frames)
    assert bench.counts["sent"] + bench.counts["sent_again"] == len(bench.requests)
    assert bench.counts["ack_bad"] == 0
    if loss == 0:
        assert again == bench.counts["sent_again"] == bench.counts["timed_out"] == 0
    else:
        assert 0 < again <= bench.counts["sent_again"]


def test_holes_are_filled_before_the_timeout():
    """One frame is lost; what follows shows it, and it alone is sent again."""
    bench = _Bench()
    take = bench.peer.take
    lost = []

    def once(side):
        if side["sequence"] == 3 and not lost:
            lost.append(side)
            return {"stream": 0, "sequence": 3, "bitmap": 0}
        return take(side)

    bench.peer.take = once

    async def process(ctx):
        await bench.open(ctx, 0, 0)
        await bench.send(ctx, _message(0, words=64 * 20, span=1))
        await bench.complete(ctx, 1)

    bench.run(process)
    assert bench.counts["timed_out"] == 0
    assert [one["tag"]["sequence"] for one in bench.requests].count(3) == 2
    assert bench.counts["sent_again"] == 1
    assert bench.clock < TIMEOUT + 20 * 12


def test_it_gives_up_and_closes_only_that_stream():
    bench = _Bench(mute=[1], tries=3)

    async def process(ctx):
        for stream in range(2):
            await bench.open(ctx, stream, stream)
        for tag in range(4):
            await bench.send(ctx, _message(tag, stream=tag % 2, words=200))
        await bench.complete(ctx, 4)
        await bench.send(ctx, _message(9, stream=1))
        await bench.complete(ctx, 5)
        # Opened again, at another number, it works.
        bench.mute.clear()
        await bench.open(ctx, 1, 1, 5000)
        await bench.send(ctx, _message(10, stream=1))
        await bench.complete(ctx, 6)

    bench.run(process)
    by_tag = {one["tag"]: one["status"] for one in bench.completions}
    assert by_tag == {0: Status.OK.value, 2: Status.OK.value, 1: Status.GAVE_UP.value,
                      3: Status.GAVE_UP.value, 9: Status.BAD_DESCRIPTOR.value,
                      10: Status.OK.value}
    assert bench.counts["timed_out"] == 4


@pytest.mark.parametrize("change", [
    {"bytes": 0}, {"bytes": 6}, {"address": 2}, {"span": 0}, {"log2_bucket": 5},
    {"log2_bucket": 10}, {"codec": 0x83}, {"codec": 0x03}, {"stream": 7}, {"span": 300},
    {"codec": 0, "span": 36}])
def test_descriptors_that_cannot_be(change):
    """Each is refused, and the next message is sent."""
    bench = _Bench()

    async def process(ctx):
        await bench.open(ctx, 0, 0)
        await bench.send(ctx, _message(1) | change)
        await bench.send(ctx, _message(2))
        await bench.complete(ctx, 2)

    bench.run(process)
    assert [(one["tag"], one["status"]) for one in bench.completions] == [
        (1, Status.BAD_DESCRIPTOR.value), (2, Status.OK.value)]


def test_closing_and_a_frame_that_cannot_be_read():
    bench = _Bench(mute=[0, 1])

    async def process(ctx):
        for stream in range(2):
            await bench.open(ctx, stream, stream)
            await bench.send(ctx, _message(stream, stream=stream))
        await ctx.tick().repeat(100)
        await bench.open(ctx, 0, 0, open=0)
        await bench.push(ctx, bench.dut.failed, 16, 1)
        await bench.complete(ctx, 2)
        frames = len(bench.requests)
        await ctx.tick().repeat(2 * TIMEOUT)
        assert len(bench.requests) == frames
        assert ctx.get(bench.dut.idle)

    bench.run(process)
    assert {one["tag"]: one["status"] for one in bench.completions} == {
        0: Status.CANCELLED.value, 1: Status.READ_ERROR.value}


def test_acknowledgements_that_cannot_be_change_nothing():
    bench = _Bench(mute=[0], tries=200)
    bad = [{"stream": 9}, {"source": 3}, {"sequence": 101 + 9}, {"sequence": 99 + 2**31},
           {"bitmap": 1 << 20}]
    old = [{"sequence": 99}, {}]

    async def process(ctx):
        await bench.open(ctx, 0, 0, 100)
        await bench.send(ctx, _message(0, words=64 * 9, span=1))
        await ctx.tick().repeat(300)
        for change in bad + old:
            ack = {"stream": 0, "sequence": 100, "bitmap": 0, "source": PEERS[1]["ip"]}
            bench.acks.append((0, ack | change))
            await ctx.tick().repeat(30)
        assert bench.counts["ack_bad"] == len(bad)
        assert bench.counts["ack_old"] == len(old)
        bench.acks.append((0, {"stream": 0, "sequence": 109, "bitmap": 0,
                               "source": PEERS[1]["ip"]}))
        await bench.complete(ctx, 1)

    bench.run(process)
    assert bench.completions[0]["status"] == Status.OK.value


def test_streams_take_turns():
    bench = _Bench(delay=5)

    async def process(ctx):
        for stream in range(3):
            await bench.open(ctx, stream, stream)
        for stream in range(3):
            await bench.send(ctx, _message(stream, stream=stream, words=64 * 60, span=1))
        await bench.complete(ctx, 3)

    bench.run(process)
    order = [one["tag"]["stream"] for one in bench.requests[9:90]]
    assert all(set(order[n:n + 3]) == {0, 1, 2} for n in range(0, 81, 3))


def test_clocks_of_a_frame():
    bench = _Bench(mute=[0])

    async def process(ctx):
        await bench.open(ctx, 0, 0)
        await bench.send(ctx, _message(0, words=64 * 30, span=1))
        await ctx.tick().repeat(400)

    bench.run(process)
    gaps = {after - before for before, after in itertools.pairwise(bench.clocks)}
    assert len(bench.clocks) == 30
    assert gaps == {Sender.clocks}
