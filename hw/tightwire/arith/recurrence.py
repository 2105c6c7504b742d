"""Digit recurrences, unrolled as far as their rate asks for."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Recurrence"]


class Recurrence(wiring.Component):
    """Applies ``step`` to a state ``count`` times, one application a clock.

    One set of hardware serves up to ``interval`` applications, so the cost is
    ceil(count / interval) steps. Latency ``count`` clocks; throughput one state every
    ``interval`` clocks. Nothing waits: the result is valid for one clock, and comes straight out
    of the last step, for the owner to register.

    A state that comes sooner spoils the one before it, and is right itself.

    Parameters
    ----------
    layout : amaranth.lib.data.Layout
        The state.
    step : callable
        ``step(m, state) -> dict`` of member name to expression; a member that it leaves out
        stays as it is.
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
            held = Signal(self.layout, reset_less=True, name=f"state_{left}")
            stepped = Signal(self.layout, name=f"stepped_{left}")
            m.d.comb += stepped.eq(held)
            for name, value in self.step(m, held).items():
                m.d.comb += stepped[name].eq(value)
            m.d.sync += held.eq(stepped)
            with m.If(valid):
                m.d.sync += held.eq(state)
            applied = min(left, self.interval)
            for n in range(applied):
                delayed = Signal(name=f"valid_{left}_{n}")
                m.d.sync += delayed.eq(valid)
                valid = delayed
            state = stepped
            left -= applied
        m.d.comb += [self.o_valid.eq(valid), self.o.eq(state)]
        return m
