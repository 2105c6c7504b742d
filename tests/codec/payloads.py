"""Frames at random, as the codes of every beat of elements and as the beats of a payload."""

from dataclasses import dataclass

import numpy as np

from tightwire_sim import golden

from ..golden.cases import CODECS
from .buckets import side_of

__all__ = ["Frame", "frames"]


@dataclass
class Frame:
    """A frame of ``span`` buckets of norms and codes, or of raw words.

    ``items`` has a dict for each beat of elements: norm, or None, and codes, lanes of them; or
    raw, the words as an int. ``beats`` are those of the payload as ints, and ``empty`` is of the
    last of them.
    """

    codec: object
    side: dict
    items: list
    beats: list
    empty: int


def _as_beats(words, lanes):
    empty = -len(words) % lanes
    rows = np.pad(words, (0, empty)).astype("<u4").reshape(-1, lanes)
    return [int.from_bytes(row.tobytes(), "little") for row in rows], 4 * empty


def frames(rng, lanes, count, *, buckets=(64, 64, 128), spans=(1, 2, 3)):
    """``count`` right frames of all codecs in turn, each an instance of Frame."""
    for n in range(count):
        codec = CODECS[int(rng.integers(len(CODECS)))] if n >= len(CODECS) else CODECS[n]
        bucket, span = int(rng.choice(buckets)), int(rng.choice(spans))
        place = {name: int(rng.integers(1 << 16)) for name in ("stream", "message", "first")}
        if codec.bits == 32:
            words = rng.integers(0, 1 << 32, span * bucket, np.uint32)
            beats, empty = _as_beats(words, lanes)
            items = [{"raw": beat} for beat in beats]
        else:
            norms = rng.integers(0, 1 << 32, span, np.uint32)
            codes = rng.integers(0, 1 << codec.bits, (span, bucket), np.uint8)
            body = golden.pack(codes, codec.bits).view("<u4").astype(np.uint32)
            beats, empty = _as_beats(np.concatenate([norms[:, None], body], axis=1).reshape(-1),
                                     lanes)
            items = [{"norm": int(norm) if at == 0 else None, "codes": row.tolist()}
                     for norm, bucket_ in zip(norms, codes, strict=True)
                     for at, row in enumerate(bucket_.reshape(-1, lanes))]
        yield Frame(codec, side_of(codec, bucket, span, **place), items, beats, empty)
