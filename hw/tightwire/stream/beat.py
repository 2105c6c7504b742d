"""The payload that every stream of frames shares: a beat, and what is said about its frame."""

from amaranth.lib import data, stream

from ..config import LANES, check_choice

__all__ = ["CODEC", "SIDE", "beat_layout", "BeatStream"]

CODEC = data.StructLayout({"levels": 2, "norm": 1, "bits": 2, "coding": 2, "sparse": 1})
"""The codec byte (wire-format.md, section 2), from bit 0 up."""

SIDE = data.StructLayout({
    "bypass": 1,
    "codec": CODEC,
    "log2_bucket": 4,
    "stream": 16,
    "message": 16,
    "first": 32,
    "span": 16,
})
"""What goes beside a frame: whether it is to pass as it is, or else the fields of its header that
the codec needs. It is constant over the beats of a frame."""


def beat_layout(lanes, side=SIDE):
    """One beat of ``lanes`` 32-bit words.

    Members
    -------
    data : lanes words, the first on the wire in word 0
    empty : bytes at the end of the beat that are not part of the frame; 0 unless ``last``
    first, last : the frame's first and last beat
    error : with ``last``: the frame is broken, nothing of it may be used
    side : of the layout ``side``, the same on every beat of a frame
    """
    check_choice("lanes", lanes, LANES)
    return data.StructLayout({
        "data": data.ArrayLayout(32, lanes),
        "empty": range(4 * lanes),
        "first": 1,
        "last": 1,
        "error": 1,
        "side": side,
    })


def BeatStream(lanes, side=SIDE):
    """Signature of a stream of beats."""
    return stream.Signature(beat_layout(lanes, side))
