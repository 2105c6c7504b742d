"""The quotient of two normalised numbers."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .recurrence import Recurrence

__all__ = ["Divider"]

_DIGITS = 9


class Divider(wiring.Component):
    """floor(x / b * 2^17), x being a where a >= b and 2a where not: 18 bits, the highest set.

    Both K and W of the wire format (sections 6 and 9) are such quotients. Radix 4, restoring:
    the digit is found by three subtractions side by side, so that a clock has one carry chain.

    Latency ``Divider.latency`` clocks; one division every ``interval`` clocks. Nothing waits.

    Parameters
    ----------
    interval : int
        The fewest clocks between two valid inputs.

    Members
    -------
    i_valid, a, b : In; a and b have 24 bits, the highest set
    o_valid : Out
    quotient : Out(18)
    shifted : Out(1), set where x = 2a
    """

    latency = 1 + _DIGITS

    def __init__(self, *, interval):
        self.interval = interval
        super().__init__({
            "i_valid": In(1), "a": In(24), "b": In(24),
            "o_valid": Out(1), "quotient": Out(18), "shifted": Out(1),
        })

    def elaborate(self, platform):
        m = Module()

        # Both first remainders side by side; the sign of one says which it is.
        once = Signal(25)
        twice = Signal(25)
        m.d.comb += [once.eq(self.a - self.b), twice.eq((self.a << 1) - self.b)]
        shifted = once[24]

        layout = data.StructLayout({
            "rest": 24, "b": 24, "b3": 26, "fraction": 2 * _DIGITS, "shifted": 1})
        m.submodules.digits = digits = Recurrence(
            layout, _digit, count=_DIGITS, interval=self.interval)
        m.d.comb += [
            digits.i_valid.eq(self.i_valid),
            digits.i.rest.eq(Mux(shifted, twice, once)),
            digits.i.b.eq(self.b),
            digits.i.b3.eq(self.b + (self.b << 1)),
            digits.i.shifted.eq(shifted),
        ]
        m.d.sync += [
            self.o_valid.eq(digits.o_valid),
            self.quotient.eq(Cat(digits.o.fraction[1:], Const(1, 1))),
            self.shifted.eq(digits.o.shifted),
        ]
        return m


def _digit(m, state):
    rest = Cat(Const(0, 2), state.rest)
    less = [Signal(27, name=f"less_{n}") for n in (1, 2, 3)]
    m.d.comb += [
        less[0].eq(rest - state.b),
        less[1].eq(rest - (state.b << 1)),
        less[2].eq(rest - state.b3),
    ]
    fits = [~value[26] for value in less]
    return {
        "rest": Mux(fits[1], Mux(fits[2], less[2], less[1]), Mux(fits[0], less[0], rest)),
        # 3, 2, 1, 0: the high bit is set from 2 on, the low one for 1 and 3.
        "fraction": Cat(Mux(fits[1], fits[2], fits[0]), fits[1], state.fraction),
    }
