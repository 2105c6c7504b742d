"""The two norms of a bucket, each from one pass over it (wire-format.md, section 5)."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..arith.root import SquareRoot
from ..config import LANES, check_choice
from ..formats import BUCKETS

__all__ = ["LargestPass", "EuclideanPass"]

_EXPONENT = slice(23, 31)
_FRACTION_KEPT = slice(6, 23)  # m >> 6, without its leading one


def _groups(items, size):
    return [items[n:n + size] for n in range(0, len(items), size)]


class LargestPass(wiring.Component):
    """The largest magnitude of a bucket, as the 31 low bits of a float32.

    Subnormals count as zero. A bucket that holds an infinity or a NaN yields a magnitude with
    exponent field 255, the largest of those found.

    Latency ``latency`` clocks from the bucket's last beat; one beat a clock. Nothing waits.

    Parameters
    ----------
    lanes : int

    Members
    -------
    i_valid, i, i_end : In; ``i_end`` with the last beat of a bucket
    o_valid, o : Out, for one clock
    """

    def __init__(self, *, lanes):
        self.lanes = check_choice("lanes", lanes, LANES)
        # Four to one in a clock: two comparisons in a row.
        self.latency = (lanes.bit_length() - 1 + 1) // 2 + 1
        super().__init__({
            "i_valid": In(1), "i": In(data.ArrayLayout(32, lanes)), "i_end": In(1),
            "o_valid": Out(1), "o": Out(31),
        })

    def elaborate(self, platform):
        m = Module()

        def larger(a, b):
            return Mux(a < b, b, a)

        values = []
        for lane in range(self.lanes):
            value = Signal(31, name=f"value_{lane}")
            # A subnormal needs no flush: where it is the largest, whoever reads the result sees
            # exponent field 0, which is zero.
            m.d.comb += value.eq(self.i[lane][:31])
            values.append(value)
        valid, end = self.i_valid, self.i_end
        while len(values) > 1:
            layer = []
            for n, group in enumerate(_groups(values, 4)):
                stage = Signal(31, name=f"largest_{len(values)}_{n}", reset_less=True)
                pairs = [larger(*pair) if len(pair) == 2 else pair[0]
                         for pair in _groups(group, 2)]
                m.d.sync += stage.eq(larger(*pairs) if len(pairs) == 2 else pairs[0])
                layer.append(stage)
            valid_next = Signal(name=f"valid_{len(values)}")
            end_next = Signal(name=f"end_{len(values)}", reset_less=True)
            m.d.sync += [valid_next.eq(valid), end_next.eq(end)]
            values, valid, end = layer, valid_next, end_next

        begin = Signal(init=1)
        m.d.sync += self.o_valid.eq(valid & end)
        with m.If(valid):
            m.d.sync += [self.o.eq(Mux(begin, values[0], larger(values[0], self.o))),
                         begin.eq(end)]
        return m


class EuclideanPass(wiring.Component):
    """The 2-norm of a bucket whose largest magnitude is known.

    The result is the root of the sum of the squares, as the 31 low bits of a float32, before it
    is compared with the largest magnitude; exponents from 255 up come out as 255.

    Latency ``latency`` clocks from the bucket's last beat; one beat a clock. Nothing waits.

    Parameters
    ----------
    lanes : int
    max_bucket : int

    Members
    -------
    i_valid, i, i_end : In, as for LargestPass
    exponent : In(8), the largest exponent field of the bucket, with each of its beats
    log2_bucket : In(4)
    o_valid, o : Out, for one clock
    """

    _SQUARE_STAGES = 5

    def __init__(self, *, lanes, max_bucket):
        self.lanes = check_choice("lanes", lanes, LANES)
        self.max_bucket = check_choice("max_bucket", max_bucket, BUCKETS)
        self.tree = lanes.bit_length() - 1
        self.latency = self._SQUARE_STAGES + self.tree + 1 + SquareRoot.latency + 1
        super().__init__({
            "i_valid": In(1), "i": In(data.ArrayLayout(32, lanes)), "i_end": In(1),
            "exponent": In(8), "log2_bucket": In(4), "o_valid": Out(1), "o": Out(31),
        })

    def elaborate(self, platform):
        m = Module()

        def after(signal, clocks, name, reset_less=True):
            for n in range(clocks):
                stage = Signal.like(signal, name=f"{name}_{n + 1}", reset_less=reset_less)
                m.d.sync += stage.eq(signal)
                signal = stage
            return signal

        squares = []
        for lane in range(self.lanes):
            word = self.i[lane]
            # 1: how far below the largest
            below_1 = Signal(8, name=f"below_1_{lane}", reset_less=True)
            value_1 = Signal(18, name=f"value_1_{lane}", reset_less=True)
            m.d.sync += [
                below_1.eq(self.exponent - word[_EXPONENT]),
                value_1.eq(Mux(word[_EXPONENT] == 0, 0, Cat(word[_FRACTION_KEPT], Const(1, 1)))),
            ]
            # 2, 3: shifted there
            below_2 = Signal(2, name=f"below_2_{lane}", reset_less=True)
            value_2 = Signal(18, name=f"value_2_{lane}", reset_less=True)
            value_3 = Signal(18, name=f"value_3_{lane}", reset_less=True)
            coarse = below_1[2:5]
            m.d.sync += [
                below_2.eq(below_1[:2]),
                value_2.eq(Mux(below_1[5:].any(), 0, value_1 >> (coarse << 2))),
                value_3.eq(value_2 >> below_2),
            ]
            # 4, 5: squared, less c^2 with c = 2^17: (a - c) * (a + c). So the narrow side of a
            # multiplier of UltraScale+, which is signed, takes 18 bits.
            top = value_3[17]
            minus = Cat(value_3[:17], ~top).as_signed()
            plus = Cat(value_3[:17], ~top, top)
            square_4 = Signal(signed(37), name=f"square_4_{lane}", reset_less=True)
            square_5 = Signal(signed(37), name=f"square_5_{lane}", reset_less=True)
            m.d.sync += [square_4.eq(minus * plus), square_5.eq(square_4)]
            squares.append(square_5)

        while len(squares) > 1:
            layer = []
            for n, (a, b) in enumerate(_groups(squares, 2)):
                stage = Signal(signed(len(a) + 1), reset_less=True,
                               name=f"sum_{len(squares)}_{n}")
                m.d.sync += stage.eq(a + b)
                layer.append(stage)
            squares = layer

        stages = self._SQUARE_STAGES + self.tree
        valid = after(self.i_valid, stages, "valid", reset_less=False)
        end = after(self.i_end, stages, "end")
        # The exponent is steady over a bucket; it is wanted when the root is there.
        # What was left out of the squares is made good at the beginning of a bucket.
        left_out = Signal(36 + self.max_bucket.bit_length() - 1)
        m.d.comb += left_out.eq((1 << 34) << after(self.log2_bucket, stages, "log2_bucket"))
        total = Signal.like(left_out, reset_less=True)
        total_valid = Signal()
        begin = Signal(init=1)
        m.d.sync += total_valid.eq(valid & end)
        with m.If(valid):
            m.d.sync += [total.eq(Mux(begin, left_out, total) + squares[0]), begin.eq(end)]

        bucket_beats = 64 // self.lanes
        m.submodules.root = root = SquareRoot(interval=bucket_beats)
        m.d.comb += [root.i_valid.eq(total_valid), root.square.eq(total)]
        exponent = after(self.exponent, stages + 1 + SquareRoot.latency, "exponent")

        # The root has 18 to 25 bits: its highest goes to bit 23.
        shift = Signal(3)
        for n in range(8):
            with m.If(root.root[17 + n]):
                m.d.comb += shift.eq(n)
        mantissa = Signal(24)
        field = Signal(9)
        m.d.comb += [
            mantissa.eq((root.root << 7 >> shift) >> 1),
            field.eq(exponent + shift),
        ]
        m.d.sync += [
            self.o_valid.eq(root.o_valid),
            self.o.eq(Cat(mantissa[:23], Mux(field >= 255, 255, field)[:8])),
        ]
        return m
