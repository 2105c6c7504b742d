"""What the demonstration can be told, and what it says to what it cannot."""

import sys
from pathlib import Path

import pytest
from tightwire import cli
from tightwire.formats import QSGDINF4, RAW
from tightwire.tools import prerequisites
from tightwire.tools.toolchain import ToolError
from tightwire_sim import demo
from tightwire_sim.demo.choices import CODECS
from tightwire_sim.demo.options import Options, parse


def test_defaults():
    options = parse([])
    assert options == Options()
    assert (options.lanes, options.bucket, options.clock_mhz) == (16, 512, 250)
    assert options.codecs == CODECS
    assert options.output == Path("build/demo")
    assert options.arguments == []
    assert 0.4 < options.plan.share < 1


def test_arguments_come_back():
    words = ["--lanes", "4", "--bucket", "128", "--clock-mhz", "312.5", "--codec", "raw",
             "uniform-largest-4", "--quick"]
    options = parse(words)
    assert options.codecs == (RAW, QSGDINF4)
    assert options.arguments == words
    assert parse(options.arguments) == options


def test_how_much_is_sent():
    assert parse(["--all"]).plan.share == 1
    assert parse(["--quick"]).plan.share < parse([]).plan.share
    assert parse(["--all"]).arguments == ["--all"]


def test_each_codec_once():
    assert parse(["--codec", "qsgdinf-4", "raw", "uniform-largest-4"]).codecs == (QSGDINF4, RAW)


@pytest.mark.parametrize("argv, name, legal", [
    (["--lanes", "3"], "--lanes", "1, 2, 4, 8, 16, 32, 64"),
    (["--lanes", "x"], "--lanes", "1, 2, 4, 8, 16, 32, 64"),
    (["--bucket", "100"], "--bucket", "64, 128, 256, 512, 1024, 2048"),
    (["--bucket", "4096"], "--bucket", "64, 128, 256, 512, 1024, 2048"),
    (["--clock-mhz", "0"], "--clock-mhz", "1 to 1000"),
    (["--clock-mhz", "nan"], "--clock-mhz", "1 to 1000"),
    (["--clock-mhz", "fast"], "--clock-mhz", "1 to 1000"),
    (["--codec", "gzip"], "--codec", "LEVELS-NORM-BITS"),
    (["--codec", "uniform-largest-3"], "--codec", "2, 4 or 8"),
    (["--codec", "raw-sparse"], "--codec", "not sparse"),
    (["--codec", "qsgd-4-elias"], "--codec", "fixed"),
    (["--codec"], "--codec", ""),
    (["--output", __file__], "-o/--output", "folder"),
    (["--nonsense"], "--nonsense", ""),
    (["--quick", "--all"], "--all", "--quick"),
])
def test_bad_argument(argv, name, legal, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["demo", *argv])
    assert stop.value.code == 2
    printed = capsys.readouterr()
    assert not printed.out
    assert name in printed.err
    assert legal in printed.err


def test_help(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["demo", "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert all(name in text for name in
               ("--lanes", "--bucket", "--codec", "--clock-mhz", "--quick", "--output", "--open"))


def test_missing_compiler_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(prerequisites, "missing", lambda: [("a C++ compiler", "g++")])
    assert cli.main(["demo", "--quick"]) == 1
    error = capsys.readouterr().err
    assert error == "tightwire: missing: a C++ compiler (Debian: apt-get install g++)\n"


def test_missing_module_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "tightwire_sim.demo.show", None)
    with pytest.raises(ToolError, match=r"tightwire\[sim\]"):
        demo.main([])
