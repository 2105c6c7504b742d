"""The integer square root."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from .recurrence import Recurrence

__all__ = ["SquareRoot"]

_DIGITS = 13
_BITS = 4 * _DIGITS


class SquareRoot(wiring.Component):
    """floor(sqrt(square)) for squares of up to 52 bits.

    Radix 4, restoring. With root q and rest r so far, the digit is the largest d for which
    d * (8q + d) <= 16r + (the next four bits): three comparisons side by side.

    Latency ``SquareRoot.latency`` clocks; one root every ``interval`` clocks. Nothing waits.

    Parameters
    ----------
    interval : int
        The fewest clocks between two valid inputs.

    Members
    -------
    i_valid, square : In
    o_valid : Out
    root : Out(26)
    """

    latency = _DIGITS + 1

    def __init__(self, *, interval):
        self.interval = interval
        super().__init__({
            "i_valid": In(1), "square": In(_BITS), "o_valid": Out(1), "root": Out(2 * _DIGITS),
        })

    def elaborate(self, platform):
        m = Module()
        layout = data.StructLayout({
            "square": _BITS, "rest": 2 * _DIGITS + 1, "root": 2 * _DIGITS})
        m.submodules.digits = digits = Recurrence(
            layout, _digit, count=_DIGITS, interval=self.interval)
        m.d.comb += [
            digits.i_valid.eq(self.i_valid),
            digits.i.square.eq(self.square),
        ]
        m.d.sync += [self.o_valid.eq(digits.o_valid), self.root.eq(digits.o.root)]
        return m


def _digit(m, state):
    width = len(state.rest) + 5
    rest = Cat(state.square[-4:], state.rest)
    root8 = Cat(Const(1, 3), state.root)  # 8q + 1
    less = [Signal(width, name=f"less_{n}") for n in (1, 2, 3)]
    m.d.comb += [
        less[0].eq(rest - root8),
        less[1].eq(rest - Cat(Const(4, 4), state.root)),  # 16q + 4
        less[2].eq(rest - Cat(Const(8, 4), state.root) - root8),  # 24q + 9
    ]
    fits = [~value[-1] for value in less]
    return {
        "square": state.square << 4,
        "rest": Mux(fits[1], Mux(fits[2], less[2], less[1]), Mux(fits[0], less[0], rest)),
        "root": Cat(Mux(fits[1], fits[2], fits[0]), fits[1], state.root),
    }
