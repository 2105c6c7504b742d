"""AXI4 at the edge of a top: standard names, and what each burst says."""

import random

import pytest
from amaranth.hdl import Module
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from tightwire.config import ConfigError
from tightwire.dma.axi import AxiRead, AxiWrite
from tightwire.dma.edge import CACHE_ALLOCATE, axi_members, connect_axi
from tightwire.dma.join import ReadJoin, WriteJoin, id_bits
from tightwire.dma.reader import Reader
from tightwire.dma.transfer import done_layout, request_layout
from tightwire.dma.writer import Writer
from tightwire.tools.verilog import generate

from ..support.axi import AxiMemory
from ..support.bench import Sink, Source, simulate
from ..support.layouts import join, split

SEED = 74
TAG = data.StructLayout({"number": 16})
ID = id_bits(2)


class _Top(wiring.Component):
    """Two readers, the output of each written back by a writer, on one port."""

    def __init__(self, lanes, **edge):
        self.lanes, self.edge = lanes, edge
        super().__init__(axi_members("m_axi", lanes, ID) | {
            "request": In(stream.Signature(request_layout(TAG))).array(2),
            "into": In(stream.Signature(request_layout(TAG))).array(2),
            "done": Out(stream.Signature(done_layout(TAG))).array(2)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.reads = reads = ReadJoin(lanes=self.lanes, n=2)
        m.submodules.writes = writes = WriteJoin(lanes=self.lanes, n=2)
        for n in range(2):
            m.submodules[f"reader_{n}"] = reader = Reader(lanes=self.lanes, tag=TAG)
            m.submodules[f"writer_{n}"] = writer = Writer(lanes=self.lanes, tag=TAG, side=TAG)
            wiring.connect(m, wiring.flipped(self.request[n]), reader.request)
            wiring.connect(m, wiring.flipped(self.into[n]), writer.request)
            wiring.connect(m, reader.o, writer.i)
            wiring.connect(m, writer.done, wiring.flipped(self.done[n]))
            wiring.connect(m, reader.axi, reads.masters[n])
            wiring.connect(m, writer.axi, writes.masters[n])
        connect_axi(m, self, "m_axi", self.lanes, reads.axi, writes.axi, **self.edge)
        return m


class _Outside(wiring.Component):
    """The other side of the flat ports, as streams for the memory."""

    def __init__(self, top):
        self.top = top
        super().__init__({
            "read": Out(AxiRead(top.lanes, ID)), "write": Out(AxiWrite(top.lanes, ID))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.top = top = self.top
        for channel, bursts in (("aw", self.write.aw), ("ar", self.read.ar)):
            m.d.comb += [
                bursts.p.address.eq(getattr(top, f"m_axi_{channel}addr")),
                bursts.p.beats.eq(getattr(top, f"m_axi_{channel}len")),
                bursts.p.id.eq(getattr(top, f"m_axi_{channel}id")),
                bursts.valid.eq(getattr(top, f"m_axi_{channel}valid")),
                getattr(top, f"m_axi_{channel}ready").eq(bursts.ready)]
        w, b, r = self.write.w, self.write.b, self.read.r
        m.d.comb += [
            w.p.data.eq(top.m_axi_wdata), w.p.strobes.eq(top.m_axi_wstrb),
            w.p.last.eq(top.m_axi_wlast), w.valid.eq(top.m_axi_wvalid),
            top.m_axi_wready.eq(w.ready),
            top.m_axi_bid.eq(b.p.id), top.m_axi_bresp.eq(b.p.response),
            top.m_axi_bvalid.eq(b.valid), b.ready.eq(top.m_axi_bready),
            top.m_axi_rid.eq(r.p.id), top.m_axi_rdata.eq(r.p.data),
            top.m_axi_rresp.eq(r.p.response), top.m_axi_rlast.eq(r.p.last),
            top.m_axi_rvalid.eq(r.valid), r.ready.eq(top.m_axi_rready)]
        return m


@pytest.mark.parametrize("lanes", [1, 16])
def test_copies_through_the_edge(lanes):
    """Answers come in any order between ids, and a burst is only taken once its data are there."""
    rng = random.Random(SEED)
    memory = AxiMemory(lanes=lanes, size=1 << 15, rng=rng, latency=30, pace=0.7, shuffle=True,
                       data_first=True)
    expected = bytearray(memory.bytes)
    top = _Top(lanes)
    dut = _Outside(top)
    processes, sinks = [], []
    for n in range(2):
        requests, into = [], []
        for k in range(12):
            length = rng.choice([1, 64, rng.randint(1, 600)])
            at, to = 4 * rng.randrange(1 << 11), (1 + n) * 8192 + 4 * (160 * k + rng.randrange(8))
            expected[to:to + length] = expected[at:at + length]
            tag = {"number": k}
            requests.append(join(request_layout(TAG), {"address": at, "bytes": length, "tag": tag}))
            into.append(join(request_layout(TAG), {"address": to, "bytes": length, "tag": tag}))
        sinks.append(Sink(top.done[n], 12, rng, patience=3000))
        processes += [Source(top.request[n], requests, rng).run, Source(top.into[n], into, rng).run,
                      sinks[-1].run]
    simulate(dut, *processes, background=[memory.ticks, *memory.read(dut.read),
                                          *memory.write(dut.write)])
    assert memory.bytes == expected, f"seed {SEED}"
    for sink in sinks:
        done = [split(done_layout(TAG), item) for item in sink.items]
        assert done == [{"tag": {"number": k}, "error": 0} for k in range(12)]
    assert any(one != two for one, two in zip(memory.r_ids, sorted(memory.r_ids), strict=True))


@pytest.mark.parametrize("lanes, size", [(1, 2), (4, 4), (16, 6), (32, 7)])
@pytest.mark.parametrize("edge, cache", [({}, CACHE_ALLOCATE), ({"cache": 0b0011}, 0b0011)])
def test_what_each_burst_says(lanes, size, edge, cache):
    top = _Top(lanes, **edge)

    async def look(ctx):
        await ctx.tick()
        for channel in ("aw", "ar"):
            said = {name: ctx.get(getattr(top, f"m_axi_{channel}{name}"))
                    for name in ("size", "burst", "cache", "prot", "valid")}
            assert said == {"size": size, "burst": 1, "cache": cache, "prot": 0, "valid": 0}

    simulate(top, look)


def test_a_beat_that_axi_does_not_have_is_refused():
    with pytest.raises(ConfigError, match="lanes must be one of 1, 2, 4, 8, 16, 32, not 64"):
        axi_members("m_axi", 64, ID)


def test_ports_have_their_standard_names_and_widths():
    ports = {name: (way, width) for name, way, width in generate(
        _Top(4), name="top", parameters={}).ports if name.startswith("m_axi_")}
    channel = {"id": ID, "addr": 64, "len": 8, "size": 3, "burst": 2, "cache": 4, "prot": 3,
               "valid": 1}
    expected = {f"m_axi_{way}{name}": ("out", width) for way in ("aw", "ar")
                for name, width in channel.items()}
    expected |= {f"m_axi_{way}ready": ("in", 1) for way in ("aw", "ar", "w")}
    expected |= {f"m_axi_{name}": ("out", width) for name, width in {
        "wdata": 128, "wstrb": 16, "wlast": 1, "wvalid": 1, "bready": 1, "rready": 1}.items()}
    expected |= {f"m_axi_{name}": ("in", width) for name, width in {
        "bid": ID, "bresp": 2, "bvalid": 1, "rid": ID, "rdata": 128, "rresp": 2, "rlast": 1,
        "rvalid": 1}.items()}
    assert ports == expected
