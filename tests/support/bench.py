"""Running a component, with one process for each of its ports."""

import itertools
import random
from dataclasses import dataclass, field

from amaranth.hdl import Module, Signal, Value
from amaranth.sim import Simulator

__all__ = ["PACES", "Sink", "Source", "clocked", "pump", "simulate"]

PACES = [(1, 1), (0.5, 1), (1, 0.4), (0.6, 0.6)]
"""How often a source offers something, and how often a sink takes something."""


def simulate(dut, *processes, background=()):
    """Runs until all ``processes``, async functions of a context, are done.

    Those of ``background`` are stopped then. They all begin at clock 0, so that a process that
    counts its ticks knows the clock.
    """
    top = Module()
    top.submodules.dut = dut
    clock = Signal()
    top.d.sync += clock.eq(~clock)  # there is one, also where the component has no need of it
    simulator = Simulator(top)
    simulator.add_clock(1e-6)
    for process in processes:
        simulator.add_testbench(process)
    for process in background:
        simulator.add_testbench(process, background=True)
    simulator.run()


@dataclass(repr=False)
class Source:
    """Offers items, ints, at a stream input; ``clocks`` are those at which they were taken."""

    port: object
    items: list
    rng: random.Random
    pace: float = 1
    clocks: list = field(default_factory=list)

    async def run(self, ctx):
        payload = Value.cast(self.port.payload)
        clock = 0
        for item in self.items:
            while self.rng.random() >= self.pace:
                # What stands at the port while nothing is offered is not to matter.
                ctx.set(payload, self.rng.getrandbits(len(payload)))
                await ctx.tick()
                clock += 1
            ctx.set(payload, item)
            ctx.set(self.port.valid, 1)
            ready = False
            while not ready:
                *_, ready = await ctx.tick().sample(self.port.ready)
                clock += 1
            self.clocks.append(clock - 1)
            ctx.set(self.port.valid, 0)


@dataclass(repr=False)
class Sink:
    """Takes items from a stream output until there are ``count``, and looks on a while.

    That nothing changes while it waits is checked all the time.
    """

    port: object
    count: int
    rng: random.Random
    pace: float = 1
    patience: int = 500
    idle: int = 40
    items: list = field(default_factory=list)
    clocks: list = field(default_factory=list)

    async def run(self, ctx):
        port, payload = self.port, Value.cast(self.port.payload)
        waits = None
        quiet = 0
        for clock in itertools.count():
            ready = self.rng.random() < self.pace
            ctx.set(port.ready, ready)
            *_, valid, item = await ctx.tick().sample(port.valid, payload)
            if waits is not None:
                assert valid, f"clock {clock}: valid fell while it waited"
                assert item == waits, f"clock {clock}: the payload changed while it waited"
            waits = item if valid and not ready else None
            quiet = 0 if valid else quiet + 1
            if valid and ready:
                self.items.append(item)
                self.clocks.append(clock)
                assert len(self.items) <= self.count, f"clock {clock}: one item too many"
            if len(self.items) == self.count and quiet >= self.idle:
                return
            assert quiet < self.patience, (
                f"clock {clock}: {len(self.items)} of {self.count} items came, then nothing")


def pump(dut, items, count, *, seed, paces=(1, 1), background=(), patience=500):
    """Sends ``items`` through ``dut.i`` and takes ``count`` from ``dut.o``: a source and a sink."""
    come, go = paces
    source = Source(dut.i, items, random.Random(f"{seed} in"), come)
    sink = Sink(dut.o, count, random.Random(f"{seed} out"), go, patience)
    try:
        simulate(dut, source.run, sink.run, background=background)
    except AssertionError as error:
        raise AssertionError(f"seed {seed!r}: {error}") from error
    return source, sink


def clocked(dut, inputs, outputs, rows, *, extra):
    """What stands at ``outputs`` in each clock, with a row of ``inputs`` set in each.

    For components in which nothing waits. The last row stands for ``extra`` more clocks but for
    its inputs named ``..valid``, which fall.
    """
    seen = []

    async def process(ctx):
        for row in itertools.chain(rows, itertools.repeat(None, extra)):
            for port, value in zip(inputs, row or (), strict=False):
                ctx.set(Value.cast(port), value)
            if row is None:
                ctx.set(Value.cast(inputs[0]), 0)
            *_, values = (await ctx.tick().sample(*map(Value.cast, outputs)),)
            seen.append(values[2:])

    simulate(dut, process)
    return seen
