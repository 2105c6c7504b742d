"""Payloads that no coder makes have a meaning too, and always the same one."""

import numpy as np
import pytest

from tightwire.formats import Levels
from tightwire_sim import golden

from . import reference
from .cases import CODECS, QUANTISED, words

SEED = 20240603
BUCKET = 64


def _decode(codec, norm):
    """What every code stands for under a norm word, through the public face; the words."""
    codes = np.repeat(np.arange(1 << codec.bits, dtype=np.uint8)[:, None], BUCKET, axis=1)
    payload = b"".join(norm.to_bytes(4, "little") + body.tobytes()
                       for body in golden.pack(codes, codec.bits))
    decoded = golden.decode(payload, codec=codec, bucket=BUCKET, span=len(codes))
    rows = np.array(words(decoded)).reshape(-1, BUCKET)
    assert (rows == rows[:, :1]).all()
    return rows[:, 0].tolist()


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_sign_of_the_norm_is_ignored(codec):
    for norm in (0x3F9ABCDE, 0x00800000, 0x7F7FFFFF, 0, 0x7F800000):
        assert _decode(codec, norm | 1 << 31) == _decode(codec, norm)


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_subnormal_norm_is_zero(codec):
    for norm in (0, 1, 0x007FFFFF, 0x80000000, 0x807FFFFF):
        assert set(_decode(codec, norm)) == {0}


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_norm_that_is_not_finite_makes_the_nan(codec):
    for norm in (0x7F800000, 0x7F800001, 0x7FC00000, 0x7FFFFFFF, 0xFF800000, 0xFFFFFFFF):
        assert set(_decode(codec, norm)) == {0x7FC00000}


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_level_zero_has_no_sign(codec):
    assert _decode(codec, 0x3F800000)[1 << codec.bits - 1] == 0


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_underflow_has_no_sign(codec):
    """Under the smallest norm, every level below the norm itself."""
    found = _decode(codec, 0x00800000)
    negative = found[1 << codec.bits - 1:]
    assert set(negative[:-1]) == {0}
    # With uniform levels the highest one, too, is below the norm where W is cut short.
    cut_short = codec.levels == Levels.UNIFORM and codec.bits > 2
    assert negative[-1] == (0 if cut_short else 0x80800000)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_any_bytes(codec):
    rng = np.random.default_rng([SEED, codec.byte])
    for bucket, span in ((64, 60), (256, 9), (2048, 2)):
        payload = rng.bytes(span * codec.record_words(bucket) * 4)
        with np.errstate(all="raise"):
            decoded = golden.decode(payload, codec=codec, bucket=bucket, span=span)
        assert words(decoded) == reference.decode(payload, codec.byte, bucket), f"seed {SEED}"
