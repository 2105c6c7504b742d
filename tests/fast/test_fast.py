"""The fast codec against the golden model, to the bit."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tightwire.formats import BUCKETS, QSGD4, QSGDINF4, RAW, Codec, Coding, FormatError, Levels
from tightwire_sim import golden
from tightwire_sim.data import gradients
from tightwire_sim.fast import decode, encode, kernels, message, round_trip

from ..golden.cases import CODECS, QUANTISED, adversarial, floats

SEED = 20241201


def check(values, codec, bucket, *, span=None, first=0, **place):
    """Codes with both, frame by frame, and compares payloads and elements."""
    where = f"seed {SEED}, {codec}, buckets of {bucket}, span {span}, first {first}, {place}"
    size = (span or 65535) * bucket
    frames = [golden.encode(values[at:at + size], codec=codec, bucket=bucket,
                            first=first + at // bucket, **place)
              for at in range(0, len(values), size)]
    payload = encode(values, codec=codec, bucket=bucket, span=span, first=first, **place)
    assert payload.tobytes() == b"".join(frames), f"{where}: encodes"
    records = codec.record_words(bucket) * 4
    expected = np.concatenate([
        golden.decode(frame, codec=codec, bucket=bucket, span=len(frame) // records)
        for frame in frames])[:len(values)]
    back = decode(payload, codec=codec, bucket=bucket, size=len(values))
    assert np.array_equal(back.view(np.uint32), expected.view(np.uint32)), f"{where}: decodes"
    both = round_trip(values, codec=codec, bucket=bucket, span=span, first=first, **place)
    assert np.array_equal(both.view(np.uint32), expected.view(np.uint32)), f"{where}: both"


@pytest.mark.parametrize("bucket", BUCKETS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_every_class_of_float(codec, bucket):
    """NaN, infinities, subnormals, -0, zeros, the largest ...: every kind of bucket, each size."""
    rng = np.random.default_rng([SEED, codec.byte, bucket])
    values = np.concatenate(list(adversarial(rng, bucket).values()))
    check(values, codec, bucket, stream=int(rng.integers(65536)), message=bucket)


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_any_words(codec):
    """Random bit patterns, of any exponent and of exponents near each other."""
    rng = np.random.default_rng([SEED, codec.byte])
    words = rng.integers(0, 1 << 32, 1 << 15, np.uint32)
    near = words & np.uint32(0x81FFFFFF) | np.uint32(0x3E000000)
    for bucket in (64, 1024):
        check(floats(words), codec, bucket, message=1)
        check(floats(near), codec, bucket, message=2)


@pytest.mark.parametrize("size", [1, 63, 64, 65, 511, 512, 513, 16383, 16384, 16385, 100001])
@pytest.mark.parametrize("span", [1, 3, 32, 33, 40, None])
def test_lengths_and_frames(size, span):
    """Ends within a block, a bucket, a frame and a piece, and one past each."""
    values = np.random.default_rng([SEED, size]).standard_normal(size).astype(np.float32)
    for codec, bucket in ((QUANTISED[1], 512), (QUANTISED[-1], 64), (QUANTISED[4], 8192),
                          (RAW, 64)):
        check(values, codec, bucket, span=span, stream=3, message=4, first=5)


@pytest.mark.parametrize("place", [
    {"stream": 0xFFFF, "message": 0xFFFF, "first": 0xFFFFFFF0},
    {"first": 0x61C88646}, {"first": 0x61C88647}, {"first": 0x61C88648},
    {"stream": 1, "message": 2, "first": 0xAFB171D8},  # a generator would start from 0
], ids=str)
def test_places(place):
    values = np.random.default_rng(SEED).standard_normal(64 * 16).astype(np.float32)
    check(values, QSGDINF4, 64, **place)


@pytest.mark.parametrize("gradient", gradients(model="lm", phase="late"), ids=lambda g: g.layer)
def test_real_gradients(gradient):
    for codec in QUANTISED:
        check(gradient.values, codec, 512, span=34, message=9)


def test_threads_share_a_message():
    """Enough pieces for several threads, in frames of other lengths, and in one frame."""
    values = np.random.default_rng(SEED).standard_normal(40 * kernels.PIECE + 5)
    values = values.astype(np.float32)
    for span in (34, 1024, None):
        check(values, QSGD4, 512, span=span)


def test_calls_from_many_threads():
    values = np.random.default_rng(SEED).standard_normal(20 * kernels.PIECE).astype(np.float32)
    expected = round_trip(values, codec=QSGDINF4, bucket=512)
    with ThreadPoolExecutor(6) as pool:
        for found in pool.map(lambda _: round_trip(values, codec=QSGDINF4, bucket=512), range(24)):
            assert np.array_equal(found, expected)


def test_one_processor(monkeypatch):
    """Without a pool the result is the same."""
    values = np.random.default_rng(SEED).standard_normal(20 * kernels.PIECE).astype(np.float32)
    expected = encode(values, codec=QSGD4, bucket=512)
    monkeypatch.setattr(message, "_threads", lambda: (1, None))
    assert np.array_equal(encode(values, codec=QSGD4, bucket=512), expected)


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_decodes_any_bytes(codec):
    """Records that no coder makes: any norm with any sign, level 0 with a sign."""
    rng = np.random.default_rng([SEED, codec.byte])
    for bucket in (64, 2048):
        payload = rng.integers(0, 256, codec.record_words(bucket) * 4 * 50, np.uint8)
        rows = payload.reshape(50, -1)
        for row, norm in enumerate((0, 1, 1 << 23, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x80000000,
                                    0x80800000, 0xFF7FFFFF, 0xFFFFFFFF, 5 << 23)):
            rows[row, :4] = np.array([norm], "<u4").view(np.uint8)
        found = decode(payload, codec=codec, bucket=bucket, size=50 * bucket)
        expected = golden.decode(payload.tobytes(), codec=codec, bucket=bucket, span=50)
        assert np.array_equal(found.view(np.uint32), expected.view(np.uint32)), f"seed {SEED}"


def test_in_place_and_out():
    values = np.random.default_rng(SEED).standard_normal(10_000).astype(np.float32)
    expected = round_trip(values, codec=QSGDINF4, bucket=512)
    out = np.empty_like(values)
    assert round_trip(values, codec=QSGDINF4, bucket=512, out=out) is out
    assert np.array_equal(out, expected)
    assert round_trip(values, codec=QSGDINF4, bucket=512, out=values) is values
    assert np.array_equal(values, expected)
    assert np.array_equal(encode(out[::2], codec=QSGDINF4, bucket=64),
                          encode(out[::2].copy(), codec=QSGDINF4, bucket=64))


def test_nothing_is_nothing():
    for codec in (RAW, QSGD4):
        payload = encode(np.empty(0, np.float32), codec=codec, bucket=64)
        assert payload.shape == (0,) and payload.dtype == np.uint8
        assert decode(payload, codec=codec, bucket=64, size=0).shape == (0,)


def test_other_draws_elsewhere():
    """Message, stream and first each change the draws, and nothing else does."""
    values = np.random.default_rng(SEED).standard_normal(4096).astype(np.float32)
    results = [round_trip(values, codec=QSGD4, bucket=512, **place).tobytes()
               for place in ({}, {}, {"message": 1}, {"stream": 1}, {"first": 1}, {"span": 1})]
    assert results[0] == results[1]
    assert len(set(results)) == 5


VALUES = np.ones(100, np.float32)
PAYLOAD = np.zeros(72, np.uint8)


@pytest.mark.parametrize("wrong, text", [
    ({"values": [1.0]}, "values must be a numpy array of float32"),
    ({"values": VALUES.astype(np.float64)}, "not float64 of shape (100,)"),
    ({"values": VALUES.reshape(2, 50)}, "not float32 of shape (2, 50)"),
    ({"codec": 0x11}, "codec must be a Codec, not 17"),
    ({"codec": Codec(Levels.RAW, sparse=True)}, "not built yet"),
    ({"codec": Codec(Levels.UNIFORM, bits=4, coding=Coding.ELIAS)}, "not built yet"),
    ({"bucket": 100}, "bucket must be a power of two from 64 to 8192, not 100"),
    ({"span": 0}, "span must be from 1 to 65535, not 0"),
    ({"span": 65536}, "span must be from 0 to 65535, not 65536"),
    ({"stream": 65536}, "stream must be from 0 to 65535"),
    ({"message": -1}, "message must be from 0 to 65535"),
    ({"first": 0xFFFFFFFF}, "first must leave room for 2 buckets below 2^32"),
    ({"values": np.broadcast_to(np.float32(0), 65535 * 64 + 1)}, "values must fit 65535 buckets"),
])
def test_refusals(wrong, text):
    arguments = {"values": VALUES, "codec": QSGD4, "bucket": 64, **wrong}
    values = arguments.pop("values")
    for function in (encode, round_trip):
        with pytest.raises(FormatError, match=re.escape(text)):
            function(values, **arguments)


@pytest.mark.parametrize("wrong, text", [
    ({"payload": bytes(72)}, "payload must be a numpy array of uint8 with 1 dimension, not bytes"),
    ({"payload": PAYLOAD[:-1]}, "payload must have 2 records of 36 bytes, 72 bytes, not 71"),
    ({"size": 129}, "payload must have 3 records"),
    ({"size": -1}, "size must be from 0"),
    ({"codec": None}, "codec must be a Codec"),
    ({"bucket": 63}, "bucket must be a power of two"),
    ({"out": np.empty(99, np.float32)}, "out must be a writeable, contiguous numpy array of 100"),
    ({"out": np.empty(100)}, "out must be a writeable"),
])
def test_refusals_of_decode(wrong, text):
    arguments = {"payload": PAYLOAD, "codec": QSGD4, "bucket": 64, "size": 100, **wrong}
    with pytest.raises(FormatError, match=re.escape(text)):
        decode(arguments.pop("payload"), **arguments)


def test_the_table(capsys):
    from tightwire_sim.fast.__main__ import main

    main(["--elements", "1000", "--seconds", "0.001"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[2:]] == [str(codec) for codec in QUANTISED]
