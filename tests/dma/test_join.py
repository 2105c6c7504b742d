"""ReadJoin and WriteJoin: several readers and writers on one port."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tightwire.dma.axi import AxiRead, AxiWrite
from tightwire.dma.join import ReadJoin, WriteJoin, id_bits
from tightwire.dma.reader import Reader
from tightwire.dma.transfer import done_layout, request_layout
from tightwire.dma.writer import Writer
from tightwire.stream.beat import BeatStream

from ..support.axi import AxiMemory
from ..support.bench import Sink, Source, simulate
from ..support.layouts import join, split

SEED = 71
N = 3
LANES = 4
TAG = data.StructLayout({"number": 16})
NOTHING = data.StructLayout({})
SIZE = 1 << 15


class _Readers(wiring.Component):
    def __init__(self):
        super().__init__({
            "requests": In(stream.Signature(request_layout(TAG))).array(N),
            "o": Out(BeatStream(LANES, TAG)).array(N),
            "axi": Out(AxiRead(LANES, id_bits(N))),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.joined = joined = ReadJoin(lanes=LANES, n=N)
        for n in range(N):
            m.submodules[f"reader_{n}"] = reader = Reader(lanes=LANES, tag=TAG, depth=32)
            wiring.connect(m, wiring.flipped(self.requests[n]), reader.request)
            wiring.connect(m, reader.o, wiring.flipped(self.o[n]))
            wiring.connect(m, reader.axi, joined.masters[n])
        wiring.connect(m, joined.axi, wiring.flipped(self.axi))
        return m


class _Writers(wiring.Component):
    def __init__(self):
        super().__init__({
            "requests": In(stream.Signature(request_layout(TAG))).array(N),
            "i": In(BeatStream(LANES, NOTHING)).array(N),
            "done": Out(stream.Signature(done_layout(TAG))).array(N),
            "axi": Out(AxiWrite(LANES, id_bits(N))),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.joined = joined = WriteJoin(lanes=LANES, n=N)
        for n in range(N):
            m.submodules[f"writer_{n}"] = writer = Writer(lanes=LANES, tag=TAG, side=NOTHING)
            wiring.connect(m, wiring.flipped(self.requests[n]), writer.request)
            wiring.connect(m, wiring.flipped(self.i[n]), writer.i)
            wiring.connect(m, writer.done, wiring.flipped(self.done[n]))
            wiring.connect(m, writer.axi, joined.masters[n])
        wiring.connect(m, joined.axi, wiring.flipped(self.axi))
        return m


def _pieces(rng, begin, end, count):
    """Pieces that do not overlap, in a part of memory."""
    step = (end - begin) // count // 4 * 4
    return [(begin + n * step + 4 * rng.randrange(step // 16),
             rng.choice([1, 16, 60, 200, step // 2])) for n in range(count)]


def _request(n, at, length):
    return join(request_layout(TAG), {"address": at, "bytes": length, "tag": {"number": n}})


def _beats(layout, content, side):
    size = 4 * LANES
    return [join(layout, {
        "data": int.from_bytes(content[n:n + size], "little"), "first": n == 0,
        "last": n + size >= len(content), "empty": max(0, n + size - len(content)), "side": side})
        for n in range(0, len(content), size)]


@pytest.mark.parametrize("stuck", [None, 1])
@pytest.mark.parametrize("latency, pace, shuffle", [(0, 1, False), (30, 0.6, True)])
def test_readers_share_a_port(latency, pace, shuffle, stuck):
    """Also when one of them is never taken from: it holds up nobody."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=LANES, size=SIZE, rng=rng, latency=latency, pace=pace,
                       shuffle=shuffle)
    dut = _Readers()
    processes, background, sinks = [], [*memory.read(dut.axi), memory.ticks], []
    for n in range(N):
        pieces = _pieces(rng, n * 8192, (n + 1) * 8192, 12)
        source = Source(dut.requests[n], [_request(k, *piece) for k, piece in enumerate(pieces)],
                        random.Random(SEED + n))
        if n == stuck:
            background.append(source.run)
            continue
        expected = [beat for k, (at, length) in enumerate(pieces)
                    for beat in _beats(dut.o[n].p.shape(), memory.bytes[at:at + length],
                                       {"number": k})]
        sink = Sink(dut.o[n], len(expected), random.Random(SEED - n), pace, patience=3000)
        processes += [source.run, sink.run]
        sinks.append((sink, expected))
    simulate(dut, *processes, background=background)
    for sink, expected in sinks:
        assert sink.items == expected, f"seed {SEED}"


@pytest.mark.parametrize("stuck", [None, 1])
@pytest.mark.parametrize("latency, pace, shuffle", [(0, 1, False), (30, 0.6, True)])
def test_writers_share_a_port(latency, pace, shuffle, stuck):
    """Also when one writer's ``done`` is never taken, as while the completion queue is full: the
    others' answers pass, among them those that the completion queue waits for."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=LANES, size=SIZE, rng=rng, latency=latency, pace=pace,
                       shuffle=shuffle)
    expected = bytearray(memory.bytes)
    dut = _Writers()
    processes, background, sinks = [], [*memory.write(dut.axi), memory.ticks], []
    for n in range(N):
        pieces = _pieces(rng, n * 8192, (n + 1) * 8192, 30)
        beats = []
        for at, length in pieces:
            expected[at:at + length] = content = rng.randbytes(length)
            beats += _beats(dut.i[n].p.shape(), content, {})
        requests = Source(dut.requests[n], [_request(k, *piece) for k, piece in enumerate(pieces)],
                          random.Random(SEED + n)).run
        frames = Source(dut.i[n], beats, random.Random(SEED + 9 + n), pace).run
        if n == stuck:
            background += [requests, frames]
            continue
        sinks.append(Sink(dut.done[n], len(pieces), random.Random(SEED - n), pace, patience=5000))
        processes += [requests, frames, sinks[-1].run]
    simulate(dut, *processes, background=background)
    for n in range(N):
        if n != stuck:
            part = slice(n * 8192, (n + 1) * 8192)
            assert memory.bytes[part] == expected[part], f"seed {SEED}"
    assert memory.bytes[N * 8192:] == expected[N * 8192:]
    for sink in sinks:
        done = [split(done_layout(TAG), one) for one in sink.items]
        assert [one["tag"]["number"] for one in done] == list(range(30))
        assert not any(one["error"] for one in done)


def test_bursts_take_turns():
    """Three readers that always ask get every third burst each, and every clock a beat comes."""
    memory = AxiMemory(lanes=LANES, size=SIZE, rng=random.Random(SEED))
    dut = _Readers()
    processes = []
    for n in range(N):
        requests = [_request(k, n * 8192 + 512 * k, 512) for k in range(12)]
        processes += [Source(dut.requests[n], requests, random.Random(n)).run,
                      Sink(dut.o[n], 12 * 32, random.Random(n)).run]
    simulate(dut, *processes, background=[memory.ticks, *memory.read(dut.axi)])
    turns = [address // 8192 for address, _ in memory.bursts]
    assert all(sorted(turns[n:n + 3]) == [0, 1, 2] for n in range(0, len(turns), 3))
    clocks = memory.r_clocks
    assert clocks == list(range(clocks[0], clocks[0] + len(clocks)))
