"""AXI-Stream edges: standard signals outside, streams of beats inside."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from .beat import SIDE, BeatStream
from .buffer import Buffer

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
    before tlast is marked with an error. Latency 1 clock, one beat a clock.
    """

    latency = Buffer.latency

    def __init__(self, *, lanes):
        self.lanes = lanes
        super().__init__({"i": In(stream.Signature(_layout(lanes))), "o": Out(BeatStream(lanes))})

    def connect(self, m, top, prefix):
        m.d.comb += _connect(top, prefix, self.lanes, self.i, outward=False)

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = Buffer(self.i.p.shape())
        wiring.connect(m, wiring.flipped(self.i), buffer.i)
        beat, axis = self.o.p, buffer.o.p
        user = data.View(USER, axis.tuser)
        keep = axis.tkeep
        begin = Signal(init=1)
        broken = Signal()  # an earlier beat of the frame had a bad tkeep
        bad = Signal()
        held = Signal(SIDE, reset_less=True)
        bytes_ = 4 * self.lanes
        m.d.comb += [
            self.o.valid.eq(buffer.o.valid),
            buffer.o.ready.eq(self.o.ready),
            beat.data.eq(Cat(Mux(keep[n], axis.tdata.word_select(n, 8), 0)
                             for n in range(bytes_))),
            beat.first.eq(begin),
            beat.last.eq(axis.tlast),
            bad.eq(broken | ~keep[0] | (~keep[:-1] & keep[1:]).any() | ~axis.tlast & ~keep.all()),
            beat.error.eq(axis.tlast & (user.error | bad)),
            beat.side.eq(held),
        ]
        for n in range(1, bytes_):
            with m.If(keep[n - 1] & ~keep[n]):
                m.d.comb += beat.empty.eq(bytes_ - n)
        with m.If(begin):
            m.d.comb += [beat.side[name].eq(user[name]) for name in SIDE.members]
        with m.If(self.o.valid & self.o.ready):
            m.d.sync += [begin.eq(axis.tlast), broken.eq(bad & ~axis.tlast), held.eq(beat.side)]
        return m


class AxisOutput(wiring.Component):
    """Beats in, AXI-Stream out. Latency 1 clock, one beat a clock."""

    latency = Buffer.latency

    def __init__(self, *, lanes):
        self.lanes = lanes
        super().__init__({"i": In(BeatStream(lanes)), "o": Out(stream.Signature(_layout(lanes)))})

    def connect(self, m, top, prefix):
        m.d.comb += _connect(top, prefix, self.lanes, self.o, outward=True)

    def elaborate(self, platform):
        m = Module()
        m.submodules.buffer = buffer = Buffer(self.o.p.shape())
        wiring.connect(m, buffer.o, wiring.flipped(self.o))
        beat, axis = self.i.p, buffer.i.p
        user = data.View(USER, axis.tuser)
        bytes_ = 4 * self.lanes
        m.d.comb += [
            buffer.i.valid.eq(self.i.valid),
            self.i.ready.eq(buffer.i.ready),
            axis.tdata.eq(beat.data),
            axis.tlast.eq(beat.last),
            axis.tkeep.eq(Cat(beat.empty < bytes_ - n for n in range(bytes_))),
            user.error.eq(beat.last & beat.error),
            *(user[name].eq(beat.side[name]) for name in SIDE.members),
        ]
        return m
