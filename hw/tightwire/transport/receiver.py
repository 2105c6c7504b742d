"""Decides frame by frame whether it is wanted, and where in the host's memory it belongs."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..dma.lander import LANDING
from ..dma.transfer import Status
from ..formats import LOG2_BUCKET_MIN, WINDOW
from ..frame.side import ADDRESS, RX_SIDE
from .ack import ACK_TO

__all__ = ["DROPS", "OPEN", "POST", "Receiver"]

OPEN = data.StructLayout({"open": 1, "entry": 8, "stream": 16, "sequence": 32, "peer": 8})
"""Opens an entry of the table of streams, for frames from ``sequence`` on, or closes it."""

POST = data.StructLayout({
    "post": 1, "entry": 8, "stream": 16, "message": 16, "address": 64, "bytes": 32, "add": 1,
    "log2_bucket": 4, "tag": 32})
"""Posts a region for a message in an entry of the table of regions, or cancels that entry."""

DROPS = data.StructLayout({
    "unknown_stream": 1, "wrong_source": 1, "duplicate": 1, "beyond_window": 1, "unposted": 1,
    "bucket": 1, "outside": 1})
"""Why a frame is not wanted: no such stream is open; it is not from the stream's peer; it was had
before; it is further ahead than the window; no region is posted for its message; its buckets are
not of the size that was posted; it does not lie within the region."""

_STREAM = data.StructLayout({"expected": 32, "bitmap": WINDOW, "peer": 8})
_REGION = data.StructLayout({
    "address": 64, "bytes": 32, "buckets": 27, "received": 27, "add": 1, "log2_bucket": 4,
    "tag": 32})


class Receiver(wiring.Component):
    """The receiving end of the transport (docs/card.md): streams, and regions posted.

    Takes the headers of frames that are held in store, and says of each whether it passes or is
    dropped. One that passes has a record in ``landing``: nothing ever lies outside its region. A
    frame is accepted once; whatever is heard of an open stream from its peer, new or old, is
    acknowledged. Frames that are dropped for another reason are not, so that the sender tries
    again.

    A frame takes ``clocks`` clocks where the window moves by one, and one more for each further
    step; an acknowledgement takes ``acknowledge_clocks``, a command 2 or 3. Acknowledgements of
    a stream that wait are merged into one; at least every second turn is theirs.

    A region that cannot be (no length, a length or an address that is no multiple of 4, a bucket
    size that is not built, an entry that is in use) is completed at once with BAD_DESCRIPTOR.
    Commands for entries that the tables don't have are without effect.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    header : In, stream of RX_SIDE, in the order of the frames
    verdict : Out, stream of 1 bit, in the same order: whether the frame passes
    landing : Out, stream of LANDING
    acknowledge : Out, stream of ACK_TO
    open : In, stream of OPEN
    post : In, stream of POST
    peer_at : Out(8), peer : In(ADDRESS), one clock later: the table of peers
    accepted : Out(1), high for one clock for each frame that passes
    drop : Out, DROPS, a reason high for one clock for each that does not
    idle : Out(1), nothing is being worked on
    """

    clocks = 8
    acknowledge_clocks = 3

    def __init__(self, *, config):
        self.config = config
        super().__init__({
            "header": In(stream.Signature(RX_SIDE)),
            "verdict": Out(stream.Signature(1)),
            "landing": Out(stream.Signature(LANDING)),
            "acknowledge": Out(stream.Signature(ACK_TO)),
            "open": In(stream.Signature(OPEN)),
            "post": In(stream.Signature(POST)),
            "peer_at": Out(8),
            "peer": In(ADDRESS),
            "accepted": Out(1),
            "drop": Out(DROPS),
            "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        n_streams, n_regions = self.config.streams, self.config.regions
        largest = self.config.max_bucket.bit_length() - 1

        # What is looked for is in registers, what belongs to it in memory.
        stream_open = Signal(n_streams)
        stream_id = Array(Signal(16, name=f"stream_{n}", reset_less=True)
                          for n in range(n_streams))
        stream_ack = Signal(n_streams)
        region_open = Signal(n_regions)
        region_id = Array(Signal(32, name=f"region_{n}", reset_less=True)
                          for n in range(n_regions))

        def table(name, shape, depth):
            m.submodules[name] = ram = memory.Memory(
                shape=shape, depth=depth, init=[], attrs={"ram_style": "distributed"})
            write, read = ram.write_port(), ram.read_port()
            at = Signal(range(depth), name=f"{name}_at")
            m.d.comb += [read.en.eq(1), read.addr.eq(at), write.addr.eq(at)]
            return at, read, write

        stream_at, stream_read, stream_write = table("streams", _STREAM, n_streams)
        region_at, region_read, region_write = table("regions", _REGION, n_regions)

        def encode(m, hits, target):
            for n, hit in enumerate(hits):
                with m.If(hit):
                    m.d.sync += target.eq(n)

        head = self.header.p
        stream_hits = Signal(n_streams)
        region_hits = Signal(n_regions)
        m.d.comb += [
            stream_hits.eq(Cat(stream_open[n] & (stream_id[n] == head.stream)
                               for n in range(n_streams))),
            region_hits.eq(Cat(region_open[n] & (region_id[n] == Cat(head.message, head.stream))
                               for n in range(n_regions))),
        ]

        # The stream and the region that are in hand.
        known = Signal()
        posted = Signal()
        context = Signal(_STREAM, reset_less=True)
        region = Signal(_REGION, reset_less=True)
        offset = Signal(32, reset_less=True)
        end = Signal(33, reset_less=True)          # the bucket behind the frame
        begin_bytes = Signal(33, reset_less=True)  # where the frame begins in the region
        span_bytes = Signal(32, reset_less=True)
        left_bytes = Signal(33, reset_less=True)   # of the region, from there
        ours = Signal()
        bit = Signal(reset_less=True)
        drop = Signal(DROPS)
        accept = Signal()
        record = Signal(LANDING, reset_less=True)
        record_valid = Signal()
        verdict_valid = Signal()
        ack = Signal(ACK_TO, reset_less=True)
        ack_valid = Signal()
        ack_turn = Signal()
        pending = Signal()
        # Commands wait in a register, for what is worked out of them takes a clock.
        order = Signal(POST, reset_less=True)
        opening = Signal(OPEN, reset_less=True)
        words = Signal(30)
        taken = Signal()  # the entry that a command is for is in use

        m.d.comb += [
            self.landing.valid.eq(record_valid), self.landing.p.eq(record),
            self.verdict.valid.eq(verdict_valid), self.verdict.p.eq(accept),
            self.acknowledge.valid.eq(ack_valid), self.acknowledge.p.eq(ack),
            self.peer_at.eq(stream_read.data.peer),
            pending.eq((stream_ack & stream_open).any() & ~ack_valid),
            words.eq(order.bytes[2:]),
        ]
        with m.If(self.landing.ready):
            m.d.sync += record_valid.eq(0)
        with m.If(self.verdict.ready):
            m.d.sync += verdict_valid.eq(0)
        with m.If(self.acknowledge.ready):
            m.d.sync += ack_valid.eq(0)

        with m.FSM() as fsm:
            with m.State("IDLE"):
                with m.If(self.open.valid):
                    m.d.comb += self.open.ready.eq(1)
                    m.d.sync += [opening.eq(self.open.p), stream_at.eq(self.open.p.entry)]
                    m.next = "OPEN"
                with m.Elif(self.post.valid & ~record_valid):
                    m.d.comb += self.post.ready.eq(1)
                    m.d.sync += [order.eq(self.post.p), region_at.eq(self.post.p.entry),
                                 taken.eq(0)]
                    for n in range(n_regions):
                        with m.If((self.post.p.entry == n) & region_open[n]):
                            m.d.sync += taken.eq(1)
                    m.next = "POST READ"
                with m.Elif(pending & (ack_turn | ~self.header.valid)):
                    for n in reversed(range(n_streams)):
                        with m.If(stream_ack[n] & stream_open[n]):
                            m.d.sync += stream_at.eq(n)
                    m.next = "ACK READ"
                with m.Elif(self.header.valid):
                    m.d.sync += [
                        known.eq(stream_hits.any()), posted.eq(region_hits.any()),
                        end.eq(head.first + head.span),
                        begin_bytes.eq((head.first << (head.log2_bucket + 2))[:33]),
                        span_bytes.eq((head.span << (head.log2_bucket + 2))[:32]),
                    ]
                    encode(m, stream_hits, stream_at)
                    encode(m, region_hits, region_at)
                    m.next = "READ"

            # ---- a frame ----
            with m.State("READ"):
                m.next = "HELD"
            with m.State("HELD"):
                m.d.sync += [
                    context.eq(stream_read.data),
                    region.eq(region_read.data),
                    offset.eq(head.sequence - stream_read.data.expected),
                ]
                m.next = "CHECK"
            with m.State("CHECK"):
                m.d.sync += [
                    ours.eq(self.peer.ip == head.source.ip),
                    bit.eq(context.bitmap.bit_select(offset[:6], 1)),
                    left_bytes.eq(region.bytes - begin_bytes),
                ]
                m.next = "DECIDE"
            with m.State("DECIDE"):
                m.d.sync += [
                    drop.eq(0),
                    accept.eq(0),
                ]
                with m.If(~known):
                    m.d.sync += drop.unknown_stream.eq(1)
                with m.Elif(~ours):
                    m.d.sync += drop.wrong_source.eq(1)
                with m.Elif(offset[31] | (offset < WINDOW) & bit):
                    m.d.sync += drop.duplicate.eq(1)
                with m.Elif(offset >= WINDOW):
                    m.d.sync += drop.beyond_window.eq(1)
                with m.Elif(~posted):
                    m.d.sync += drop.unposted.eq(1)
                with m.Elif(head.log2_bucket != region.log2_bucket):
                    m.d.sync += drop.bucket.eq(1)
                with m.Elif(end > region.buckets):
                    m.d.sync += drop.outside.eq(1)
                with m.Else():
                    m.d.sync += accept.eq(1)
                m.next = "ANSWER"
            with m.State("ANSWER"):
                with m.If(~verdict_valid & ~(accept & record_valid)):
                    m.d.comb += [self.header.ready.eq(1), self.drop.eq(drop),
                                 self.accepted.eq(accept)]
                    m.d.sync += [
                        verdict_valid.eq(1),
                        ack_turn.eq(1),
                        record_valid.eq(accept),
                        record.address.eq(region.address + begin_bytes),
                        record.bytes.eq(Mux(left_bytes < span_bytes, left_bytes, span_bytes)),
                        record.add.eq(region.add),
                        record.data.eq(1),
                        record.final.eq(region.received + head.span == region.buckets),
                        record.entry.eq(region_at),
                        record.tag.eq(region.tag),
                        record.count.eq(region.received + head.span),
                        record.status.eq(Status.OK),
                        region.received.eq(region.received + head.span),
                    ]
                    m.next = "IDLE"
                    with m.If(accept):
                        for n in range(WINDOW):
                            with m.If(offset[:6] == n):
                                m.d.sync += context.bitmap[n].eq(1)
                        m.next = "SLIDE"
                    with m.If(accept | drop.duplicate):
                        for n in range(n_streams):
                            with m.If(stream_at == n):
                                m.d.sync += stream_ack[n].eq(1)
            with m.State("SLIDE"):
                with m.If(context.bitmap[0]):
                    m.d.sync += [
                        context.bitmap.eq(context.bitmap >> 1),
                        context.expected.eq(context.expected + 1),
                    ]
                with m.Else():
                    m.d.comb += [
                        stream_write.en.eq(1), stream_write.data.eq(context),
                        region_write.en.eq(1), region_write.data.eq(region),
                    ]
                    with m.If(record.final):
                        for n in range(n_regions):
                            with m.If(region_at == n):
                                m.d.sync += region_open[n].eq(0)
                    m.next = "IDLE"

            # ---- an acknowledgement ----
            with m.State("ACK READ"):
                m.d.sync += ack_turn.eq(0)
                m.next = "ACK"
            with m.State("ACK"):
                m.d.sync += [
                    ack_valid.eq(1),
                    ack.stream.eq(stream_id[stream_at]),
                    ack.sequence.eq(stream_read.data.expected),
                    ack.bitmap.eq(stream_read.data.bitmap),
                    ack.peer.eq(stream_read.data.peer),
                ]
                for n in range(n_streams):
                    with m.If(stream_at == n):
                        m.d.sync += stream_ack[n].eq(0)
                m.next = "IDLE"

            # ---- commands ----
            with m.State("OPEN"):
                m.d.comb += [
                    stream_write.data.expected.eq(opening.sequence),
                    stream_write.data.peer.eq(opening.peer),
                ]
                for n in range(n_streams):
                    with m.If(opening.entry == n):
                        m.d.comb += stream_write.en.eq(1)
                        m.d.sync += [
                            stream_open[n].eq(opening.open), stream_ack[n].eq(0),
                            stream_id[n].eq(opening.stream)]
                m.next = "IDLE"
            with m.State("POST READ"):
                m.d.sync += [
                    region.address.eq(order.address), region.bytes.eq(order.bytes),
                    region.add.eq(order.add), region.log2_bucket.eq(order.log2_bucket),
                    region.tag.eq(order.tag), region.received.eq(0),
                    region.buckets.eq(
                        (words + (1 << order.log2_bucket) - 1) >> order.log2_bucket),
                    drop.eq(0),
                ]
                m.next = "POST"
            with m.State("POST"):
                good = Signal()
                m.d.comb += good.eq(
                    ~taken & (order.bytes != 0) & ((order.bytes[:2] | order.address[:2]) == 0)
                    & (order.log2_bucket >= LOG2_BUCKET_MIN) & (order.log2_bucket <= largest))
                m.d.sync += [
                    record.data.eq(0), record.final.eq(1), record.entry.eq(order.entry),
                    record.tag.eq(order.tag), record.count.eq(0),
                    record.status.eq(Status.BAD_DESCRIPTOR),
                ]
                with m.If(order.entry < n_regions):
                    with m.If(order.post & good):
                        m.d.comb += [region_write.en.eq(1), region_write.data.eq(region)]
                        for n in range(n_regions):
                            with m.If(order.entry == n):
                                m.d.sync += [
                                    region_open[n].eq(1),
                                    region_id[n].eq(Cat(order.message, order.stream))]
                    with m.Elif(order.post):
                        m.d.sync += record_valid.eq(1)
                    with m.Elif(taken):
                        m.d.sync += [
                            record_valid.eq(1),
                            record.tag.eq(region_read.data.tag),
                            record.count.eq(region_read.data.received),
                            record.status.eq(Status.CANCELLED),
                        ]
                        for n in range(n_regions):
                            with m.If(order.entry == n):
                                m.d.sync += region_open[n].eq(0)
                m.next = "IDLE"
        m.d.comb += self.idle.eq(fsm.ongoing("IDLE") & ~self.header.valid & ~self.open.valid
                                 & ~self.post.valid & ~record_valid & ~verdict_valid)
        return m
