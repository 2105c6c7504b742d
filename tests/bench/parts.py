"""A small card for the tests of what benches are made of: copies memory, and sends frames on."""

from amaranth.hdl import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from tightwire.dma.edge import axi_members, connect_axi
from tightwire.dma.join import ReadJoin, WriteJoin
from tightwire.dma.reader import Reader
from tightwire.dma.writer import Writer
from tightwire.registers.axi_lite import axi_lite_members, connect_axi_lite
from tightwire.registers.describe import Access, Bank, Command, Counter, Map, Register
from tightwire.registers.register_file import RegisterFile
from tightwire.stream.buffer import Buffer

COPIERS = 2


def _argument(name, offset, bits):
    return Register(name=name, offset=offset, access=Access.RW, bits=bits, doc="")


MAP = Map(name="copier", address_bits=10, blocks=(("All", "", (
    Register(name="scratch", offset=0x00, access=Access.RW, doc=""),
    Register(name="idle", offset=0x04, access=Access.RO, bits=1, doc=""),
    *(Command(name=f"copy{n}", offset=0x40 * (n + 1), doc="", arguments=(
        _argument("origin", 0x00, 64), _argument("target", 0x08, 64),
        _argument("bytes", 0x10, 32))) for n in range(COPIERS)),
    Bank(name="counts", offset=0x200, doc="", counters=tuple(
        Counter(f"{what}{n}", "") for n in range(COPIERS)
        for what in ("done", "read_errors", "write_errors"))),
)),))

_NOTHING = data.StructLayout({})


class Copier(wiring.Component):
    """Copies what its registers say from one place of memory to another; two at a time. What
    comes in at ``a_s_axis`` goes out at ``a_m_axis``, and the same with b."""

    def __init__(self, lanes=4):
        self.lanes = lanes
        self._axis = {"tdata": 32 * lanes, "tkeep": 4 * lanes, "tlast": 1, "tuser": 1}
        members = axi_members("m_axi", lanes, 1)
        members |= axi_lite_members("s_axil", MAP.address_bits)
        for side in ("a", "b"):
            for prefix, flow in ((f"{side}_s_axis", In), (f"{side}_m_axis", Out)):
                members |= {f"{prefix}_{name}": flow(width) for name, width in self._axis.items()}
                members |= {f"{prefix}_tvalid": flow(1), f"{prefix}_tready": flow.flip()(1)}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        lanes = self.lanes
        m.submodules.file = file = RegisterFile(MAP)
        connect_axi_lite(m, self, "s_axil", file.bus)
        m.submodules.reads = reads = ReadJoin(lanes=lanes, n=COPIERS)
        m.submodules.writes = writes = WriteJoin(lanes=lanes, n=COPIERS)
        connect_axi(m, self, "m_axi", lanes, reads.axi, writes.axi)
        idle = []
        for n in range(COPIERS):
            m.submodules[f"reader{n}"] = reader = Reader(lanes=lanes, tag=_NOTHING, depth=512)
            m.submodules[f"writer{n}"] = writer = Writer(lanes=lanes, tag=_NOTHING, side=_NOTHING)
            wiring.connect(m, reader.axi, reads.masters[n])
            wiring.connect(m, writer.axi, writes.masters[n])
            wiring.connect(m, reader.o, writer.i)
            command = getattr(file, f"copy{n}")
            both = Signal(name=f"both{n}")
            m.d.comb += [
                both.eq(command.valid & reader.request.ready & writer.request.ready),
                command.ready.eq(both),
                reader.request.valid.eq(both), writer.request.valid.eq(both),
                reader.request.p.address.eq(command.p.origin),
                writer.request.p.address.eq(command.p.target),
                reader.request.p.bytes.eq(command.p.bytes),
                writer.request.p.bytes.eq(command.p.bytes),
                writer.done.ready.eq(1),
                file.counts[f"done{n}"].eq(writer.done.valid),
                file.counts[f"write_errors{n}"].eq(writer.done.valid & writer.done.p.error),
                file.counts[f"read_errors{n}"].eq(
                    reader.o.valid & reader.o.ready & reader.o.p.last & reader.o.p.error),
            ]
            idle += [reader.idle, writer.idle]
        m.d.comb += file.idle.eq(idle[0] & idle[1] & idle[2] & idle[3])

        for side in ("a", "b"):
            def axis(way, name, side=side):
                return getattr(self, f"{side}_{way}_axis_{name}")

            m.submodules[side] = wire = Buffer(data.StructLayout(self._axis))
            m.d.comb += [
                wire.i.valid.eq(axis("s", "tvalid")), axis("s", "tready").eq(wire.i.ready),
                axis("m", "tvalid").eq(wire.o.valid), wire.o.ready.eq(axis("m", "tready")),
                *(wire.i.p[name].eq(axis("s", name)) for name in self._axis),
                *(axis("m", name).eq(wire.o.p[name]) for name in self._axis),
            ]
        return m
