"""What is asked of the DMA, and what it answers."""

from amaranth.lib import data, enum

from .axi import ADDRESS_BITS

__all__ = ["BYTES_BITS", "COMPLETION", "NOTHING", "Completed", "Status", "done_layout",
           "request_layout"]

BYTES_BITS = 32

NOTHING = data.StructLayout({})
"""A tag or a side band that says nothing."""


def request_layout(tag):
    """A piece of the host's memory, to be read or written.

    Members
    -------
    address : of its first byte, a multiple of 4
    bytes : its length, 1 or more
    tag : of shape ``tag``, comes back with what was read, or when it is written
    """
    return data.StructLayout({"address": ADDRESS_BITS, "bytes": BYTES_BITS, "tag": tag})


def done_layout(tag):
    """A piece that is written: every burst of it is answered. ``error``: one with an error."""
    return data.StructLayout({"tag": tag, "error": 1})


class Completed(enum.Enum, shape=8):
    """What a completion is about."""

    FRAME_SENT = 1
    MESSAGE_SENT = 2
    FRAME_RECEIVED = 3
    REGION_FILLED = 4


class Status(enum.Enum, shape=8):
    """How it went."""

    OK = 0
    BAD_DESCRIPTOR = 1
    READ_ERROR = 2   # the host's memory answered with an error
    WRITE_ERROR = 3
    GAVE_UP = 4      # sent as often as is allowed, and not acknowledged
    CANCELLED = 5
    TOO_SHORT = 6    # the buffer, for the frame


COMPLETION = data.StructLayout({
    "kind": Completed,
    "status": Status,
    "index": 16,
    "tag": 32,
    "count": 32,
    "detail": 31,
    "phase": 1,
})
"""An entry of a completion queue, 16 bytes: four little-endian words, of which the last to be
written has the phase.

``index``: the ring's consumer index behind the descriptor that is done with, or the entry of the
region. ``tag``: the descriptor's. ``count``: bytes of an ordinary frame; buckets of a message
that were acknowledged, or that came. ``detail``: frames of a message that were sent again.
"""
