"""The top ``codec`` between cocotbext-axi's sources and sinks: an independent opinion."""

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from .context import parameters
from .drivers import CLOCK_NS, Pauses
from .traffic import CODECS, WAYS, Traffic
from .values import ordinary


class _Way:
    """A source and a sink of cocotbext-axi."""

    def __init__(self, dut, name):
        def port(kind, prefix):
            stream = kind(AxiStreamBus.from_prefix(dut, prefix), dut.clk, dut.rst)
            stream.log.setLevel("WARNING")
            return stream

        self.source = port(AxiStreamSource, f"s_axis_{name}")
        self.sink = port(AxiStreamSink, f"m_axis_{name}")
        self.expected = []


def _pauses(rng):
    pauses = Pauses(rng, going=(1, 2, 5), pausing=(1, 2, 5))
    while True:
        yield pauses()


@cocotb.test()
async def independent_opinion(dut):
    """Frames of every choice and bypass frames, gaps and waits, as cocotbext-axi sees them."""
    traffic = Traffic(dut, cut_through=False)  # to make frames; its ports are not stepped
    Clock(dut.clk, CLOCK_NS, "ns").start()
    ways = {name: _Way(dut, name) for name in WAYS}
    dut.rst.value = 1
    await ClockCycles(dut.clk, 4)
    dut.rst.value = 0
    for _ in range(parameters().get("rounds", 2)):
        for codec in CODECS:
            frames = traffic.both_sides(
                ordinary(traffic.np_rng, 64 * traffic.rng.randrange(1, 6)), codec=codec, bucket=64)
            for name in WAYS:
                ways[name].expected.append(frames[name])
            size = traffic.rng.randrange(1, 4 * traffic.width)
            bypass = traffic.bypass(traffic.rng.randbytes(size))
            for name in WAYS:
                ways[name].expected.append((bypass, bypass))
        for way in ways.values():
            for given, _ in way.expected:
                way.source.send_nowait(AxiStreamFrame(given.payload, tuser=given.user))
        for way in ways.values():
            for _, wanted in way.expected:
                came = await way.sink.recv()
                assert bytes(came.tdata) == wanted.payload
                assert came.tuser == wanted.user
            assert way.sink.empty()
            way.expected.clear()
            way.source.set_pause_generator(_pauses(traffic.rng))
            way.sink.set_pause_generator(_pauses(traffic.rng))
    await ClockCycles(dut.clk, 200)
    assert all(way.sink.empty() for way in ways.values())
