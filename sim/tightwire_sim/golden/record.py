"""The payload of a frame: records, one after the other (docs/wire-format.md, section 3)."""

import numpy as np

from tightwire.formats import (
    SPAN_MAX, Codec, Coding, FormatError, Levels, check_bucket, check_field,
)

from .dequantize import dequantize
from .draws import PIECE, pieces, states
from .norm import norms
from .packing import pack, unpack
from .quantize import quantize
from .words import as_words

__all__ = ["decode", "encode"]

_WORD = np.dtype("<u4")  # payload words are little-endian


def encode(values, *, codec, bucket, stream=0, message=0, first=0):
    """The payload of one frame that covers all of ``values``.

    Parameters
    ----------
    values : numpy.ndarray
        float32, one dimension, at least one element. The last bucket is padded with +0.
    codec : Codec or int
        What to do, or the codec byte that says so. Fixed coding, not sparse.
    bucket : int
        Elements per bucket, a power of two from 64 to 8192.
    stream, message, first : int
        The frame's header fields, 16, 16 and 32 bits: they choose the draws.

    Returns
    -------
    bytes

    Raises
    ------
    FormatError
        For an argument of the wrong kind or out of its range, for more than 65535 buckets, and
        for a codec that is not built yet.
    """
    codec = _check_codec(codec)
    bucket = check_bucket(check_field("bucket", bucket, 16))
    words = as_words("values", values, 1)
    span = -(-len(words) // bucket)
    if span > SPAN_MAX:
        raise FormatError(f"values must fit {SPAN_MAX} buckets of {bucket}, "
                          f"{SPAN_MAX * bucket} elements, not {len(words)}")
    start = states(stream=stream, message=message, first=first)
    records = np.zeros((span, codec.record_words(bucket) * 4), np.uint8)
    if codec.levels == Levels.RAW:
        records.reshape(-1)[:len(words) * 4] = words.astype(_WORD).view(np.uint8)
        return records.tobytes()
    drawn = pieces(span * bucket, start)
    for begin, draws in zip(range(0, len(words), PIECE), drawn, strict=True):
        piece = words[begin:begin + PIECE]
        if len(piece) < len(draws):
            piece = np.pad(piece, (0, len(draws) - len(piece)))
        piece = piece.reshape(-1, bucket).view(np.float32)
        found = norms(piece, codec.norm)
        codes = quantize(piece, found, codec=codec, draws=draws)
        rows = records[begin // bucket:][:len(piece)]
        rows[:, :4] = found.astype(_WORD).view(np.uint8).reshape(-1, 4)
        rows[:, 4:] = pack(codes, codec.bits)
    return records.tobytes()


def decode(payload, *, codec, bucket, span, records=None, first=0):
    """The elements that the payload of one frame stands for.

    Any payload of the right length has a meaning, also one that no coder makes: of a norm the
    sign is ignored and an exponent field of 0 makes it 0; level 0 is +0 whatever its sign.

    Parameters
    ----------
    payload : bytes, bytearray or memoryview
        Contiguous.
    codec : Codec or int
        What was done, or the codec byte that says so. Fixed coding, not sparse.
    bucket : int
        Elements per bucket, a power of two from 64 to 8192.
    span : int
        Buckets that the frame covers, 1 to 65535.
    records : int, optional
        Buckets that have a record, as many as ``span`` when not given. Without sparse it cannot
        be another number.
    first : int
        Index of the first bucket, 32 bits; it places the records of a sparse payload.

    Returns
    -------
    numpy.ndarray of float32, shape (span * bucket,)

    Raises
    ------
    FormatError
        For an argument of the wrong kind or out of its range, for a payload whose length does
        not fit, and for a codec that is not built yet.
    """
    codec = _check_codec(codec)
    bucket = check_bucket(check_field("bucket", bucket, 16))
    if check_field("span", span, 16) == 0:
        raise FormatError(f"span must be from 1 to {SPAN_MAX}, not 0")
    records = span if records is None else check_field("records", records, 16)
    if records != span:
        raise FormatError(f"records must equal span, {span}, for a codec that is not sparse, "
                          f"not {records}")
    check_field("first", first, 32)
    if not isinstance(payload, bytes | bytearray | memoryview):
        raise FormatError("payload must be bytes, a bytearray or a memoryview, "
                          f"not {type(payload).__name__}")
    view = memoryview(payload)
    if not view.c_contiguous:
        raise FormatError("payload must be contiguous in memory, not a view with steps")
    size = codec.record_words(bucket) * 4
    if view.nbytes != records * size:
        raise FormatError(f"payload must have {records} records of {size} bytes, "
                          f"{records * size} bytes, not {view.nbytes}")
    rows = np.frombuffer(view, np.uint8).reshape(records, size)
    if codec.levels == Levels.RAW:
        return rows.reshape(-1).view(_WORD).astype(np.uint32).view(np.float32)
    found = rows[:, :4].copy().view(_WORD).reshape(-1).astype(np.uint32)
    values = np.empty((span, bucket), np.float32)
    height = PIECE // bucket
    for row in range(0, span, height):
        piece = slice(row, row + height)
        codes = unpack(rows[piece, 4:], codec.bits)
        values[piece] = dequantize(codes, found[piece], codec=codec)
    return values.reshape(-1)


def _check_codec(codec):
    """The Codec that an argument means, where it is one that the model can do."""
    if not isinstance(codec, Codec):
        codec = Codec.from_byte(check_field("codec", codec, 8))
    if codec.coding != Coding.FIXED or codec.sparse:
        raise FormatError(f"codec {codec} is not built yet: coding must be FIXED, sparse False")
    return codec
