"""Descriptors and completions, as they lie in memory."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from ..formats import SPAN_MAX
from .errors import DescriptorError

__all__ = ["COMPLETION_BYTES", "DESCRIPTOR_BYTES", "KIND_FRAME", "KIND_MESSAGE", "Completed",
           "Completion", "Status", "frame_buckets", "receive_descriptor", "transmit_descriptor"]

DESCRIPTOR_BYTES = 64
COMPLETION_BYTES = 16

KIND_FRAME, KIND_MESSAGE = 1, 2

_WORD = np.dtype("<u4")


class Completed(IntEnum):
    """What a completion is about."""

    FRAME_SENT = 1
    MESSAGE_SENT = 2
    FRAME_RECEIVED = 3
    REGION_FILLED = 4


class Status(IntEnum):
    """How it went."""

    OK = 0
    BAD_DESCRIPTOR = 1
    READ_ERROR = 2
    WRITE_ERROR = 3
    GAVE_UP = 4
    CANCELLED = 5
    TOO_SHORT = 6


def transmit_descriptor(*, kind, tag, address, size, codec=0, log2_bucket=0, peer=0, stream=0,
                        message=0, span=0):
    """The words of a transmit descriptor."""
    words = np.zeros(DESCRIPTOR_BYTES // 4, _WORD)
    words[:7] = [kind | codec << 8 | log2_bucket << 16 | peer << 24, tag, address & 0xFFFFFFFF,
                 address >> 32, size, stream | message << 16, span]
    return words


def receive_descriptor(*, tag, address, size):
    """The words of a receive descriptor."""
    return transmit_descriptor(kind=0, tag=tag, address=address, size=size)


class Completion(NamedTuple):
    """An entry of the completion queue; ``phase`` tells new ones from old ones."""

    kind: int
    status: int
    index: int
    tag: int
    count: int
    detail: int
    phase: int

    @classmethod
    def of(cls, words):
        """Of its four words."""
        first, tag, count, last = (int(word) for word in words)
        return cls(first & 0xFF, first >> 8 & 0xFF, first >> 16, tag, count, last & 0x7FFFFFFF,
                   last >> 31)


def frame_buckets(codec, bucket, payload_bytes):
    """The most buckets whose records surely fit a payload of that many bytes.

    Raises
    ------
    DescriptorError
        Not even one does.
    """
    most = min(payload_bytes // (4 * codec.record_words(bucket)), SPAN_MAX)
    if most < 1:
        raise DescriptorError(
            f"a record of {codec}, bucket {bucket}, has {4 * codec.record_words(bucket)} bytes, "
            f"and a frame has room for {payload_bytes}: take a smaller bucket or longer frames")
    return most
