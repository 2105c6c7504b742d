"""The random draws of a frame: sixteen generators, started anew for each."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from .mix import Mix
from .xorshift import step

__all__ = ["Draws"]

_GOLDEN = 0x9E3779B9
_NOT_ZERO = 0x6D2B79F5


class Draws(wiring.Component):
    """One 16-bit draw for every lane and beat (wire-format.md, section 8).

    The states of a frame are made ahead, in a bank of their own, while the frame before is still
    drawing. The two mixers behind it take 16 clocks a frame (one mixer and 32 clocks up to two
    lanes, whose frames are longer), as little as the shortest frame that must not wait.

    Parameters
    ----------
    lanes : int

    Members
    -------
    frame : In, stream of (seed, first), one for each frame that draws, in order
    armed : Out(1), the next frame's first beat may be started
    start : In(1), it is started: ``load`` follows exactly ``Draws.lead`` clocks later
    load : In(1), the clock before the frame's first draws are used
    step : In(1), the draws of this clock are used; the next ones follow
    draws : Out, lanes x 16 bits
    """

    lead = Mix.latency  # or one more

    def __init__(self, *, lanes):
        self.lanes = check_choice("lanes", lanes, LANES)
        super().__init__({
            "frame": In(stream.Signature(data.StructLayout({"seed": 32, "first": 32}))),
            "armed": Out(1),
            "start": In(1),
            "load": In(1),
            "step": In(1),
            "draws": Out(data.ArrayLayout(16, lanes)),
        })

    def elaborate(self, platform):
        m = Module()
        units = 1 if self.lanes <= 2 else 2
        share = 16 // units  # states that one mixer makes
        mixers = [Mix() for _ in range(units)]
        for n, mixer in enumerate(mixers):
            m.submodules[f"mixer_{n}"] = mixer

        # The base takes two passes through the first mixer, and goes before the states: the
        # base of the next frame is ready when the states of this one are done.
        base_valid = Signal()
        base = Signal(32, reset_less=True)
        base_busy = Signal()
        kind = data.StructLayout({"base_1": 1, "base_2": 1, "state": 1, "at": range(share)})
        into = Signal(kind)
        tag = into
        for n in range(Mix.latency):
            after = Signal(kind, name=f"tag_{n}")
            m.d.sync += after.eq(tag)
            tag = after
        preempt = Signal()
        waiting = Signal()  # the frame has been there for a clock
        # What goes into a multiplier of the mixer comes from registers.
        pass_1 = Signal(32, reset_less=True)
        pass_2 = Signal(32, reset_less=True)
        m.d.comb += [
            into.base_1.eq(waiting & ~base_busy & ~base_valid),
            preempt.eq(into.base_1 | into.base_2),
            self.frame.ready.eq(into.base_2),
        ]
        m.d.sync += [
            waiting.eq(self.frame.valid & ~self.frame.ready),
            pass_1.eq(self.frame.p.first + _GOLDEN),
            into.base_2.eq(tag.base_1),
            pass_2.eq(self.frame.p.seed ^ mixers[0].o),
        ]
        with m.If(into.base_1):
            m.d.sync += base_busy.eq(1)
        with m.If(tag.base_2):
            m.d.sync += [base_busy.eq(0), base_valid.eq(1), base.eq(mixers[0].o)]

        # The states: a number for each generator, through the mixers in turn.
        running = Signal()
        made = Signal()   # all states of the next frame are on their way
        clear = Signal(init=1)  # the bank may be overwritten Mix.latency clocks from now
        at = Signal(range(share))
        numbers = [Signal(32, name=f"number_{n}", reset_less=True) for n in range(units)]
        begin = Signal()
        go = Signal()
        m.d.comb += [
            begin.eq((base_valid | tag.base_2) & ~running & ~made & clear),
            go.eq(running & ~preempt),
            into.state.eq(go),
            into.at.eq(at),
            self.armed.eq(made),
        ]
        with m.If(begin):
            m.d.sync += [running.eq(1), base_valid.eq(0), clear.eq(0), at.eq(0)]
            for n, number in enumerate(numbers):
                m.d.sync += number.eq(Mux(base_valid, base, mixers[0].o)
                                      + (_GOLDEN * (n * share + 1) & 0xFFFFFFFF))
        with m.If(go):
            m.d.sync += at.eq(at + 1)
            for number in numbers:
                m.d.sync += number.eq(number + _GOLDEN)
            with m.If(at == share - 1):
                m.d.sync += [running.eq(0), made.eq(1)]
        with m.If(self.start):
            m.d.sync += [made.eq(0), clear.eq(1)]
        m.d.comb += mixers[0].i.eq(Mux(
            into.base_2, pass_2, Mux(into.base_1, pass_1, numbers[0])))
        for mixer, number in zip(mixers[1:], numbers[1:], strict=True):
            m.d.comb += mixer.i.eq(number)

        # Both banks hold states that are already stepped: the upper half of one is its draw.
        ahead = Array(Signal(32, name=f"ahead_{g}", reset_less=True) for g in range(16))
        bank = [Signal(32, name=f"bank_{g}", reset_less=True) for g in range(16)]
        with m.If(tag.state):
            for n, mixer in enumerate(mixers):
                state = Mux(mixer.o == 0, _NOT_ZERO, mixer.o)
                m.d.sync += ahead[n * share + tag.at].eq(Cat(step(state)))
        with m.If(self.load):
            m.d.sync += [now.eq(new) for now, new in zip(bank, ahead, strict=True)]
        with m.Elif(self.step):
            if self.lanes >= 16:
                m.d.sync += [state.eq(Cat(step(state, self.lanes // 16))) for state in bank]
            else:
                # The generators take turns: those that have drawn go behind the others.
                turned = bank[self.lanes:] + [Cat(step(state)) for state in bank[:self.lanes]]
                m.d.sync += [state.eq(new) for state, new in zip(bank, turned, strict=True)]
        for lane in range(self.lanes):
            state = Cat(step(bank[lane % 16], lane // 16))
            m.d.comb += self.draws[lane].eq(state[16:])
        return m
