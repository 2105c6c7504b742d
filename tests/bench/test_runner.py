"""The runner: simulations are kept, failures are reported, records and seeds arrive."""

import os
from pathlib import Path

import pytest
from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out
from tightwire.tools.toolchain import ToolError
from tightwire_sim.bench import runner


class Inverter(wiring.Component):
    """A register behind an inverter."""

    def __init__(self):
        super().__init__({"i": In(8), "o": Out(8)})

    def elaborate(self, platform):
        m = Module()
        m.d.sync += self.o.eq(~self.i)
        return m


@pytest.fixture(autouse=True)
def bench_path(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)


@pytest.fixture(scope="module")
def simulation():
    return runner.build(Inverter(), name="inverter")


def test_a_simulation_is_built_once(simulation):
    done = simulation.folder / "done"
    before = done.stat().st_mtime_ns
    again = runner.build(Inverter(), name="inverter")
    assert again == simulation
    assert done.stat().st_mtime_ns == before


def test_parameters_go_in_and_records_come_out(simulation):
    seen = []
    records = runner.run(simulation, module="tb_inverter", tests=["inverts"],
                         parameters={"values": [0, 1, 255]}, seed=5, on_record=seen.append)
    assert records == [{"i": 0, "o": 255}, {"i": 1, "o": 254}, {"i": 255, "o": 0}]
    assert seen == records


def test_the_seed_decides_what_is_random_and_is_printed(simulation, capsys, monkeypatch):
    def draw(seed=None):
        return runner.run(simulation, module="tb_inverter", tests=["draws"], seed=seed)

    assert draw(7) == draw(7) != draw(8)
    assert "seed 8" in capsys.readouterr().out
    monkeypatch.setenv("TIGHTWIRE_SEED", "7")
    assert draw() == draw(7)


def test_a_failure_says_what_failed_and_where_the_log_is(simulation):
    with pytest.raises(runner.BenchError) as info:
        runner.run(simulation, module="tb_inverter", tests=["fails", "inverts"],
                   parameters={"values": []}, seed=3)
    text = str(info.value)
    assert "tb_inverter, seed 3: failed:\nfails\n  this cannot be\n" in text
    log = next(line for line in text.splitlines() if line.endswith("run.log:"))
    assert "AssertionError: this cannot be" in Path(log.removesuffix(":")).read_text()


@pytest.mark.parametrize("module, tests, text", [
    ("tb_inverter", ["nothing_of_that_name"], "no such test"),
    ("tb_nowhere", None, "No module named 'tb_nowhere'"),
    ("tb_inverter", ["dies"], "died, without results"),
])
def test_no_results_is_a_failure(simulation, module, tests, text):
    with pytest.raises(runner.BenchError, match=text):
        runner.run(simulation, module=module, tests=tests)


def test_only_the_ports_can_be_seen(simulation):
    names = [name for name, _, _ in simulation.ports]
    assert names == ["clk", "rst", "i", "o"]


def test_what_does_not_build_is_reported(monkeypatch):
    def generate(component, *, name, parameters):
        return runner.Design(name=name, ports=[], text="module wrong(; endmodule\n")

    monkeypatch.setattr(runner, "generate", generate)
    with pytest.raises(runner.BenchError, match=r"wrong does not build for verilator(.|\n)*%Error"):
        runner.build(Inverter(), name="wrong")


def test_an_unknown_simulator_is_refused():
    with pytest.raises(ValueError, match="simulator must be one of verilator, icarus, not 'vcs'"):
        runner.build(Inverter(), name="inverter", simulator="vcs")


def test_a_missing_icarus_is_said_with_its_package(monkeypatch):
    monkeypatch.setattr(runner.shutil, "which", lambda name: None)
    with pytest.raises(ToolError, match=r"iverilog is missing .*apt-get install iverilog"):
        runner.build(Inverter(), name="inverter", simulator="icarus")


def test_two_at_once_build_once(tmp_path, monkeypatch):
    """Both get the same, and the second waits for the first."""
    monkeypatch.setattr(runner, "_FOLDER", tmp_path)
    made = []

    def make(folder):
        made.append(folder)
        (folder / "thing").touch()

    pid = os.fork()
    if pid == 0:
        runner._kept("name", make)
        os._exit(0)
    folder = runner._kept("name", make)
    os.waitpid(pid, 0)
    assert (folder / "thing").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name != "locks"] == ["name"]


def test_one_that_was_stopped_half_way_is_made_anew(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "_FOLDER", tmp_path)

    def stop(folder):
        (folder / "half").touch()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        runner._kept("name", stop)
    folder = runner._kept("name", lambda folder: (folder / "whole").touch())
    assert sorted(path.name for path in folder.iterdir()) == ["done", "whole"]


@pytest.mark.skipif(not runner.has_icarus(), reason="iverilog is not installed "
                    "(Debian: apt-get install iverilog)")
def test_icarus_shows_what_has_no_value_yet():
    simulation = runner.build(Inverter(), name="inverter", simulator="icarus")
    assert runner.run(simulation, module="tb_inverter", tests=["looks"]) == [
        {"before": "XXXXXXXX", "after": "00000000"}]
