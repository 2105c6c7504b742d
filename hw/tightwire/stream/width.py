"""Between bytes and beats."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .buffer import Buffer

__all__ = ["BYTE", "WORD", "Gather", "Scatter"]

BYTE = data.StructLayout({"data": 8, "last": 1, "error": 1})
"""A byte of a frame; ``error`` with ``last``, or at any byte where that is said."""

WORD = data.StructLayout({"data": 32, "empty": 2, "last": 1, "error": 1})
"""A word of a frame, its first byte in bits 7:0; ``empty`` bytes at its end are not used."""


class Scatter(wiring.Component):
    """Words in, bytes out. ``error`` counts with ``last``.

    Latency 2 clocks; one byte a clock, with no bubble between words or frames.

    Members
    -------
    i : In, stream of ``WORD``; ready comes from a register
    o : Out, stream of ``BYTE``
    """

    latency = 2

    def __init__(self):
        super().__init__({"i": In(stream.Signature(WORD)), "o": Out(stream.Signature(BYTE))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = Buffer(WORD)
        wiring.connect(m, wiring.flipped(self.i), buffer.i)
        word = Signal(WORD, reset_less=True)
        left = Signal(2)  # bytes after this one
        valid = Signal()
        end = Signal()
        m.d.comb += [
            end.eq(valid & (left == 0) & self.o.ready),
            buffer.o.ready.eq(~valid | end),
            self.o.valid.eq(valid),
            self.o.p.data.eq(word.data[:8]),
            self.o.p.last.eq(word.last & (left == 0)),
            self.o.p.error.eq(word.error & word.last & (left == 0)),
        ]
        with m.If(buffer.o.ready):
            m.d.sync += valid.eq(buffer.o.valid)
        with m.If(buffer.o.ready & buffer.o.valid):
            m.d.sync += [word.eq(buffer.o.p),
                         left.eq(Mux(buffer.o.p.last, 3 - buffer.o.p.empty, 3))]
        with m.Elif(valid & self.o.ready & (left != 0)):
            m.d.sync += [word.data.eq(word.data >> 8), left.eq(left - 1)]
        return m


class Gather(wiring.Component):
    """Bytes in, words out, for a source that cannot wait: there is no ready.

    The unused bytes of a frame's last word are 0. A mark on any byte is on its word. Latency 1
    clock from the byte that fills a word or ends the frame.

    Members
    -------
    i_valid, i : In, a ``BYTE``
    o_valid, o : Out, a ``WORD``
    """

    latency = 1

    def __init__(self):
        super().__init__({"i_valid": In(1), "i": In(BYTE), "o_valid": Out(1), "o": Out(WORD)})

    def elaborate(self, platform):
        m = Module()
        at = Signal(2)
        full = Signal()
        word = Signal(WORD, reset_less=True)
        m.d.comb += [full.eq(self.i_valid & ((at == 3) | self.i.last)), self.o.eq(word)]
        m.d.sync += self.o_valid.eq(full)
        with m.If(self.i_valid):
            m.d.sync += at.eq(Mux(self.i.last, 0, at + 1))
            m.d.sync += [word.empty.eq(3 - at), word.last.eq(self.i.last)]
            with m.If(at == 0):
                m.d.sync += [word.data.eq(self.i.data), word.error.eq(self.i.error)]
            with m.Else():
                m.d.sync += [word.data.word_select(at, 8).eq(self.i.data),
                             word.error.eq(word.error | self.i.error)]
        return m
