"""Verilator's opinion on a generated Verilog file, every warning an error."""

import subprocess
from pathlib import Path

from .toolchain import ToolError, verilator, verilator_environment

__all__ = ["WAIVERS", "lint"]

WAIVERS = Path(__file__).with_name("waivers.vlt")
"""The warnings that are let pass, each with its reason."""

_SHOWN = 20


def lint(path, *, top):
    """Raise ToolError with the warnings, if ``verilator --lint-only -Wall`` has any.

    Parameters
    ----------
    path : Path
    top : str
        Name of the top module.
    """
    done = subprocess.run(
        [*verilator(), "--lint-only", "-Wall", "--top-module", top, str(WAIVERS), str(path)],
        env=verilator_environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False,
    )
    if done.returncode:
        lines = done.stderr.splitlines()
        more = [f"... and {len(lines) - _SHOWN} lines more"] if len(lines) > _SHOWN else []
        raise ToolError("\n".join([f"{path} does not pass lint:", *lines[:_SHOWN], *more]))
