"""Reader and Writer: every byte of every piece, and none beside it."""

import random

import pytest
from amaranth.lib import data

from tightwire.dma.reader import Reader
from tightwire.dma.transfer import done_layout, request_layout
from tightwire.dma.writer import Writer
from tightwire.stream.beat import beat_layout

from ..support.axi import AxiMemory
from ..support.bench import Sink, Source, simulate
from ..support.layouts import join, split

SEED = 70
TAG = data.StructLayout({"number": 16})
NOTHING = data.StructLayout({})
SIZE = 1 << 15

MEMORIES = [(0, 1), (40, 1), (20, 0.6)]


def _pieces(rng, lanes, count):
    """Addresses and lengths of all kinds: within a beat, across a page, whole pages."""
    pieces = []
    for n in range(count):
        length = rng.choice([1, 2, 3, 4, 5, 60, 4 * lanes - 1, 4 * lanes, 4 * lanes + 1,
                             rng.randint(1, 300), rng.randint(1, 5000) if n % 8 == 0 else 64])
        at = rng.choice([rng.randrange(0, SIZE - length), 4096 - rng.randint(1, 80),
                         64 * rng.randrange((SIZE - length) // 64)]) & ~3
        pieces.append((at, length))
    return pieces


def _requests(pieces):
    layout = request_layout(TAG)
    return [join(layout, {"address": at, "bytes": length, "tag": {"number": n}})
            for n, (at, length) in enumerate(pieces)]


def _beats(lanes, content, side, layout):
    size = 4 * lanes
    return [join(layout, {
        "data": int.from_bytes(content[n:n + size], "little"), "first": n == 0,
        "last": n + size >= len(content), "empty": max(0, n + size - len(content)), "side": side})
        for n in range(0, len(content), size)]


def _read(lanes, pieces, *, memory, depth=64, paces=(1, 1)):
    dut = Reader(lanes=lanes, tag=TAG, depth=depth)
    expected = [beat for n, (at, length) in enumerate(pieces)
                for beat in _beats(lanes, memory.bytes[at:at + length] or bytes(length),
                                   {"number": n}, dut.o.p.shape())]
    source = Source(dut.request, _requests(pieces), random.Random(SEED), paces[0])
    sink = Sink(dut.o, len(expected), random.Random(SEED + 1), paces[1])
    simulate(dut, source.run, sink.run, background=[memory.ticks, *memory.read(dut.axi)])
    return expected, sink


@pytest.mark.parametrize("latency, pace", MEMORIES)
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_what_is_read(lanes, latency, pace):
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=rng, latency=latency, pace=pace)
    expected, sink = _read(lanes, _pieces(rng, lanes, 60), memory=memory, paces=(1, pace))
    assert sink.items == expected, f"seed {SEED}"


@pytest.mark.parametrize("lanes", [1, 16])
def test_reads_that_fail_mark_their_frame(lanes):
    """And no other one, before or behind."""
    rng = random.Random(SEED)
    pieces = [(256 * n, 200) for n in range(8)]
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=rng, bad=[256 * 2 + 64, 256 * 5])
    expected, sink = _read(lanes, [*pieces, (SIZE + 64, 64)], memory=memory)
    layout = beat_layout(lanes, TAG)
    ends = [split(layout, beat) for beat in sink.items if split(layout, beat)["last"]]
    assert [end["side"]["number"] for end in ends if end["error"]] == [2, 5, 8]
    assert len(ends) == 9 and len(sink.items) == len(expected)


def test_one_beat_a_clock_read():
    """From a memory with a latency of 40 clocks, over pieces of 2 KB."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=16, size=SIZE, rng=rng, latency=40)
    _, sink = _read(16, [(2048 * n, 2048) for n in range(16)], memory=memory, depth=256)
    clocks = sink.clocks[32:]
    assert clocks == list(range(clocks[0], clocks[0] + len(clocks)))


def _write(lanes, pieces, *, memory, paces=(1, 1)):
    rng = random.Random(SEED + 5)
    dut = Writer(lanes=lanes, tag=TAG, side=NOTHING)
    contents = [rng.randbytes(length) for _, length in pieces]
    beats = [beat for content in contents
             for beat in _beats(lanes, content, {}, dut.i.p.shape())]
    expected = bytearray(memory.bytes)
    for (at, length), content in zip(pieces, contents, strict=True):
        if at < len(expected):
            expected[at:at + length] = content
    source = Source(dut.i, beats, random.Random(SEED), paces[0])
    requests = Source(dut.request, _requests(pieces), random.Random(SEED + 1), paces[0])
    sink = Sink(dut.done, len(pieces), random.Random(SEED + 2), paces[1],
                patience=10_000)
    simulate(dut, source.run, requests.run, sink.run,
             background=[memory.ticks, *memory.write(dut.axi)])
    return expected, [split(done_layout(TAG), one) for one in sink.items], source


@pytest.mark.parametrize("latency, pace", MEMORIES)
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_what_is_written(lanes, latency, pace):
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=rng, latency=latency, pace=pace)
    expected, done, _ = _write(lanes, _pieces(rng, lanes, 60), memory=memory, paces=(pace, pace))
    assert memory.bytes == expected, f"seed {SEED}"
    assert [one["tag"]["number"] for one in done] == list(range(60))
    assert not any(one["error"] for one in done)


def test_writes_that_fail_are_reported():
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=4, size=SIZE, rng=rng, latency=20, bad=[4096, 9000])
    pieces = [(0, 64), (4000, 200), (8192, 4096), (8192, 64), (SIZE + 64, 64), (64, 64)]
    _, done, _ = _write(4, pieces, memory=memory)
    assert [one["error"] for one in done] == [0, 1, 1, 0, 1, 0]


def test_one_beat_a_clock_written():
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=16, size=SIZE, rng=rng, latency=40)
    *_, source = _write(16, [(2048 * n, 2048) for n in range(16)], memory=memory)
    clocks = source.clocks[32:]
    assert clocks == list(range(clocks[0], clocks[0] + len(clocks)))
