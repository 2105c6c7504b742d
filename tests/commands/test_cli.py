"""The command line: help, versions, and what is said of bad arguments."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import tightwire
from tightwire import cli
from tightwire.config import LANES
from tightwire.tools import catalogue, lint, report, verilog
from tightwire.tools.toolchain import ToolError

ROOT = Path(__file__).parents[2]


def complaint(capsys, *argv):
    """What ``tightwire argv`` prints to stderr, where it has to exit with 2."""
    try:
        code = cli.main(argv)
    except SystemExit as stop:
        code = stop.code
    assert code == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert "Traceback" not in captured.err
    return captured.err


@pytest.mark.parametrize("argv", [["--help"], ["verilog", "--help"], ["report", "--help"]])
def test_help(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(argv)
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith("usage: tightwire")
    if argv == ["--help"]:
        assert all(command in text for command in ("demo", "verilog", "report"))


def test_help_imports_no_gateware():
    """Amaranth takes a second to import, and help must come at once."""
    code = ("import sys; from tightwire import cli\n"
            "try: cli.main(['--help'])\n"
            "except SystemExit: sys.exit('amaranth' in sys.modules or 'rich' in sys.modules)")
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "PYTHONPATH": str(ROOT / "hw")})


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"tightwire {tightwire.__version__}\n"


@pytest.mark.parametrize("argv, name, legal", [
    ([], "COMMAND", ""),
    (["nonsense"], "COMMAND", "verilog"),
    (["verilog"], "TOP", ""),
    (["verilog", "nonsense"], "TOP", "codec"),
    (["verilog", "codec", "--lanes", "3"], "--lanes", "1, 2, 4, 8, 16, 32, 64"),
    (["verilog", "codec", "--lanes", "four"], "--lanes", "1, 2, 4, 8, 16, 32, 64"),
    (["verilog", "codec", "--max-bucket", "100"], "--max-bucket", "64, 128"),
    (["verilog", "codec", "--frame-bytes", "12"], "frame_bytes", "1024 to 65536"),
    (["verilog", "codec", "--frame-bytes", "1e4"], "--frame-bytes", "1024 to 65536"),
    (["verilog", "codec", "--lint"], "--lint", "-o FILE"),
    (["verilog", "codec", "--nonsense"], "--nonsense", ""),
    (["report", "--lanes", "5"], "--lanes", "1, 2, 4, 8, 16, 32, 64"),
])
def test_bad_argument(argv, name, legal, capsys):
    text = complaint(capsys, *argv)
    assert name in text
    assert legal in text


def test_top_without_that_parameter(capsys, monkeypatch):
    monkeypatch.setitem(catalogue.TOPS, "other", catalogue.Top(
        component="nowhere:Nothing", config=f"{__name__}:OtherConfig", summary="for this test"))
    text = complaint(capsys, "verilog", "other", "--max-bucket", "64")
    assert "other has no parameter max_bucket, only lanes" in text


@dataclass
class OtherConfig:
    lanes: int = 1


@pytest.fixture
def small_design(monkeypatch):
    """Stands in for the generator, and notes the configuration that it was asked for."""
    asked = []

    def generate_top(top, config):
        asked.append((top, config))
        return verilog.Design(name="small", ports=[], text="module small;\nendmodule\n")

    monkeypatch.setattr(verilog, "generate_top", generate_top)
    return asked


def test_verilog_to_stdout(small_design, capsys):
    argv = ["verilog", "codec", "--lanes", "4", "--max-bucket", "512", "--frame-bytes", "2048"]
    assert cli.main(argv) == 0
    assert capsys.readouterr().out == "module small;\nendmodule\n"
    (top, config), = small_design
    assert top == "codec"
    assert (config.lanes, config.max_bucket, config.frame_bytes) == (4, 512, 2048)


def test_verilog_to_file_with_lint(small_design, capsys, tmp_path, monkeypatch):
    linted = []
    monkeypatch.setattr(lint, "lint", lambda path, *, top: linted.append((path, top)))
    output = tmp_path / "new" / "small.v"
    assert cli.main(["verilog", "codec", "-o", str(output), "--lint"]) == 0
    assert output.read_text() == "module small;\nendmodule\n"
    assert linted == [(output, "small")]
    assert capsys.readouterr().out.count(str(output)) == 2


def test_verilog_into_what_is_no_folder(small_design, capsys, tmp_path):
    (tmp_path / "file").touch()
    assert cli.main(["verilog", "codec", "-o", str(tmp_path / "file" / "x.v")]) == 1
    error = capsys.readouterr().err
    assert str(tmp_path / "file") in error
    assert "Traceback" not in error


@pytest.mark.parametrize("argv, lanes, quick, output", [
    ([], None, False, "docs/results.md"),
    (["--lanes", "1", "64", "--quick", "-o", "x.md"], [1, 64], True, "x.md"),
])
def test_report_arguments(argv, lanes, quick, output, monkeypatch):
    asked = []
    monkeypatch.setattr(report, "report", lambda **arguments: asked.append(arguments))
    assert cli.main(["report", *argv]) == 0
    assert asked == [{"lanes": lanes, "quick": quick, "output": Path(output)}]
    assert set(lanes or LANES) <= set(LANES)


def test_tool_failure_is_one_line(monkeypatch, capsys):
    def fail(**_):
        raise ToolError("yosys is out of order")

    monkeypatch.setattr(report, "report", fail)
    assert cli.main(["report"]) == 1
    assert capsys.readouterr().err == "tightwire: yosys is out of order\n"


def test_demo_gets_its_arguments(monkeypatch):
    asked = []
    demo = type(sys)("tightwire_sim.demo")
    demo.main = lambda rest: asked.append(rest) or 3
    monkeypatch.setitem(sys.modules, "tightwire_sim.demo", demo)
    assert cli.main(["demo", "--help", "--lanes", "4"]) == 3
    assert asked == [["--help", "--lanes", "4"]]


def test_demo_without_its_packages(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "tightwire_sim.demo", None)
    assert cli.main(["demo"]) == 1
    error = capsys.readouterr().err
    assert "tightwire_sim.demo" in error
    assert "tightwire[sim]" in error
