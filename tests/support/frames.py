"""Frames of beats, at random."""

from tightwire.stream.beat import beat_layout

from .layouts import join

__all__ = ["frame", "random_frames"]


def frame(lanes, rng, beats, *, side=None, error=0, empty=None):
    """The beats of one frame, as ints; what is not given is at random."""
    layout = beat_layout(lanes)
    if side is None:
        side = rng.getrandbits(layout["side"].shape.size)
    if empty is None:
        empty = rng.randrange(4 * lanes)
    return [join(layout, {
        "data": rng.getrandbits(32 * lanes), "empty": empty * (n == beats - 1), "first": n == 0,
        "last": n == beats - 1, "error": error * (n == beats - 1), "side": side,
    }) for n in range(beats)]


def random_frames(lanes, rng, *, longest, count):
    """64 frames of one beat, frames of 1 to 4, then others up to ``longest``, in lists."""
    lengths = [1] * 64 + [1, 2, 3, 4] + [rng.randint(1, longest) for _ in range(count)]
    return [frame(lanes, rng, beats) for beats in lengths]
