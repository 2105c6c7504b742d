"""Lander: what stands in memory afterwards, whatever the memory's pace."""

import random
from collections import deque

import numpy as np
import pytest
from amaranth.hdl import Value

from tightwire.dma.lander import LANDING, Lander
from tightwire.dma.transfer import COMPLETION, Completed, Status

from ..support.bench import Sink, Source, simulate
from ..support.layouts import join, split

SEED = 60
BUCKET = 64
WORDS = 4096


class _Memory:
    """The host's memory, at its most awkward: reads see it early, writes reach it late."""

    def __init__(self, dut, rng, delay, bad_reads=(), bad_writes=()):
        self.dut, self.rng, self.delay = dut, rng, delay
        self.words = np.array([rng.getrandbits(32) for _ in range(WORDS)], np.uint32)
        self.floats = self.words.view(np.float32)
        self.reads, self.writes, self.data, self.answers = deque(), deque(), deque(), deque()
        self.bad_reads, self.bad_writes = set(bad_reads), set(bad_writes)
        self.counts = [0, 0]

    async def requests(self, ctx, port, take):
        while True:
            ready = self.rng.random() < 0.7
            ctx.set(port.ready, ready)
            *_, valid, address, count = await ctx.tick().sample(
                port.valid, port.p.address, port.p.bytes)
            if valid and ready:
                take(address // 4, count // 4)

    async def read_requests(self, ctx):
        def take(at, count):
            lanes = self.dut.lanes
            words = self.words[at:at + count].tolist()
            error = self.counts[0] in self.bad_reads
            self.counts[0] += 1
            for n in range(0, count, lanes):
                part = words[n:n + lanes]
                last = n + lanes >= count
                self.reads.append({"data": part, "first": n == 0, "last": last,
                                   "empty": 4 * (lanes - len(part)), "error": last and error})
        await self.requests(ctx, self.dut.read, take)

    async def read_data(self, ctx):
        port = self.dut.read_data
        while True:
            if self.reads and self.rng.random() < (1 if self.delay == 0 else 0.7):
                ctx.set(port.payload.as_value(), join(port.p.shape(), self.reads.popleft()))
                ctx.set(port.valid, 1)
                await ctx.tick().until(port.ready)
                ctx.set(port.valid, 0)
            else:
                await ctx.tick()

    async def write_requests(self, ctx):
        await self.requests(ctx, self.dut.write, lambda *piece: self.writes.append(piece))

    async def write_data(self, ctx):
        """Takes the beats of each piece; it is written when that is answered."""
        port = self.dut.write_data
        words = []
        while True:
            ready = self.rng.random() < (1 if self.delay == 0 else 0.7)
            ctx.set(port.ready, ready)
            *_, valid, beat = await ctx.tick().sample(port.valid, Value.cast(port.payload))
            if not (valid and ready):
                continue
            beat = split(port.p.shape(), beat)
            assert beat["first"] == (not words)
            assert not beat["empty"] or beat["last"]
            words += beat["data"][:self.dut.lanes - beat["empty"] // 4]
            if beat["last"]:
                at, count = self.writes.popleft()
                assert len(words) == count
                self.answers.append((at, words))
                words = []

    async def answer(self, ctx):
        port = self.dut.written
        while True:
            if not self.answers:
                await ctx.tick()
                continue
            await ctx.tick().repeat(1 + self.rng.randrange(self.delay + 1))
            at, words = self.answers.popleft()
            self.words[at:at + len(words)] = words
            ctx.set(port.p.error, self.counts[1] in self.bad_writes)
            self.counts[1] += 1
            ctx.set(port.valid, 1)
            await ctx.tick().until(port.ready)
            ctx.set(port.valid, 0)

    def backgrounds(self):
        return [self.read_requests, self.read_data, self.write_requests, self.write_data,
                self.answer]


def _beats(lanes, words):
    return [{"data": words[n:n + lanes], "first": n == 0, "last": n + lanes >= len(words)}
            for n in range(0, len(words), lanes)]


def _piece(rng, *, words, at=None, add=None, span=None, **others):
    at = rng.randrange(WORDS - words) if at is None else at
    buckets = -(-words // BUCKET)
    return {"address": 4 * at, "bytes": 4 * words, "data": 1,
            "add": rng.getrandbits(1) if add is None else add,
            "frame": [rng.getrandbits(32) if add == 0 else int(np.float32(rng.gauss(0, 1)).view(
                np.uint32)) for _ in range(BUCKET * buckets)]} | others


def _land(lanes, pieces, *, delay, seed=SEED, bad_reads=(), bad_writes=(), floats=True):
    """Memory before and after, completions, and the clocks at which beats were taken."""
    rng = random.Random(seed)
    dut = Lander(lanes=lanes, regions=4)
    memory = _Memory(dut, rng, delay, bad_reads, bad_writes)
    if floats:
        memory.floats[:] = np.array([rng.gauss(0, 1) for _ in range(WORDS)], np.float32)
    before = memory.words.copy()
    records = [join(LANDING, {k: v for k, v in piece.items() if k != "frame"})
               for piece in pieces]
    beats = [join(dut.i.p.shape(), beat) for piece in pieces if piece["data"]
             for beat in _beats(lanes, piece["frame"])]
    finals = sum(piece.get("final", 0) for piece in pieces)
    pace = 1 if delay == 0 else 0.8
    landing = Source(dut.landing, records, random.Random(seed + 1), pace)
    source = Source(dut.i, beats, random.Random(seed + 2), pace)
    sink = Sink(dut.completion, finals, random.Random(seed + 3), pace, patience=3000,
                idle=200 + 10 * delay)
    simulate(dut, landing.run, source.run, sink.run, background=memory.backgrounds())
    assert not (memory.reads or memory.writes or memory.answers)
    return before, memory.words, [split(COMPLETION, one) for one in sink.items], source.clocks


def _expected(before, pieces):
    words = before.copy()
    for piece in pieces:
        if not piece["data"]:
            continue
        count, at = piece["bytes"] // 4, piece["address"] // 4
        frame = np.array(piece["frame"][:count], np.uint32)
        if piece["add"]:
            frame = (frame.view(np.float32) + words[at:at + count].view(np.float32)).view(
                np.uint32)
        words[at:at + count] = frame
    return words


@pytest.mark.parametrize("delay", [0, 3, 60])
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_pieces_at_random(lanes, delay):
    """Many of them overlap: sums come out as if one followed the other."""
    rng = random.Random(SEED)
    pieces = [_piece(rng, words=rng.choice([1, 3, 60, 64, 65, 128, 200]),
                     at=rng.choice([None, 100, 130]), entry=n % 4, final=n % 5 == 0, tag=n,
                     count=n + 1)
              for n in range(60)]
    before, after, completions, _ = _land(lanes, pieces, delay=delay)
    np.testing.assert_array_equal(after, _expected(before, pieces))
    assert [(one["tag"], one["index"], one["count"]) for one in completions] == [
        (piece["tag"], piece["entry"], piece["count"]) for piece in pieces if piece["final"]]
    assert {one["status"] for one in completions} == {Status.OK.value}
    assert {one["kind"] for one in completions} == {Completed.REGION_FILLED.value}


def test_storing_keeps_every_bit():
    """Also those of NaNs, which a sum would not keep."""
    rng = random.Random(SEED)
    pieces = [_piece(rng, words=100, add=0, final=1) for _ in range(8)]
    for piece in pieces:
        piece["frame"][:2] = [0x7F800001, 0xFFC12345]
    before, after, *_ = _land(4, pieces, delay=3, floats=False)
    np.testing.assert_array_equal(after, _expected(before, pieces))


def test_marks_keep_their_place():
    """A cancelled region is completed behind the pieces that came before."""
    rng = random.Random(SEED)
    pieces = [
        _piece(rng, words=64, entry=1), _piece(rng, words=64, entry=2, final=1, tag=7),
        {"data": 0, "address": 0, "bytes": 0, "entry": 1, "final": 1, "tag": 8,
         "status": Status.CANCELLED.value},
        _piece(rng, words=64, entry=1, final=1, tag=9),
    ]
    *_, completions, _ = _land(1, pieces, delay=60)
    assert [(one["tag"], one["status"]) for one in completions] == [
        (7, Status.OK.value), (8, Status.CANCELLED.value), (9, Status.OK.value)]


def test_errors_belong_to_their_region():
    """And are forgotten with it."""
    rng = random.Random(SEED)
    pieces = [
        _piece(rng, words=64, at=0, add=1, entry=0),            # its read fails
        _piece(rng, words=64, at=64, add=1, entry=1),           # its write fails
        _piece(rng, words=64, at=128, add=1, entry=0, final=1, tag=1),
        _piece(rng, words=64, at=192, add=0, entry=1, final=1, tag=2),
        _piece(rng, words=64, at=256, add=1, entry=0, final=1, tag=3),
        _piece(rng, words=64, at=320, add=0, entry=1, final=1, tag=4),
        _piece(rng, words=64, at=384, add=0, entry=2, final=1, tag=5),  # its own write fails
    ]
    *_, completions, _ = _land(4, pieces, delay=5, bad_reads=[0], bad_writes=[1, 6])
    assert [(one["tag"], one["status"]) for one in completions] == [
        (1, Status.READ_ERROR.value), (2, Status.WRITE_ERROR.value), (3, Status.OK.value),
        (4, Status.OK.value), (5, Status.WRITE_ERROR.value)]


@pytest.mark.parametrize("add", [0, 1])
def test_one_beat_a_clock(add):
    """Stores and sums of pieces side by side, from a memory without delay."""
    rng = random.Random(SEED)
    pieces = [_piece(rng, words=256, at=256 * n, add=add, final=1) for n in range(12)]
    *_, clocks = _land(4, pieces, delay=0)
    steady = [clock for clock in clocks if clock > clocks[64]]
    assert steady == list(range(steady[0], steady[0] + len(steady)))
