"""What a codec byte asks for, as signals."""

from amaranth.hdl import Mux

from ..formats import Coding, Levels, Norm

__all__ = ["is_raw", "is_uniform", "is_euclidean", "is_legal", "is_quantised",
           "records_words", "top_of", "by_bits"]


def is_raw(codec):
    return codec.levels == Levels.RAW


def is_uniform(codec):
    return codec.levels == Levels.UNIFORM


def is_euclidean(codec):
    return codec.norm == Norm.EUCLIDEAN


def is_legal(codec):
    """Whether the choice is one that the wire format allows and that is built."""
    raw = (codec.norm == 0) & (codec.bits == 0)
    quantised = (codec.levels != 3) & (codec.bits != 0)
    built = (codec.coding == Coding.FIXED) & ~codec.sparse
    return Mux(is_raw(codec), raw, quantised) & built


def is_quantised(side):
    """Whether the frame has codes: it is neither raw nor to pass as it is."""
    return ~side.bypass & ~is_raw(side.codec)


def by_bits(codec, two, four, eight):
    """One of three values, by the width of a code."""
    return Mux(codec.bits[1], Mux(codec.bits[0], eight, four), two)


def top_of(codec):
    """The highest level, 7 bits: 1, 7 or 127."""
    return by_bits(codec, 1, 7, 127)


def records_words(what, span):
    """The words of ``span`` records, all there, of the choice ``what.codec`` and the bucket size
    ``what.log2_bucket`` (section 3)."""
    raw = is_raw(what.codec)
    shift = what.log2_bucket - Mux(raw, 0, by_bits(what.codec, 4, 3, 2))
    return (span << shift.as_unsigned()[:4]) + Mux(raw, 0, span)
