"""Carries what workers send over torch.distributed."""

import numpy as np
import torch
from torch import distributed

__all__ = ["run"]


def run(part, group, device):
    """Moves a ``collectives.Worker``'s part on until it has its result, which is returned.

    Parameters
    ----------
    part : generator
        As ``collectives.worker`` describes it; all workers of the group run theirs.
    group : ProcessGroup
    device : torch.device
        Where the group's backend wants its tensors.
    """
    incoming = None
    while True:
        try:
            outgoing, sizes = part.send(incoming)
        except StopIteration as stop:
            return stop.value
        sent = torch.from_numpy(np.concatenate(outgoing)).to(device)
        received = torch.empty(sum(sizes), dtype=torch.uint8, device=device)
        # Of all collectives this one alone is enough, and every backend has it.
        distributed.all_to_all_single(received, sent, sizes, list(map(len, outgoing)), group=group)
        incoming = np.split(received.cpu().numpy(), np.cumsum(sizes)[:-1])
