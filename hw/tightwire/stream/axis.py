"""AXI-Stream edges: standard signals outside, streams of beats inside."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .beat import SIDE, BeatStream
from .queue import Queue

__all__ = ["USER", "axis_members", "AxisInput", "AxisOutput"]

USER = data.StructLayout({
    "error": 1,
    "bypass": 1,
    "codec": SIDE["codec"].shape,
    "log2_bucket": 4,
    "reserved": 2,
    "stream": 16,
    "message": 16,
    "first": 32,
    "span": 16,
})
"""tuser of the edges of ``codec``: ``error`` counts on the beat with tlast, the rest on the
frame's first beat. On the way out the rest is the same on every beat."""


def _layout(lanes):
    return data.StructLayout({
        "tdata": 32 * lanes, "tkeep": 4 * lanes, "tlast": 1, "tuser": USER.size})


def axis_members(prefix, lanes, flow):
    """Flat members ``{prefix}_tdata`` and so on, for the signature of a top.

    ``flow`` is the direction of tdata: In for a slave, Out for a master.
    """
    members = {f"{prefix}_{name}": flow(width)
               for name, width in _layout(lanes).members.items()}
    return members | {f"{prefix}_tvalid": flow(1), f"{prefix}_tready": flow.flip()(1)}


def _connect(component, prefix, lanes, port, outward):
    """Statements between the flat members of a top and the stream port of an edge."""
    fields = [(getattr(component, f"{prefix}_{name}"), port.p[name])
              for name in _layout(lanes).members]
    fields.append((getattr(component, f"{prefix}_tvalid"), port.valid))
    ready = getattr(component, f"{prefix}_tready")
    if outward:
        return [outer.eq(inner) for outer, inner in fields] + [port.ready.eq(ready)]
    return [inner.eq(outer) for outer, inner in fields] + [ready.eq(port.ready)]


class AxisInput(wiring.Component):
    """AXI-Stream in, beats out.

    Bytes without tkeep become 0. A frame whose tkeep has a hole, is zero, or is not all ones
    before tlast is marked with an error. Latency 2 clocks, one beat a clock; tready comes from
    registers, and the inputs go nowhere but into memory.
    """

    latency = Queue.latency + 1

    def __init__(self, *, lanes):
        self.lanes = lanes
        super().__init__({"i": In(stream.Signature(_layout(lanes))), "o": Out(BeatStream(lanes))})

    def connect(self, m, top, prefix):
        m.d.comb += _connect(top, prefix, self.lanes, self.i, outward=False)

    def elaborate(self, platform):
        m = Module()
        m.submodules.queue = queue = Queue(self.i.p.shape(), 16)
        wiring.connect(m, wiring.flipped(self.i), queue.i)
        axis = queue.o.p
        user = data.View(USER, axis.tuser)
        keep = axis.tkeep
        bytes_ = 4 * self.lanes
        beat = Signal(self.o.p.shape(), reset_less=True)
        begin = Signal(init=1)
        broken = Signal()  # an earlier beat of the frame had a bad tkeep
        bad = Signal()
        m.d.comb += [
            self.o.p.eq(beat),
            queue.o.ready.eq(~self.o.valid | self.o.ready),
            bad.eq(broken | ~keep[0] | (~keep[:-1] & keep[1:]).any() | ~axis.tlast & ~keep.all()),
        ]
        with m.If(queue.o.ready):
            m.d.sync += self.o.valid.eq(queue.o.valid)
        with m.If(queue.o.ready & queue.o.valid):
            m.d.sync += [
                beat.first.eq(begin),
                beat.last.eq(axis.tlast),
                beat.error.eq(axis.tlast & (user.error | bad)),
                beat.empty.eq(0),
                begin.eq(axis.tlast),
                broken.eq(bad & ~axis.tlast),
            ]
            for n in range(bytes_):
                m.d.sync += beat.data.as_value().word_select(n, 8).eq(
                    Mux(keep[n], axis.tdata.word_select(n, 8), 0))
            for n in range(1, bytes_):
                with m.If(keep[n - 1] & ~keep[n] & axis.tlast):
                    m.d.sync += beat.empty.eq(bytes_ - n)
            # Of a tkeep with holes, all up to its highest bit: no byte is left beyond the end.
            with m.If(keep[-1]):
                m.d.sync += beat.empty.eq(0)
            with m.If(begin):
                m.d.sync += [beat.side[name].eq(user[name]) for name in SIDE.members]
        return m


class AxisOutput(wiring.Component):
    """Beats in, AXI-Stream out: no latency, since what comes in comes from registers."""

    latency = 0

    def __init__(self, *, lanes):
        self.lanes = lanes
        super().__init__({"i": In(BeatStream(lanes)), "o": Out(stream.Signature(_layout(lanes)))})

    def connect(self, m, top, prefix):
        m.d.comb += _connect(top, prefix, self.lanes, self.o, outward=True)

    def elaborate(self, platform):
        m = Module()
        beat, axis = self.i.p, self.o.p
        user = data.View(USER, axis.tuser)
        bytes_ = 4 * self.lanes
        m.d.comb += [
            self.o.valid.eq(self.i.valid),
            self.i.ready.eq(self.o.ready),
            axis.tdata.eq(beat.data),
            axis.tlast.eq(beat.last),
            axis.tkeep.eq(Cat(beat.empty < bytes_ - n for n in range(bytes_))),
            user.error.eq(beat.last & beat.error),
            *(user[name].eq(beat.side[name]) for name in SIDE.members),
        ]
        return m
