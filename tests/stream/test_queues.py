"""Buffer, Queue, RamQueue and Outlet give out what went in, and at what speed."""

import random

import pytest

from tightwire.stream.buffer import Buffer
from tightwire.stream.outlet import Outlet
from tightwire.stream.queue import Queue
from tightwire.stream.ram_queue import RamQueue

from ..support.bench import PACES, Sink, pump, simulate

SEED = 4711
WIDTH = 12

QUEUES = {
    "Buffer": lambda: Buffer(WIDTH),
    "Queue-2": lambda: Queue(WIDTH, 2),
    "Queue-5": lambda: Queue(WIDTH, 5),
    "RamQueue-5": lambda: RamQueue(WIDTH, 5),
    "RamQueue-8": lambda: RamQueue(WIDTH, 8),
}


def _items(count):
    rng = random.Random(SEED)
    return [rng.getrandbits(WIDTH) for _ in range(count)]


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("name", QUEUES)
def test_all_in_order(name, paces):
    items = _items(200)
    _, sink = pump(QUEUES[name](), items, len(items), seed=SEED, paces=paces)
    assert sink.items == items


@pytest.mark.parametrize("name", QUEUES)
def test_latency_and_one_a_clock(name):
    dut = QUEUES[name]()
    items = _items(40)
    source, sink = pump(dut, items, len(items), seed=SEED)
    assert source.clocks == list(range(len(items)))
    assert sink.clocks == [clock + dut.latency for clock in source.clocks]


@pytest.mark.parametrize("name", ["Queue-5", "RamQueue-5", "RamQueue-8"])
def test_it_holds_its_depth(name):
    dut = QUEUES[name]()
    taken = []

    async def fill(ctx):
        ctx.set(dut.i.valid, 1)
        for _ in range(30):
            *_, ready = await ctx.tick().sample(dut.i.ready)
            taken.append(ready)

    simulate(dut, fill)
    assert dut.depth <= sum(taken) <= dut.depth + 2
    assert not taken[-1]


def _through_outlet(depth, delay, paces, count):
    """Items through a pipeline of ``delay`` clocks into an Outlet: in and out at which clocks."""
    dut = Outlet(WIDTH, depth)
    items = _items(count)
    rng = random.Random(SEED)
    sink = Sink(dut.o, count, random.Random(SEED + 1), paces[1])
    reserved = []

    async def pipeline(ctx):
        stages = [None] * delay
        waiting = list(items)
        clock = 0
        while waiting or any(stage is not None for stage in stages):
            item = None
            if waiting and ctx.get(dut.room) and rng.random() < paces[0]:
                item = waiting.pop(0)
                reserved.append(clock)
            stages.append(item)
            ctx.set(dut.reserve, item is not None)
            out = stages.pop(0)
            ctx.set(dut.i_valid, out is not None)
            ctx.set(dut.i, rng.getrandbits(WIDTH) if out is None else out)
            await ctx.tick()
            clock += 1
        ctx.set(dut.i_valid, 0)
        ctx.set(dut.reserve, 0)

    simulate(dut, pipeline, sink.run)
    assert sink.items == items, f"seed {SEED}"
    return dut, reserved, sink.clocks


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("depth, delay", [(1, 1), (5, 3), (8, 6), (5, 9)])
def test_outlet_loses_nothing(depth, delay, paces):
    _through_outlet(depth, delay, paces, 120)


@pytest.mark.parametrize("delay", [1, 4, 9])
def test_outlet_latency_and_one_a_clock(delay):
    """The depth that its users take: the pipeline, and what an item then takes to be out."""
    depth = delay + Outlet.latency + 2
    dut, reserved, out = _through_outlet(depth, delay, (1, 1), 60)
    assert reserved == list(range(60))
    assert out == [clock + delay + dut.latency for clock in reserved]
