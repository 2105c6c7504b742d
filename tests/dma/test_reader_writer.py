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


def _read(lanes, asked, *, memory, depth=64, paces=(1, 1), **parameters):
    dut = Reader(lanes=lanes, tag=TAG, depth=depth, **parameters)
    expected = [beat for n, (at, length) in enumerate(asked)
                for beat in _beats(lanes, memory.bytes[at:at + length] or bytes(length),
                                   {"number": n}, dut.o.p.shape())]
    source = Source(dut.request, _requests(asked), random.Random(SEED), paces[0])
    sink = Sink(dut.o, len(expected), random.Random(SEED + 1), paces[1])
    simulate(dut, source.run, sink.run, background=[memory.ticks, *memory.read(dut.axi)])
    assert dut.latency == 7 - 2 * (depth <= 32)
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


@pytest.mark.parametrize("lanes, depth", [(1, 64), (16, 32), (16, 64)])
def test_what_is_read_in_whole_beats(lanes, depth):
    """Lower bits of an address are not looked at."""
    rng = random.Random(SEED)
    size = 4 * lanes
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=rng, latency=20, pace=0.7)
    whole = [(at // size * size, length) for at, length in _pieces(rng, lanes, 40)]
    expected, _ = _read(lanes, whole, memory=memory, depth=depth, aligned=True)
    asked = [(at + rng.randrange(size), length) for at, length in whole]
    _, sink = _read(lanes, asked, memory=memory, depth=depth, aligned=True)
    assert sink.items == expected, f"seed {SEED}"


@pytest.mark.parametrize("lanes", [1, 4])
def test_two_lowest_bits_of_an_address_are_not_looked_at(lanes):
    """They made a beat more be asked for, which the next piece then began with."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=rng)
    whole = [(128 * n + 4 * (n % 4), 4 * lanes * 3 - n % 5) for n in range(12)]
    expected, _ = _read(lanes, whole, memory=memory)
    _, sink = _read(lanes, [(at + n % 4, length) for n, (at, length) in enumerate(whole)],
                    memory=memory)
    assert sink.items == expected


@pytest.mark.parametrize("depth", [32, 64])
def test_latency_of_a_read(depth):
    """From a request to the first beat, without the clocks that the memory takes."""
    memory = AxiMemory(lanes=4, size=SIZE, rng=random.Random(SEED))
    _, sink = _read(4, [(256, 16)], memory=memory, depth=depth)
    dut = Reader(lanes=4, tag=TAG, depth=depth)
    assert sink.clocks[0] == dut.latency + memory.r_clocks[0] - memory.ar_clocks[0]


@pytest.mark.parametrize("lanes, length, offset", [
    (1, 2048, 0), (1, 64, 0), (4, 1024, 0), (16, 2048, 0), (16, 4096, 0), (16, 256, 0),
    (1, 2048, 4), (16, 2048, 4), (16, 2048, 60)])
def test_one_beat_a_clock_read(lanes, length, offset):
    """From a memory with a latency of 100 clocks; one clock more for a piece that does not begin
    at a whole beat."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=rng, latency=100)
    count = (SIZE - 64) // length
    _, sink = _read(lanes, [(length * n + offset, length) for n in range(count)], memory=memory,
                    depth=256, pieces=32)
    clocks = sink.clocks[count // 2 * (length // (4 * lanes)):]  # the longest latency has been
    extra = (count - 1) // 2 if offset % (4 * lanes) else 0
    assert clocks[-1] - clocks[0] == len(clocks) - 1 + extra


def _write(lanes, pieces, *, memory, paces=(1, 1), sinks=None, **parameters):
    rng = random.Random(SEED + 5)
    dut = Writer(lanes=lanes, tag=TAG, side=NOTHING, **parameters)
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
    if sinks is not None:
        sinks.append(sink)
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


@pytest.mark.parametrize("lanes, length, offset", [
    (1, 2048, 0), (4, 1024, 0), (16, 2048, 0), (16, 4096, 0), (16, 256, 0), (1, 2048, 4),
    (16, 2048, 4), (16, 2048, 60)])
def test_one_beat_a_clock_written(lanes, length, offset):
    """To a memory with a latency of 100 clocks; one clock more for a piece that does not begin at
    a whole beat."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=rng, latency=100)
    count = (SIZE - 64) // length
    *_, source = _write(lanes, [(length * n + offset, length) for n in range(count)],
                        memory=memory, bursts=32)
    clocks = source.clocks[count // 2 * (length // (4 * lanes)):]  # the longest latency has been
    extra = (count - 1) // 2 if offset % (4 * lanes) else 0
    assert clocks[-1] - clocks[0] == len(clocks) - 1 + extra


def test_done_comes_behind_the_last_answer():
    """Never before it: with answers that come late, one clock after each piece's last."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=16, size=SIZE, rng=rng, latency=100, pace=0.5)
    sinks = []
    _write(16, [(4096 * n + 2048, 4096) for n in range(7)], memory=memory, sinks=sinks)
    assert len(memory.b_clocks) == 14  # two bursts each
    # The memory's clock is one ahead of the sink's: it has seen the clock of the answer end.
    assert sinks[0].clocks == [clock - 1 + 1 for clock in memory.b_clocks[1::2]]


@pytest.mark.parametrize("lanes", [1, 16])
def test_a_memory_that_takes_no_burst_before_its_data(lanes):
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=rng, latency=10, pace=0.7, data_first=True)
    expected, done, _ = _write(lanes, _pieces(rng, lanes, 30), memory=memory)
    assert memory.bytes == expected and len(done) == 30
