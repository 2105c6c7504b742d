"""Values of layouts as ints, to and from dicts: much faster than through a simulator's views."""

from amaranth.hdl import Shape
from amaranth.lib import data

__all__ = ["join", "split"]


def join(shape, value):
    """The int of a value: an int itself, or a dict or list of those of its members.

    Members that a dict does not name are 0.
    """
    if isinstance(shape, data.Layout) and not isinstance(value, int):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        return sum(join(shape[key].shape, member) << shape[key].offset for key, member in members)
    width = Shape.cast(shape).width
    return int(value) & (1 << width) - 1


def split(shape, number):
    """The opposite of ``join``, all the way down."""
    if isinstance(shape, data.Layout):
        parts = {key: split(field.shape, number >> field.offset) for key, field in shape}
        return list(parts.values()) if isinstance(shape, data.ArrayLayout) else parts
    shape = Shape.cast(shape)
    number &= (1 << shape.width) - 1
    return number - (1 << shape.width) if shape.signed and number >> shape.width - 1 else number
