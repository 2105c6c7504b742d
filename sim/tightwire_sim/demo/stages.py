"""What is being done, shown while it is done, and how long it took."""

import time
from contextlib import contextmanager

from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

__all__ = ["Stages"]


class Stages:
    """One line for each stage, with a bar that moves. A context manager.

    Parameters
    ----------
    console : rich.console.Console
    names : dict
        From a stage's name to what it is called, in order.

    Attributes
    ----------
    seconds : dict
        How long each finished stage took.
    """

    def __init__(self, console, names):
        self.seconds = {}
        self._progress = Progress(
            SpinnerColumn(finished_text="[green]✓[/]"), TextColumn("{task.description}"),
            BarColumn(bar_width=24), TimeElapsedColumn(), TextColumn("{task.fields[note]}"),
            console=console)
        self._tasks = {name: self._progress.add_task(text, start=False, total=1, note="")
                       for name, text in names.items()}

    def __enter__(self):
        self._progress.start()
        return self

    def __exit__(self, *_):
        self._progress.stop()

    @contextmanager
    def stage(self, name, total=None):
        """A stage runs as long as the block; without a total its bar only says so."""
        task = self._tasks[name]
        self._progress.update(task, total=total)
        self._progress.start_task(task)
        begin = time.monotonic()
        yield
        self.seconds[name] = time.monotonic() - begin
        self._progress.update(task, total=total or 1, completed=total or 1)
        self._progress.stop_task(task)

    def advance(self, name, completed, note):
        """How far a stage is, and what to say of it."""
        self._progress.update(self._tasks[name], completed=completed, note=note)
