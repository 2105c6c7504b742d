"""What travels: the codec byte and the shape of a record.

Defined once, for the gateware, the golden model, the host code and the documentation. Plain
Python without dependencies, so that everything can import it. The rules are those of
docs/wire-format.md; the section numbers below are its sections.
"""

from dataclasses import dataclass
from enum import IntEnum
from operator import index

__all__ = [
    "Levels", "Norm", "Coding", "Codec", "FormatError", "FrameKind", "NAN", "BITS", "BUCKETS",
    "FLAG_LAST", "HEADER_BYTES", "MAGIC", "UDP_PORT", "VERSION", "WINDOW",
    "LOG2_BUCKET_MIN", "LOG2_BUCKET_MAX", "SPAN_MAX", "RAW", "QSGD4", "QSGDINF4", "NUQSGD4",
    "check_bucket", "check_field",
]

NAN = 0x7FC00000
"""The one NaN that is ever made: as a norm it says that a bucket is not finite (section 5)."""

LOG2_BUCKET_MIN = 6
LOG2_BUCKET_MAX = 13
BUCKETS = tuple(1 << n for n in range(LOG2_BUCKET_MIN, LOG2_BUCKET_MAX + 1))
"""Legal bucket sizes, in elements (section 1)."""

BITS = (2, 4, 8)
"""Legal widths of a code, sign included (section 2)."""

SPAN_MAX = 0xFFFF
"""The most buckets that one frame covers."""


MAGIC = 0x5457
"""The first two bytes of a header, "TW" (section 1)."""

VERSION = 1

HEADER_BYTES = 64
"""Ethernet, IPv4, UDP and the header of 22 bytes (section 1)."""

UDP_PORT = 0x5457
"""The UDP port of frames, where nobody says otherwise."""

FLAG_LAST = 1
"""Flag of the last frame of its message (section 1)."""

WINDOW = 64
"""Frames of a stream that may be on their way: an ACK's bitmap has a bit for each."""


class FormatError(ValueError):
    """A value, a payload or a codec that the wire format does not allow; the text says which."""


class Levels(IntEnum):
    """Bits 1:0 of the codec byte: where the quantisation levels lie."""

    RAW = 0          # float32 as it is
    UNIFORM = 1      # multiples of 1/top (QSGD, Alistarh et al. 2017, section 3.1)
    EXPONENTIAL = 2  # powers of 1/2 (NUQSGD, Ramezani-Kebrya et al. 2021, section 3)


class Norm(IntEnum):
    """Bit 2 of the codec byte: what a bucket is scaled by."""

    LARGEST = 0    # the largest magnitude (QSGDinf)
    EUCLIDEAN = 1  # the 2-norm (QSGD, NUQSGD)


class Coding(IntEnum):
    """Bits 6:5 of the codec byte: how codes become bits."""

    FIXED = 0
    BITMAP = 1
    ELIAS = 2


class FrameKind(IntEnum):
    """The type of a frame, the low nibble of the header's third byte (section 1)."""

    DATA = 0
    ACK = 1     # what has arrived; docs/card.md
    RESULT = 2  # an aggregator's sum
    OFFER = 3   # raw, to be coded on the way


_BITS_FIELD = {32: 0, 2: 1, 4: 2, 8: 3}
_FIELD_BITS = {field: bits for bits, field in _BITS_FIELD.items()}


@dataclass(frozen=True)
class Codec:
    """One point of the grid of choices that a frame's codec byte makes (section 2).

    Parameters
    ----------
    levels : Levels
    norm : Norm
        LARGEST, the only one, for raw.
    bits : int
        Width of a code, 2, 4 or 8; 32 for raw.
    coding : Coding
    sparse : bool
        Whether zero buckets are left out.

    Raises
    ------
    FormatError
        For a combination that the wire format does not allow. Raw has no norm, no width of its
        own and no coding, so for it those fields are all zero: one choice has one codec byte.
    """

    levels: Levels
    norm: Norm = Norm.LARGEST
    bits: int = 32
    coding: Coding = Coding.FIXED
    sparse: bool = False

    def __post_init__(self):
        for name, kind in (("levels", Levels), ("norm", Norm), ("coding", Coding)):
            try:
                object.__setattr__(self, name, kind(getattr(self, name)))
            except ValueError:
                raise FormatError(
                    f"{name} must be one of {', '.join(f'{k.name} ({k.value})' for k in kind)}, "
                    f"not {getattr(self, name)!r}") from None
        if self.levels == Levels.RAW:
            if (self.bits, self.norm, self.coding) != (32, Norm.LARGEST, Coding.FIXED):
                raise FormatError("raw takes bits=32, norm=LARGEST and coding=FIXED, not "
                                  f"bits={self.bits}, norm={self.norm.name}, "
                                  f"coding={self.coding.name}")
        elif not isinstance(self.bits, int) or self.bits not in BITS:
            raise FormatError(f"bits must be 2, 4 or 8 for quantised levels, not {self.bits!r}")
        if self.sparse not in (False, True):
            raise FormatError(f"sparse must be a bool, not {self.sparse!r}")

    @property
    def byte(self):
        """The codec byte."""
        return (self.levels | self.norm << 2 | _BITS_FIELD[self.bits] << 3 | self.coding << 5
                | self.sparse << 7)

    @classmethod
    def from_byte(cls, byte):
        """The choice that a codec byte stands for; FormatError if it is reserved."""
        if not isinstance(byte, int) or not 0 <= byte <= 0xFF:
            raise FormatError(f"a codec byte is an int from 0 to 255, not {byte!r}")
        try:
            return cls(levels=Levels(byte & 3), norm=Norm(byte >> 2 & 1),
                       bits=_FIELD_BITS[byte >> 3 & 3], coding=Coding(byte >> 5 & 3),
                       sparse=bool(byte >> 7))
        except ValueError as error:
            raise FormatError(f"codec byte {byte:#04x} is reserved: {error}") from None

    @classmethod
    def parse(cls, name):
        """The choice that a name stands for: the opposite of ``str(codec)``.

        A name is ``raw``, or levels, norm and bits joined by dashes (``uniform-largest-4``),
        with ``-bitmap`` or ``-elias`` and ``-sparse`` behind it where they apply. The papers'
        names with a width are taken as well: ``qsgd-4``, ``qsgdinf-4``, ``nuqsgd-4``.
        """
        words = name.lower().split("-")
        sparse = len(words) > 1 and words[-1] == "sparse"
        words = words[:-1] if sparse else words
        coding = Coding.FIXED
        if len(words) > 1 and words[-1].upper() in Coding.__members__:
            coding = Coding[words.pop().upper()]
        if words == ["raw"]:
            return cls(Levels.RAW, coding=coding, sparse=sparse)
        if words[0] in _PAPERS:
            words[:1] = _PAPERS[words[0]]
        try:
            levels, norm, bits = words
            return cls(Levels[levels.upper()], Norm[norm.upper()], int(bits), coding, sparse)
        except (KeyError, ValueError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(
                f"codec {name!r} is not 'raw' nor of the form LEVELS-NORM-BITS, with levels "
                "uniform or exponential, norm largest or euclidean, and 2, 4 or 8 bits; "
                "qsgd-BITS, qsgdinf-BITS and nuqsgd-BITS are short for the papers' choices"
            ) from None

    def __str__(self):
        words = [self.levels.name.lower()]
        if self.levels != Levels.RAW:
            words += [self.norm.name.lower(), str(self.bits)]
        if self.coding != Coding.FIXED:
            words.append(self.coding.name.lower())
        if self.sparse:
            words.append("sparse")
        return "-".join(words)

    @property
    def top(self):
        """The highest level, 2^(bits-1) - 1 (section 3); None for raw."""
        return None if self.levels == Levels.RAW else (1 << (self.bits - 1)) - 1

    @property
    def header_words(self):
        """32-bit words of a record in front of its body: the index, the norm."""
        return int(self.sparse) + int(self.levels != Levels.RAW)

    def record_words(self, bucket):
        """32-bit words of one record for buckets of ``bucket`` elements (section 3).

        Only for the fixed coding: the others' records have a length that depends on the data.
        """
        if self.coding != Coding.FIXED:
            raise FormatError(f"records of coding {self.coding.name} have no fixed length")
        return self.header_words + check_bucket(bucket) * self.bits // 32


_PAPERS = {
    "qsgd": ["uniform", "euclidean"],
    "qsgdinf": ["uniform", "largest"],
    "nuqsgd": ["exponential", "euclidean"],
}

RAW = Codec(Levels.RAW)
QSGD4 = Codec(Levels.UNIFORM, Norm.EUCLIDEAN, 4)
QSGDINF4 = Codec(Levels.UNIFORM, Norm.LARGEST, 4)
NUQSGD4 = Codec(Levels.EXPONENTIAL, Norm.EUCLIDEAN, 4)


def check_bucket(bucket):
    """``bucket`` itself where it is a legal bucket size, else FormatError."""
    if not isinstance(bucket, int) or bucket not in BUCKETS:
        raise FormatError(f"bucket must be a power of two from {BUCKETS[0]} to {BUCKETS[-1]}, "
                          f"not {bucket!r}")
    return bucket


def check_field(name, value, bits):
    """``value`` as an int where it fits an unsigned field of ``bits`` bits, else FormatError."""
    try:
        number = index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool):
        raise FormatError(f"{name} must be an int, not {value!r}")
    if not 0 <= number < 1 << bits:
        raise FormatError(f"{name} must be from 0 to {(1 << bits) - 1}, not {number}")
    return number
