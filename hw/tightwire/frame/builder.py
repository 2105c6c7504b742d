"""Puts headers in front of payloads."""

from amaranth.hdl import Cat, Const, Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..formats import HEADER_BYTES, MAGIC, VERSION
from ..stream.beat import BeatStream
from ..stream.buffer import Buffer
from ..stream.frame_fifo import FrameFifo
from ..stream.queue import Queue
from .header import FIELDS, HEADER_WORDS, IP_AT, UDP_AT, check_lanes
from .side import ADDRESS, TX_SIDE, WHOLE

__all__ = ["Builder"]

_FIXED = {"ethertype": 0x0800, "ip_version": 0x45, "ip_service": 0, "ip_id": 0,
          "ip_fragment": 0x4000, "ip_ttl": 64, "ip_protocol": 17, "udp_checksum": 0,
          "magic": MAGIC}


class Builder(wiring.Component):
    """Payloads to Ethernet frames without FCS; ordinary frames pass as they are.

    Ethernet II, IPv4 without options and not to be fragmented, UDP without a checksum, and our
    header (wire-format.md, section 1), filled from the side band. The header goes out in
    ``HEADER_WORDS / lanes`` beats in front of the payload; besides, one beat a clock with no
    bubble between frames. Latency ``latency`` clocks, first beat in to first beat out.

    Parameters
    ----------
    lanes : int
        1 to 16, so that the header is whole beats.

    Members
    -------
    i : In, stream of beats with TX_SIDE; ``bytes`` is right on a frame's first beat
    o : Out, stream of beats with WHOLE
    station : In, ADDRESS: ours, steady
    peer_at : Out(8), peer : In(ADDRESS), one clock later: the table of peers
    """

    latency = 5

    def __init__(self, *, lanes):
        self.lanes = check_lanes(lanes)
        super().__init__({
            "i": In(BeatStream(lanes, TX_SIDE)), "o": Out(BeatStream(lanes, WHOLE)),
            "station": In(ADDRESS), "peer_at": Out(8), "peer": In(ADDRESS),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.lanes
        m.submodules.fifo = fifo = FrameFifo(lanes=lanes, depth=32, frames=16, side=TX_SIDE)
        m.submodules.buffer = buffer = Buffer(self.o.p.shape())
        known = data.StructLayout({"peer": ADDRESS, "checksum": 16})
        m.submodules.headers = headers = Queue(known, 16)
        wiring.connect(m, buffer.o, wiring.flipped(self.o))

        # What belongs to the next frame is looked up and summed while others leave. There are no
        # more headers than frames in the FIFO, so their queue always has room.
        entering = self.i.p
        begin = Signal()
        total = Signal(16)
        m.d.comb += [
            fifo.i.p.eq(entering), fifo.i.valid.eq(self.i.valid), self.i.ready.eq(fifo.i.ready),
            begin.eq(self.i.valid & self.i.ready & entering.first & ~entering.side.bypass),
            self.peer_at.eq(entering.side.peer),
            total.eq(entering.side.bytes + (HEADER_BYTES - IP_AT)),
        ]
        fixed = sum(_FIXED[name] << (8 if name in ("ip_version", "ip_ttl") else 0)
                    for name in ("ip_version", "ip_fragment", "ip_ttl", "ip_protocol"))
        valids = [begin]
        for n in range(3):
            valid = Signal(name=f"valid_{n}")
            m.d.sync += valid.eq(valids[-1])
            valids.append(valid)
        sums = [Signal(20, name=f"sum_{n}", reset_less=True) for n in range(2)]
        folded = Signal(17, reset_less=True)
        peers = [Signal(ADDRESS, name=f"peer_{n}", reset_less=True) for n in range(2)]
        ours = self.station.ip
        m.d.sync += [
            sums[0].eq(fixed + total + ours[:16] + ours[16:]),
            sums[1].eq(sums[0] + self.peer.ip[:16] + self.peer.ip[16:]),
            folded.eq(sums[1][:16] + sums[1][16:]),
            peers[0].eq(self.peer), peers[1].eq(peers[0]),
        ]
        m.d.comb += [
            headers.i.valid.eq(valids[-1]),
            headers.i.p.peer.eq(peers[1]),
            headers.i.p.checksum.eq(~(folded[:16] + folded[16:])[:16]),
        ]

        beat = fifo.o.p
        side = beat.side
        header = Signal(8 * HEADER_BYTES)
        values = {name: Const(value, 8 * FIELDS[name][1]) for name, value in _FIXED.items()} | {
            "destination_mac": headers.o.p.peer.mac, "source_mac": self.station.mac,
            "ip_length": side.bytes + (HEADER_BYTES - IP_AT), "ip_checksum": headers.o.p.checksum,
            "source_ip": ours, "destination_ip": headers.o.p.peer.ip,
            "source_port": self.station.port, "destination_port": headers.o.p.peer.port,
            "udp_length": side.bytes + (HEADER_BYTES - UDP_AT),
            "version_kind": Cat(side.kind, Const(VERSION, 4)), "codec": side.codec.as_value(),
        } | {name: side[name] for name in ("log2_bucket", "flags", "stream", "message",
                                           "sequence", "first", "span", "records")}
        for name, (offset, size) in FIELDS.items():
            value = Signal(8 * size, name=name)
            m.d.comb += value.eq(values[name])
            for n in range(size):
                m.d.comb += header.word_select(offset + n, 8).eq(
                    value.word_select(size - 1 - n, 8))

        beats = HEADER_WORDS // lanes
        at = Signal(range(beats))
        done = Signal()  # the frame's header is out
        in_header = Signal()
        out = buffer.i.p
        m.d.comb += [
            in_header.eq(beat.first & ~side.bypass & ~done),
            out.data.eq(beat.data), out.first.eq(beat.first & ~done), out.last.eq(beat.last),
            out.empty.eq(beat.empty), out.error.eq(beat.error),
            out.side.bypass.eq(1),
        ]
        with m.If(in_header):
            m.d.comb += [
                out.data.as_value().eq(header.word_select(at, 32 * lanes)),
                out.first.eq(at == 0), out.last.eq(0), out.empty.eq(0), out.error.eq(0),
                buffer.i.valid.eq(fifo.o.valid & headers.o.valid),
            ]
            with m.If(buffer.i.valid & buffer.i.ready):
                m.d.sync += [at.eq(0 if beats == 1 else at + 1), done.eq(at == beats - 1)]
        with m.Else():
            m.d.comb += [
                buffer.i.valid.eq(fifo.o.valid), fifo.o.ready.eq(buffer.i.ready),
                headers.o.ready.eq(fifo.o.valid & buffer.i.ready & done),
            ]
            with m.If(fifo.o.valid & buffer.i.ready):
                m.d.sync += done.eq(0)
        return m
