"""Long jobs on two processes, under one progress bar."""

import multiprocessing
from concurrent.futures import ProcessPoolExecutor, as_completed

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

__all__ = ["Workers"]

_PROCESSES = 2


class Workers:
    """Two processes and a progress bar, for as long as the ``with`` block lasts.

    Parameters
    ----------
    steps : int
        How many jobs there will be.
    """

    def __init__(self, steps):
        self._progress = Progress(TextColumn("{task.description}"), BarColumn(),
                                  MofNCompleteColumn(), TimeElapsedColumn())
        self._task = self._progress.add_task("", total=steps)
        # The progress bar has a thread, which does not go with fork.
        self._pool = ProcessPoolExecutor(
            _PROCESSES, mp_context=multiprocessing.get_context("spawn"))

    def __enter__(self):
        self._progress.start()
        return self

    def __exit__(self, kind, error, trace):
        self._progress.stop()
        self._pool.shutdown(wait=kind is None, cancel_futures=True)

    def say(self, text):
        """Show what is being done."""
        self._progress.update(self._task, description=text)

    def drop(self, steps):
        """So many jobs will not be needed after all."""
        self._progress.update(self._task, total=self._progress.tasks[0].total - steps)

    def each(self, text, function, jobs):
        """Call ``function`` with each of the tuples of arguments ``jobs``, the last one first.

        So put the longest job last. The results come in the order of the jobs. The first error
        is raised at once; jobs not begun by then are not run.
        """
        self.say(text)
        futures = [self._pool.submit(function, *job) for job in reversed(jobs)]
        for future in as_completed(futures):
            future.result()
            self._progress.advance(self._task)
        return [future.result() for future in reversed(futures)]
