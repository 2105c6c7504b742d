"""Runs a plan of trainings in processes, and collects what comes out."""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tightwire.tools.toolchain import ToolError

__all__ = ["SCALES", "plan", "run"]

SCALES = ("quick", "long")

_SOURCES = Path(__file__).parents[2]


def plan(*, scale, seeds, ranks, tasks, methods, steps=None):
    """What to run: seeds outermost, so that what is there early is of all methods."""
    from .tasks import TASKS

    return {"ranks": ranks, "runs": [
        (task, method, steps or TASKS[task].steps[scale], seed)
        for seed in range(1, seeds + 1) for task in tasks for method in methods]}


def require():
    """ToolError where what the experiments need is not installed."""
    for name, package in (("torch", "torch"), ("sklearn", "scikit-learn")):
        if not importlib.util.find_spec(name):
            raise ToolError(f"the experiments need {package}: make experiments, "
                            "or pip install 'tightwire[sim,torch]'")


def run(planned, *, say):
    """The records of all runs, a list of dict.

    Parameters
    ----------
    planned : dict
        From ``plan``.
    say : callable
        Called with the number of runs done and the newest record.

    Raises
    ------
    ToolError
        A process failed; the text has the end of what it said.
    """
    require()
    with tempfile.TemporaryDirectory(prefix="tightwire-") as name:
        folder = Path(name)
        (folder / "plan.json").write_text(json.dumps(planned))
        results = folder / "results.jsonl"
        results.touch()
        paths = os.pathsep.join([str(_SOURCES), str(_SOURCES.parent / "hw")])
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": paths}
        # A few pages of cache for the compiled codec are shared; each has a log of its own.
        logs = [folder / f"{rank}.log" for rank in range(planned["ranks"])]
        processes = []
        try:
            for rank, log in enumerate(logs):
                with log.open("w") as file:
                    processes.append(subprocess.Popen(
                        [sys.executable, "-m", f"{__package__}.worker", str(rank), name],
                        env=environment, stdout=file, stderr=subprocess.STDOUT))
            seen = 0
            while True:
                done = all(process.poll() is not None for process in processes)
                failed = [rank for rank, process in enumerate(processes) if process.poll()]
                records = [json.loads(line) for line in results.read_text().splitlines(True)
                           if line.endswith("\n")]
                for number, record in enumerate(records[seen:], start=seen + 1):
                    say(number, record)
                seen = len(records)
                if failed:
                    tail = "\n".join(logs[failed[0]].read_text().splitlines()[-15:])
                    raise ToolError(f"worker {failed[0]} failed:\n{tail}")
                if done:
                    return records
                time.sleep(0.2)
        finally:
            for process in processes:
                process.kill()
                process.wait()
