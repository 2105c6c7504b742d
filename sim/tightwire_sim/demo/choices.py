"""The codec choices that the demonstration goes through, and what papers call them."""

from tightwire.formats import Codec, Levels, Norm

__all__ = ["CODECS", "FAMILIES", "family", "title"]

CODECS = tuple(map(Codec.parse, (
    "raw",
    "qsgd-4",
    "qsgd-8",
    "uniform-largest-2",
    "qsgdinf-4",
    "nuqsgd-4",
    "nuqsgd-8",
    "exponential-largest-2",
    "exponential-largest-4",
    "exponential-largest-8",
)))
"""What is shown unless others are asked for."""

FAMILIES = {
    (Levels.UNIFORM, Norm.EUCLIDEAN): "QSGD",
    (Levels.UNIFORM, Norm.LARGEST): "QSGDinf",
    (Levels.EXPONENTIAL, Norm.EUCLIDEAN): "NUQSGD",
    (Levels.EXPONENTIAL, Norm.LARGEST): "exp. largest",
}
"""The quantised choices, without their width. The last has no name in the literature."""

_RAW = "float32, raw"


def family(codec):
    """The scheme that a codec belongs to."""
    return _RAW if codec.levels == Levels.RAW else FAMILIES[codec.levels, codec.norm]


def title(codec):
    """A codec's name for people, such as ``QSGD 4 bit``."""
    return _RAW if codec.levels == Levels.RAW else f"{family(codec)} {codec.bits} bit"
