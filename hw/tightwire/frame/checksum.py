"""The Internet checksum over the beats of a frame."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["Checksum"]


class Checksum(wiring.Component):
    """Whether the 16-bit words of a frame, and ``partial``, add up as a checksum must (RFC 1071).

    Since the sum does not depend on the order of the bytes within the words, as long as it is the
    same everywhere, words are taken as they lie. A pipeline without control, one beat a clock:
    ``right`` is there ``latency`` clocks after the frame's last beat.

    Parameters
    ----------
    lanes : int

    Members
    -------
    valid, first : In(1)
    data : In, lanes words, 0 behind the end
    partial : In(20), with the first beat: the sum of what else belongs to it
    right : Out(1)
    """

    latency = 5

    def __init__(self, *, lanes):
        self.lanes = lanes
        super().__init__({
            "valid": In(1), "first": In(1),
            "data": In(data.ArrayLayout(32, lanes)), "partial": In(20), "right": Out(1)})

    def elaborate(self, platform):
        m = Module()
        # A tree of three levels, each at most 4 to 1 and the last what is left.
        terms = [self.data.as_value().word_select(n, 16) for n in range(2 * self.lanes)]
        for level, fan_in in enumerate((4, 4, 8)):
            sums = []
            for n in range(0, len(terms), fan_in):
                total = sum(terms[n:n + fan_in])
                one = Signal(len(total), name=f"sum_{level}_{n}", reset_less=True)
                m.d.sync += one.eq(total)
                sums.append(one)
            terms = sums
        about = data.StructLayout({"valid": 1, "first": 1, "partial": 20})
        now = Signal(about)
        m.d.comb += [now.valid.eq(self.valid), now.first.eq(self.first),
                     now.partial.eq(self.partial)]
        for level in range(3):
            then = Signal(about, name=f"beside_{level}")
            m.d.sync += then.eq(now)
            now = then
        total = Signal(32, reset_less=True)
        with m.If(now.valid):
            m.d.sync += total.eq(sum(terms) + total)
            with m.If(now.first):
                m.d.sync += total.eq(sum(terms) + now.partial)
        folded = Signal(17, reset_less=True)
        m.d.sync += folded.eq(total[:16] + total[16:])
        m.d.comb += self.right.eq((folded[:16] + folded[16]) == 0xFFFF)
        return m
