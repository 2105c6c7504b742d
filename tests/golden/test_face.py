"""What callers of encode and decode rely on beyond single values."""

import numpy as np
import pytest

from tightwire.formats import BUCKETS, NUQSGD4, RAW, SPAN_MAX
from tightwire_sim.golden import decode, draws, encode, magnitudes, norms, positions, quantize

from .cases import CODECS, QUANTISED, adversarial, floats, words

SEED = 20240604


def _gaussian(size, *more):
    return np.random.default_rng([SEED, *more]).standard_normal(size).astype(np.float32)


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_lengths(codec):
    """A bucket that is begun is there in full, padded with +0."""
    for bucket in (64, 8192):
        for length in (1, bucket - 1, bucket, bucket + 1):
            values = _gaussian(length)
            span = -(-length // bucket)
            payload = encode(values, codec=codec, bucket=bucket)
            assert type(payload) is bytes
            assert len(payload) == span * codec.record_words(bucket) * 4
            padded = np.append(values, np.zeros(span * bucket - length, np.float32))
            assert payload == encode(padded, codec=codec, bucket=bucket)
            decoded = decode(payload, codec=codec, bucket=bucket, span=span)
            assert decoded.dtype == np.float32 and decoded.shape == (span * bucket,)
            assert not np.ascontiguousarray(decoded[length:]).view(np.uint32).any()


def test_size_of_the_reference_point():
    """Section 10: 260 bytes for 2048."""
    assert len(encode(_gaussian(512), codec=NUQSGD4, bucket=512)) == 260


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_bytes_depend_on_nothing_else(codec):
    """Not on what follows in the frame, nor on what was coded before."""
    values = _gaussian(3 * 32768 + 640)
    place = {"stream": 3, "message": 4, "first": 5}
    whole = encode(values, codec=codec, bucket=64, **place)
    for buckets in (1, 3, 4, 511, 512, 513, 1024, 1030):
        part = encode(values[:buckets * 64], codec=codec, bucket=64, **place)
        assert whole.startswith(part), f"{buckets} buckets"
        encode(values[::-1], codec=codec, bucket=128)
    assert encode(values, codec=codec, bucket=64, **place) == whole


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_frames_of_a_message(codec):
    """Each frame of a message starts its draws anew, from its own first bucket."""
    values = _gaussian(24 * 64)
    frames, first = [], 0
    for span in (5, 1, 11, 7):
        part = values[first * 64:(first + span) * 64]
        frames.append(encode(part, codec=codec, bucket=64, message=9, first=first))
        found = norms(part.reshape(-1, 64), codec.norm)
        codes = quantize(part.reshape(-1, 64), found, codec=codec,
                         draws=draws(span * 64, message=9, first=first))
        decoded = decode(frames[-1], codec=codec, bucket=64, span=span, first=first)
        assert np.array_equal(np.signbit(decoded.reshape(-1, 64)), codes >> codec.bits - 1)
        first += span
    # Not the frames that one frame of all would be cut into: the draws are others.
    assert b"".join(frames) != encode(values, codec=codec, bucket=64, message=9)
    assert frames[0] == encode(values, codec=codec, bucket=64, message=9)[:len(frames[0])]


def test_place_chooses_the_draws():
    """Frames that differ in one header field have other draws; equal ones the same."""
    places = [{}, {"stream": 1}, {"message": 1}, {"first": 1}, {"stream": 0xFFFF},
              {"first": 0xFFFFFFFF}, {"stream": 1, "message": 1}]
    drawn = [draws(4096, **place) for place in places]
    for i, one in enumerate(drawn):
        assert np.array_equal(one, draws(4096, **places[i]))
        for other in drawn[:i]:
            # Two uniform draws of 16 bits are equal in one of 65536.
            assert (one == other).sum() < 5, places[i]


def test_draws_are_uniform():
    """Chi-square over 256 classes of 2^20 draws, and the same of the lower eight bits."""
    drawn = draws(1 << 20, stream=1, message=2, first=3)
    for part in (drawn >> 8, drawn & 0xFF):
        expected = len(drawn) / 256
        statistic = ((np.bincount(part, minlength=256) - expected) ** 2 / expected).sum()
        assert abs(statistic - 255) < 5 * np.sqrt(2 * 255), statistic


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_arrays_of_any_layout(codec):
    values = _gaussian(3 * 64)
    expected = encode(values, codec=codec, bucket=64)
    wide = np.zeros((3 * 64, 3), np.float32)
    wide[:, 1] = values
    frozen = values.copy()
    frozen.flags.writeable = False
    for same in (wide[:, 1], values[::-1].copy()[::-1], frozen):
        assert encode(same, codec=codec, bucket=64) == expected
    assert np.array_equal(values, frozen), "encode changed its input"
    constant = np.broadcast_to(np.float32(2.5), 64)
    assert (encode(constant, codec=codec, bucket=64)
            == encode(constant.copy(), codec=codec, bucket=64))


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_codecs_and_payloads_of_any_kind(codec):
    values = _gaussian(128)
    payload = encode(values, codec=codec, bucket=64)
    assert encode(values, codec=codec.byte, bucket=np.int64(64)) == payload
    assert encode(values, codec=np.uint8(codec.byte), bucket=64) == payload
    expected = words(decode(payload, codec=codec, bucket=64, span=2))
    behind = memoryview(b"x" + payload)[1:]  # not on a word boundary
    for same in (bytearray(payload), memoryview(payload), behind):
        decoded = decode(same, codec=codec.byte, bucket=64, span=2, records=2, first=77)
        assert words(decoded) == expected
    decoded[:] = 0  # the caller's own
    assert words(decode(payload, codec=codec, bucket=64, span=2)) == expected


def test_raw_keeps_every_bit():
    rng = np.random.default_rng(SEED)
    values = np.concatenate([*adversarial(rng, 64).values(), floats(
        [0x7F800001, 0xFFFFFFFF, 0x7FC00001, 0x80000000, 0x00000001])])
    for bucket in BUCKETS:
        payload = encode(values, codec=RAW, bucket=bucket)
        assert payload[:values.nbytes] == values.astype("<f4").tobytes()
        decoded = decode(payload, codec=RAW, bucket=bucket, span=-(-len(values) // bucket))
        assert words(decoded)[:len(values)] == words(values), f"seed {SEED}"


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_zero_buckets(codec):
    """Dense, a zero bucket is a record of zeros, whatever its neighbours hold."""
    values = _gaussian(5 * 64)
    values[64:128] = -0.0
    values[192:256] = floats([0x807FFFFF])[0]
    payload = encode(values, codec=codec, bucket=64)
    size = codec.record_words(64) * 4
    for record in range(5):
        zero = payload[record * size:(record + 1) * size] == bytes(size)
        assert zero == (record in (1, 3))


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_not_finite_is_seen(codec):
    """One infinity makes NaNs of its bucket, and of no other."""
    values = _gaussian(3 * 64)
    values[70] = -np.inf
    decoded = decode(encode(values, codec=codec, bucket=64), codec=codec, bucket=64, span=3)
    assert np.array_equal(np.isnan(decoded), np.arange(3 * 64) // 64 == 1)


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_errors_are_below_a_gap(codec):
    """An element decodes to one of the two levels around it, of the same sign."""
    values = _gaussian((16, 512), codec.byte)
    payload = encode(values.ravel(), codec=codec, bucket=512)
    decoded = decode(payload, codec=codec, bucket=512, span=16).reshape(16, 512)
    found = norms(values, codec.norm)
    level = positions(values, found, codec=codec) >> 16
    table = magnitudes(found, codec=codec).view(np.float32)
    low = np.take_along_axis(table, level, axis=1)
    high = np.take_along_axis(table, np.minimum(level + 1, codec.top), axis=1)
    assert ((np.abs(decoded) == low) | (np.abs(decoded) == high)).all(), f"seed {SEED}"
    assert (decoded * values >= 0).all(), f"seed {SEED}"
    # Around it, but for what section 9 allows.
    assert (low <= np.abs(values)).all(), f"seed {SEED}"
    assert (np.abs(values) <= high * (1 + 2.0**-14)).all(), f"seed {SEED}"


def test_the_longest_frame():
    values = np.ones(SPAN_MAX * 64, np.float32)
    payload = encode(values, codec=NUQSGD4, bucket=64)
    decoded = decode(payload, codec=NUQSGD4, bucket=64, span=SPAN_MAX)
    assert len(payload) == SPAN_MAX * 36 and decoded.size == values.size
    # The norm is 8, and 1 is a level; a K that is cut short would leave a chance of half of it.
    assert (decoded == 1).all()
