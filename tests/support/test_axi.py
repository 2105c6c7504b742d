"""The memory's checks: each complains about a master that breaks its rule."""

import random

import pytest
from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from tightwire.dma.axi import AxiRead, AxiWrite

from .axi import AxiMemory
from .bench import simulate
from .layouts import join

LANES = 4
BEAT = 4 * LANES


class _Wires(wiring.Component):
    """A master that does what the test does."""

    def __init__(self, axi):
        super().__init__({"test": In(axi), "axi": Out(axi)})

    def elaborate(self, platform):
        m = Module()
        wiring.connect(m, wiring.flipped(self.test), wiring.flipped(self.axi))
        return m


def _run(axi, steps, *, pace=1):
    """Sets streams of the master, clock by clock: lists of (channel, valid, payload)."""
    dut = _Wires(axi)
    memory = AxiMemory(lanes=LANES, size=1 << 14, rng=random.Random(1), pace=pace)

    async def master(ctx):
        for step in steps:
            for name, valid, payload in step:
                port = getattr(dut.test, name)
                ctx.set(Value.cast(port.payload), join(port.p.shape(), payload))
                ctx.set(port.valid, valid)
            await ctx.tick()

    reads = axi == AxiRead(LANES)
    processes = memory.read(dut.axi) if reads else memory.write(dut.axi)
    simulate(dut, master, background=[memory.ticks, *processes])
    return memory


def _burst(address, beats, name="ar"):
    return [(name, 1, {"address": address, "beats": beats - 1})]


def _quiet(name):
    return [(name, 0, {})]


def test_a_good_master_passes():
    memory = _run(AxiRead(LANES), [_burst(4096 - BEAT, 1), _burst(4096, 256), _quiet("ar")])
    assert memory.bursts == [(4096 - BEAT, 1), (4096, 256)]


@pytest.mark.parametrize("name", ["ar", "aw"])
@pytest.mark.parametrize("address, beats, complaint", [
    (4096 - BEAT, 2, "crosses"), (0, 256, None), (BEAT, 256, "crosses"),
    (4, 1, "not at a whole beat"), (BEAT + 8, 1, "not at a whole beat")])
def test_bursts_that_are_wrong(name, address, beats, complaint):
    axi = AxiRead(LANES) if name == "ar" else AxiWrite(LANES)
    steps = [_burst(address, beats, name), _quiet(name)]
    if complaint is None:
        _run(axi, steps)
        return
    with pytest.raises(AssertionError, match=complaint):
        _run(axi, steps)


@pytest.mark.parametrize("second", [_burst(4096, 1), _burst(0, 2), _quiet("ar")])
def test_a_burst_that_changes_while_it_waits(second):
    """At pace 0 the memory takes nothing."""
    with pytest.raises(AssertionError, match="burst changed"):
        _run(AxiRead(LANES), [_burst(0, 1), second, second], pace=0)


@pytest.mark.parametrize("change", [{"data": 1}, {"strobes": 1}, {"last": 1}, None])
def test_data_that_change_while_they_wait(change):
    first = [("w", 1, {})]
    second = [("w", int(change is not None), change or {})]
    with pytest.raises(AssertionError, match="data changed"):
        _run(AxiWrite(LANES), [first, second, second])  # no burst was asked for, so they wait


@pytest.mark.parametrize("lasts, good", [((0, 0, 1), True), ((0, 1, 0), False), ((0, 0, 0), False),
                                         ((1, 0, 1), False)])
def test_last_that_is_not_where_the_burst_ends(lasts, good):
    steps = [_burst(0, 3, "aw"), _quiet("aw"), *([("w", 1, {"last": last})] for last in lasts),
             _quiet("w")]
    if good:
        _run(AxiWrite(LANES), steps)
        return
    with pytest.raises(AssertionError, match="last"):
        _run(AxiWrite(LANES), steps)
