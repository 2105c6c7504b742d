"""The whole demonstration: build, simulate, check, show."""

import io
import json
import sys
import tempfile
import webbrowser
from contextlib import redirect_stdout
from pathlib import Path

from rich.console import Console
from tightwire.config import CodecConfig
from tightwire.tools.toolchain import ToolError, require_build_tools

from ..bench.pair import pair_design
from ..bench.runner import BenchError, build_design, run
from .choices import title
from .page import render
from .results import Results
from .stages import Stages
from .table import table

__all__ = ["show"]

_BENCH = "tightwire_sim.demo.tb_demo"
_STAGES = {"verilog": "Verilog", "build": "Verilator build", "simulate": "simulation",
           "report": "report"}
_FAULTS_SHOWN = 10


def show(options):
    """Run the demonstration, print its table and write its report.

    Parameters
    ----------
    options : Options

    Returns
    -------
    bool
        Whether every byte was as the golden model says.

    Raises
    ------
    ToolError
        Something that is needed is missing, or failed.
    """
    require_build_tools()
    plan = options.plan
    console = Console(highlight=False, file=sys.stdout)
    console.print(
        f"Two cards of {plan.lanes} lanes, back to back: {plan.elements:,} values of real "
        f"gradients\nthrough each of {len(plan.codecs)} codec choices, in buckets of "
        f"{plan.bucket}.\n")
    with (tempfile.TemporaryDirectory(prefix="tightwire-") as folder,
          Stages(console, _STAGES) as stages):
        results = Results(plan, Path(folder))
        try:
            simulation = _build(stages, plan.lanes)
            _simulate(stages, simulation, results, folder)
        except BenchError as error:
            raise ToolError(f"FAIL: {error}") from None
        with stages.stage("report"):
            figures = results.figures(options, stages.seconds)
            page = _write(figures, options.output)
    console.print()
    if figures["codecs"]:
        console.print(table(figures))
        console.print(
            f"Latency from first beat in to first beat out, at {options.clock_mhz:g} MHz; stored: "
            "whole\nframes, not cut through. Wire bytes include frame headers.\n")
    _say_verdict(console, figures)
    if page is not None:
        address = page.resolve().as_uri()
        console.print(f"Report: {address}", soft_wrap=True)
        if options.open:
            webbrowser.open(address)
    return not figures["faults"]


def _write(figures, folder):
    """Write the report; where it is, or None if there is nothing to report."""
    if not figures["codecs"]:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    page = folder / "index.html"
    page.write_text(render(figures), encoding="utf-8")
    return page


def _build(stages, lanes):
    """The simulation of the pair."""
    with stages.stage("verilog"):
        design = pair_design(CodecConfig(lanes=lanes))
    with stages.stage("build"):
        return build_design(design)


def _simulate(stages, simulation, results, folder):
    """Run the bench, and have checked what it captures."""
    plan = results.plan
    titles = {str(codec): title(codec) for codec in plan.codecs}

    def say(record):
        stages.advance("simulate", record["beats"],
                       f"{titles[record['codec']]}, {record['clocks'] / 1000:,.0f} k clocks")
        if "mode" in record:
            results.take(record)

    # What the runner prints would stand between the bars.
    with (stages.stage("simulate", total=plan.beats), results,
          redirect_stdout(io.StringIO())):
        run(simulation, module=_BENCH, on_record=say,
            parameters={"plan": plan.as_parameters(), "folder": folder})
        rate = results.clocks / results.seconds
        stages.advance("simulate", plan.beats, f"{rate:,.0f} clocks a second")


def _say_verdict(console, figures):
    compared, faults = figures["compared"], figures["faults"]
    if not faults:
        console.print(
            f"[bold green]PASS[/]  {compared['bytes']:,} bytes in {compared['frames']:,} frames, "
            "on the wire and at the far end,\n      are what the golden model says, to the bit.")
        return
    console.print(f"[bold red]FAIL[/]  {len(faults):,} faults:")
    for fault in faults[:_FAULTS_SHOWN]:
        console.print(f"      {fault}", markup=False)
    if len(faults) > _FAULTS_SHOWN:
        console.print(f"      and {len(faults) - _FAULTS_SHOWN:,} more")
