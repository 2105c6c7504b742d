"""What the two ends say to each other, and what the sender says to its host."""

from dataclasses import dataclass
from enum import IntEnum

__all__ = ["Ack", "Frame", "Outcome", "Status", "ahead"]

_NUMBERS = 1 << 32


def ahead(number, of):
    """How far ``number`` is ahead of ``of``, both modulo 2^32; negative where it is behind."""
    distance = (number - of) % _NUMBERS
    return distance - _NUMBERS if distance >= _NUMBERS // 2 else distance


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A DATA frame: the buckets ``first`` to ``first + span - 1`` of a message."""

    stream: int
    message: int
    sequence: int
    first: int
    span: int
    last: bool


@dataclass(frozen=True, kw_only=True)
class Ack:
    """An ACK frame: what is below ``sequence`` was had, and bit i: ``sequence + i`` as well."""

    stream: int
    sequence: int
    bitmap: int


class Status(IntEnum):
    """How a message ended, by the numbers of a completion."""

    OK = 0
    READ_ERROR = 2
    GAVE_UP = 4
    CANCELLED = 5


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A message is done with: how, how many of its buckets were acknowledged without a gap from
    its beginning on, and how many of its frames were sent again."""

    message: int
    status: Status
    buckets: int
    again: int
