"""The benches notice a stream that breaks the rules."""

import pytest
from amaranth.hdl import Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from .bench import pump


class _Wire(wiring.Component):
    """A stream straight through, but for what a fault says of every fourth clock."""

    def __init__(self, fault):
        self.fault = fault
        super().__init__({"i": In(stream.Signature(8)), "o": Out(stream.Signature(8))})

    def elaborate(self, platform):
        m = Module()
        clock = Signal(2)
        now = clock == 3
        m.d.sync += clock.eq(clock + 1)
        m.d.comb += [
            self.o.valid.eq(self.i.valid & ~(now if self.fault in ("hide", "lose") else 0)),
            self.o.payload.eq(self.i.payload ^ (now if self.fault == "alter" else 0)),
            self.i.ready.eq(self.o.ready & ~(now if self.fault in ("hide", "repeat") else 0)),
        ]
        return m


@pytest.mark.parametrize("fault, complaint", [
    ("hide", "valid fell while it waited"),
    ("alter", "the payload changed while it waited"),
    ("lose", "valid fell while it waited|19 of 20|items came, then nothing"),
    ("repeat", "one item too many"),
])
def test_a_fault_is_noticed(fault, complaint):
    with pytest.raises(AssertionError, match=complaint):
        pump(_Wire(fault), list(range(20)), 20, seed=1, paces=(1, 0.5))


def test_a_right_one_passes():
    _, sink = pump(_Wire(None), list(range(20)), 20, seed=1, paces=(0.7, 0.5))
    assert sink.items == list(range(20))
