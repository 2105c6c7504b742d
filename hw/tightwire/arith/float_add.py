"""Addition of two float32."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..formats import NAN

__all__ = ["FloatAdd"]

INFINITY = 0x7F800000

_GUARD = 3  # guard, round and sticky bit: enough to round a difference right (Goldberg 1991, 2.1)
_SUM = 24 + _GUARD + 1  # a sum with its carry


class FloatAdd(wiring.Component):
    """``o`` is ``a + b`` of ``latency`` clocks ago, as IEEE 754-2019 has it.

    Rounds to nearest, ties to even; subnormals are kept. Where the result is not a number it is
    ``formats.NAN``, whichever NaN went in, so that it does not depend on the order of the two.
    A pipeline without control: one sum a clock.

    Members
    -------
    a, b : In(32), o : Out(32)
    """

    latency = 7

    def __init__(self):
        super().__init__({"a": In(32), "b": In(32), "o": Out(32)})

    def elaborate(self, platform):
        m = Module()

        def stage(number, **shapes):
            return [Signal(shape, name=f"{name}_{number}", reset_less=True)
                    for name, shape in shapes.items()]

        # 1: which is larger in magnitude?
        swap, a_1, b_1 = stage(1, swap=1, a=32, b=32)
        m.d.sync += [swap.eq(self.a[:31] < self.b[:31]), a_1.eq(self.a), b_1.eq(self.b)]

        # 2: how far is the smaller one to be shifted?
        big, small = Mux(swap, b_1, a_1), Mux(swap, a_1, b_1)
        sign_2, minus_2, exponent_2, shift_2, big_2, small_2, special_2 = stage(
            2, sign=1, minus=1, exponent=8, shift=8, big=24, small=24, special=2)

        def normal(bits):
            return bits[23:31].any()

        minus = big[31] ^ small[31]
        same = Signal()
        m.d.comb += same.eq(big[:31] == small[:31])
        nan = big[23:31].all() & (big[:23].any() | same & minus)
        m.d.sync += [
            minus_2.eq(minus),
            # What cancels is +0.
            sign_2.eq(big[31] & ~(minus & same)),
            exponent_2.eq(big[23:31] | ~normal(big)),  # a subnormal's exponent is 1
            shift_2.eq((big[23:31] | ~normal(big)) - (small[23:31] | ~normal(small))),
            big_2.eq(Cat(big[:23], normal(big))),
            small_2.eq(Cat(small[:23], normal(small))),
            special_2.eq(Cat(big[23:31].all(), nan)),
        ]

        # 3: shift it; what falls out is kept in the sticky bit.
        sign_3, minus_3, exponent_3, big_3, small_3, special_3 = stage(
            3, sign=1, minus=1, exponent=8, big=24, small=24 + _GUARD, special=2)
        wide = Cat(Const(0, _GUARD), small_2)
        shifted = Signal(24 + _GUARD)
        lost = Signal()
        by = shift_2[:5]
        # Only the places that a shift can empty count: a mask instead of a second shifter.
        m.d.comb += [
            shifted.eq(wide >> by),
            lost.eq((wide & ~(((1 << (24 + _GUARD)) - 1) << by)[:24 + _GUARD]).any()),
        ]
        m.d.sync += [
            sign_3.eq(sign_2), minus_3.eq(minus_2), exponent_3.eq(exponent_2), big_3.eq(big_2),
            special_3.eq(special_2),
            small_3.eq(Cat(shifted[0] | lost, shifted[1:])),
        ]
        with m.If(shift_2[5:].any() | (by >= 24 + _GUARD)):
            m.d.sync += small_3.eq(small_2.any())

        # 4: add or subtract.
        sign_4, exponent_4, sum_4, special_4 = stage(
            4, sign=1, exponent=8, sum=_SUM, special=2)
        m.d.sync += [
            sign_4.eq(sign_3), exponent_4.eq(exponent_3), special_4.eq(special_3),
            sum_4.eq((Cat(Const(0, _GUARD), big_3) + (small_3 ^ minus_3.replicate(24 + _GUARD))
                      + minus_3) & Mux(minus_3, (1 << (_SUM - 1)) - 1, (1 << _SUM) - 1)),
        ]

        # 5: how far is the sum to be shifted up, at most to the exponent's end?
        sign_5, exponent_5, sum_5, up_5, special_5 = stage(
            5, sign=1, exponent=8, sum=_SUM, up=5, special=2)
        zeros = Signal(5)
        m.d.comb += zeros.eq(_SUM - 1)
        for n in range(_SUM):
            with m.If(sum_4[n]):
                m.d.comb += zeros.eq(_SUM - 1 - n)
        m.d.sync += [
            sign_5.eq(sign_4), exponent_5.eq(exponent_4), sum_5.eq(sum_4), special_5.eq(special_4),
            # The carry's place is one above that of the hidden bit.
            up_5.eq(Mux(zeros > exponent_4, exponent_4, zeros)),
        ]
        with m.If(~sum_4.any()):
            m.d.sync += [exponent_5.eq(0), up_5.eq(0)]

        # 6: shift it.
        sign_6, exponent_6, sum_6, infinite_6, nan_6 = stage(
            6, sign=1, exponent=8, sum=_SUM, infinite=1, nan=1)
        m.d.sync += [
            sign_6.eq(sign_5), sum_6.eq(sum_5 << up_5), nan_6.eq(special_5[1]),
            # One less than it will be: a hidden bit that is there adds the one that lacks.
            exponent_6.eq(exponent_5 - up_5),
            infinite_6.eq(special_5[0] | (exponent_5 == 254) & sum_5[-1]),
        ]

        # 7: round. A carry goes on into the exponent, up to infinity.
        up = sum_6[_GUARD] & (sum_6[:_GUARD].any() | sum_6[_GUARD + 1])
        m.d.sync += self.o.eq(Cat(
            (sum_6[_GUARD + 1:] + (exponent_6 << 23) + up)[:31], sign_6))
        with m.If(infinite_6):
            m.d.sync += self.o[:31].eq(INFINITY)
        with m.If(nan_6):
            m.d.sync += self.o.eq(NAN)
        return m
