"""Takes headers off, and says what stands in them."""

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from ..formats import (
    FLAG_LAST,
    HEADER_BYTES,
    LOG2_BUCKET_MAX,
    LOG2_BUCKET_MIN,
    MAGIC,
    VERSION,
    FrameKind,
)
from ..stream.beat import BeatStream, beat_layout
from ..stream.delay import Delay
from ..stream.frame_fifo import FrameFifo
from ..stream.outlet import Outlet
from ..stream.queue import Queue
from .checksum import Checksum
from .header import HEADER_WORDS, IP_AT, UDP_AT, check_lanes, field_of
from .side import ADDRESS, FRAME, RX_SIDE, WHOLE

__all__ = ["DROPS", "Parser"]

DROPS = data.StructLayout({
    "mac": 1, "truncated": 1, "ip_checksum": 1, "ip_length": 1, "udp_length": 1, "magic": 1,
    "version": 1, "kind": 1, "flags": 1, "bucket": 1, "records": 1, "udp_checksum": 1})
"""Why a frame is marked: the MAC says so; it ends before its IP length says; the checksum of its
IPv4 header; IP or UDP lengths that contradict each other, or leave no payload; not our magic or
version; a type, flags or a bucket size that are reserved; more records than it covers buckets; the
UDP checksum.
Of several, what is wrong with the header counts, then the others in the order truncated, mac,
udp_checksum.
"""

_HEADER_DROPS = ("ip_checksum", "ip_length", "udp_length", "magic", "version", "kind", "flags",
                 "bucket", "records")
_IP_WORDS = 10


class Parser(wiring.Component):
    """Whole Ethernet frames in; payloads with their headers beside them out, and ordinary frames.

    A frame is ours if it is UDP over IPv4 without options, whole, to our address and port. What
    else there is (ARP, IPv6, VLAN tags, fragments, other ports, frames shorter than a header) is
    ordinary and passes as it is, with ``bypass``. Of ours the header is taken off, and what is
    behind the end that IP gives: padding. One that breaks a rule ends with an error mark, and the
    reason is given out; if it is its header that is wrong, it is one beat. An ordinary frame is
    marked only if the MAC has marked it. The last beat of a frame leaves when all of the frame is
    there, however long its padding.

    One beat a clock, with no bubble. Latency ``latency`` clocks, first beat in to first beat out,
    for an ordinary frame of a beat.

    Parameters
    ----------
    lanes : int
        1 to 16, so that the header is whole beats.

    Members
    -------
    i : In, stream of beats with WHOLE, which is not looked at
    o : Out, stream of beats with RX_SIDE
    station : In, ADDRESS: ours, steady
    drop : Out, DROPS, a reason high for one clock for each frame that is marked
    """

    latency = 5 + Checksum.latency + Outlet.latency

    def __init__(self, *, lanes):
        self.lanes = check_lanes(lanes)
        super().__init__({
            "i": In(BeatStream(lanes, WHOLE)), "o": Out(BeatStream(lanes, RX_SIDE)),
            "station": In(ADDRESS), "drop": Out(DROPS),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.lanes
        header_beats = HEADER_WORDS // lanes
        m.submodules.fifo = fifo = FrameFifo(
            lanes=lanes, depth=64 + header_beats, frames=32, side=WHOLE)
        found = data.StructLayout({
            "ours": 1, "reasons": len(_HEADER_DROPS), "short": 1, "bytes": 16, "summed": 1,
            "partial": 20, "side": data.StructLayout(FRAME | {"source": ADDRESS})})
        m.submodules.headers = headers = Queue(found, 40)
        m.submodules.ends = ends = Queue(1, 40)

        # ---- in: the header is collected, and looked at in a pipeline ----
        beat = self.i.p
        step = Signal()
        at = Signal(range(header_beats + 1))
        collected = Signal(8 * HEADER_BYTES, reset_less=True)
        m.d.comb += [
            fifo.i.p.eq(beat), fifo.i.valid.eq(self.i.valid), self.i.ready.eq(fifo.i.ready),
            step.eq(self.i.valid & self.i.ready),
            # More places than the FIFO and the register behind it hold frames.
            ends.i.valid.eq(step & beat.last), ends.i.p.eq(beat.error),
        ]
        whole = Signal()   # all of the header is there with this beat, or all that will come
        short = Signal()
        m.d.comb += whole.eq((at == header_beats - 1) | beat.last & (at < header_beats))
        valids, shorts = [Signal(name="valid_0")], [Signal(name="short_0", reset_less=True)]
        m.d.comb += short.eq((at < header_beats - 1) | (beat.last & (beat.empty != 0)))
        m.d.sync += [valids[0].eq(step & whole), shorts[0].eq(short)]
        with m.If(step):
            m.d.sync += at.eq(Mux(beat.last, 0, Mux(at == header_beats, at, at + 1)))
            for n in range(header_beats):
                part = collected.word_select(n, 32 * lanes)
                with m.If(at == n):
                    m.d.sync += part.eq(beat.data)
                if n:
                    with m.If(at == 0):
                        m.d.sync += part.eq(0)
        for n in range(1, 4):
            valid = Signal(name=f"valid_{n}")
            was_short = Signal(name=f"short_{n}", reset_less=True)
            m.d.sync += [valid.eq(valids[-1]), was_short.eq(shorts[-1])]
            valids.append(valid)
            shorts.append(was_short)

        def field(name):
            return field_of(collected, name)

        def stage(shape, name):
            return Signal(shape, name=name, reset_less=True)

        # 1: comparisons and first sums.
        held_1 = stage(8 * HEADER_BYTES, "header_1")
        ip_sums = [stage(19, f"ip_sum_{n}") for n in range(2)]
        udp_sums = [stage(19, f"udp_sum_{n}") for n in range(4)]
        alike = stage(6, "alike")
        udp_at = UDP_AT // 2
        words = [collected.word_select(n, 16) for n in range(HEADER_BYTES // 2)]
        ip = words[IP_AT // 2:IP_AT // 2 + _IP_WORDS]
        # The pseudo header (RFC 768): both addresses, the protocol and the UDP length.
        pseudo = [*ip[6:10], words[(UDP_AT + 4) // 2]]
        summed = [*words[udp_at:], *pseudo]
        m.d.sync += [
            held_1.eq(collected),
            ip_sums[0].eq(sum(ip[:5])), ip_sums[1].eq(sum(ip[5:])),
            *(udp_sums[n].eq(sum(summed[5 * n:5 * n + 5])) for n in range(4)),
            alike.eq(Cat(
                field("ethertype") == 0x0800, field("ip_version") == 0x45,
                field("ip_protocol") == 17, (field("ip_fragment") & 0x3FFF) == 0,
                field("destination_ip") == self.station.ip,
                field("destination_port") == self.station.port)),
        ]
        if len(summed) > 20:
            raise AssertionError("more words to be summed than there are sums for")

        # 2: the rules, and the sums folded.
        held_2 = stage(8 * HEADER_BYTES, "header_2")
        ours_2 = stage(1, "ours_2")
        ip_sum_2 = stage(20, "ip_sum_of_all")
        partial_2 = stage(21, "udp_sum_of_all")
        reasons_2 = stage(len(_HEADER_DROPS), "reasons_2")

        def field_1(name):
            return field_of(held_1, name)

        kind = field_1("version_kind")[:4]
        after_udp = HEADER_BYTES - UDP_AT
        rules = {
            "ip_length": field_1("ip_length") != field_1("udp_length") + (UDP_AT - IP_AT),
            "udp_length": field_1("udp_length") <= after_udp,
            "magic": field_1("magic") != MAGIC,
            "version": field_1("version_kind")[4:] != VERSION,
            "kind": kind > max(FrameKind),
            "flags": (field_1("flags") & ~FLAG_LAST & 0xFF) != 0,
            # All of the byte: the side band has only its lower half.
            "bucket": (field_1("log2_bucket") < LOG2_BUCKET_MIN)
            | (field_1("log2_bucket") > LOG2_BUCKET_MAX),
            "records": field_1("records") > field_1("span"),
        }
        swapped_protocol = 17 << 8  # as a word lies: its first byte is 0, its second 17
        m.d.sync += [
            held_2.eq(held_1),
            ours_2.eq(alike.all()),
            ip_sum_2.eq(ip_sums[0] + ip_sums[1]),
            partial_2.eq(sum(udp_sums) + swapped_protocol),
            reasons_2.eq(Cat(0, *(rules[name] for name in _HEADER_DROPS[1:]))),
        ]

        # 3: all together.
        held_3 = stage(8 * HEADER_BYTES, "header_3")
        ours_3 = stage(1, "ours_3")
        ip_folded = stage(17, "ip_folded")
        partial_3 = stage(20, "partial_3")
        reasons_3 = stage(len(_HEADER_DROPS), "reasons_3")
        m.d.sync += [
            held_3.eq(held_2), ours_3.eq(ours_2), reasons_3.eq(reasons_2),
            ip_folded.eq(ip_sum_2[:16] + ip_sum_2[16:]),
            partial_3.eq(partial_2[:16] + partial_2[16:]),
        ]

        def field_3(name):
            return field_of(held_3, name)

        out = headers.i.p
        m.d.comb += [
            headers.i.valid.eq(valids[-1]),
            out.ours.eq(ours_3),
            out.short.eq(shorts[-1]),
            out.reasons.eq(reasons_3 | ((ip_folded[:16] + ip_folded[16]) != 0xFFFF)),
            out.bytes.eq(field_3("udp_length") - after_udp),
            out.summed.eq(field_3("udp_checksum") != 0),
            out.partial.eq(partial_3),
            out.side.bypass.eq(0),
            out.side.kind.eq(field_3("version_kind")[:4]),
            out.side.codec.as_value().eq(field_3("codec")),
            *(out.side[name].eq(field_3(name)) for name in (
                "log2_bucket", "flags", "stream", "message", "sequence", "first", "span",
                "records")),
            out.side.source.mac.eq(field_3("source_mac")),
            out.side.source.ip.eq(field_3("source_ip")),
            out.side.source.port.eq(field_3("source_port")),
        ]

        # ---- out ----
        m.submodules.checksum = checksum = Checksum(lanes=lanes)
        latency = checksum.latency
        m.submodules.outlet = outlet = Outlet(beat_layout(lanes, RX_SIDE), latency + 8)
        # Whether a frame is right is known at its end, behind any padding, which may be longer
        # than the FIFO. So the last beat of a frame waits in the outlet, and what is found goes
        # beside it: there is no more of that than last beats in the outlet.
        m.submodules.verdicts = verdicts = Queue(1, outlet.depth)
        head = headers.o.p
        come = fifo.o
        bad = Signal()         # the header is wrong, so there is one beat
        passed = Signal(range(header_beats + 1))   # header beats that are gone
        begun = Signal()       # a beat has left
        over = Signal()        # the last beat has left; what comes is let go
        left = Signal(17, reset_less=True)
        need = Signal(17)
        in_header = Signal()
        final = Signal()
        truncated = Signal()
        leave = Signal()
        use = Signal()
        end = Signal()         # the frame ends with this beat, padding and all
        m.d.comb += [
            bad.eq(head.ours & (head.short | (head.reasons != 0))),
            in_header.eq(head.ours & ~bad & (passed != header_beats)),
            need.eq(Mux(begun, left, head.bytes)),
            final.eq(Mux(head.ours, bad | (need <= 4 * lanes) | come.p.last, come.p.last)),
            # A frame that is not over by its own account when it is over.
            truncated.eq(come.p.last & head.ours & ~bad & (
                in_header | (need > 4 * lanes - come.p.empty))),
            leave.eq(come.valid & headers.o.valid & outlet.room & ~over
                     & (~in_header | come.p.last)),
            use.eq(come.valid & headers.o.valid
                   & (leave | over | in_header & ~come.p.last)),
            come.ready.eq(use),
            end.eq(use & come.p.last),
            headers.o.ready.eq(end),
            ends.o.ready.eq(end),
            outlet.reserve.eq(leave),
        ]
        with m.If(use):
            m.d.sync += [
                passed.eq(Mux(come.p.last, 0, passed + in_header)),
                begun.eq((begun | leave) & ~come.p.last),
                over.eq((over | leave & final) & ~come.p.last),
                left.eq(need - 4 * lanes),
            ]
            with m.If(in_header):
                m.d.sync += left.eq(left)

        item = data.StructLayout({
            "valid": 1, "first": 1, "last": 1, "empty": len(come.p.empty),
            "end": 1, "mac": 1, "truncated": 1, "bad": 1, "summed": 1,
            "reasons": len(_HEADER_DROPS)})
        now = Signal(item)
        kept = Signal(data.ArrayLayout(32, lanes))
        m.d.comb += [
            now.valid.eq(leave), now.first.eq(~begun), now.last.eq(final),
            now.empty.eq(Mux(head.ours, Mux(final & ~bad & ~truncated,
                                            (-need)[:len(now.empty)], 0), come.p.empty)),
            now.end.eq(end), now.mac.eq(ends.o.p),
            now.truncated.eq(head.ours & head.short | truncated & ~over),
            now.bad.eq(bad & ~head.short), now.summed.eq(head.ours & head.summed),
            now.reasons.eq(head.reasons),
            checksum.valid.eq(leave), checksum.first.eq(~begun), checksum.data.eq(kept),
            checksum.partial.eq(head.partial),
        ]
        for n in range(4 * lanes):
            inside = ~head.ours | (need > n)
            m.d.comb += kept.as_value().word_select(n, 8).eq(
                Mux(inside, come.p.data.as_value().word_select(n, 8), 0))
        m.submodules.beats = beats = Delay(32 * lanes, latency)
        m.submodules.sides = sides = Delay(RX_SIDE, latency)
        side = Signal(RX_SIDE)
        m.d.comb += [beats.i.eq(kept), sides.i.eq(side)]
        with m.If(head.ours):
            m.d.comb += side.eq(head.side)
        with m.Else():
            m.d.comb += side.bypass.eq(1)
        for n in range(latency):
            then = Signal(item, name=f"beside_{n}")
            m.d.sync += then.eq(now)
            now = then
        # The sum is there with the last beat that leaves, and the frame may end later.
        sum_was_right = Signal(reset_less=True)
        sum_right = Signal()
        leaves_now = now.valid & now.last
        m.d.comb += sum_right.eq(Mux(leaves_now, checksum.right, sum_was_right))
        m.d.sync += sum_was_right.eq(sum_right)
        wrong = {name: now.bad & now.reasons[n] for n, name in enumerate(_HEADER_DROPS)} | {
            "truncated": now.truncated, "mac": now.mac, "udp_checksum": now.summed & ~sum_right}
        before = 0
        for name, is_wrong in wrong.items():
            m.d.comb += self.drop[name].eq(now.end & is_wrong & ~before)
            before = before | is_wrong
        known = Signal()
        m.d.comb += [
            outlet.i_valid.eq(now.valid),
            outlet.i.first.eq(now.first), outlet.i.last.eq(now.last),
            outlet.i.empty.eq(now.empty),
            outlet.i.data.as_value().eq(beats.o), outlet.i.side.eq(sides.o),
            verdicts.i.valid.eq(now.end), verdicts.i.p.eq(before),

            known.eq(~outlet.o.p.last | verdicts.o.valid),
            self.o.valid.eq(outlet.o.valid & known),
            outlet.o.ready.eq(self.o.ready & known),
            verdicts.o.ready.eq(self.o.ready & outlet.o.valid & outlet.o.p.last),
            self.o.p.eq(outlet.o.p),
            self.o.p.error.eq(outlet.o.p.last & verdicts.o.p),
        ]
        return m
