"""float32 data for benches: ordinary, special and hostile."""

import numpy as np

__all__ = ["SPECIAL_NORMS", "bits", "hostile_records", "ordinary", "special_buckets"]

_LARGEST = np.float32(np.finfo(np.float32).max)
_SMALLEST = np.float32(np.finfo(np.float32).tiny)  # that is no subnormal


def ordinary(rng, count):
    """Numbers as gradients are: of any scale, some with heavy tails, some mostly zero."""
    values = rng.standard_normal(count) * 10.0 ** rng.integers(-30, 30)
    values *= np.exp(rng.standard_normal(count) * rng.choice([0, 1, 5]))
    with np.errstate(over="ignore", under="ignore"):
        values = values.astype(np.float32)
    if rng.random() < 0.2:
        values[rng.random(count) < rng.random()] = rng.choice([0.0, -0.0])
    return values


def bits(rng, count):
    """Any bits: NaN, infinities and subnormals among them."""
    return rng.integers(0, 1 << 32, count, dtype=np.uint32).view(np.float32)


def special_buckets(rng, bucket):
    """Buckets with what section 4, 5 and 9 of the wire format have rules for."""
    plain = rng.standard_normal(bucket).astype(np.float32)
    words = plain.view(np.uint32)
    subnormal = (words & 0x807FFFFF).view(np.float32)
    signs = np.where(rng.random(bucket) < 0.5, 1, -1).astype(np.float32)
    buckets = [
        np.zeros(bucket, np.float32),
        np.full(bucket, -0.0, np.float32),
        subnormal,
        signs * _SMALLEST,
        signs * _LARGEST,                      # its Euclidean norm is not a float32
        signs * np.float32(1),
        signs * (_LARGEST / np.float32(2 * np.sqrt(bucket))),
        np.exp2(rng.integers(-126, 128, bucket)).astype(np.float32) * signs,
        (words & 0x80FFFFFF | rng.choice([1, 254]) << 23).astype(np.uint32).view(np.float32),
    ]
    # One that differs from the rest, at either end and somewhere between.
    places = (0, bucket - 1, int(rng.integers(bucket)))
    for value in (np.nan, np.inf, -np.inf, _LARGEST, -_LARGEST, _SMALLEST, 0.0, -0.0):
        for place in places:
            one = plain.copy()
            one[place] = value
            buckets.append(one)
    for word in (0x7F800001, 0xFFFFFFFF, 0x00000001, 0x80000001, 0x007FFFFF):
        one = plain.copy()
        one.view(np.uint32)[places[2]] = word
        buckets.append(one)
    for value in (1.0, -_LARGEST, _SMALLEST, subnormal[0]):  # alone among zeros
        one = np.zeros(bucket, np.float32)
        one[places[2]] = value
        buckets.append(one)
    # Just below and above where the Euclidean norm stops being a float32.
    edge = _LARGEST / np.float32(np.sqrt(bucket))
    buckets += [signs * np.nextafter(edge, np.float32(to)) for to in (0, np.inf)]
    return buckets


SPECIAL_NORMS = (
    0x00000000, 0x80000000, 0x00000001, 0x807FFFFF, 0x00800000, 0x00800001, 0x03800000,
    0x04000000, 0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0x7FC00000,
    0xFFC00000, 0xFFFFFFFF, 0x3F800000, 0xBF800000)
"""As float32 words: what no sender of ours makes is among them."""


def hostile_records(rng, codec, bucket, span):
    """A payload of the right length and any content."""
    words = rng.integers(0, 1 << 32, (span, codec.record_words(bucket)), dtype=np.uint32)
    if codec.header_words:
        special = rng.random(span) < 0.7
        words[special, 0] = rng.choice(np.array(SPECIAL_NORMS, np.uint32), special.sum())
    return words.astype("<u4").tobytes()
