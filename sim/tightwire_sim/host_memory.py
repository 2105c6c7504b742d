"""The memory of a simulated host: what is not allocated must never change."""

import numpy as np
from tightwire.host.errors import CardError
from tightwire.host.protocols import Region

__all__ = ["HostMemory"]


class HostMemory:
    """DMA memory (``tightwire.host.Memory``) with guards: all that is not allocated, at least
    ``guard`` bytes around each piece, holds a pattern, which ``check`` looks for.

    Parameters
    ----------
    size : int
        Bytes, a multiple of 4096.
    base : int
        Address of the first byte, a multiple of 4096.
    guard : int
    seed : int
        Of the pattern.

    Members
    -------
    bytes : numpy.ndarray of uint8
        All of it.
    """

    def __init__(self, size=1 << 22, *, base=0x1_2340_0000, guard=64, seed=1):
        if size % 4096 or base % 4096:
            raise ValueError("size and base must be multiples of 4096")
        self.base = base
        self.size = size
        self.guard = guard
        self._pattern = np.random.default_rng(seed).integers(0, 256, size, np.uint8)
        self.bytes = self._pattern.copy()
        self._pieces = {}  # size by offset, in order of offset

    def allocate(self, size, align=64):
        """A piece at the lowest place where there is room. It begins with the pattern."""
        if size < 1:
            raise ValueError(f"size must be 1 or more, not {size}")
        at = -(-self.guard // align) * align
        for offset, taken in self._pieces.items():
            if at + size + self.guard <= offset:
                break
            at = -(-(offset + taken + self.guard) // align) * align
        if at + size + self.guard > self.size:
            raise CardError(f"no DMA memory is left for {size} bytes")
        self._pieces[at] = size
        self._pieces = dict(sorted(self._pieces.items()))
        return Region(self.base + at, self.bytes[at:at + size])

    def free(self, region):
        """Give a piece back; nobody may write to it from then on."""
        at = region.address - self.base
        size = self._pieces.pop(at)
        self.bytes[at:at + size] = self._pattern[at:at + size]

    @property
    def allocated(self):
        """How many pieces are allocated."""
        return len(self._pieces)

    def check(self):
        """AssertionError if anything was written where nothing is allocated."""
        wrong = self.bytes != self._pattern
        for at, size in self._pieces.items():
            wrong[at:at + size] = False
        if wrong.any():
            first = int(np.argmax(wrong))
            raise AssertionError(f"{int(wrong.sum())} bytes changed where nothing is allocated, "
                                 f"the first at {self.base + first:#x}")

    def at(self, address, size):
        """The bytes at an address.

        Raises
        ------
        IndexError
            Some are outside of the memory.
        """
        offset = address - self.base
        if not 0 <= offset <= offset + size <= self.size:
            raise IndexError(f"{size} bytes at {address:#x} are outside of the memory")
        return self.bytes[offset:offset + size]
