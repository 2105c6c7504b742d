"""The reference driver: how a host runs the card. Needs numpy, and no gateware tools.

``Card`` is written as coroutines over two small protocols (``protocols``), so that the same code
runs in a simulation, where a register access takes time, and on a machine, where it does not:
``BlockingCard`` is the same for plain calls. docs/driver.md says what a kernel driver has to know.
"""

from .blocking import BlockingCard
from .card import Card, Failure, Handle, Station
from .errors import CardError, DescriptorError, NoCard, QueueFull, TableFull, TimedOut
from .layouts import Completed, Status
from .protocols import Memory, Region, Registers

__all__ = [
    "BlockingCard", "Card", "CardError", "Completed", "DescriptorError", "Failure", "Handle",
    "Memory", "NoCard", "QueueFull", "Region", "Registers", "Station", "Status", "TableFull",
    "TimedOut",
]
