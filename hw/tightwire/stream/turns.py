"""Whose turn it is among several that ask."""

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Turns"]


class Turns(wiring.Component):
    """Round robin: of those that ask, the next one behind the last whose turn it was.

    ``index`` and ``any`` follow ``ask`` in the same clock; ``index`` means something with ``any``.

    Parameters
    ----------
    n : int

    Members
    -------
    ask : In(n)
    index : Out, who is next
    any : Out(1), somebody asks
    next : In(1), the turn of ``index`` has been
    """

    def __init__(self, n):
        if n < 1:
            raise ValueError(f"n must be 1 or more, not {n}")
        self.n = n
        super().__init__({
            "ask": In(n), "index": Out(range(n)), "any": Out(1), "next": In(1)})

    def elaborate(self, platform):
        m = Module()
        last = Signal(range(self.n))
        m.d.comb += self.any.eq(self.ask.any())
        with m.Switch(last):
            for at in range(self.n):
                with m.Case(at):
                    # The later an assignment, the more it counts.
                    for step in reversed(range(1, self.n + 1)):
                        other = (at + step) % self.n
                        with m.If(self.ask[other]):
                            m.d.comb += self.index.eq(other)
        with m.If(self.next):
            m.d.sync += last.eq(self.index)
        return m
