"""Digit recurrences, unrolled as far as their rate asks for."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Recurrence"]


class Recurrence(wiring.Component):
    """Applies ``step`` to a state ``count`` times, one application a clock.

    One set of hardware serves up to ``interval`` applications, so the cost is
    ceil(count / interval) steps. Latency ``count`` clocks; throughput one state every
    ``interval`` clocks. Nothing waits: the result is valid for one clock.

    Parameters
    ----------
    layout : amaranth.lib.data.Layout
        The state.
    step : callable
        ``step(m, state) -> dict`` of member name to expression.
    count : int
    interval : int
        The fewest clocks between two valid inputs.

    Members
    -------
    i_valid, i : In
    o_valid, o : Out
    """

    def __init__(self, layout, step, *, count, interval):
        self.layout = layout
        self.step = step
        self.count = count
        self.interval = interval
        self.latency = count
        super().__init__({
            "i_valid": In(1), "i": In(layout), "o_valid": Out(1), "o": Out(layout),
        })

    def elaborate(self, platform):
        m = Module()
        valid, state, left = self.i_valid, self.i, self.count
        while left:
            applied = min(left, self.interval)
            left -= applied
            held = Signal(self.layout, reset_less=True, name=f"state_{left}")
            source = Signal(self.layout, name=f"source_{left}")
            m.d.comb += source.eq(state if applied == 1 else
                                  Mux(valid, state.as_value(), held.as_value()))
            for name, value in self.step(m, source).items():
                m.d.sync += held[name].eq(value)
            for n in range(applied):
                delayed = Signal(name=f"valid_{left}_{n}")
                m.d.sync += delayed.eq(valid)
                valid = delayed
            state = held
        m.d.comb += [self.o_valid.eq(valid), self.o.eq(state)]
        return m


