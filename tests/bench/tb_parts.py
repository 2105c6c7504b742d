"""For the tests of what benches are made of."""

import random
import time
from collections import Counter
from itertools import pairwise

import cocotb
import numpy as np
import pytest
from parts import COPIERS, MAP
from tightwire.host.errors import CardError
from tightwire_sim.bench.axi_lite import AxiLiteMaster
from tightwire_sim.bench.axi_memory import AxiMemory, Latency
from tightwire_sim.bench.context import parameters, record
from tightwire_sim.bench.drivers import Pauses, Sink, Source, Stepper
from tightwire_sim.bench.frames import Beat
from tightwire_sim.bench.protocol import ProtocolError
from tightwire_sim.bench.wire import Faults, Wire
from tightwire_sim.host_memory import HostMemory

AT = MAP.word


class _Bench:
    def __init__(self, dut, *, pauses=False, faults=None, wire_pauses=False, **more):
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.memory = HostMemory(1 << 18, seed=cocotb.RANDOM_SEED)

        def pause():
            return Pauses(random.Random(self.rng.random()))

        if pauses:
            more |= {"pauses": {name: pause() for name in ("ar", "r", "aw", "w", "b")},
                     "rng": self.rng}
        self.axi = AxiMemory(dut, self.memory, **more)
        self.bus = AxiLiteMaster(dut, rng=self.rng if pauses else None, patience=300)
        self.source = Source(dut, "a_s_axis")
        waits = {"pause_in": pause(), "pause_out": pause()} if wire_pauses else {}
        self.wire = Wire(dut, "a_m_axis", "b_s_axis", faults=faults, rng=self.rng, **waits)
        self.sink = Sink(dut, "b_m_axis")
        self.bench = Stepper(dut, [self.axi, self.bus, self.source, self.wire, self.sink])
        self.width = self.axi._width

    async def start(self):
        await self.bench.start()

    async def drive(self, coroutine, limit=200_000):
        return await self.bench.drive(coroutine, limit=limit)

    async def copy(self, n, origin, target, size):
        """Start a copy."""
        command = f"copy{n}"
        for name, value in (("origin", origin), ("target", target)):
            await self.bus.write32(AT[f"{command}_{name}_lo"], value & 0xFFFFFFFF)
            await self.bus.write32(AT[f"{command}_{name}_hi"], value >> 32)
        await self.bus.write32(AT[f"{command}_bytes"], size)
        while await self.bus.read32(AT[f"{command}_push"]) & 1:
            await self.bus.pause()
        await self.bus.write32(AT[f"{command}_push"], 1)

    async def count(self, name):
        low = await self.bus.read32(AT[f"{name}_lo"])
        return await self.bus.read32(AT[f"{name}_hi"]) << 32 | low

    async def done(self, n, count):
        while await self.count(f"done{n}") < count:
            await self.bus.pause()


@cocotb.test()
@cocotb.parametrize(pauses=[False, True])
async def registers(dut, pauses):
    bench = _Bench(dut, pauses=pauses)
    await bench.start()

    async def work():
        value = 0
        for _ in range(50):
            new, strobes = bench.rng.getrandbits(32), bench.rng.randrange(16)
            await bench.bus.write32(AT["scratch"], new, strobes)
            mask = sum(0xFF << 8 * n for n in range(4) if strobes >> n & 1)
            value = value & ~mask | new & mask
            assert await bench.bus.read32(AT["scratch"]) == value
        for access in (bench.bus.read32(0x30), bench.bus.write32(0x30, 1),
                       bench.bus.write32(AT["idle"], 1)):
            with pytest.raises(CardError, match="SLVERR"):
                await access
        assert await bench.bus.read32(AT["scratch"]) == value
        before = bench.bench.clock
        await bench.bus.clocks(100)
        assert bench.bench.clock - before in (100, 101)

    await bench.drive(work())


@cocotb.test()
async def an_access_that_is_not_answered(dut):
    """A card in reset: the driver hears of it, and can go on afterwards."""
    bench = _Bench(dut)
    await bench.start()
    dut.rst.value = 1

    async def work():
        with pytest.raises(CardError, match="no answer"):
            await bench.bus.read32(0)
        dut.rst.value = 0
        await bench.bus.write32(AT["scratch"], 5)
        assert await bench.bus.read32(AT["scratch"]) == 5

    await bench.drive(work())


@cocotb.test()
async def full_speed(dut):
    """A beat is read and one written in every clock."""
    bench = _Bench(dut)
    await bench.start()
    size = 64 * 1024
    origin, target = bench.memory.allocate(size), bench.memory.allocate(size)
    await bench.drive(bench.copy(0, origin.address, target.address, size))
    began = bench.bench.clock
    started = time.perf_counter()
    await bench.bench.until(lambda: bench.axi.writes == size // bench.width, limit=size)
    clocks = bench.bench.clock - began
    record(beats=size // bench.width, clocks=clocks,
           rate=clocks / (time.perf_counter() - started), outstanding=bench.axi.most_outstanding)
    await bench.drive(bench.done(0, 1))
    assert bench.axi.idle
    np.testing.assert_array_equal(origin.array, target.array)
    bench.memory.check()


@cocotb.test()
@cocotb.parametrize(interleave=[False, True])
async def random_copies(dut, interleave):
    """Of any length from and to anywhere, two at a time: all memory is as it should be."""
    bench = _Bench(dut, pauses=True, latency=Latency(1, 200), outstanding=8,
                   interleave=interleave)
    await bench.start()
    rng = bench.rng
    pieces, wanted = [], []
    for _ in range(40):
        size = 4 * rng.choice((1, 2, 3, 4, 5, 17, 100, 1000))
        origin, target = (bench.memory.allocate(size, 4) for _ in range(2))
        pieces.append((origin, target, size))
        wanted.append(origin.array.copy())

    async def work():
        counts = [0] * COPIERS
        for origin, target, size in pieces:
            n = rng.randrange(COPIERS)
            await bench.copy(n, origin.address, target.address, size)
            counts[n] += 1
        for n, count in enumerate(counts):
            await bench.done(n, count)
            assert await bench.count(f"read_errors{n}") == 0
            assert await bench.count(f"write_errors{n}") == 0

    await bench.drive(work())
    assert bench.axi.idle
    for (origin, target, _), data in zip(pieces, wanted, strict=True):
        np.testing.assert_array_equal(origin.array, data)
        np.testing.assert_array_equal(target.array, data)
    bench.memory.check()
    record(outstanding=bench.axi.most_outstanding)


@cocotb.test()
async def errors(dut):
    """Where memory answers with an error nothing is written, and the card hears of it."""
    bench = _Bench(dut)
    await bench.start()
    origin, target, closed = (bench.memory.allocate(256) for _ in range(3))
    bench.axi.errors.append((closed.address + 64, closed.address + 65))
    before = closed.array.copy()
    outside = bench.memory.base + bench.memory.size

    async def work():
        await bench.copy(0, closed.address, target.address, 256)
        await bench.copy(1, origin.address, closed.address, 256)
        await bench.copy(0, outside, target.address, 4)
        await bench.copy(1, origin.address, outside, 4)
        await bench.copy(0, origin.address, target.address, 256)
        await bench.done(0, 3)
        await bench.done(1, 2)
        assert await bench.count("read_errors0") == 2
        assert await bench.count("write_errors1") == 2
        assert await bench.count("read_errors1") == await bench.count("write_errors0") == 0

    await bench.drive(work())
    np.testing.assert_array_equal(closed.array, before)
    np.testing.assert_array_equal(origin.array, target.array)
    bench.memory.check()


@cocotb.test()
async def what_a_master_must_not_do(dut):
    axi = _Bench(dut).axi
    size, width = axi._size, axi._width

    def ask(address=0x1000, beats=1, size=size, burst="01", cache="1111"):
        return [f"{address:064b}", f"{beats - 1:08b}", size, burst, cache, "0"]

    axi._burst("ar", 0, ask())
    axi._burst("ar", 0, ask(0x2000 - width))
    for wrong, text in ((ask(0x1001), "whole beat"), (ask(0x2000 - width, 2), "4 KB"),
                        (ask(size="000"), "size"), (ask(burst="00"), "burst is"),
                        (ask(cache="0000"), "cache is")):
        with pytest.raises(ProtocolError, match=text):
            axi._burst("ar", 0, wrong)
    burst = axi._burst("aw", 0, ask(beats=2))
    with pytest.raises(ProtocolError, match="for a burst of 2"):
        axi._write(0, burst, [["0" * 8 * width, "1" * width, "1"]])
    # A valid that falls, and an address that changes, before they are taken.
    channel = axi._ar
    for after, text in (("0", "was 1"), ("1", "changed")):
        valids, values = iter(["1", after]), iter(["0", "1"])
        channel.restart()
        channel._valid = valids.__next__
        channel._get = [values.__next__]
        assert channel.take(0, room=False) is None
        with pytest.raises(ProtocolError, match=text):
            channel.take(1, room=False)


def _frames(rng, width, count):
    sizes = [1, width - 1, width, width + 1, 2 * width, 4 * width - 1, 4 * width]
    return [rng.randbytes(rng.choice(sizes)) for _ in range(count)]


def _beats(frame, width):
    parts = [frame[at:at + width] for at in range(0, len(frame), width)]
    return [Beat(int.from_bytes(part, "little"), (1 << len(part)) - 1, part is parts[-1], 0)
            for part in parts]


def _came(sink, width):
    """Frames as bytes, with their mark."""
    frames, whole = [], b""
    for beat in sink.beats():
        whole += beat.data.to_bytes(width, "little")[:beat.keep.bit_count()]
        if beat.last:
            frames.append((whole, beat.user & 1))
            whole = b""
    assert not whole
    return frames


@cocotb.test()
@cocotb.parametrize(wire_pauses=[False, True])
async def a_good_wire(dut, wire_pauses):
    bench = _Bench(dut, wire_pauses=wire_pauses)
    await bench.start()
    frames = _frames(bench.rng, bench.width, 64) + [bytes([n]) for n in range(64)]
    for frame in frames:
        bench.source.send(_beats(frame, bench.width))
    await bench.bench.until(lambda: bench.sink.frames == len(frames), limit=20_000)
    await bench.bench.run(100)
    assert _came(bench.sink, bench.width) == [(frame, 0) for frame in frames]
    assert [one.data for one in bench.wire.sent] == frames
    assert bench.wire.idle and bench.wire.delivered == len(frames)
    if not wire_pauses:  # whole frames wait, but no clock is lost
        taken = bench.sink.taken
        beats = len(taken)
        assert taken[-1] - taken[0] <= beats + 8, (taken[-1] - taken[0], beats)


@cocotb.test()
async def a_bad_wire(dut):
    """What arrives is what the record says; each fate comes about as often as asked."""
    faults = Faults(lost=0.2, doubled=0.2, late=0.2, corrupt=0.2, delay=parameters()["delay"])
    bench = _Bench(dut, faults=faults)
    await bench.start()
    # Each frame is another one: its number is in front.
    frames = [n.to_bytes(2, "little") + frame
              for n, frame in enumerate(_frames(bench.rng, bench.width, 400))]
    for frame in frames:
        bench.source.send(_beats(frame, bench.width))
    await bench.bench.until(
        lambda: len(bench.wire.sent) == len(frames) and bench.wire.idle, limit=50_000)
    await bench.bench.run(50)
    came = _came(bench.sink, bench.width)
    assert [one.data for one in bench.wire.sent] == frames
    wanted, marked = Counter(), 0
    for one in bench.wire.sent:
        if "lost" in one.fates:
            continue
        copies = 1 + ("doubled" in one.fates)
        bad = int("corrupt" in one.fates)
        marked += bad
        wanted[one.data] += copies - bad
    good = [frame for frame, mark in came if not mark]
    assert Counter(good) == +wanted
    assert len(came) - len(good) == marked
    assert not {frame for frame, mark in came if mark} & set(frames)
    order = [int.from_bytes(frame[:2], "little") for frame in good]
    overtaken = sum(later < earlier for earlier, later in pairwise(order))
    counts = bench.wire.counts
    assert all(50 <= counts[fate] <= 110 for fate in ("lost", "doubled", "late", "corrupt"))
    assert overtaken > 10
    record(counts=dict(counts), order=order)
