"""AXI4 as streams: one for each channel. Standard names are only at the edges of a top."""

from amaranth.lib import data, enum, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice

__all__ = ["ADDRESS_BITS", "BURST_BYTES", "AxiRead", "AxiWrite", "Response", "burst_layout",
           "is_error"]

ADDRESS_BITS = 64

BURST_BYTES = 4096
"""No burst crosses a multiple of this (AXI4, A3.4.1)."""


class Response(enum.Enum, shape=2):
    """AXI4, A3.4.4."""

    OKAY = 0
    EXOKAY = 1
    SLVERR = 2
    DECERR = 3


def is_error(response):
    """Whether memory could not do what it was asked for."""
    return (response == Response.SLVERR) | (response == Response.DECERR)


def burst_layout(id_bits):
    """One burst of whole beats, of type INCR: ``beats`` is one less than their number."""
    return data.StructLayout({"address": ADDRESS_BITS, "beats": 8, "id": id_bits})


def AxiRead(lanes, id_bits=0):
    """The two channels of a master that reads.

    Members
    -------
    ar : Out, stream of ``burst_layout``
    r : In, stream of data, response, last, id
    """
    check_choice("lanes", lanes, LANES)
    return wiring.Signature({
        "ar": Out(stream.Signature(burst_layout(id_bits))),
        "r": In(stream.Signature(data.StructLayout({
            "data": data.ArrayLayout(32, lanes), "response": Response, "last": 1,
            "id": id_bits}))),
    })


def AxiWrite(lanes, id_bits=0):
    """The three channels of a master that writes.

    Members
    -------
    aw : Out, stream of ``burst_layout``
    w : Out, stream of data, strobes (one a byte), last
    b : In, stream of response, id
    """
    check_choice("lanes", lanes, LANES)
    return wiring.Signature({
        "aw": Out(stream.Signature(burst_layout(id_bits))),
        "w": Out(stream.Signature(data.StructLayout({
            "data": data.ArrayLayout(32, lanes), "strobes": 4 * lanes, "last": 1}))),
        "b": In(stream.Signature(data.StructLayout({"response": Response, "id": id_bits}))),
    })
