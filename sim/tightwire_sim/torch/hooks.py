"""The hooks: what PyTorch calls."""

import time

import numpy as np
import torch
from torch import distributed

from .state import TightwireState

__all__ = ["hook", "reduce_scatter_hook"]


def hook(state: TightwireState,
         bucket: distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
    """Averages a bucket of gradients; for ``DistributedDataParallel.register_comm_hook``.

    Gradients are float32, bfloat16 or float16; sums are float32 in any case. Coding and sending
    go on in the state's thread, while back-propagation goes on.
    """
    began = time.perf_counter()
    buffer = bucket.buffer()
    values = _plain(buffer)
    warm = state.step >= state.warm_up
    layers = []
    for parameter, gradient in zip(bucket.parameters(), bucket.gradients(), strict=True):
        at = gradient.storage_offset() - buffer.storage_offset()
        layers.append((parameter, values[at:at + gradient.numel()]))
    if bucket.is_last():
        state.step += 1
    future = torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else [])

    def average():
        try:
            state.average(layers, warm, began)
            buffer.copy_(torch.from_numpy(values))
            future.set_result(buffer)
        except Exception as error:
            future.set_exception(error)

    state.submit(average)
    return future


def reduce_scatter_hook(state, grad, output):
    """Leaves this worker's part of the averaged ``grad`` in ``output``.

    A plain function, and what ``FullyShardedDataParallel.register_comm_hook`` wants where
    gradients are sharded.

    Parameters
    ----------
    state : TightwireState
        Its codec and frames count, its collective does not: parts go to those they belong to.
        Nothing is known of layers, so none is left alone; nor are errors fed back.
    grad : torch.Tensor
        One dimension, ``state.ranks`` times as long as ``output``: float32, bfloat16 or float16.
    output : torch.Tensor
        Written.
    """
    if grad.numel() != state.ranks * output.numel():
        raise ValueError(f"grad must have {state.ranks} times the elements of output, "
                         f"{state.ranks * output.numel()}, not {grad.numel()}")
    warm = state.step >= state.warm_up
    state.step += 1
    values = _plain(grad.reshape(-1))
    part = state.submit(state.reduce_scatter, values, warm).result()
    output.copy_(torch.from_numpy(part).view(output.shape))


def _plain(tensor):
    """A float32 copy of a tensor's elements for the CPU."""
    return np.array(tensor.detach().to("cpu", torch.float32).numpy())
