"""Many wide counters in one block RAM."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, memory, wiring
from amaranth.lib.wiring import In, Out

from ..stream.ram_queue import following

__all__ = ["CounterBank"]

_GROUP = 8


class CounterBank(wiring.Component):
    """Counts amounts, of which all may come in the same clock, and loses none.

    Each counter first adds up in a few bits of its own. A sweep goes over the counters, one a
    clock, and moves what is there into the counter's 64 bits in memory. So a count is late by at
    most ``late`` clocks. A read takes one clock from the sweep. The counters begin at 0 after a
    reset; reads for the first two sweeps give 0.

    Parameters
    ----------
    amounts : dict of str to int
        Width of what may be added to each counter in a clock.

    Members
    -------
    add : In, of a member for each counter
    read : In(1), at most every other clock
    index : In, the counter to be read, by its place
    value : Out(64), the count, ``read_latency`` clocks after ``read``, for one clock
    """

    read_latency = 3
    _write_latency = 5

    def __init__(self, amounts):
        self.amounts = dict(amounts)
        # A counter must be back in memory before it is read again.
        self.period = max(len(self.amounts), 2 * self._write_latency)
        self.late = 2 * self.period + self._write_latency  # with a read every other clock
        super().__init__({
            "add": In(data.StructLayout(self.amounts)),
            "read": In(1),
            "index": In(range(self.period)),
            "value": Out(64),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.counts = counts = memory.Memory(
            shape=64, depth=self.period, init=[], attrs={"ram_style": "block"})
        write, read = counts.write_port(), counts.read_port()

        index = Signal(range(self.period))
        initial = Signal(init=1)  # memory holds what was there before the reset
        settled = Signal()
        wraps = index == self.period - 1
        with m.If(~self.read):
            m.d.sync += index.eq(following(index, self.period))
            with m.If(wraps):
                m.d.sync += [initial.eq(0), settled.eq(~initial)]

        # Stage 1: of each group of counters, the one that may be meant; it begins at 0 again.
        groups = []
        names = list(self.amounts)
        for begin in range(0, len(names), _GROUP):
            widest = 0
            pendings = []
            for n, name in enumerate(names[begin:begin + _GROUP], begin):
                most = (1 << self.amounts[name]) - 1
                pending = Signal((2 * self.period * most).bit_length(), name=f"{name}_pending")
                take = ~self.read & (index == n)
                m.d.sync += pending.eq(Mux(take, 0, pending) + self.add[name])
                pendings.append(pending)
                widest = max(widest, len(pending))
            group = Signal(widest, reset_less=True, name=f"group_{begin}")
            with m.Switch(index[:3]):
                for n, pending in enumerate(pendings):
                    with m.Case(n):
                        m.d.sync += group.eq(pending)
            groups.append(group)
        at_1 = Signal.like(index, reset_less=True)
        m.d.sync += at_1.eq(Mux(self.read, self.index, index))

        # Stage 2: the amount, while memory is read. Stage 3: the memory's own register.
        amount_2 = Signal(max(map(len, groups)), reset_less=True)
        with m.Switch(at_1[3:]):
            for n, group in enumerate(groups):
                with m.Case(n):
                    m.d.sync += amount_2.eq(group)
            with m.Default():  # the sweep is longer than there are counters
                m.d.sync += amount_2.eq(0)
        m.d.comb += [read.en.eq(1), read.addr.eq(at_1)]
        amount_3 = Signal.like(amount_2, reset_less=True)
        held_3 = Signal(64, reset_less=True)
        m.d.sync += [amount_3.eq(amount_2), held_3.eq(read.data)]

        # Stage 4: the sum. What goes along with it, by stage:
        valid, begins, at = [~self.read], [initial], [None, at_1]
        for stage in range(1, 5):
            valid.append(Signal(name=f"valid_{stage}"))
            begins.append(Signal(name=f"begins_{stage}", reset_less=True))
            m.d.sync += [valid[stage].eq(valid[stage - 1]), begins[stage].eq(begins[stage - 1])]
            if stage > 1:
                at.append(Signal.like(index, name=f"at_{stage}", reset_less=True))
                m.d.sync += at[stage].eq(at[stage - 1])
        sum_4 = Signal(64, reset_less=True)
        m.d.sync += sum_4.eq(Mux(begins[3], 0, held_3) + amount_3)
        m.d.comb += [
            write.en.eq(valid[4]), write.addr.eq(at[4]), write.data.eq(sum_4),
            self.value.eq(Mux(settled, held_3, 0)),
        ]
        return m
