"""A network that loses, doubles, reorders and corrupts."""

import heapq
import itertools

__all__ = ["Channel"]


class Channel:
    """What is put in comes out later, or not at all.

    What is corrupted is lost as well, for its FCS is wrong; it is counted for itself.

    Parameters
    ----------
    rng : random.Random
    delay : int
        How long everything takes.
    loss, doubled, disorder, corrupt : float
        How often each happens to an item. An item out of order takes up to 8 times as long.

    Members
    -------
    put, lost, corrupted, doubled_up, disordered : counts
    """

    def __init__(self, rng, *, delay, loss=0.0, doubled=0.0, disorder=0.0, corrupt=0.0):
        self.rng = rng
        self.delay = delay
        self.loss = loss
        self.doubled = doubled
        self.disorder = disorder
        self.corrupt = corrupt
        self.put = self.lost = self.corrupted = self.doubled_up = self.disordered = 0
        self._order = itertools.count()
        self._way = []

    def send(self, item, now):
        """Puts an item in."""
        self.put += 1
        if self.rng.random() < self.loss:
            self.lost += 1
            return
        if self.rng.random() < self.corrupt:
            self.corrupted += 1
            return
        times = 1
        if self.rng.random() < self.doubled:
            self.doubled_up += 1
            times = 2
        for _ in range(times):
            delay = self.delay
            if self.rng.random() < self.disorder:
                self.disordered += 1
                delay = self.rng.randint(self.delay, 8 * self.delay)
            heapq.heappush(self._way, (now + delay, next(self._order), item))

    def arrived(self, now):
        """Everything that has come out by ``now``."""
        while self._way and self._way[0][0] <= now:
            yield heapq.heappop(self._way)[2]

    def __len__(self):
        return len(self._way)
