"""A stand-in for the top ``codec``, of the same ports, that breaks a rule when it is told to."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In
from tightwire.stream.axis import USER
from tightwire.stream.buffer import Buffer
from tightwire.tops.codec import CodecTop

FAULTS = {
    "none": None,
    "tlast early": "frames? came|bytes, not|without tlast|in a frame",
    "tlast late": "tuser changed|before tlast",
    "tkeep with a hole": "tkeep has a hole",
    "tkeep zero": "tkeep is zero",
    "tkeep not all ones before tlast": "before tlast",
    "byte without tkeep not 0": "a byte without tkeep is not 0",
    "tdata changed while waiting": "changed while it was waiting: tdata",
    "tlast changed while waiting": "changed while it was waiting: tlast",
    "tvalid dropped": "tvalid fell",
    "tuser changed": "tuser changed within a frame",
    "tuser wrong": "tuser is",
    "error mark before tlast": "error mark came before tlast",
    "error mark lost": "error mark False, not True",
    "word repeated": "they differ from byte",
    "beat repeated": "bytes, not",
    "beat lost": "bytes, not",
    "last beat repeated": "frames came, not|frame .* of",
    "frame lost": "nothing comes any more",
    "stuck": "nothing comes any more",
    "frame not counted": "counted are frames",
    "bubble": "bubble",
    "not ready": "bubble",
}
"""What can be broken, and what has to be said about it."""


class FaultyTop(wiring.Component):
    """Passes every frame as it is, both ways, but for a fault.

    Members
    -------
    fault : In, number of the fault in ``FAULTS``
    the rest as CodecTop
    """

    def __init__(self, config):
        self.config = config
        super().__init__(
            dict(CodecTop(config).signature.members) | {"fault": In(range(len(FAULTS)))})

    def elaborate(self, platform):
        m = Module()
        for way in ("tx", "rx"):
            self._way(m, way)
        return m

    def _way(self, m, way):
        def port(prefix, name):
            return getattr(self, f"{prefix}_axis_{way}_{name}")

        width = 4 * self.config.lanes
        layout = data.StructLayout({
            "tdata": 8 * width, "tkeep": width, "tlast": 1, "tuser": USER.size})
        m.submodules[way] = buffer = Buffer(layout)
        beat = Signal(layout, name=f"beat_{way}")
        valid = Signal(name=f"valid_{way}")
        pop = Signal(name=f"pop_{way}")
        at = Signal(8, name=f"at_{way}")          # beats of the frame before this one
        frame = Signal(8, name=f"frame_{way}")
        waited = Signal(name=f"waited_{way}")     # the beat has been offered and not taken
        again = Signal(name=f"again_{way}")       # the beat has been taken once
        paused = Signal(name=f"paused_{way}")
        user = Signal(USER.size, name=f"user_{way}")
        word = Signal(32, name=f"word_{way}")     # of the beat before
        taken = Signal(name=f"taken_{way}")
        count = getattr(self, f"{way}_frames")

        given = buffer.o.p
        last = given.tlast
        ready = port("m", "tready")
        m.d.comb += [
            buffer.i.valid.eq(port("s", "tvalid")),
            port("s", "tready").eq(buffer.i.ready),
            *(buffer.i.p[name].eq(port("s", name)) for name in layout.members),
            beat.eq(given),
            beat.tuser.eq(Mux(at == 0, given.tuser, user)),
            beat.tuser[0].eq(last & given.tuser[0]),
            valid.eq(buffer.o.valid),
            taken.eq(valid & ready),
            pop.eq(taken),
            buffer.o.ready.eq(pop),
            port("m", "tvalid").eq(valid),
            *(port("m", name).eq(beat[name]) for name in layout.members),
        ]
        m.d.sync += [
            waited.eq(valid & ~ready),
            count.eq(count + (taken & beat.tlast & ~beat.tuser[0])),
        ]
        with m.If(buffer.o.valid & pop):
            m.d.sync += [at.eq(at + 1), user.eq(beat.tuser), again.eq(0), paused.eq(0),
                         word.eq(given.tdata[:32])]
            with m.If(last):
                m.d.sync += [at.eq(0), frame.eq(frame + 1)]

        number = list(FAULTS).index
        hold = [valid.eq(0), pop.eq(0)]
        with m.Switch(self.fault):
            with m.Case(number("tlast early")), m.If(at == 1):
                m.d.comb += beat.tlast.eq(1)
            with m.Case(number("tlast late")), m.If(frame == 2):
                m.d.comb += beat.tlast.eq(0)
            with m.Case(number("tkeep with a hole")), m.If(last):
                m.d.comb += beat.tkeep[1].eq(0)
            with m.Case(number("tkeep zero")), m.If(last):
                m.d.comb += beat.tkeep.eq(0)
            with m.Case(number("tkeep not all ones before tlast")), m.If(~last):
                m.d.comb += beat.tkeep[-1].eq(0)
            with m.Case(number("byte without tkeep not 0")), m.If(~given.tkeep[-1]):
                m.d.comb += beat.tdata[-1].eq(1)
            with m.Case(number("tdata changed while waiting")), m.If(waited):
                m.d.comb += beat.tdata[3].eq(~given.tdata[3])
            with m.Case(number("tlast changed while waiting")), m.If(waited & given.tkeep.all()):
                m.d.comb += beat.tlast.eq(~last)
            with m.Case(number("tvalid dropped")), m.If(waited):
                m.d.comb += hold
            with m.Case(number("tuser changed")), m.If(at == 2):
                m.d.comb += beat.tuser[40].eq(~user[40])
            with m.Case(number("tuser wrong")):
                m.d.comb += beat.tuser[50].eq(1)
            with m.Case(number("error mark before tlast")), m.If(~last):
                m.d.comb += beat.tuser[0].eq(1)
            with m.Case(number("error mark lost")):
                m.d.comb += beat.tuser[0].eq(0)
            with m.Case(number("word repeated")), m.If((at == 2) & (frame == 3)):
                m.d.comb += beat.tdata[:32].eq(word)
            with m.Case(number("beat repeated")), m.If((at == 1) & ~again):
                m.d.comb += pop.eq(0)
                m.d.sync += again.eq(taken)
            with m.Case(number("beat lost")), m.If((at == 1) & ~last):
                m.d.comb += [valid.eq(0), pop.eq(1)]
            with m.Case(number("last beat repeated")), m.If(last & ~again):
                m.d.comb += pop.eq(0)
                m.d.sync += again.eq(taken)
            with m.Case(number("frame lost")), m.If(frame == 3):
                m.d.comb += [valid.eq(0), pop.eq(1)]
            with m.Case(number("stuck")), m.If(frame == 3):
                m.d.comb += hold
            with m.Case(number("frame not counted")), m.If(frame == 3):
                m.d.sync += count.eq(count)
            with m.Case(number("bubble")), m.If((at == 2) & ~paused):
                m.d.comb += hold
                m.d.sync += paused.eq(1)
            with m.Case(number("not ready")):
                # Now and then; what is offered in that clock is not taken.
                clocks = Signal(5, name=f"clocks_{way}")
                m.d.sync += clocks.eq(clocks + 1)
                with m.If(clocks == 0):
                    m.d.comb += [port("s", "tready").eq(0), buffer.i.valid.eq(0)]
