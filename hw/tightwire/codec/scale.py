"""From a norm to what every element of its bucket is multiplied by (wire-format.md, section 6)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..arith.divide import Divider
from ..formats import NAN
from ..stream.beat import CODEC
from ..stream.delay import Delay
from .choice import by_bits, is_uniform

__all__ = ["NORM_REQUEST", "SCALE", "Scale"]

NORM_REQUEST = data.StructLayout({
    "largest": 31,    # the largest magnitude, exponent field 255 if the bucket is not finite
    "euclidean": 1,   # the norm is the next root, and not ``largest``
    "codec": CODEC,
})

SCALE = data.StructLayout({
    "norm": 31,            # the record's norm but for the sign, which is never set
    "dead": 1,             # all codes are 0: the norm is 0 or not finite
    "k": 18,               # K of section 6
    "offset": signed(10),  # see Scale
})


class Scale(wiring.Component):
    """Chooses the norm of a bucket and divides by it.

    The quantiser shifts the product P of an element with exponent field e right by 12 and then
    by y = offset - e, which leaves 16 bits of fraction. In the terms of section 7:

    * uniform: 12 + y = h - 16, so offset = t + q - 34;
    * exponential, below the lowest level: 12 + y = h - 16 - s, so offset = t + q - 33 - top.

    Latency ``Scale.latency`` clocks; one norm every ``interval`` clocks, later ones wait.

    Parameters
    ----------
    interval : int
        The fewest clocks between two norms.

    Members
    -------
    i : In, stream of NORM_REQUEST, in the order of the buckets
    root : In, stream of 31-bit float32, one for each request that is ``euclidean``
    o_valid, o : Out, SCALE, for one clock
    """

    latency = 1 + Divider.latency

    def __init__(self, *, interval):
        self.interval = interval
        super().__init__({
            "i": In(stream.Signature(NORM_REQUEST)),
            "root": In(stream.Signature(31)),
            "o_valid": Out(1),
            "o": Out(SCALE),
        })

    def elaborate(self, platform):
        m = Module()
        request = self.i.p
        pause = Signal(range(self.interval))
        take = Signal()
        m.d.comb += [
            take.eq(self.i.valid & (~request.euclidean | self.root.valid) & (pause == 0)),
            self.i.ready.eq(take),
            self.root.ready.eq(take & request.euclidean),
        ]
        with m.If(take):
            m.d.sync += pause.eq(self.interval - 1)
        with m.Elif(pause != 0):
            m.d.sync += pause.eq(pause - 1)

        norm = Signal(31)
        zero = request.largest[23:] == 0
        with m.If(zero):
            m.d.comb += norm.eq(0)
        with m.Elif(request.largest[23:].all() | (request.euclidean & self.root.p[23:].all())):
            m.d.comb += norm.eq(NAN)
        with m.Elif(request.euclidean & (self.root.p > request.largest)):
            m.d.comb += norm.eq(self.root.p)
        with m.Else():
            m.d.comb += norm.eq(request.largest)

        codec = request.codec
        uniform = is_uniform(codec)
        # t is 40, 38 or 34 for c = 1, 7 or 127, and one more where the dividend was doubled.
        base = by_bits(codec, *(Const(t - 34, signed(9)) for t in (40, 38, 34)))
        base_exponential = by_bits(
            codec, *(Const(40 - 33 - top, signed(9)) for top in (1, 7, 127)))
        carried = data.StructLayout({"norm": 31, "dead": 1, "offset": signed(10)})
        taken = Signal(carried, reset_less=True)
        taken_valid = Signal()
        dividend = Signal(24, reset_less=True)
        m.d.sync += [
            taken_valid.eq(take),
            taken.norm.eq(norm),
            taken.dead.eq((norm[23:] == 0) | norm[23:].all()),
            taken.offset.eq(norm[23:] + Mux(uniform, base, base_exponential)),
            # c of section 6, its highest bit at bit 23
            dividend.eq(Mux(uniform, by_bits(codec, 1 << 23, 7 << 21, 127 << 17), 1 << 23)),
        ]

        m.submodules.divider = divider = Divider(interval=self.interval)
        m.submodules.carry = carry = Delay(carried, Divider.latency)
        carry_out = Signal(carried)
        m.d.comb += [
            divider.i_valid.eq(taken_valid),
            divider.a.eq(dividend),
            divider.b.eq(Cat(taken.norm[:23], Const(1, 1))),
            carry.i.eq(taken),
            carry_out.eq(carry.o),
            self.o_valid.eq(divider.o_valid),
            self.o.norm.eq(carry_out.norm),
            self.o.dead.eq(carry_out.dead),
            self.o.k.eq(divider.quotient),
            self.o.offset.eq(carry_out.offset + divider.shifted),
        ]
        return m
