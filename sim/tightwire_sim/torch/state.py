"""The state of the hooks: choices, numbering, residuals, statistics."""

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import distributed

from tightwire.config import ConfigError

from ..collectives import Scheme, Worker
from . import transport
from .statistics import LayerStatistics, table

__all__ = ["TightwireState"]


class TightwireState:
    """What the hooks know and keep; one for each model.

    All workers of the process group must make theirs, with the same choices, at the same point of
    the program: it makes a process group of its own, so that its messages do not get among
    others'.

    Parameters
    ----------
    process_group : ProcessGroup, optional
        Whose workers sum; all if None.
    codec, result_codec, collective, bucket, frame_bytes
        As ``collectives.Scheme``.
    warm_up : int
        Steps in the beginning that send float32 as it is.
    smallest : int
        Layers with fewer elements are left alone, that is, sent as float32.
    dimensions : int
        Layers with fewer dimensions are left alone: with 2, biases and norms are.
    leave_alone : iterable of torch.nn.Parameter
        Others to leave alone.
    error_feedback : bool
        Add to each gradient what the coding of the last one took away.
    statistics : bool
        Measure errors too, which takes a decoding of what is sent.
    model : torch.nn.Module, optional
        Names the layers; they are numbered as they come if None.
    message : int
        Number of the first message, 16 bits: another one, other draws.

    Attributes
    ----------
    step : int
        Steps that the hook has seen whole.
    statistics : dict of str to LayerStatistics

    Raises
    ------
    ConfigError, FormatError
    """

    def __init__(self, process_group=None, *, codec=Scheme.codec, result_codec=None,
                 collective=Scheme.collective, bucket=Scheme.bucket,
                 frame_bytes=Scheme.frame_bytes, warm_up=0, smallest=1024, dimensions=2,
                 leave_alone=(), error_feedback=False, statistics=False, model=None, message=0):
        self.scheme = Scheme(codec=codec, result_codec=result_codec, collective=collective,
                             bucket=bucket, frame_bytes=frame_bytes)
        for name, value in (("warm_up", warm_up), ("smallest", smallest),
                            ("dimensions", dimensions)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise ConfigError(f"{name} must be an int of 0 or more, not {value!r}")
        for name, value in (("error_feedback", error_feedback), ("statistics", statistics)):
            if not isinstance(value, bool):
                raise ConfigError(f"{name} must be a bool, not {value!r}")
        if model is not None and not isinstance(model, torch.nn.Module):
            raise ConfigError(f"model must be a torch.nn.Module, not {type(model).__name__}")
        if not distributed.is_initialized():
            raise ConfigError("torch.distributed must have been initialised (init_process_group)")
        self.warm_up, self.smallest, self.dimensions = warm_up, smallest, dimensions
        self.error_feedback, self._measure = error_feedback, statistics
        self._alone = set(leave_alone)
        if not all(isinstance(each, torch.nn.Parameter) for each in self._alone):
            raise ConfigError("leave_alone must hold parameters of the model")
        self._names = ({} if model is None else
                       {parameter: name for name, parameter in model.named_parameters()})
        ranks = distributed.get_process_group_ranks(process_group or distributed.group.WORLD)
        self._worker = Worker(self.scheme, rank=ranks.index(distributed.get_rank()),
                              ranks=len(ranks), message=message)
        self._group = distributed.new_group(ranks, use_local_synchronization=True)
        self._device = torch.device(
            "cuda" if distributed.get_backend(self._group) == "nccl" else "cpu")
        # One thread, so that messages are exchanged in one order at all workers.
        self._thread = ThreadPoolExecutor(1, "tightwire-hook")
        self._residuals = {}
        self.step = 0
        self.statistics = {}

    @property
    def ranks(self):
        """Workers in the group."""
        return self._worker.ranks

    @property
    def wire_bytes(self):
        """What this worker has sent, headers included."""
        return self._worker.sender.wire_bytes

    def is_coded(self, parameter):
        """Whether a layer's gradient is coded, once warm."""
        return (parameter.dim() >= self.dimensions and parameter.numel() >= self.smallest
                and parameter not in self._alone)

    def name(self, parameter):
        """What a layer is called."""
        return self._names.setdefault(parameter, f"layer {len(self._names)}")

    def report(self):
        """The statistics as a table, in text."""
        return table(self.statistics)

    def submit(self, function, *arguments):
        """Has ``function`` called behind all that was submitted before; a Python future."""
        return self._thread.submit(function, *arguments)

    def average(self, layers, warm, began):
        """Replaces gradients by their mean over all workers. Runs in the state's thread.

        Parameters
        ----------
        layers : list of (parameter, numpy.ndarray)
            Flat float32 gradients, written.
        warm : bool
            Whether the warm-up is over.
        began : float
            ``time.perf_counter()`` when they were handed over.
        """
        coded = [layer for layer in layers if warm and self.is_coded(layer[0])]
        chosen = {parameter for parameter, _ in coded}
        plain = [layer for layer in layers if layer[0] not in chosen]
        for part, raw in ((plain, True), (coded, False)):
            if part:
                self._average(part, raw, began)

    def _average(self, layers, raw, began):
        vector = np.concatenate([gradient for _, gradient in layers])
        cuts = np.cumsum([gradient.size for _, gradient in layers])[:-1]
        lost = None
        if not raw and (self.error_feedback or self._measure):
            lost = np.empty_like(vector)
        if lost is not None and self.error_feedback:
            for (parameter, _), values in zip(layers, np.split(vector, cuts), strict=True):
                residual = self._residuals.get(self.name(parameter))
                if residual is not None:
                    values += residual
        sender = self._worker.sender
        before = sender.wire_bytes, sender.plain_bytes
        result = self.run(self._worker.all_reduce(vector, raw=raw, lost=lost))
        result /= self.ranks
        for (_, gradient), values in zip(layers, np.split(result, cuts), strict=True):
            gradient[:] = values
        self._count(layers, raw, vector, lost, cuts, sender.wire_bytes - before[0],
                    sender.plain_bytes - before[1], time.perf_counter() - began)

    def _count(self, layers, raw, vector, lost, cuts, wire, plain, seconds):
        errors = [None] * len(layers) if lost is None else np.split(lost, cuts)
        for (parameter, gradient), sent, error in zip(layers, np.split(vector, cuts), errors,
                                                      strict=True):
            name = self.name(parameter)
            one = self.statistics.setdefault(name, LayerStatistics(elements=gradient.size))
            share = gradient.size / vector.size
            one.steps += 1
            one.coded += not raw
            one.wire_bytes += wire * share
            one.plain_bytes += plain * share
            one.seconds += seconds * share
            if error is None:
                continue
            one.error += float(np.square(error, dtype=np.float64).sum())
            one.power += float(np.square(sent, dtype=np.float64, where=np.isfinite(sent),
                                         out=np.zeros(sent.size)).sum())
            if self.error_feedback:
                self._residuals[name] = error

    def reduce_scatter(self, values, warm):
        """This worker's part of the mean of ``values``. Runs in the state's thread."""
        part = self.run(self._worker.reduce_scatter(values, raw=not warm))
        part /= self.ranks
        return part

    def run(self, part):
        """Moves a worker's part on over the state's group."""
        return transport.run(part, self._group, self._device)

    def state_dict(self):
        """What a checkpoint needs, so that the run goes on as if it had not been stopped.

        Each worker's is its own: residuals are. DDP arranges its buckets anew after the first
        step of a process, so in that step draws may fall otherwise than they would have.
        """
        return {
            "step": self.step, "message": self._worker.sender.message,
            "aggregator": self._worker.aggregator.message,
            "residuals": {name: torch.from_numpy(residual.copy())
                          for name, residual in self._residuals.items()},
        }

    def load_state_dict(self, state):
        """The opposite of ``state_dict``; needs the ``model`` that named the layers then."""
        self.step = state["step"]
        self._worker.sender.message = state["message"]
        self._worker.aggregator.message = state["aggregator"]
        self._residuals = {name: residual.numpy().copy()
                           for name, residual in state["residuals"].items()}
