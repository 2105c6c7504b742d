"""Buckets, scales and items that the benches of the codec share."""

import numpy as np

from tightwire.codec.scale import SCALE
from tightwire.formats import NAN, Levels
from tightwire.stream.beat import CODEC
from tightwire_sim import golden

from ..golden.cases import adversarial
from ..support.layouts import join, split

__all__ = ["beats_of", "buckets", "codec_value", "scale_of", "side_of"]


def buckets(rng, bucket, count):
    """``count`` adversarial buckets, float32, one in each row, in any order."""
    rows = []
    while len(rows) < count:
        rows += adversarial(rng, bucket).values()
    return np.array([rows[n] for n in rng.permutation(len(rows))[:count]])


def beats_of(values, lanes):
    """The words of a float32 array as beats, each an int, the first word lowest."""
    words = np.ascontiguousarray(values).view("<u4").reshape(-1, lanes).astype("<u4")
    return [int.from_bytes(row.tobytes(), "little") for row in words]


def codec_value(codec):
    """A Codec as the value of a CODEC."""
    return split(CODEC, codec.byte)


def scale_of(norms, codec):
    """What Scale makes of norm words, as ints: in terms of the golden model's K and t."""
    k, t = golden.reciprocals(norms, codec)
    shift = 34 if codec.levels == Levels.UNIFORM else 33 + codec.top
    scales = []
    for norm, k_, t_ in zip(norms.tolist(), k.tolist(), t.tolist(), strict=True):
        q = norm >> 23
        scales.append(join(SCALE, {
            "norm": norm, "dead": q == 0 or norm == NAN, "k": k_, "offset": t_ + q - shift}))
    return scales


def side_of(codec, bucket, span, *, bypass=0, stream=0, message=0, first=0):
    """The side band of a frame, as the value of a SIDE."""
    return {"bypass": bypass, "codec": codec_value(codec), "span": span,
            "log2_bucket": bucket.bit_length() - 1,
            "stream": stream, "message": message, "first": first}
