"""Codecs and data that the tests of the golden model share."""

import numpy as np

from tightwire.formats import BITS, RAW, Codec, Levels, Norm

QUANTISED = [Codec(levels, norm, bits) for levels in (Levels.UNIFORM, Levels.EXPONENTIAL)
             for norm in Norm for bits in BITS]
CODECS = [RAW, *QUANTISED]

TOPS = [1, 7, 127]

DISTRIBUTIONS = {
    "gaussian": lambda rng, size: rng.standard_normal(size),
    "laplace": lambda rng, size: rng.laplace(size=size),
    "student_t_2": lambda rng, size: rng.standard_t(2, size),
    "cauchy": lambda rng, size: rng.standard_cauchy(size),
}


def floats(words):
    """The float32 array of words given as ints or an integer array."""
    return np.asarray(words, np.uint32).view(np.float32)


def words(values):
    """The words of a float32 array, as a list of ints."""
    return np.ascontiguousarray(values).view(np.uint32).tolist()


def _signs(rng, magnitudes):
    return floats(np.asarray(magnitudes, np.uint32)
                  | rng.integers(0, 2, len(magnitudes), np.uint32) << 31)


def _gaussian_with(rng, bucket, *extra):
    """A bucket of Gaussian values with some words put in at random places."""
    values = rng.standard_normal(bucket).astype(np.float32).view(np.uint32)
    values[rng.choice(bucket, len(extra), replace=False)] = extra
    return floats(values)


def _around(rng, bucket, norm, magnitudes):
    """``norm`` (a word) once, and words at and next to magnitudes (floats) not above it."""
    near = np.asarray(magnitudes, np.float32).view(np.uint32).astype(np.int64)
    near = np.concatenate([near - 64, near - 1, near, near + 1, near + 64])
    near = near[(near >= 0) & (near <= norm)]
    return _signs(rng, np.append(rng.choice(near, bucket - 1), norm)[rng.permutation(bucket)])


def _levels(rng, bucket):
    """Elements at and next to the levels of every codec, under a largest magnitude at random."""
    norm = int(rng.integers(0x3F000000, 0x41000000))
    n = float(floats([norm])[0])
    return _around(rng, bucket, norm, [n * level / top for top in TOPS for level in range(top)]
                   + [n * 2.0**-k for k in range(127)])


def _turn(rng, bucket):
    """A largest magnitude at or next to where K or W takes another power of two."""
    top = int(rng.choice(TOPS))
    n = (top << 23 - (top.bit_length() - 1)) + int(rng.integers(-1, 2))
    norm = 0x3F800000 + n - 2**23
    return _around(rng, bucket, norm, [float(floats([norm])[0]) * level / top
                                       for level in range(top + 1)])


def adversarial(rng, bucket):
    """Buckets that have gone wrong somewhere, or might: a dict of name -> float32 array."""
    any_word = rng.integers(0, 1 << 32, bucket, np.uint32)
    finite = rng.integers(0, 0x7F800000, bucket)
    gaussian = rng.standard_normal(bucket)
    result = {
        "zero": np.zeros(bucket, np.float32),
        "zero of both signs": floats(rng.integers(0, 2, bucket, np.uint32) << 31),
        "subnormals only": _signs(rng, rng.integers(0, 1 << 23, bucket)),
        "subnormals and smallest normals": _signs(rng, rng.integers(0, 1 << 24, bucket)),
        "a norm near the smallest": _signs(rng, rng.integers(0, 1 << 26, bucket)),
        "a NaN": _gaussian_with(rng, bucket, 0x7FC12345),
        "a signalling NaN": _gaussian_with(rng, bucket, 0xFF800001),
        "an infinity": _gaussian_with(rng, bucket, 0x7F800000),
        "a negative infinity": _gaussian_with(rng, bucket, 0xFF800000),
        "an infinity among zeros": floats([0x7F800000] + [0] * (bucket - 1)),
        "any words": floats(any_word),
        "any finite words": _signs(rng, finite),
        "the largest float32 all over": _signs(rng, [0x7F7FFFFF] * bucket),
        "the largest float32 once": floats([0] * (bucket - 1) + [0xFF7FFFFF]),
        "the largest float32 once more": _gaussian_with(rng, bucket, 0x7F7FFFFF),
        "a Euclidean norm around the largest": _signs(
            rng, np.float32(2.0**128 / np.sqrt(bucket) * (1 + gaussian * 1e-3)).view(np.uint32)),
        "one element": floats([0] * 5 + [0xC0490FDB] + [0] * (bucket - 6)),
        "the smallest normal once": floats([0x80800000] + [0] * (bucket - 1)),
        "one magnitude all over": _signs(rng, [int(rng.integers(1 << 23, 0x70000000))] * bucket),
        "a power of two once": _signs(rng, [0x3F800000] + [0x33000000] * (bucket - 1)),
        "a power of two all over": _signs(rng, [0x40000000] * bucket),
        "one below a power of two": _signs(rng, [0x3FFFFFFF] * bucket),
        # Exponents that differ by about 24: a of the small ones is 0 or nearly.
        "just out of reach": _signs(rng, [0x3F812345, *(0x3F812345 - (
            rng.integers(15, 28, bucket - 1) << 23) + rng.integers(0, 64, bucket - 1))]),
        "a wide range": floats(
            (gaussian * np.exp2(rng.integers(-110, 100, bucket))).astype(np.float32)
            .view(np.uint32)),
        "levels": _levels(rng, bucket),
        "where a scale turns": _turn(rng, bucket),
        "where a scale turns again": _turn(rng, bucket),
        "mostly zero": np.where(rng.random(bucket) < 0.9, 0, gaussian).astype(np.float32),
    }
    for name, draw in DISTRIBUTIONS.items():
        result[name] = (draw(rng, bucket) * 2.0 ** rng.integers(-30, 10)).astype(np.float32)
    return result
