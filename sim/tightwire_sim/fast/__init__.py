"""The codec as fast as training needs it: the golden model to the bit, compiled by numba.

Where the golden model has one frame, here is a message: float32 of any length, cut into frames of
``span`` buckets as the card cuts it. ``encode`` and ``decode`` go to payloads and back,
``round_trip`` does both at once. ``python -m tightwire_sim.fast`` prints how fast.
"""

from .message import decode, encode, round_trip

__all__ = ["decode", "encode", "round_trip"]
