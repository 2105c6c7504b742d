"""The golden model: what the gateware must do, in numpy, exact to the bit.

``encode`` and ``decode`` are the whole way between elements and the payload of a frame; the
other names are its stages, for benches that look at one component. The rules are those of
docs/wire-format.md, and each file says which of its sections it follows. Built are the fixed
coding and dense payloads.
"""

from .dequantize import dequantize, magnitudes
from .draws import draws, mix, states
from .norm import norms
from .packing import pack, unpack
from .quantize import positions, quantize
from .record import decode, encode
from .scale import reciprocals, steps

__all__ = [
    "decode", "dequantize", "draws", "encode", "magnitudes", "mix", "norms", "pack", "positions",
    "quantize", "reciprocals", "states", "steps", "unpack",
]
