"""Sums of gradients over many workers, each message coded as the card codes it; numpy only.

``Scheme`` says how: codec, collective, buckets, frames. ``Worker`` is one worker's part of it,
which whoever has a network moves on (``tightwire_sim.torch`` does). ``Group`` is all workers in
one process:

    >>> import numpy as np
    >>> from tightwire_sim.collectives import Group, Scheme
    >>> group = Group(4, Scheme(codec="qsgdinf-8", collective="ring"))
    >>> sums = group.all_reduce([np.full(1000, rank, np.float32) for rank in range(4)])
    >>> [sum(map(float, each)) for each in sums]
    [6000.0, 6000.0, 6000.0, 6000.0]
"""

from .group import Group
from .scheme import COLLECTIVES, FRAME_BYTES, Scheme
from .worker import Worker

__all__ = ["COLLECTIVES", "FRAME_BYTES", "Group", "Scheme", "Worker"]
