"""What the driver needs of the machine: registers, and memory that the card can reach."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

__all__ = ["Memory", "Region", "Registers"]


class Registers(Protocol):
    """The card's registers. All that was written to DMA memory before a write of a register must
    be visible to the card by then, and what the card wrote before a register was read, to the
    host: on a machine these are the barriers of writel and readl."""

    async def read32(self, address: int) -> int:
        """The word at a byte address within the map."""

    async def write32(self, address: int, value: int) -> None:
        """Write a whole word. An answer with an error raises CardError."""

    async def pause(self) -> None:
        """Let a little time pass, in loops that wait for the card."""


@dataclass(frozen=True, eq=False)
class Region:
    """DMA memory.

    Members
    -------
    address : int
        Where the card sees it.
    array : numpy.ndarray
        uint8, the same bytes as the host sees them.
    """

    address: int
    array: np.ndarray

    @property
    def floats(self):
        """The same as float32."""
        return self.array.view(np.float32)


class Memory(Protocol):
    """Where DMA memory comes from. It is coherent: no cache is to be flushed."""

    def allocate(self, size: int, align: int = 64) -> Region:
        """Contiguous memory of ``size`` bytes at a multiple of ``align``, not cleared."""

    def free(self, region: Region) -> None:
        """Give it back."""
