"""What synthesis and place and route say, read from small outputs; and a tiny design for real."""

import json

import pytest
from amaranth.hdl import Module
from amaranth.lib import memory, wiring
from amaranth.lib.wiring import In, Out

from tightwire.tools import ecp5, ultrascale, verilog
from tightwire.tools.cache import Cache
from tightwire.tools.harness import harness
from tightwire.tools.toolchain import ToolError


def netlist(**counts):
    cells = {f"{kind}_{n}": {"type": kind, "connections": {}, "port_directions": {}}
             for kind, count in counts.items() for n in range(count)}
    return {"cells": cells}


def test_ultrascale_area():
    area = ultrascale.area_of_netlist(netlist(
        LUT1=1, LUT6=20, INV=2, FDRE=30, FDSE=3, DSP48E2=4, RAMB36E2=2, RAMB18E2=1, RAM32M16=2,
        SRL16E=5, MUXF7=7))
    assert area == ultrascale.Area(
        luts=1 + 20 + 2 + 16 + 5, memory_luts=21, registers=33, dsps=4, block_rams=2.5, levels=0)


def test_ultrascale_unknown_cell():
    with pytest.raises(ToolError, match="unexpected cell URAM288 "):
        ultrascale.area_of_netlist(netlist(LUT2=1, URAM288=1))


def stat(**counts):
    # As yosys 0.70 writes it, what is not read left out.
    return {"creator": "Yosys 0.70", "modules": {
        "\\harness": {"num_cells_by_type": {"LUT4": 9, "TRELLIS_FF": 99, "design": 1}},
        "\\design": {"num_cells_by_type": counts}}}


def test_ecp5_area():
    counts = {"LUT4": 100, "CCU2C": 10, "TRELLIS_DPR16X4": 2, "PFUMX": 7, "L6MUX21": 3,
              "TRELLIS_FF": 50, "MULT18X18D": 4, "DP16KD": 5, "$scopeinfo": 6}
    area = ecp5.area_of_stat(stat(**counts), top="design")
    assert area == ecp5.Area(luts=132, registers=50, multipliers=4, block_rams=5)
    assert area.fits()


def test_ecp5_unknown_cell():
    with pytest.raises(ToolError, match="unexpected cells: 2 of ALU54B"):
        ecp5.area_of_stat(stat(LUT4=1, ALU54B=2), top="design")


@pytest.mark.parametrize("what", ecp5.CAPACITY)
def test_what_does_not_fit(what):
    full = ecp5.Area(**ecp5.CAPACITY)
    assert full.fits()
    assert not ecp5.Area(**{**ecp5.CAPACITY, what: ecp5.CAPACITY[what] + 1}).fits()


def test_frequency():
    clocks = {"$glbnet$clk$TRELLIS_IO_IN": {"achieved": 199.72039794921875, "constraint": 12}}
    assert ecp5.frequency_of_report({"fmax": clocks}) == 199.72039794921875


@pytest.mark.parametrize("clocks", [{}, {"a": {"achieved": 1.0}, "b": {"achieved": 2.0}}])
def test_not_one_clock(clocks):
    with pytest.raises(ToolError, match=f"reports {len(clocks)} clocks"):
        ecp5.frequency_of_report({"fmax": clocks})


def test_harness_connects_every_bit_once():
    ports = [("clk", "in", 1), ("rst", "in", 1), ("a", "in", 3), ("b", "in", 1), ("x", "out", 5)]
    text = harness(ports, top="design")
    assert "reg [3:0] shift;" in text
    assert ".a(shift[0 +: 3]),\n    .b(shift[3 +: 1]),\n    .x(result[0 +: 5])\n" in text
    # Five bits fold into two, those into one.
    assert "fold1 <= {^fold0[4 +: 1], ^fold0[0 +: 4]};" in text
    assert "fold2 <= {^fold1[0 +: 2]};" in text
    assert "assign q = fold2[0];" in text


class Tiny(wiring.Component):
    """One of each: a multiplier, a block RAM, a sum, registers."""

    def __init__(self):
        super().__init__({"a": In(9), "b": In(9), "o": Out(18)})

    def elaborate(self, platform):
        m = Module()
        m.submodules.memory = store = memory.Memory(shape=18, depth=1024, init=[])
        write, read = store.write_port(), store.read_port()
        m.d.sync += [
            write.data.eq(self.a * self.b),
            write.addr.eq(write.addr + 1),
            read.addr.eq(read.addr + 5),
            self.o.eq(read.data),
        ]
        m.d.comb += write.en.eq(1)
        return m


@pytest.fixture(scope="module")
def tiny():
    return verilog.generate(Tiny(), name="tiny", parameters={})


def test_tiny_on_ultrascale(tiny, tmp_path):
    area = ultrascale.synthesise(tiny, Cache(tmp_path))
    assert area.dsps == 1
    assert area.block_rams == 0.5
    assert 0 < area.luts < 60
    assert 18 <= area.registers < 80
    assert area.levels == 1


def test_tiny_on_ecp5(tiny, tmp_path, monkeypatch):
    cache = Cache(tmp_path)
    found = ecp5.synthesise(tiny, cache)
    assert found.area.multipliers == 1
    assert found.area.block_rams == 1
    assert 18 <= found.area.registers < 150
    mhz = ecp5.place_and_route(found, 1, cache)
    assert 100 < mhz < 600

    # A second time, nothing is run.
    monkeypatch.setattr(ecp5, "run", None)
    assert ecp5.synthesise(tiny, cache) == found
    assert ecp5.place_and_route(found, 1, cache) == mhz


def test_yosys_fails(tmp_path):
    broken = verilog.Design(name="broken", ports=[], text="module broken(;\nendmodule\n")
    with pytest.raises(ToolError, match=r"yosys failed \(\d+\), see .*yosys\.log:\n(.|\n)*ERROR"):
        ultrascale.synthesise(broken, Cache(tmp_path))
    assert not list(tmp_path.glob("*.json"))


def test_cache_outlives_a_broken_file(tmp_path):
    cache = Cache(tmp_path / "new")
    assert cache.get("key", lambda: {"n": 1}) == {"n": 1}
    assert cache.get("key", lambda: {"n": 2}) == {"n": 1}
    (tmp_path / "new" / "key.json").write_text('{"n": ')
    assert cache.get("key", lambda: {"n": 3}) == {"n": 3}
    assert json.loads((tmp_path / "new" / "key.json").read_text()) == {"n": 3}
