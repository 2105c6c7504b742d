"""Descriptors of messages, and how many words a frame of one has."""

from amaranth.hdl import Mux
from amaranth.lib import data

from ..codec.choice import is_raw
from ..dma.axi import ADDRESS_BITS
from ..stream.beat import CODEC

__all__ = ["KIND_MESSAGE", "MESSAGE", "assign_message", "body_shift"]

KIND_MESSAGE = 2
"""Kind of the transmit descriptors that are messages."""

MESSAGE = data.StructLayout({
    "kind": 8, "codec": CODEC, "log2_bucket": 4, "peer": 8, "tag": 32, "address": ADDRESS_BITS,
    "bytes": 32, "stream": 16, "message": 16, "span": 16, "index": 16, "error": 1})
"""A message to be sent, as its descriptor has it. ``span``: buckets in a frame; ``index``: the
ring's consumer index behind it; ``error``: the descriptor could not be read."""


def assign_message(message, fetched):
    """Statements that take a MESSAGE out of a descriptor (``dma.ring.FETCHED``)."""
    words = fetched.words
    fields = {
        "kind": words[0][:8], "codec": words[0][8:16], "log2_bucket": words[0][16:20],
        "peer": words[0][24:32], "tag": words[1], "bytes": words[4], "stream": words[5][:16],
        "message": words[5][16:], "span": words[6][:16], "index": fetched.index,
        "error": fetched.error}
    return [
        *(message[name].eq(field) for name, field in fields.items()),
        message.address[:32].eq(words[2]), message.address[32:].eq(words[3]),
    ]


def body_shift(codec, log2_bucket):
    """log2 of the 32-bit words of a bucket's record, its norm left out: B, B/16, B/8 or B/4."""
    return Mux(is_raw(codec), log2_bucket, log2_bucket + codec.bits - 5)[:4]
