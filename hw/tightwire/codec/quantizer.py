"""From elements and the scale of their bucket to codes (wire-format.md, section 7)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..stream.beat import CODEC
from .choice import by_bits, is_uniform, top_of
from .scale import SCALE

__all__ = ["Quantizer"]


class Quantizer(wiring.Component):
    """A beat of elements to a beat of codes.

    Latency ``Quantizer.latency`` clocks, the draws being those of ``Quantizer.draw_latency``
    clocks after the beat; one beat a clock. Nothing waits, and there is no valid: the parent
    keeps what belongs to a beat beside it.

    Parameters
    ----------
    lanes : int

    Members
    -------
    i : In, lanes x float32
    scale : In, SCALE of the beat's bucket
    codec : In, CODEC of its frame
    draws : In, lanes x 16 bits
    o : Out, lanes x 8 bits, a code in the low 2, 4 or 8
    """

    latency = 6
    draw_latency = 4

    def __init__(self, *, lanes):
        self.lanes = check_choice("lanes", lanes, LANES)
        super().__init__({
            "i": In(data.ArrayLayout(32, lanes)),
            "scale": In(SCALE),
            "codec": In(CODEC),
            "draws": In(data.ArrayLayout(16, lanes)),
            "o": Out(data.ArrayLayout(8, lanes)),
        })

    def elaborate(self, platform):
        m = Module()

        # What is the same for all lanes: _n is n clocks after the input.
        layout = data.StructLayout({"codec": CODEC, "exponential": 1, "dead": 1, "k": 18})
        now = Signal(layout)
        m.d.comb += [
            now.codec.eq(self.codec), now.exponential.eq(~is_uniform(self.codec)),
            now.dead.eq(self.scale.dead), now.k.eq(self.scale.k),
        ]
        common = [now]
        for n in range(1, self.latency):
            stage = Signal(layout, name=f"common_{n}", reset_less=True)
            m.d.sync += stage.eq(common[-1])
            common.append(stage)

        for lane in range(self.lanes):
            def register(name, shape, lane=lane):
                return Signal(shape, name=f"{name}_{lane}", reset_less=True)

            word = self.i[lane]
            field = word[23:31]

            # 1, 2: P, and how far it is to be shifted
            # A multiplier of UltraScale+ takes 17 unsigned bits at its narrow side: the leading
            # one of m' goes past it, into its adder.
            product_1 = register("product_1", 35)
            product_2 = register("product_2", 36)
            y_1 = register("y_1", signed(10))
            y_2 = register("y_2", signed(10))
            far_2 = register("far_2", 1)
            up_to_6_2 = register("up_to_6_2", 1)
            up_to_7_2 = register("up_to_7_2", 1)
            sign, zero = word[31], field == 0
            signs = []
            for n in range(1, self.latency):
                stage = register(f"sign_{n}", 2)
                m.d.sync += stage.eq(Cat(sign, zero))
                sign, zero = stage[0], stage[1]
                signs.append(stage)
            m.d.sync += [
                product_1.eq(word[6:23] * self.scale.k),
                product_2.eq(product_1 + (common[1].k << 17)),
                y_1.eq(self.scale.offset - field),
                y_2.eq(y_1),
                # Of y: above 31, up to 6, up to 7. Bits make less logic than comparisons.
                far_2.eq(~y_1[9] & y_1[5:9].any()),
                up_to_6_2.eq(y_1[9] | ~y_1[3:9].any() & ~y_1[:3].all()),
                up_to_7_2.eq(y_1[9] | ~y_1[3:9].any()),
            ]

            # 3, 4: shifted. An exponential level above the lowest is found by the place of the
            # highest bit of P, w = 34 or 35, and its fraction is what stands below that bit. So
            # P is shifted by at least 18 or 19, 12 of them already, and level - 1 is how much
            # more that is than y.
            w35 = product_2[35]
            high = Signal(name=f"high_{lane}")
            amount = Signal(5, name=f"amount_{lane}")
            shifted_3 = register("shifted_3", 24)
            amount_3 = register("amount_3", 3)
            level_3 = register("level_3", 7)
            level_4 = register("level_4", 7)
            shifted_4 = register("shifted_4", 24)
            m.d.comb += [
                high.eq(common[2].exponential & Mux(w35, up_to_7_2, up_to_6_2)),
                amount.eq(Mux(high, 6 + w35, y_2[:5])),
            ]
            m.d.sync += [
                shifted_3.eq(Mux(far_2 & ~high, 0, product_2[12:] >> (amount[3:] << 3))),
                amount_3.eq(amount[:3]),
                # 7 + w35 - y, by one adder: -y is ~y + 1, and w35 is its carry
                level_3.eq(Mux(high, (Cat(1, ~y_2[:7]) + Cat(w35, Const(8, 7)))[1:8], 0)),
                level_4.eq(level_3),
                shifted_4.eq(shifted_3 >> amount_3),
            ]

            # 5: clamped, and compared with the draw
            level = Signal(8, name=f"level_{lane}")
            m.d.comb += level.eq(Mux(common[4].exponential, level_4, shifted_4[16:]))
            over = Signal(name=f"over_{lane}")
            level_5 = register("level_5", 7)
            up_5 = register("up_5", 1)
            m.d.comb += over.eq(by_bits(  # level >= top
                common[4].codec, level.any(), level[3:].any() | level[:3].all(),
                level[7:].any() | level[:7].all()))
            m.d.sync += [
                level_5.eq(Mux(over, top_of(common[4].codec), level)),
                up_5.eq(~over & (self.draws[lane] < shifted_4[:16])),
            ]

            # 6: the code
            rounded = Signal(7, name=f"rounded_{lane}")
            code = self.o[lane]
            sign_5, zero_5 = signs[4][0], signs[4][1]
            m.d.comb += rounded.eq(level_5 + up_5)
            negative = sign_5 & (rounded != 0)
            with m.If(common[5].dead | zero_5):
                m.d.sync += code.eq(0)
            with m.Else():
                m.d.sync += code.eq(by_bits(
                    common[5].codec, Cat(rounded[:1], negative), Cat(rounded[:3], negative),
                    Cat(rounded, negative)))
        return m
