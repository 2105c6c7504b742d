"""Cuts pieces of memory into bursts."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from .axi import ADDRESS_BITS, BURST_BYTES, burst_layout
from .transfer import BYTES_BITS, request_layout

__all__ = ["Bursts", "piece_layout"]

_MOST_BEATS = 256  # of a burst (AXI4, A3.4.1)


def piece_layout(lanes, tag):
    """What is left to do for a piece once it is asked for.

    Members
    -------
    bytes : of the piece
    skip : words of its first beat in memory that come before it
    tag : the request's
    """
    return data.StructLayout({"bytes": BYTES_BITS, "skip": range(lanes), "tag": tag})


class Bursts(wiring.Component):
    """Asks for each piece in bursts of whole beats that never cross 4 KB.

    A burst has as many beats as that rule, the piece and ``most_beats`` allow. It waits until
    there is room for all of it. Latency 3 clocks; a burst takes 3 clocks, a piece 1 more. The two
    lowest bits of an address are not looked at.

    Parameters
    ----------
    lanes : int
    tag : shape-like
    most_beats : int
        The longest burst, 1 to 256.

    Members
    -------
    request : In, stream of ``request_layout``
    piece : Out, stream of ``piece_layout``, as soon as a request is taken
    burst : Out, stream of ``burst_layout`` without an id
    final : Out(1), with ``burst``: it is the last one of its piece
    tag : Out, with ``burst``: the request's
    room : In, beats for which there is room
    """

    latency = 3

    def __init__(self, *, lanes, tag, most_beats=_MOST_BEATS):
        self.lanes = check_choice("lanes", lanes, LANES)
        if not 1 <= most_beats <= _MOST_BEATS:
            raise ValueError(f"most_beats must be from 1 to {_MOST_BEATS}, not {most_beats}")
        self.most_beats = most_beats
        super().__init__({
            "request": In(stream.Signature(request_layout(tag))),
            "piece": Out(stream.Signature(piece_layout(lanes, tag))),
            "burst": Out(stream.Signature(burst_layout(0))),
            "final": Out(1),
            "tag": Out(tag),
            "room": In(range(1 << 16)),
        })

    def elaborate(self, platform):
        m = Module()
        beat_bits = (4 * self.lanes).bit_length() - 1
        page_beats = BURST_BYTES >> beat_bits
        asked = self.request.p
        tag = Signal.like(self.tag, reset_less=True)
        at = Signal(ADDRESS_BITS - beat_bits, reset_less=True)  # in beats
        left = Signal(BYTES_BITS - beat_bits + 2, reset_less=True)
        beats = Signal(range(_MOST_BEATS + 1), reset_less=True)
        to_page = Signal(range(page_beats + 1))
        # Words are moved, so an address that is not a multiple of 4 must not make a beat more.
        offset = Cat(Const(0, 2), asked.address[2:beat_bits])
        m.d.comb += [
            to_page.eq(page_beats - at[:page_beats.bit_length() - 1]
                       if page_beats > 1 else Const(1)),
            self.piece.p.bytes.eq(asked.bytes),
            self.piece.p.skip.eq(offset[2:] if self.lanes > 1 else 0),
            self.piece.p.tag.eq(asked.tag),
            self.burst.p.address.eq(at << beat_bits),
            self.burst.p.beats.eq(beats - 1),
            self.final.eq(left == beats),
            self.tag.eq(tag),
        ]
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [
                    self.piece.valid.eq(self.request.valid),
                    self.request.ready.eq(self.piece.ready),
                ]
                m.d.sync += [
                    tag.eq(asked.tag),
                    at.eq(asked.address >> beat_bits),
                    left.eq((asked.bytes + offset + (4 * self.lanes - 1)) >> beat_bits),
                ]
                with m.If(self.request.valid & self.piece.ready):
                    m.next = "SIZE"
            with m.State("SIZE"):
                least = Signal(range(max(page_beats, self.most_beats) + 1))
                m.d.comb += least.eq(Mux(to_page < self.most_beats, to_page, self.most_beats))
                m.d.sync += beats.eq(Mux(left < least, left, least))
                m.next = "ASK"
            with m.State("ASK"):
                may = Signal()  # once it has been seen that there is room, that stays so
                enough = Signal()
                m.d.comb += [
                    enough.eq(self.room >= beats),
                    self.burst.valid.eq(may),
                ]
                m.d.sync += may.eq(enough)
                with m.If(self.burst.valid & self.burst.ready):
                    m.d.sync += [may.eq(0), at.eq(at + beats), left.eq(left - beats)]
                    m.next = "SIZE"
                    with m.If(self.final):
                        m.next = "IDLE"
        return m
