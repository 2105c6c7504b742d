"""Messages to payloads and back: what is checked, and who does which part of it."""

import os
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise

import numpy as np

from tightwire.formats import (
    SPAN_MAX, Codec, Coding, FormatError, Levels, Norm, check_bucket, check_field,
)

from . import kernels

__all__ = ["MESSAGE_MAX", "decode", "encode", "round_trip"]

MESSAGE_MAX = 1 << 32
"""Buckets in a message: an index has 32 bits."""

_LEAST = 8  # pieces for each thread, below which another thread is not worth its start


@cache
def _threads():
    """How many threads there are, and what runs them; none in a process of one processor."""
    count = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return count, ThreadPoolExecutor(count, "tightwire") if count > 1 else None


# A forked child has the pool's record, but not its threads.
os.register_at_fork(after_in_child=_threads.cache_clear)


def _share(function, count, per_unit):
    """Calls ``function(begin, end)`` for parts of ``range(count)``, in threads if there is much."""
    threads, pool = _threads()
    parts = min(threads, count * per_unit // (_LEAST * kernels.PIECE)) or 1
    cuts = [count * n // parts for n in range(parts + 1)]
    futures = [pool.submit(function, *cut) for cut in pairwise(cuts[1:])]
    try:
        function(cuts[0], cuts[1])
    finally:
        for future in futures:
            future.result()


@cache
def _jumps():
    """What ``kernels.starts`` calls by this name."""
    state = np.left_shift(np.uint32(1), np.arange(32, dtype=np.uint32))
    for _ in range(kernels.PIECE // kernels.GENERATORS):
        state ^= state << 13
        state ^= state >> 17
        state ^= state << 5
    table = np.zeros((4, 256), np.uint32)
    for bit in range(32):
        row, value = table[bit // 8], 1 << bit % 8
        row[value:2 * value] = row[:value] ^ state[bit]
    return table


def _check_codec(codec):
    if not isinstance(codec, Codec):
        raise FormatError(f"codec must be a Codec, not {codec!r}")
    if codec.coding != Coding.FIXED or codec.sparse:
        raise FormatError(f"codec {codec} is not built yet: coding must be FIXED, sparse False")
    return codec


def _check_values(values):
    if not isinstance(values, np.ndarray) or values.dtype != np.float32 or values.ndim != 1:
        found = (f"{values.dtype} of shape {values.shape}" if isinstance(values, np.ndarray)
                 else type(values).__name__)
        raise FormatError("values must be a numpy array of float32 in this machine's byte order "
                          f"with 1 dimension, not {found}")
    # For what may not be written, numba would compile everything once more.
    values = np.require(values, requirements=["C", "W"])
    return values.view(np.uint32)


def _output(out, size):
    """The array that results go to, float32."""
    if out is None:
        return np.empty(size, np.float32)
    if (not isinstance(out, np.ndarray) or out.dtype != np.float32 or out.shape != (size,)
            or not out.flags.c_contiguous or not out.flags.writeable):
        raise FormatError(f"out must be a writeable, contiguous numpy array of {size} float32")
    return out


def _shape(size, bucket, span, codec):
    """Buckets of a message, and of a frame."""
    bucket = check_bucket(check_field("bucket", bucket, 16))
    buckets = -(-size // bucket)
    if span is None:
        span = SPAN_MAX
        if buckets > span:
            raise FormatError(f"values must fit {SPAN_MAX} buckets of {bucket} where no span "
                              f"says how they are cut into frames, not {size} elements")
    elif check_field("span", span, 16) == 0:
        raise FormatError(f"span must be from 1 to {SPAN_MAX}, not 0")
    return buckets, span


def _states(buckets, span, bucket, stream, message, first):
    seed = check_field("stream", stream, 16) << 16 | check_field("message", message, 16)
    if check_field("first", first, 32) + buckets > MESSAGE_MAX:
        raise FormatError(f"first must leave room for {buckets} buckets below 2^32, not {first}")
    frames, rest = divmod(buckets, span)
    pieces = frames * -(-span * bucket // kernels.PIECE) + -(-rest * bucket // kernels.PIECE)
    states = np.empty((pieces, kernels.GENERATORS), np.uint32)
    kernels.starts(np.uint32(seed), np.uint32(first), span, bucket, buckets, _jumps(), states)
    return states


def encode(values, *, codec, bucket, span=None, stream=0, message=0, first=0):
    """The payloads of a message's frames, one behind the other.

    For a message in one frame, what ``golden.encode`` returns; for more, its results for the
    parts of ``span`` buckets, with the ``first`` of each.

    Parameters
    ----------
    values : numpy.ndarray
        float32, one dimension. The last bucket is padded with +0. No elements, no payload.
    codec : Codec
        Fixed coding, not sparse.
    bucket : int
        Elements in a bucket, a power of two from 64 to 8192.
    span : int, optional
        Buckets in a frame, 1 to 65535; draws start anew with each frame. All in one if None.
    stream, message, first : int
        The header fields of the first frame, 16, 16 and 32 bits.

    Returns
    -------
    numpy.ndarray of uint8, one dimension

    Raises
    ------
    FormatError
        For an argument of the wrong kind or out of its range.
    """
    codec, words = _check_codec(codec), _check_values(values)
    size = len(words)
    buckets, span = _shape(size, bucket, span, codec)
    records = np.empty((buckets, codec.record_words(bucket) * 4), np.uint8)
    states = _states(buckets, span, bucket, stream, message, first)
    if codec.levels == Levels.RAW:
        flat = records.reshape(-1)
        flat[:size * 4] = words.view(np.uint8)
        flat[size * 4:] = 0
        return flat

    def part(begin, end):
        kernels.encode(words, size, states, begin, end, span, bucket, *_choice(codec), records)

    _share(part, len(states), min(span * bucket, kernels.PIECE))
    return records.reshape(-1)


def round_trip(values, *, codec, bucket, span=None, stream=0, message=0, first=0, out=None):
    """What ``decode`` makes of what ``encode`` makes of ``values``, without the payload between.

    Parameters as ``encode``, and ``out``, a float32 array for the result, which may be ``values``.

    Returns
    -------
    numpy.ndarray of float32, as long as ``values``

    Raises
    ------
    FormatError
    """
    codec, words = _check_codec(codec), _check_values(values)
    size = len(words)
    out = _output(out, size)
    buckets, span = _shape(size, bucket, span, codec)
    states = _states(buckets, span, bucket, stream, message, first)
    if codec.levels == Levels.RAW:
        out[:] = values
        return out
    none, result = np.empty((0, 0), np.uint8), out.view(np.uint32)

    def part(begin, end):
        kernels.round_trip(words, size, states, begin, end, span, bucket, *_choice(codec), none,
                           result)

    _share(part, len(states), min(span * bucket, kernels.PIECE))
    return out


def decode(payload, *, codec, bucket, size, out=None):
    """The elements that a message's payloads stand for.

    Parameters
    ----------
    payload : numpy.ndarray
        uint8, one dimension: what ``encode`` returned, or any bytes of that length.
    codec : Codec
        Fixed coding, not sparse.
    bucket : int
        Elements in a bucket, a power of two from 64 to 8192.
    size : int
        Elements of the message; the padding of its last bucket is left out.
    out : numpy.ndarray, optional
        float32, for the result.

    Returns
    -------
    numpy.ndarray of float32, shape (size,)

    Raises
    ------
    FormatError
        For an argument of the wrong kind or out of its range, and for a payload whose length
        does not fit.
    """
    codec = _check_codec(codec)
    bucket = check_bucket(check_field("bucket", bucket, 16))
    buckets = -(-check_field("size", size, 45) // bucket)
    width = codec.record_words(bucket) * 4
    if not isinstance(payload, np.ndarray) or payload.dtype != np.uint8 or payload.ndim != 1:
        raise FormatError("payload must be a numpy array of uint8 with 1 dimension, "
                          f"not {type(payload).__name__}")
    if len(payload) != buckets * width:
        raise FormatError(f"payload must have {buckets} records of {width} bytes, "
                          f"{buckets * width} bytes, not {len(payload)}")
    out = _output(out, size)
    if codec.levels == Levels.RAW:
        out.view(np.uint8)[:] = payload[:size * 4]
        return out
    records = np.require(payload, requirements=["C", "W"]).reshape(buckets, width)
    values = out.view(np.uint32)
    exponential, _, bits = _choice(codec)

    def part(begin, end):
        kernels.decode(records, begin, end, bucket, exponential, bits, values, size)

    _share(part, buckets, bucket)
    return out


def _choice(codec):
    return codec.levels == Levels.EXPONENTIAL, codec.norm == Norm.EUCLIDEAN, codec.bits
