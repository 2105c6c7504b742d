"""What a register map is made of. Plain Python, so that host code can import it.

From a ``Map`` come the register file (``axi_lite_file.RegisterFile``), the page in docs/ (``page``)
and the addresses that the host code uses (``Map.word``).
"""

from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property

__all__ = ["Access", "Bank", "Command", "Counter", "Field", "Map", "MapError", "Register", "Word",
           "COMMAND_DEPTH", "PUSH_EMPTY", "PUSH_FULL"]

WORD_BYTES = 4
WORD_BITS = 32

COMMAND_DEPTH = 16
"""Entries that wait behind a command window."""

PUSH_FULL, PUSH_EMPTY = 1, 2
"""Bits that a read of a command's ``push`` word has."""


class MapError(ValueError):
    """A map that cannot be: an overlap, a name twice, a field that does not fit."""


class Access(Enum):
    """What reading and writing a register does."""

    RO = "ro"        # hardware's value; a write is answered with an error
    RW = "rw"        # reads as it was written
    W1C = "w1c"      # hardware sets bits, writing 1 clears them
    PULSE = "pulse"  # bits written as 1 are high for one clock; reads as 0


@dataclass(frozen=True)
class Field:
    """Bits of a register: ``bits`` of them, from bit ``at`` up."""

    name: str
    at: int
    bits: int
    doc: str


@dataclass(frozen=True, kw_only=True)
class Word:
    """32 bits at an address."""

    name: str
    offset: int
    access: str
    reset: int | None
    doc: str
    fields: tuple = ()


@dataclass(frozen=True, kw_only=True)
class Register:
    """A value of the card.

    Parameters
    ----------
    name : str
    offset : int
        In bytes.
    access : Access
    doc : str
    bits : int
        Above 32, the register takes two words, ``<name>_lo`` and ``<name>_hi``.
    fields : tuple of Field
        Where the bits have names.
    reset : int
        Value after reset, of RW.
    constant : bool
        Of RO: the value is fixed when the card is built.
    """

    name: str
    offset: int
    access: Access
    doc: str
    bits: int = WORD_BITS
    fields: tuple = ()
    reset: int = 0
    constant: bool = False

    @property
    def words(self):
        access = "ro, constant" if self.constant else self.access.value
        reset = self.reset if self.access in (Access.RW, Access.W1C) else None
        if self.bits <= WORD_BITS:
            return [Word(name=self.name, offset=self.offset, access=access, reset=reset,
                         doc=self.doc, fields=self.fields)]
        mask = (1 << WORD_BITS) - 1
        return [
            Word(name=f"{self.name}_lo", offset=self.offset, access=access, reset=reset & mask,
                 doc=self.doc),
            Word(name=f"{self.name}_hi", offset=self.offset + WORD_BYTES, access=access,
                 reset=reset >> WORD_BITS, doc=f"The upper {self.bits - WORD_BITS} bits of it."),
        ]

    def check(self):
        if self.bits > 2 * WORD_BITS:
            raise MapError(f"{self.name} has {self.bits} bits, of at most {2 * WORD_BITS}")
        if self.bits > WORD_BITS and (self.access != Access.RW or self.fields):
            raise MapError(f"{self.name} has {self.bits} bits: only rw without fields may")
        if self.constant and self.access != Access.RO:
            raise MapError(f"{self.name} is constant and not ro")
        if self.reset >> self.bits:
            raise MapError(f"{self.name} is reset to {self.reset:#x}, beyond its {self.bits} bits")
        taken = 0
        for one in self.fields:
            mask = (1 << one.bits) - 1 << one.at
            if taken & mask or mask >> self.bits or one.bits < 1:
                raise MapError(f"{self.name}.{one.name} overlaps another or does not fit")
            taken |= mask


@dataclass(frozen=True, kw_only=True)
class Command:
    """A window through which whole entries are written: a word or two for each argument, which
    keep what is written, then ``<name>_push``. Writing that, anything, pushes the arguments as
    one entry into a queue. If the queue is full the write is answered with an error and nothing
    is pushed. Read, it says whether the queue is full or empty.

    Parameters
    ----------
    name : str
    offset : int
    doc : str
    arguments : tuple of Register
        Their offsets count from the window's; RW.
    """

    name: str
    offset: int
    doc: str
    arguments: tuple

    @property
    def push(self):
        return max(word.offset for one in self.arguments for word in one.words) + WORD_BYTES

    @property
    def words(self):
        words = [
            Word(name=f"{self.name}_{word.name}", offset=self.offset + word.offset,
                 access=word.access, reset=word.reset, doc=word.doc, fields=word.fields)
            for one in self.arguments for word in one.words]
        return [*words, Word(
            name=f"{self.name}_push", offset=self.offset + self.push, access="push", reset=None,
            doc=self.doc, fields=(
                Field("full", 0, 1, "Read: nothing can be pushed now."),
                Field("empty", 1, 1, "Read: all that was pushed has been taken.")))]

    def check(self):
        for one in self.arguments:
            one.check()
            if one.access != Access.RW:
                raise MapError(f"{self.name}.{one.name} must be rw")


@dataclass(frozen=True)
class Counter:
    """A counter of 64 bits; ``amount`` is the width of what may be added in a clock."""

    name: str
    doc: str
    amount: int = 1


@dataclass(frozen=True, kw_only=True)
class Bank:
    """Counters, two words each: reading ``<counter>_lo`` keeps the upper half of the same moment
    for ``_hi``, of which there is one for the whole bank. An event is in the count some clocks
    later: at most a few more than there are counters in the bank."""

    name: str
    offset: int
    doc: str
    counters: tuple

    @property
    def words(self):
        words = []
        for n, counter in enumerate(self.counters):
            at = self.offset + 2 * WORD_BYTES * n
            words.append(Word(name=f"{counter.name}_lo", offset=at, access="counter", reset=0,
                              doc=counter.doc))
            words.append(Word(name=f"{counter.name}_hi", offset=at + WORD_BYTES, access="counter",
                              reset=0, doc="Its upper half, kept when the lower one was read."))
        return words

    def check(self):
        if self.offset % (2 * WORD_BYTES):
            raise MapError(f"{self.name} is at {self.offset:#x}, not a multiple of 8")


@dataclass(frozen=True, kw_only=True)
class Map:
    """All registers of a top.

    Parameters
    ----------
    name : str
    address_bits : int
        Of a byte address within the map.
    blocks : tuple of (str, str, tuple)
        Title, text, and the registers, commands and banks of each block.

    Raises
    ------
    MapError
    """

    name: str
    address_bits: int
    blocks: tuple = field(repr=False)

    def __post_init__(self):
        names, ends = set(), 0
        for item in self.items:
            item.check()
        for word in self.words:
            if word.name in names:
                raise MapError(f"{word.name} is there twice")
            names.add(word.name)
        for word in sorted(self.words, key=lambda word: word.offset):
            if word.offset % WORD_BYTES or word.offset + WORD_BYTES > 1 << self.address_bits:
                raise MapError(f"{word.name} cannot be at {word.offset:#x}")
            if word.offset < ends:
                raise MapError(f"{word.name} at {word.offset:#x} is where another one is")
            ends = word.offset + WORD_BYTES

    @cached_property
    def items(self):
        """The registers, commands and banks."""
        return [item for _, _, items in self.blocks for item in items]

    def _of(self, kind):
        return {item.name: item for item in self.items if isinstance(item, kind)}

    @cached_property
    def registers(self):
        return self._of(Register)

    @cached_property
    def commands(self):
        return self._of(Command)

    @cached_property
    def banks(self):
        return self._of(Bank)

    @cached_property
    def words(self):
        return [word for item in self.items for word in item.words]

    @cached_property
    def word(self):
        """Addresses by the names of the words."""
        return {word.name: word.offset for word in self.words}
