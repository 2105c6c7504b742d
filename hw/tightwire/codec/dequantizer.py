"""From norms and codes to elements (wire-format.md, section 9)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arith.divide import Divider
from ..config import LANES, check_choice
from ..formats import NAN
from ..stream.beat import CODEC
from ..stream.delay import Delay
from .choice import by_bits, is_uniform

__all__ = ["Dequantizer"]


class Dequantizer(wiring.Component):
    """A beat of codes to a beat of elements.

    Latency ``Dequantizer.latency`` clocks, a division by the highest level among them; one beat
    a clock. Nothing waits, and there is no valid but for the norms.

    Parameters
    ----------
    lanes : int

    Members
    -------
    norm_valid, norm : In, with the first beat of a bucket
    codec : In, CODEC, of its frame
    codes : In, lanes x 8 bits, sign then level
    o : Out, lanes x float32
    """

    lane_latency = 4
    latency = Divider.latency + lane_latency

    def __init__(self, *, lanes):
        self.lanes = check_choice("lanes", lanes, LANES)
        super().__init__({
            "norm_valid": In(1), "norm": In(32), "codec": In(CODEC),
            "codes": In(data.ArrayLayout(8, lanes)),
            "o": Out(data.ArrayLayout(32, lanes)),
        })

    def elaborate(self, platform):
        m = Module()

        # W = floor(n / top * 2^j): the divider wants its operands with bit 23 set.
        m.submodules.divider = divider = Divider(interval=64 // self.lanes)
        norm_layout = data.StructLayout({
            "fraction": 23, "field": 8, "uniform": 1, "base": signed(10)})
        norm = Signal(norm_layout)
        uniform = is_uniform(self.codec)
        field = self.norm[23:31]
        # The exponent field of an element is, before its own level has its say,
        # uniform: q - j for level 64 and up; exponential: q - top for level 0.
        base = Mux(uniform,
                   by_bits(self.codec, *(Const(j, signed(9)) for j in (6, 4, 0))),
                   by_bits(self.codec, *(Const(-top, signed(9)) for top in (1, 7, 127))))
        m.d.comb += [
            divider.i_valid.eq(self.norm_valid),
            divider.a.eq(Cat(self.norm[:23], Const(1, 1))),
            divider.b.eq(by_bits(self.codec, 1 << 23, 7 << 21, 127 << 17)),
            norm.fraction.eq(self.norm[:23]),
            norm.field.eq(field),
            norm.uniform.eq(uniform),
            norm.base.eq(field + base),
        ]
        m.submodules.wait = wait = Delay(
            len(norm.as_value()) + 8 * self.lanes, Divider.latency)
        m.d.comb += wait.i.eq(Cat(norm, self.codes))
        norm_now = Signal(norm_layout)
        codes = Signal(data.ArrayLayout(8, self.lanes))
        m.d.comb += Cat(norm_now, codes).eq(wait.o)

        scale_layout = data.StructLayout({
            "w": 18, "fraction": 23, "uniform": 1, "base": signed(10), "nan": 1, "zero": 1})
        held = Signal(scale_layout, reset_less=True)
        scale = Signal(scale_layout)
        m.d.comb += scale.eq(held)
        with m.If(divider.o_valid):
            m.d.comb += [
                scale.w.eq(divider.quotient),
                scale.fraction.eq(norm_now.fraction),
                scale.uniform.eq(norm_now.uniform),
                # In a product of two halves that begin with a one, W's doubling counts.
                scale.base.eq(norm_now.base - (norm_now.uniform & divider.shifted)),
                scale.nan.eq(norm_now.field.all()),
                scale.zero.eq(norm_now.field == 0),
            ]
        m.d.sync += held.eq(scale)

        scales = [scale]  # as many clocks after
        for n in range(1, self.lane_latency):
            stage = Signal(scale_layout, name=f"scale_{n}", reset_less=True)
            m.d.sync += stage.eq(scales[-1])
            scales.append(stage)

        for lane in range(self.lanes):
            def register(name, shape, lane=lane):
                return Signal(shape, name=f"{name}_{lane}", reset_less=True)

            # 1: the level moved up to bit 6, and by how much
            level, sign = codes[lane][:7], codes[lane][7]
            places = Signal(3, name=f"places_{lane}")
            down = Signal(signed(4), name=f"down_{lane}")  # - places
            for n in range(7):
                with m.If(level[n]):
                    m.d.comb += [places.eq(6 - n), down.eq(n - 6)]
            level_1 = register("level_1", 7)
            field_1 = register("field_1", signed(9))
            sign_1 = register("sign_1", 1)
            zero_1 = register("zero_1", 1)
            m.d.sync += [
                level_1.eq(level << places),
                field_1.eq(Mux(scale.uniform, down, level)),
                sign_1.eq(sign),
                zero_1.eq((level == 0) | scale.zero),
            ]

            # 2, 3: times W; the exponent field
            product_2 = register("product_2", 25)
            product_3 = register("product_3", 25)
            field_2 = register("field_2", signed(10))
            field_3 = register("field_3", signed(10))
            sign_2, sign_3 = register("sign_2", 1), register("sign_3", 1)
            zero_2, zero_3 = register("zero_2", 1), register("zero_3", 1)
            m.d.sync += [
                product_2.eq(level_1 * scales[1].w), product_3.eq(product_2),
                field_2.eq(scales[1].base + field_1), field_3.eq(field_2),
                sign_2.eq(sign_1), sign_3.eq(sign_2),
                zero_2.eq(zero_1), zero_3.eq(zero_2),
            ]

            # 4: cut to 24 bits, or the norm's own
            carry = product_3[24] & scales[3].uniform
            fraction = Mux(scales[3].uniform,
                           Mux(product_3[24], product_3[1:24], product_3[:23]), scales[3].fraction)
            field_4 = Signal(signed(11), name=f"field_4_{lane}")
            m.d.comb += field_4.eq(field_3 + carry)
            with m.If(scales[3].nan):
                m.d.sync += self.o[lane].eq(NAN)
            with m.Elif(zero_3 | field_4[-1] | (field_4 == 0)):
                m.d.sync += self.o[lane].eq(0)
            with m.Else():
                m.d.sync += self.o[lane].eq(Cat(fraction, field_4[:8], sign_3))
        return m
