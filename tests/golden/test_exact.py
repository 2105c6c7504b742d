"""The model against the scalar reference, to the byte."""

import numpy as np
import pytest

from tightwire.formats import BUCKETS, Levels, Norm
from tightwire_sim import golden

from . import reference
from .cases import CODECS, QUANTISED, adversarial, floats, words

SEED = 20240601

# Where the eleventh generator would start from 0.
ZERO_STATE = {"stream": 1, "message": 2, "first": 0xAFB171D8}

PLACES = [
    {},
    {"stream": 1, "message": 2, "first": 3},
    {"stream": 0xFFFF, "message": 0xFFFF, "first": 0xFFFFFFFF},
    # first + 0x9E3779B9 is 2^32 - 1, 0 and 1 modulo 2^32.
    {"first": 0x61C88646},
    {"first": 0x61C88647},
    {"first": 0x61C88648},
    {"stream": 0x8000, "message": 0x7FFF, "first": 0x80000000},
    ZERO_STATE,
]


def _check(values, names, codec, bucket, place, seed):
    """Encodes and decodes with both, and compares."""
    where = f"seed {seed}, {codec}, buckets of {bucket}, {place}"
    with np.errstate(all="raise"):
        payload = golden.encode(values, codec=codec, bucket=bucket, **place)
    expected = reference.encode(words(values), codec.byte, bucket, **place)
    size = codec.record_words(bucket) * 4
    for record, name in enumerate(names):
        part = slice(record * size, (record + 1) * size)
        assert payload[part] == expected[part], f"{where}: record {record}, {name!r}, encodes"
    assert payload == expected, f"{where}: length"
    with np.errstate(all="raise"):
        decoded = golden.decode(payload, codec=codec.byte, bucket=bucket, span=len(names))
    for record, name in enumerate(names):
        part = slice(record * size, (record + 1) * size)
        assert (words(decoded[record * bucket:(record + 1) * bucket])
                == reference.decode(expected[part], codec.byte, bucket)), (
                    f"{where}: record {record}, {name!r}, decodes")


@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_adversarial(codec):
    """Every kind of bucket, in the smallest size, three times with other data and places."""
    rng = np.random.default_rng([SEED, codec.byte])
    for place in rng.choice(PLACES, 3, replace=False):
        data = adversarial(rng, 64)
        _check(np.concatenate(list(data.values())), list(data), codec, 64, place, SEED)


@pytest.mark.parametrize("bucket", BUCKETS)
@pytest.mark.parametrize("codec", CODECS, ids=str)
def test_buckets(codec, bucket):
    """A few buckets of every size, the last of them not full."""
    rng = np.random.default_rng([SEED, codec.byte, bucket])
    data = adversarial(rng, bucket)
    names = ["student_t_2", *rng.choice(list(data), 1 if bucket > 1024 else 3), "gaussian"]
    values = np.concatenate([data[name] for name in names])
    values = values[:len(values) - int(rng.integers(0, bucket))]
    _check(values, names, codec, bucket, PLACES[rng.integers(len(PLACES))], SEED)


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_draws(place):
    """Draws in the first and the second piece and at the seam between them."""
    count = 2 * 32768 + 777
    place = {"stream": 0, "message": 0, "first": 0, **place}
    drawn = golden.draws(count, **place)
    assert drawn.dtype == np.uint16
    assert drawn.tolist() == reference.draws(count, **place)


@pytest.mark.parametrize("count", [1, 15, 16, 17, 255, 256, 257, 32767, 32768, 32769])
def test_draw_counts(count):
    place = {"stream": 7, "message": 8, "first": 9}
    assert golden.draws(count, **place).tolist() == reference.draws(count, **place)


def test_long_frame():
    """Elements behind the first piece take their own draws and norms."""
    rng = np.random.default_rng(SEED)
    values = rng.standard_normal(32768 + 4096).astype(np.float32)
    codec = QUANTISED[1]
    payload = golden.encode(values, codec=codec, bucket=4096, message=5)
    assert payload == reference.encode(words(values), codec.byte, 4096, message=5), f"seed {SEED}"
    assert (words(golden.decode(payload, codec=codec, bucket=4096, span=9))
            == reference.decode(payload, codec.byte, 4096)), f"seed {SEED}"


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_scales(codec):
    """K, t, W and j at the ends of their ranges, at their turns and at random."""
    rng = np.random.default_rng([SEED, codec.byte])
    turn = codec.top << 23 - (codec.top.bit_length() - 1)
    n = np.unique(np.clip(np.concatenate(
        [[2**23, 2**23 + 1, 2**24 - 1], turn + np.arange(-3, 4),
         rng.integers(2**23, 2**24, 2000)]), 2**23, 2**24 - 1))
    norms = (n - 2**23 + (rng.integers(1, 255, len(n)) << 23)).astype(np.uint32)
    c = codec.top if codec.levels == Levels.UNIFORM else 1
    K, t = golden.reciprocals(norms, codec)
    assert list(zip(K, t, strict=True)) == [reference.reciprocal(int(m), c) for m in n], SEED
    assert K.min() >= 2**17 and K.max() < 2**18
    if codec.levels == Levels.UNIFORM:
        W, j = golden.steps(norms, codec)
        for m, w, k in zip(n.tolist(), W.tolist(), j.tolist(), strict=True):
            low = codec.top * 2**6  # so that 2^(k+6) is an integer
            assert w == m * 2 ** (k + 6) // low < 2**18 <= m * 2 ** (k + 7) // low, (SEED, m)
        assert W.min() >= 2**17


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_positions(codec):
    """Level and fraction before rounding, also under norms that are not the bucket's own."""
    rng = np.random.default_rng([SEED, codec.byte])
    data = adversarial(rng, 64)
    for name, values in data.items():
        finite = values[np.isfinite(values)]
        norm = reference.norm_of(words(finite), codec.norm)
        for given in (norm, max(0, norm - (3 << 23)), min(norm + (1 << 24), 0x7F7FFFFF)):
            if given >> 23 in (0, 255):
                continue
            found = golden.positions(finite[None], np.array([given], np.uint32), codec=codec)
            expected = [reference.level_and_fraction(word, given, codec.levels, codec.bits)
                        for word in words(finite)]
            assert ([divmod(p, 1 << 16) for p in found[0].tolist()] == expected), (
                f"seed {SEED}, {name!r}, norm {given:#010x}")


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_positions_under_no_norm(codec):
    """All 0, whatever the elements are; the bucket beside is what it is alone."""
    rng = np.random.default_rng([SEED, codec.byte])
    for name, values in adversarial(rng, 64).items():
        for norm in (0, 0x7F800000, reference.NAN):
            rows = np.stack([values, np.ones(64, np.float32)])
            norms = np.array([norm, 0x3F800000], np.uint32)
            with np.errstate(all="raise"):
                found = golden.positions(rows, norms, codec=codec)
            assert not found[0].any(), f"seed {SEED}, {name!r}, norm {norm:#010x}"
            assert np.array_equal(found[1:], golden.positions(rows[1:], norms[1:], codec=codec))
            assert found[1].all()


def test_zero_state():
    """The place that the tests have for it is one, and 0 is replaced."""
    assert golden.states(**ZERO_STATE)[10] == 0x6D2B79F5


def test_quantize_under_a_smaller_norm():
    """A level at or above top is top, whatever is drawn."""
    values = np.full((1, 64), -3.0, np.float32)
    norms = np.array([0x3F800000], np.uint32)
    for codec in QUANTISED:
        for draw in (0, 0xFFFF):
            codes = golden.quantize(values, norms, codec=codec,
                                    draws=np.full((1, 64), draw, np.uint16))
            assert (codes == (1 << codec.bits) - 1).all(), str(codec)


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_rounding_is_strict(codec):
    """U below the fraction goes up; U equal to it stays."""
    rng = np.random.default_rng([SEED, codec.byte])
    values = rng.standard_normal((4, 64)).astype(np.float32)
    norms = golden.norms(values, codec.norm)
    level, fraction = np.divmod(golden.positions(values, norms, codec=codec), 1 << 16)
    top = (1 << codec.bits - 1) - 1
    for offset in (-1, 0, 1):
        draws = np.clip(fraction + offset, 0, 0xFFFF)
        codes = golden.quantize(values, norms, codec=codec, draws=draws.astype(np.uint16))
        assert np.array_equal(codes & top, level + (draws < fraction)), f"seed {SEED}, {offset}"


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_decode_every_code(codec):
    """Every code under norms all over the range, with the sign that a hostile norm may have."""
    rng = np.random.default_rng([SEED, codec.byte])
    norms = np.concatenate([
        rng.integers(0, 1 << 32, 200), (rng.integers(0, 10, 100) << 23) + 3,
        [0, 1, 1 << 23, (1 << 24) - 1, 0x7F7FFFFF, 0x7F800000, 0x7F800001, 0x7FC00000],
        [0x80000000, 0x80000001, 0x80800000, 0xFF7FFFFF, 0xFF800000, 0xFFFFFFFF],
    ]).astype(np.uint32)
    codes = np.tile(np.arange(1 << codec.bits, dtype=np.uint8), (len(norms), 1))
    found = golden.dequantize(codes, norms, codec=codec)
    for norm, row in zip(norms.tolist(), found, strict=True):
        assert words(row) == [reference.element(code, norm, codec.levels, codec.bits)
                              for code in range(1 << codec.bits)], f"seed {SEED}, {norm:#010x}"


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_packing(bits):
    rng = np.random.default_rng([SEED, bits])
    codes = rng.integers(0, 1 << bits, (3, 64), np.uint8)
    packed = golden.pack(codes, bits)
    for row, body in zip(codes.tolist(), packed, strict=True):
        number = sum(code << i * bits for i, code in enumerate(row))
        assert body.tobytes() == number.to_bytes(8 * bits, "little"), f"seed {SEED}"
    assert np.array_equal(golden.unpack(packed, bits), codes), f"seed {SEED}"


@pytest.mark.parametrize("norm", Norm, ids=lambda norm: norm.name.lower())
def test_norms(norm):
    rng = np.random.default_rng([SEED, norm])
    for bucket in BUCKETS:
        data = adversarial(rng, bucket)
        found = golden.norms(np.stack(list(data.values())), norm)
        assert found.dtype == np.uint32
        for name, values, word in zip(data, data.values(), found.tolist(), strict=True):
            assert word == reference.norm_of(words(values), norm), (
                f"seed {SEED}, buckets of {bucket}, {name!r}")


def test_the_cases_reach_what_they_are_for():
    """The norms that the adversarial data must lead to, so that none of it tests nothing."""
    rng = np.random.default_rng(SEED)
    largest, euclidean, data = {}, {}, adversarial(rng, 512)
    for name, values in data.items():
        largest[name] = reference.norm_of(words(values), 0)
        euclidean[name] = reference.norm_of(words(values), 1)
    assert largest["the largest float32 all over"] == 0x7F7FFFFF
    assert euclidean["the largest float32 all over"] == reference.NAN
    assert euclidean["the largest float32 once"] == 0x7F7FFFFF
    assert euclidean["a power of two once"] == 0x3F800000
    assert euclidean["subnormals only"] == largest["subnormals only"] == 0
    assert not np.isfinite(floats([largest["any words"]])).any()
    around = [reference.norm_of(words(adversarial(rng, 64)["a Euclidean norm around the largest"]),
                                1) for _ in range(20)]
    assert reference.NAN in around and min(around) < 0x7F800000, f"seed {SEED}"
    a = [reference.read(word)[1] for word in words(data["just out of reach"])]
    assert {max(a) - e for e in a} >= set(range(15, 28))
