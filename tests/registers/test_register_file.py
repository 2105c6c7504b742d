"""RegisterFile: every kind of register over AXI4-Lite, and what is refused."""

import itertools
import random

import pytest

from tightwire.config import ConfigError, NicConfig
from tightwire.registers.describe import (
    COMMAND_DEPTH,
    PUSH_EMPTY,
    PUSH_FULL,
    Access,
    Bank,
    Command,
    Counter,
    Field,
    Map,
    Register,
)
from tightwire.registers.nic import MAP, constants
from tightwire.registers.register_file import RegisterFile

from ..support.bench import simulate
from .bus import OKAY, SLVERR, Bus, paces

SEED = 30

SMALL = Map(name="small", address_bits=9, blocks=(("All", "", (
    Register(name="who", offset=0x00, access=Access.RO, constant=True, doc=""),
    Register(name="mode", offset=0x04, access=Access.RW, bits=16, reset=0xA5, doc=""),
    Register(name="base", offset=0x08, access=Access.RW, bits=64, reset=1 << 40 | 3, doc=""),
    Register(name="state", offset=0x10, access=Access.RO, bits=20, doc=""),
    Register(name="go", offset=0x14, access=Access.PULSE, bits=9, doc="", fields=(
        Field("now", 0, 1, ""), Field("later", 8, 1, ""))),
    Register(name="events", offset=0x18, access=Access.W1C, bits=10, doc=""),
    Command(name="put", offset=0x80, doc="", arguments=(
        Register(name="where", offset=0x0, access=Access.RW, bits=8, reset=7, doc=""),
        Register(name="what", offset=0x4, access=Access.RW, bits=48, doc=""),
        Register(name="how", offset=0xC, access=Access.RW, bits=8, doc="", fields=(
            Field("op", 0, 1, ""), Field("size", 4, 4, ""))))),
    Bank(name="counts", offset=0xC0, doc="", counters=(
        *(Counter(f"n{n}", "") for n in range(9)), Counter("big", "", 16),
        Counter("wide", "", 30))),
)),))

AT = SMALL.word


def _run(*processes, background=()):
    dut = RegisterFile(SMALL, {"who": 0x1234})
    simulate(dut, *[_bound(process, dut) for process in processes],
             background=[_bound(process, dut) for process in background])


def _bound(process, dut):
    async def run(ctx):
        await process(ctx, dut)
    return run


@pytest.mark.parametrize("rng", paces(SEED), ids=["at once", "late"])
def test_registers_keep_the_bytes_that_are_written(rng):
    """Random writes with strobes of all that is rw, against a model of it; all is read back."""
    storage = {"mode": 16, "base_lo": 32, "base_hi": 32, "put_where": 8, "put_what_lo": 32,
               "put_what_hi": 16, "put_how": 8}
    model = dict.fromkeys(storage, 0) | {
        "mode": 0xA5, "base_lo": 3, "base_hi": 1 << 8, "put_where": 7}
    draw = random.Random(SEED)

    async def work(ctx, dut):
        bus = Bus(dut.bus, rng)
        for n in itertools.count():
            for name, value in model.items():
                data, response, _ = await bus.read(ctx, AT[name] + draw.randrange(4))
                assert (data, response) == (value, OKAY), name
            assert ctx.get(dut.mode) == model["mode"]
            assert ctx.get(dut.base) == model["base_hi"] << 32 | model["base_lo"]
            if n == 40:
                break
            name = draw.choice(list(storage))
            new, strobes = draw.getrandbits(32), draw.randrange(16)
            response, _ = await bus.write(ctx, AT[name], new, strobes)
            assert response == OKAY
            for byte in range(4):
                if strobes >> byte & 1:
                    mask = 0xFF << 8 * byte
                    model[name] = (model[name] & ~mask | new & mask) & (1 << storage[name]) - 1

    _run(work)


def test_constant_and_read_only():
    async def work(ctx, dut):
        bus = Bus(dut.bus)
        assert await bus.read(ctx, AT["who"]) == (0x1234, OKAY, dut.read_latency)
        ctx.set(dut.state, 0x9ABCD)
        assert (await bus.read(ctx, AT["state"]))[:2] == (0x9ABCD, OKAY)
        for name in ("who", "state", "n3_lo", "n3_hi"):
            assert await bus.write(ctx, AT[name], 5) == (SLVERR, dut.write_latency)
        assert (await bus.read(ctx, AT["who"]))[0] == 0x1234

    _run(work)


@pytest.mark.parametrize("rng", paces(SEED), ids=["at once", "late"])
def test_where_nothing_is(rng):
    """Every address that the map does not have is answered with an error, and all others not."""
    there = {word.offset for word in SMALL.words}

    async def work(ctx, dut):
        bus = Bus(dut.bus, rng)
        for address in range(0, 1 << SMALL.address_bits, 4):
            data, response, _ = await bus.read(ctx, address)
            assert response == (OKAY if address in there else SLVERR), hex(address)
            if address not in there:
                assert data == 0
                response, _ = await bus.write(ctx, address, 0xFFFFFFFF)
                assert response == SLVERR, hex(address)
        assert ctx.get(dut.mode) == 0xA5

    _run(work)


def test_a_pulse_is_one_clock():
    seen = []

    async def watch(ctx, dut):
        async for *_, value in ctx.tick().sample(dut.go):
            seen.append((value.now, value.later))

    async def work(ctx, dut):
        bus = Bus(dut.bus)
        for data, strobes in ((1, 15), (0x100, 15), (0x101, 1), (0x101, 2), (0x101, 0)):
            assert (await bus.write(ctx, AT["go"], data, strobes))[0] == OKAY
            assert (await bus.read(ctx, AT["go"]))[:2] == (0, OKAY)

    _run(work, background=[watch])
    assert [one for one in seen if any(one)] == [(1, 0), (0, 1), (1, 0), (0, 1)]


def test_events_stay_until_they_are_cleared():
    """A bit that is set in the clock in which it is cleared stays."""
    async def work(ctx, dut):
        bus = Bus(dut.bus)
        ctx.set(dut.events_set, 0b11)
        await ctx.tick()
        ctx.set(dut.events_set, 0)
        assert (await bus.read(ctx, AT["events"]))[0] == 0b11
        await bus.write(ctx, AT["events"], 0b101)
        assert ctx.get(dut.events) == 0b10
        ctx.set(dut.events_set, 0b10)  # all the time
        await bus.write(ctx, AT["events"], 0b10)
        assert ctx.get(dut.events) == 0b10
        ctx.set(dut.events_set, 0)
        cleared.clear()
        await bus.write(ctx, AT["events"], 0b10)
        assert ctx.get(dut.events) == 0
        assert [one for one in cleared if one] == [0b10]

    cleared = []

    async def watch(ctx, dut):
        async for *_, bits in ctx.tick().sample(dut.events_cleared):
            cleared.append(bits)

    _run(work, background=[watch])


@pytest.mark.parametrize("rng", paces(SEED), ids=["at once", "late"])
def test_commands_are_pushed_in_order_and_never_lost(rng):
    """Until the queue is full, which reads say and a push finds out."""
    draw = random.Random(SEED)
    pushed, taken = [], []
    state = {"go": False}

    async def take(ctx, dut):
        port = dut.put
        while True:
            ctx.set(port.ready, state["go"] and draw.random() < 0.05)
            *_, valid, ready, p = await ctx.tick().sample(port.valid, port.ready, port.p)
            if valid and ready:
                taken.append((p.where, p.what, p.how.op, p.how.size))

    async def work(ctx, dut):
        bus = Bus(dut.bus, rng)
        refused = 0
        for n in range(60):
            where, what = draw.getrandbits(8), draw.getrandbits(48)
            how = draw.getrandbits(8) & 0xF1
            for name, value in (("where", where), ("what_lo", what & 0xFFFFFFFF),
                                ("what_hi", what >> 32), ("how", how)):
                await bus.write(ctx, AT[f"put_{name}"], value)
            await bus.write(ctx, AT["put_push"], 1, 0)  # no byte, no push
            before, *_ = await bus.read(ctx, AT["put_push"])
            response, _ = await bus.write(ctx, AT["put_push"], 0)
            entry = where, what, how & 1, how >> 4
            if response == OKAY:
                pushed.append(entry)
            else:
                assert before & PUSH_FULL
                refused += 1
            if not state["go"]:
                assert (response == OKAY) == (n < COMMAND_DEPTH)
            if n == COMMAND_DEPTH + 2:
                assert before == PUSH_FULL
                state["go"] = True
        assert refused > 2
        for _ in range(400):
            if (await bus.read(ctx, AT["put_push"]))[0] == PUSH_EMPTY:
                break
        await ctx.tick().repeat(5)

    _run(work, background=[take])
    assert taken == pushed


def test_counters_lose_nothing():
    """All of them at once, every clock; reads in between take nothing away."""
    draw = random.Random(SEED)
    clocks = 3000
    names = [counter.name for counter in SMALL.banks["counts"].counters]
    sums = dict.fromkeys(names, 0)
    state = {"done": False}

    async def count(ctx, dut):
        for n in range(clocks):
            # At first all they can take, then at random.
            amounts = {name: (1 << len(dut.counts[name])) - 1 if n < 1000 else
                       draw.getrandbits(len(dut.counts[name])) for name in names}
            ctx.set(dut.counts, amounts)
            await ctx.tick()
            for name, amount in amounts.items():
                sums[name] += amount
        ctx.set(dut.counts, dict.fromkeys(names, 0))
        await ctx.tick().repeat(60)
        state["done"] = True

    async def read(ctx, dut):
        bus = Bus(dut.bus)
        last = dict.fromkeys(names, 0)
        finished = False
        while not finished:
            finished = state["done"]
            for name in names:
                low, *_ = await bus.read(ctx, AT[f"{name}_lo"])
                high, response, _ = await bus.read(ctx, AT[f"{name}_hi"])
                assert response == OKAY
                value = high << 32 | low
                assert value >= last[name]
                last[name] = value
        assert last == sums
        assert last["wide"] >> 32

    _run(count, read)


def test_reads_do_not_wait_for_writes():
    async def write(ctx, dut):
        bus = Bus(dut.bus)
        for n in range(20):
            assert await bus.write(ctx, AT["mode"], n) == (OKAY, dut.write_latency)

    async def read(ctx, dut):
        bus = Bus(dut.bus)
        for _ in range(20):
            assert await bus.read(ctx, AT["who"]) == (0x1234, OKAY, dut.read_latency)

    async def both(ctx, dut):
        await write(ctx, dut)

    _run(both, read)


@pytest.mark.parametrize("given", [None, {"who": 1, "else": 2}, {"who": 1 << 32}, {"who": -1}])
def test_constants_are_checked(given):
    with pytest.raises(ConfigError):
        RegisterFile(SMALL, given)


def test_the_card_says_what_it_is():
    config = NicConfig(lanes=4, max_bucket=2048, streams=3)
    dut = RegisterFile(MAP, constants(config))

    async def work(ctx):
        bus = Bus(dut.bus)
        for name, value in constants(config).items():
            assert (await bus.read(ctx, MAP.word[name]))[:2] == (value, OKAY)
        for word in MAP.words:
            data, response, _ = await bus.read(ctx, word.offset)
            assert response == OKAY
            if word.reset is not None:
                assert data == word.reset, word.name
        # An entry of every command, with each of its words written.
        for name, command in MAP.commands.items():
            for word in command.words[:-1]:
                await bus.write(ctx, word.offset, 0xFFFFFFFF)
            assert (await bus.write(ctx, MAP.word[f"{name}_push"], 1))[0] == OKAY
            await ctx.tick().repeat(2)
            port = getattr(dut, name)
            assert ctx.get(port.valid)
            width = len(port.p.as_value())
            assert ctx.get(port.p.as_value()) | _gaps(port.p.shape()) == (1 << width) - 1

    simulate(dut, work)


def _gaps(layout):
    """Bits of a layout in no field: none that is written is there."""
    from amaranth.lib import data
    gaps = 0
    for _, field in layout:
        if isinstance(field.shape, data.FlexibleLayout):
            there = sum((1 << one.width) - 1 << one.offset for _, one in field.shape)
            gaps |= ((1 << field.shape.size) - 1 & ~there) << field.offset
    return gaps
