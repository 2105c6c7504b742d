"""Ring and CompletionQueue against a host's memory."""

import random

import pytest

from tightwire.dma import completions
from tightwire.dma.completions import ENTRY_BYTES, CompletionQueue
from tightwire.dma.ring import DESCRIPTOR_BYTES, FETCHED, Ring
from tightwire.dma.transfer import COMPLETION

from ..support.axi import AxiMemory
from ..support.bench import Sink, Source, simulate
from ..support.layouts import join, split

SEED = 72
SIZE = 1 << 14
MEMORIES = [(0, 1), (40, 0.6)]


def _descriptor(memory, base, place):
    at = base + place * DESCRIPTOR_BYTES
    return [int.from_bytes(memory.bytes[at + 4 * n:at + 4 * n + 4], "little") for n in range(8)]


@pytest.mark.parametrize("latency, pace", MEMORIES)
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_descriptors_come_in_order(lanes, latency, pace):
    """Over several laps, with a doorbell for one or for many; disabled, it begins anew."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=rng, latency=latency, pace=pace)
    dut = Ring(lanes=lanes)
    base, log2_size, laps = 0x1000, 3, 4
    size = 1 << log2_size
    items = []

    async def take(ctx, count):
        waited = 0
        while len(items) < count:
            ready = rng.random() < pace
            ctx.set(dut.o.ready, ready)
            *_, valid, item = await ctx.tick().sample(dut.o.valid, dut.o.p.as_value())
            if valid and ready:
                items.append(split(FETCHED, item))
            waited = 0 if valid else waited + 1
            assert waited < 1000
        ctx.set(dut.o.ready, 0)

    async def process(ctx):
        for _ in range(2):
            ctx.set(dut.base, base)
            ctx.set(dut.log2_size, log2_size)
            ctx.set(dut.producer, 0)
            ctx.set(dut.enable, 1)
            produced = 0
            items.clear()
            while produced < laps * size:
                step = rng.randint(1, size)
                produced = min(produced + step, laps * size)
                ctx.set(dut.producer, produced)
                await take(ctx, produced)
                assert ctx.get(dut.consumer) == produced
            assert [one["index"] for one in items] == list(range(1, produced + 1))
            for n, one in enumerate(items):
                assert one["words"] == _descriptor(memory, base, n % size), f"seed {SEED}"
                assert not one["error"]
            # Some more are left behind, fetched or not.
            ctx.set(dut.producer, produced + 5)
            await ctx.tick().repeat(20)
            ctx.set(dut.enable, 0)
            ctx.set(dut.producer, 0)
            await ctx.tick().repeat(300)
            assert ctx.get(dut.idle)
            assert ctx.get(dut.consumer) == 0
            assert not ctx.get(dut.o.valid)

    simulate(dut, process, background=[memory.ticks, *memory.read(dut.axi)])


@pytest.mark.parametrize("latency", [0, 40])
def test_a_ring_that_is_disabled_for_a_moment_begins_anew(latency):
    """Nothing of before comes, however short the pause and whatever was on its way."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=4, size=SIZE, rng=rng, latency=latency)
    dut = Ring(lanes=4)

    async def process(ctx):
        ctx.set(dut.log2_size, 4)
        for pause in range(1, 16):
            base = 0x1000 * (1 + pause % 2)
            ctx.set(dut.base, base)
            ctx.set(dut.producer, 9)
            ctx.set(dut.enable, 1)
            await ctx.tick().repeat(rng.randint(1, 120))
            for n in range(rng.randint(1, 6)):
                ctx.set(dut.o.ready, 1)
                (item,) = await ctx.tick().sample(dut.o.p.as_value()).until(dut.o.valid)
                ctx.set(dut.o.ready, 0)
                item = split(FETCHED, item)
                assert item["index"] == n + 1, f"pause {pause}"
                assert item["words"] == _descriptor(memory, base, n), f"pause {pause}"
            await ctx.tick().repeat(rng.randint(1, 20))
            ctx.set(dut.enable, 0)
            await ctx.tick().repeat(pause)

    simulate(dut, process, background=[memory.ticks, *memory.read(dut.axi)])


def test_a_descriptor_that_cannot_be_read_says_so():
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=4, size=SIZE, rng=rng, bad=[64 * 2 + 16])
    dut = Ring(lanes=4)
    sink = Sink(dut.o, 4, rng)

    async def process(ctx):
        ctx.set(dut.log2_size, 4)
        ctx.set(dut.enable, 1)
        ctx.set(dut.producer, 4)
        await sink.run(ctx)

    simulate(dut, process, background=[memory.ticks, *memory.read(dut.axi)])
    assert [split(FETCHED, one)["error"] for one in sink.items] == [0, 0, 1, 0]


def _queue(lanes, memory, *, n=2, base=0x800, log2_size=3):
    dut = CompletionQueue(lanes=lanes, n=n)

    async def setup(ctx):
        ctx.set(dut.base, base)
        ctx.set(dut.log2_size, log2_size)
        ctx.set(dut.enable, 1)

    def entry(index):
        at = base + index % (1 << log2_size) * ENTRY_BYTES
        return split(COMPLETION, int.from_bytes(memory.bytes[at:at + ENTRY_BYTES], "little"))

    return dut, setup, entry


@pytest.mark.parametrize("latency, pace", MEMORIES)
@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_completions_are_written_in_order_and_never_over_one_unread(lanes, latency, pace):
    """The host reads by the phase bit alone, slowly; nothing else in memory changes."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=rng, latency=latency, pace=pace)
    dut, setup, entry = _queue(lanes, memory)
    size = 8
    memory.bytes[0x800:0x800 + size * ENTRY_BYTES] = bytes(size * ENTRY_BYTES)
    before = bytearray(memory.bytes)
    sent = [[join(COMPLETION, {"kind": way + 1, "tag": n, "count": rng.getrandbits(32),
                               "detail": rng.getrandbits(31)}) for n in range(30)]
            for way in range(2)]
    got = [[], []]

    async def host(ctx):
        await setup(ctx)
        for index in range(60):
            phase = 1 - (index // size & 1)
            waited = 0
            while entry(index)["phase"] != phase:
                await ctx.tick()
                waited += 1
                assert waited < 1000, f"{index} entries came"
            one = entry(index)
            got[one["kind"] - 1].append(join(COMPLETION, one | {"phase": 0}))
            for _ in range(rng.choice([0, 0, 100])):
                await ctx.tick()
            ctx.set(dut.consumer, index + 1)
        await ctx.tick().repeat(100)
        assert ctx.get(dut.producer) == 60

    sources = [Source(dut.i[n], sent[n], random.Random(SEED + n)).run for n in range(2)]
    simulate(dut, host, *sources, background=[memory.ticks, *memory.write(dut.axi)])
    assert got == sent, f"seed {SEED}"
    memory.bytes[0x800:0x800 + size * ENTRY_BYTES] = before[0x800:0x800 + size * ENTRY_BYTES]
    assert memory.bytes == before


@pytest.mark.parametrize("count, time, sent, at_least, at_most", [
    (1, 1000, 1, 0, 60),        # at once
    (4, 1000, 3, 1000, 1060),   # not enough: the time
    (4, 1000, 4, 0, 120),       # enough
    (9, 0, 1, 0, 60),           # no time to wait for more
])
def test_interrupt_waits_for_a_count_or_a_time(count, time, sent, at_least, at_most):
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=4, size=SIZE, rng=rng, latency=4)
    dut, setup, _ = _queue(4, memory)
    items = [join(COMPLETION, {"tag": n}) for n in range(sent)]
    clocks = []

    async def host(ctx):
        await setup(ctx)
        ctx.set(dut.count, count)
        ctx.set(dut.time, time)
        for clock in range(1200):
            *_, raised = await ctx.tick().sample(dut.interrupt)
            if raised:
                clocks.append(clock)
                break
        assert ctx.get(dut.producer) == min(sent, max(1, sent))
        ctx.set(dut.acknowledge, 1)
        await ctx.tick()
        ctx.set(dut.acknowledge, 0)
        for _ in range(1200):
            *_, raised = await ctx.tick().sample(dut.interrupt)
            assert not raised

    simulate(dut, host, Source(dut.i[0], items, rng).run,
             background=[memory.ticks, *memory.write(dut.axi)])
    assert at_least <= clocks[0] <= at_most


def test_an_entry_that_cannot_be_written_is_noticed():
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=4, size=SIZE, rng=rng, bad=[0x810])
    dut, setup, _ = _queue(4, memory)
    failures = []

    async def count(ctx):
        async for *_, failed in ctx.tick().sample(dut.failed):
            failures.append(failed)

    async def host(ctx):
        await setup(ctx)
        await ctx.tick().repeat(200)
        assert ctx.get(dut.producer) == 3

    items = [join(COMPLETION, {"tag": n}) for n in range(3)]
    simulate(dut, host, Source(dut.i[1], items, rng).run,
             background=[memory.ticks, *memory.write(dut.axi), count])
    assert sum(failures) == 1


@pytest.mark.parametrize("latency", [0, 40])
def test_a_queue_that_is_disabled_for_a_moment_begins_anew(latency):
    """Each completion is written once, before or behind the pause, from a ring's first place on."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=4, size=SIZE, rng=rng, latency=latency)
    dut, _, _ = _queue(4, memory)
    log2_size, pauses = 5, 12
    items = [join(COMPLETION, {"tag": n + 1}) for n in range(200)]
    tags = []

    def entries(base):
        for at in range(base, base + (ENTRY_BYTES << log2_size), ENTRY_BYTES):
            one = split(COMPLETION, int.from_bytes(memory.bytes[at:at + ENTRY_BYTES], "little"))
            if one["phase"] == 0:
                return
            yield one["tag"]

    async def host(ctx):
        ctx.set(dut.log2_size, log2_size)
        memory.bytes[:] = bytes(SIZE)
        for pause in range(1, pauses + 1):
            base = (ENTRY_BYTES << log2_size) * pause
            ctx.set(dut.base, base)
            ctx.set(dut.enable, 1)
            await ctx.tick().repeat(rng.randint(60, 130))
            ctx.set(dut.enable, 0)
            await ctx.tick().repeat(pause)
        ctx.set(dut.base, 0)
        ctx.set(dut.enable, 1)
        ctx.set(dut.count, 1)
        await ctx.tick().repeat(500)
        for pause in range(1, pauses + 1):
            tags.extend(entries((ENTRY_BYTES << log2_size) * pause))
        last = list(entries(0))
        tags.extend(last)
        assert ctx.get(dut.producer) == len(last)

    simulate(dut, host, background=[Source(dut.i[0], items, rng).run, memory.ticks,
                                    *memory.write(dut.axi)])
    assert len(tags) > 60
    assert tags == list(range(1, len(tags) + 1)), f"seed {SEED}"


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_latency_of_a_descriptor(lanes):
    """From the doorbell, without the clocks that the memory takes."""
    memory = AxiMemory(lanes=lanes, size=SIZE, rng=random.Random(SEED))
    dut = Ring(lanes=lanes)
    clocks = []

    async def process(ctx):
        ctx.set(dut.log2_size, 4)
        ctx.set(dut.enable, 1)
        await ctx.tick().repeat(10)
        ctx.set(dut.producer, 5)
        for clock in range(80):
            *_, valid = await ctx.tick().sample(dut.o.valid)
            if valid:
                clocks.append(clock)
                ctx.set(dut.o.ready, 1)
                await ctx.tick()
                ctx.set(dut.o.ready, 0)

    simulate(dut, process, background=[memory.ticks, *memory.read(dut.axi)])
    beats = max(1, 8 // lanes)
    assert clocks[0] == dut.latency + memory.r_clocks[0] - memory.ar_clocks[0] + beats - 1
    asked = memory.ar_clocks
    assert asked[3] - asked[0] <= 3 * 5  # one descriptor every 5 clocks, while there is room


def test_completions_keep_up_with_a_slow_memory():
    """As many are under way as it takes: one every 6 clocks, with a latency of 60."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=16, size=SIZE, rng=rng, latency=60)
    dut, setup, _ = _queue(16, memory, log2_size=8)
    items = [join(COMPLETION, {"tag": n}) for n in range(60)]
    source = Source(dut.i[0], items, rng)
    simulate(dut, setup, source.run, background=[memory.ticks, *memory.write(dut.axi)])
    assert source.clocks[50] - source.clocks[20] == 30 * 6


def test_interrupt_stays_when_nothing_is_acknowledged(monkeypatch):
    """A host that only polls: the count of what it did not acknowledge must not come round to 0.

    With indices of 4 bits, so that it would after 16 entries.
    """
    monkeypatch.setattr(completions, "_INDEX_BITS", 4)
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=4, size=SIZE, rng=rng)
    dut, setup, _ = _queue(4, memory)
    raised = []

    async def host(ctx):
        await setup(ctx)
        ctx.set(dut.count, 1)
        for _ in range(400):
            *_, interrupt, producer = await ctx.tick().sample(dut.interrupt, dut.producer)
            ctx.set(dut.consumer, producer)
            raised.append(interrupt)

    items = [join(COMPLETION, {"tag": n}) for n in range(40)]
    source = Source(dut.i[0], items, rng)
    simulate(dut, host, source.run, background=[memory.ticks, *memory.write(dut.axi)])
    assert len(source.clocks) == 40
    assert raised == sorted(raised) and raised[-1]
