"""Cuts messages into frames, and sends again what is not acknowledged."""

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codec.choice import by_bits, is_legal, is_raw
from ..dma.transfer import COMPLETION, Completed, Status, request_layout
from ..formats import FLAG_LAST, HEADER_BYTES, LOG2_BUCKET_MIN, WINDOW, FrameKind
from ..frame.side import ADDRESS, TX_SIDE
from ..stream.beat import CODEC
from ..stream.turns import Turns
from .ack import ACK

__all__ = ["MESSAGE", "OPEN_SENDER", "TICKS", "Sender"]

MESSAGE = data.StructLayout({
    "index": 16, "tag": 32, "address": 64, "bytes": 32, "codec": CODEC, "log2_bucket": 4,
    "stream": 16, "message": 16, "span": 16, "peer": 8})
"""A message to be sent: ``bytes`` of float32 at ``address``, in frames of ``span`` buckets."""

OPEN_SENDER = data.StructLayout({"open": 1, "entry": 8, "stream": 16, "sequence": 32})
"""Opens an entry of the table of streams, whose first frame has that number, or closes it."""

TICKS = 8
"""Parts of the timeout in which its time is told: it is exact to one of them."""

_STREAM = data.StructLayout({
    "una": 32,          # the lowest sequence that is not acknowledged
    "next": 32,         # the first that has never been sent
    "bitmap": WINDOW,   # bit i: una + i is acknowledged
    "again_at": 32,     # what is not acknowledged from here
    "again_end": 32,    # to here is to be sent again
    "recover": 32,      # holes are not sent again at once until una gets here
    "tries": 8, "peer": 8})
_SENT = data.StructLayout({
    "base": 32,         # sequence of its first frame
    "end": 32,          # behind its last, once that was sent
    "first": 27,        # the first bucket that has never been sent
    "buckets": 27, "again": 31} | {name: field.shape for name, field in MESSAGE})


class Sender(wiring.Component):
    """The sending end of the transport (docs/card.md).

    Each stream sends its messages in order, up to ``config.messages`` under way, and has up to
    ``WINDOW`` frames on their way, through all of them. Streams take turns frame by frame; one
    that waits for its window holds up no other. A descriptor for a stream that has no place waits,
    and those behind it with it.

    What an acknowledgement shows to be missing, since something later has come, is sent again at
    once, each time round the window once. When nothing new is acknowledged for ``timeout`` clocks
    (exact to 1/8), all that is not is sent again, ``tries`` times at most: then the stream's
    messages complete with GAVE_UP and the stream is closed. Frames are read from the host's memory
    each time.

    A frame takes ``clocks`` clocks; sent again, up to 3 more for each message under way and one
    for each acknowledged frame that is passed over. An acknowledgement takes 8, 3 more where the
    stream has a message that is sent completely, and 4 for each that ends.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    message : In, stream of MESSAGE
    open : In, stream of OPEN_SENDER; closing completes what is under way with CANCELLED
    ack : In, stream of ``ack.ACK``
    failed : In, stream of 16 bits: the stream of a frame that could not be read; its messages
        complete with READ_ERROR, and it is closed
    request : Out, stream of requests with TX_SIDE: one for each frame
    completion : Out, stream of COMPLETION
    peer_at : Out(8), peer : In(ADDRESS), one clock later: the table of peers
    timeout : In(32), in clocks, 64 or more; tries : In(8)
    sent, sent_again, timed_out, acked, ack_old, ack_bad : Out(1), high for one clock for each
        frame sent for the first time or again, timeout, acknowledgement that brings something,
        that brings nothing, and that cannot be: of a stream that is not open, not from its peer,
        or of frames that were not sent
    idle : Out(1), nothing is under way
    """

    clocks = 11

    def __init__(self, *, config):
        self.config = config
        super().__init__({
            "message": In(stream.Signature(MESSAGE)),
            "open": In(stream.Signature(OPEN_SENDER)),
            "ack": In(stream.Signature(ACK)),
            "failed": In(stream.Signature(16)),
            "request": Out(stream.Signature(request_layout(TX_SIDE))),
            "completion": Out(stream.Signature(COMPLETION)),
            "peer_at": Out(8), "peer": In(ADDRESS),
            "timeout": In(32), "tries": In(8),
            **{name: Out(1) for name in ("sent", "sent_again", "timed_out", "acked", "ack_old",
                                         "ack_bad", "idle")},
        })

    def elaborate(self, platform):
        m = Module()
        n_streams, places = self.config.streams, self.config.messages
        largest = self.config.max_bucket.bit_length() - 1
        payload_words = (self.config.frame_bytes - HEADER_BYTES) // 4

        # ---- what is known of each stream ----
        is_open = Signal(n_streams)
        ids = Array(Signal(16, name=f"id_{n}", reset_less=True) for n in range(n_streams))
        fresh = Signal(n_streams)    # something was never sent, and the window is open
        again = Signal(n_streams)    # there is something to be sent again
        waits = Signal(n_streams)    # frames are on their way
        ages = Array(Signal(range(TICKS + 1), name=f"age_{n}") for n in range(n_streams))
        place = range(places)
        count = range(places + 1)
        heads = Array(Signal(place, name=f"head_{n}") for n in range(n_streams))   # the oldest
        helds = Array(Signal(count, name=f"held_{n}") for n in range(n_streams))   # how many
        begins = Array(Signal(count, name=f"begin_{n}") for n in range(n_streams))
        # begins: how many of them, from the oldest, are sent completely for the first time

        def table(name, shape, depth):
            m.submodules[name] = ram = memory.Memory(
                shape=shape, depth=depth, init=[], attrs={"ram_style": "distributed"})
            write, read = ram.write_port(), ram.read_port()
            m.d.comb += read.en.eq(1)
            return write, read

        stream_write, stream_read = table("streams", _STREAM, n_streams)
        sent_write, sent_read = table("messages", _SENT, n_streams * places)
        at = Signal(range(n_streams))        # the stream in hand
        step = Signal(count)                 # the message in hand, counted from the oldest
        context = Signal(_STREAM, reset_less=True)
        sent = Signal(_SENT, reset_less=True)
        slot = Signal(range(2 * places))
        slot_at = Signal(range(n_streams * places))
        head, held, begin = heads[at], helds[at], begins[at]
        m.d.comb += [
            slot.eq(head + step),
            slot_at.eq(at * places + Mux(slot >= places, slot - places, slot)),
            stream_write.addr.eq(at), stream_read.addr.eq(at), stream_write.data.eq(context),
            sent_write.addr.eq(slot_at), sent_read.addr.eq(slot_at), sent_write.data.eq(sent),
            self.peer_at.eq(context.peer),
        ]

        def per_stream(signal, value):
            """Sets a stream's bit."""
            for n in range(n_streams):
                with m.If(at == n):
                    m.d.sync += signal[n].eq(value)

        # ---- time ----
        clock = Signal(32)
        tick = Signal()
        m.d.comb += tick.eq(clock >= (self.timeout >> (TICKS.bit_length() - 1)))
        m.d.sync += clock.eq(Mux(tick, 0, clock + 1))
        late = Signal(n_streams)
        renew = Signal(n_streams)  # a stream's time begins anew
        for n in range(n_streams):
            m.d.comb += late[n].eq(ages[n] == TICKS)
            with m.If(renew[n] | ~waits[n]):
                m.d.sync += ages[n].eq(0)
            with m.Elif(tick & ~late[n]):
                m.d.sync += ages[n].eq(ages[n] + 1)

        # ---- who asks ----
        m.submodules.turns = turns = Turns(n_streams)
        m.d.comb += turns.ask.eq((fresh | again) & is_open)

        def found(value):
            hits = Signal(n_streams)
            m.d.comb += hits.eq(Cat(is_open[n] & (ids[n] == value) for n in range(n_streams)))
            return hits

        ack_hits, message_hits = found(self.ack.p.stream), found(self.message.p.stream)
        failed_hits = found(self.failed.p)
        full = Signal()
        m.d.comb += full.eq(Cat(message_hits[n] & (helds[n] == places)
                                for n in range(n_streams)).any())

        def choose(hits):
            for n in range(n_streams):
                with m.If(hits[n]):
                    m.d.sync += at.eq(n)

        known = Signal()
        status = Signal(Status)
        ack = Signal(ACK, reset_less=True)
        ahead = Signal(32, reset_less=True)
        flight = Signal(32, reset_less=True)
        ours = Signal(reset_less=True)
        brings = Signal()
        completion = Signal(COMPLETION, reset_less=True)
        completion_valid = Signal()
        request = Signal(request_layout(TX_SIDE), reset_less=True)
        request_valid = Signal()
        m.d.comb += [
            self.completion.valid.eq(completion_valid), self.completion.p.eq(completion),
            self.request.valid.eq(request_valid), self.request.p.eq(request),
        ]
        with m.If(self.completion.ready):
            m.d.sync += completion_valid.eq(0)
        with m.If(self.request.ready):
            m.d.sync += request_valid.eq(0)

        window_open = Signal()
        window = Signal(32)  # modulo 2^32: a difference of signals would be signed
        m.d.comb += [
            window.eq(context.next - context.una), window_open.eq(window < WINDOW)]

        # What a frame is made of.
        sequence = Signal(32, reset_less=True)
        first = Signal(27, reset_less=True)
        buckets_left = Signal(27, reset_less=True)
        span = Signal(16, reset_less=True)
        offset = Signal(32, reset_less=True)
        bytes_left = Signal(32, reset_less=True)
        repeats = Signal()
        codec = sent.codec
        shift = Signal(4)  # of a bucket's code words
        raw = is_raw(codec)
        m.d.comb += shift.eq(sent.log2_bucket - Mux(raw, 0, by_bits(codec, 4, 3, 2)))
        words = Signal(32)
        message = Signal(MESSAGE, reset_less=True)
        record_shift = Signal(4)
        m.d.comb += [
            words.eq((span << shift) + Mux(raw, 0, span)),
            record_shift.eq(message.log2_bucket
                            - Mux(is_raw(message.codec), 0, by_bits(message.codec, 4, 3, 2))),
        ]
        need_words = Signal(32, reset_less=True)
        buckets = Signal(31, reset_less=True)

        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.sync += step.eq(0)
                with m.If(self.open.valid & ~completion_valid):
                    m.d.comb += self.open.ready.eq(1)
                    m.d.sync += [
                        known.eq(self.open.p.entry < n_streams), at.eq(self.open.p.entry),
                        status.eq(Status.CANCELLED)]
                    m.d.sync += [
                        context.una.eq(self.open.p.sequence),
                        context.next.eq(self.open.p.sequence),
                        context.bitmap.eq(0),
                        context.again_at.eq(self.open.p.sequence),
                        context.again_end.eq(self.open.p.sequence),
                        context.recover.eq(self.open.p.sequence),
                        context.tries.eq(0), context.peer.eq(0),
                        message.stream.eq(self.open.p.stream), repeats.eq(self.open.p.open),
                    ]
                    m.next = "OPEN"
                with m.Elif(self.failed.valid):
                    m.d.comb += self.failed.ready.eq(1)
                    m.d.sync += status.eq(Status.READ_ERROR)
                    choose(failed_hits)
                    with m.If(failed_hits.any()):
                        m.next = "FAIL"
                with m.Elif(self.ack.valid):
                    m.d.comb += self.ack.ready.eq(1)
                    m.d.sync += [ack.eq(self.ack.p), known.eq(ack_hits.any())]
                    choose(ack_hits)
                    m.next = "ACK READ"
                with m.Elif((late & is_open).any()):
                    choose(late & is_open)
                    m.next = "LATE READ"
                with m.Elif(self.message.valid & ~full & ~completion_valid):
                    m.d.comb += self.message.ready.eq(1)
                    m.d.sync += [message.eq(self.message.p), known.eq(message_hits.any())]
                    choose(message_hits)
                    m.next = "MESSAGE READ"
                with m.Elif(turns.any & ~request_valid):
                    m.d.comb += turns.next.eq(1)
                    m.d.sync += at.eq(turns.index)
                    m.next = "FRAME READ"

            # ---- opening and closing ----
            with m.State("OPEN"):
                m.next = "IDLE"
                with m.If(known):
                    m.next = "FAIL"
                    with m.If(held == 0):
                        m.next = "OPENED"
            with m.State("OPENED"):
                m.d.comb += stream_write.en.eq(1)
                for n in range(n_streams):
                    with m.If(at == n):
                        m.d.sync += [
                            is_open[n].eq(repeats), ids[n].eq(message.stream), fresh[n].eq(0),
                            again[n].eq(0), waits[n].eq(0), begins[n].eq(0)]
                m.next = "IDLE"

            # ---- all of a stream's messages come to an end ----
            with m.State("FAIL"):
                per_stream(is_open, 0)
                per_stream(waits, 0)
                m.d.sync += step.eq(0)
                m.next = "FAIL READ"
                with m.If(held == 0):
                    m.next = "IDLE"
                    with m.If(status == Status.CANCELLED):
                        m.next = "OPENED"
            with m.State("FAIL READ"):
                m.next = "FAIL HELD"
            with m.State("FAIL HELD"):
                m.d.sync += sent.eq(sent_read.data)
                m.next = "FAIL END"
            with m.State("FAIL END"):
                with m.If(~completion_valid):
                    m.d.sync += [
                        completion_valid.eq(1),
                        completion.eq(0),
                        completion.kind.eq(Completed.MESSAGE_SENT),
                        completion.status.eq(status),
                        completion.index.eq(sent.index), completion.tag.eq(sent.tag),
                        completion.detail.eq(sent.again),
                        head.eq(Mux(head == places - 1, 0, head + 1)),
                        held.eq(held - 1),
                        begin.eq(Mux(begin == 0, 0, begin - 1)),
                    ]
                    m.next = "FAIL"

            # ---- an acknowledgement ----
            with m.State("ACK READ"):
                m.next = "ACK HELD"
            with m.State("ACK HELD"):
                m.d.sync += [
                    context.eq(stream_read.data),
                    ahead.eq(ack.sequence - stream_read.data.una),
                    flight.eq(stream_read.data.next - ack.sequence),
                ]
                m.next = "ACK PEER"
            with m.State("ACK PEER"):
                m.next = "ACK CHECK"
            with m.State("ACK CHECK"):
                beyond = Signal(WINDOW)
                m.d.comb += [
                    ours.eq(self.peer.ip == ack.source),
                    # Bits of frames that were never sent.
                    beyond.eq(Mux(flight >= WINDOW, 0, ack.bitmap >> flight[:6])),
                    brings.eq((ahead != 0) | ((ack.bitmap & ~context.bitmap) != 0)),
                ]
                m.next = "IDLE"
                with m.If(~known | ~ours | ((ahead > WINDOW) & ~ahead[31]) | flight[31]
                          | (beyond != 0)):
                    m.d.comb += self.ack_bad.eq(1)
                with m.Elif(ahead[31] | ~brings):
                    m.d.comb += self.ack_old.eq(1)
                with m.Else():
                    m.d.comb += self.acked.eq(1)
                    m.d.sync += [
                        context.una.eq(ack.sequence), context.tries.eq(0),
                        context.bitmap.eq((context.bitmap >> ahead[:7]) | ack.bitmap),
                    ]
                    for n in range(n_streams):
                        m.d.comb += renew[n].eq(at == n)
                    m.next = "ACK HOLES"
            with m.State("ACK HOLES"):
                # What is missing below the highest one that came, unless it was sent again in
                # this round already.
                highest = Signal(range(WINDOW))
                for n in range(WINDOW):
                    with m.If(context.bitmap[n]):
                        m.d.comb += highest.eq(n)
                behind = Signal(32)
                m.d.comb += behind.eq(context.una - context.recover)
                with m.If((context.bitmap != 0) & ~behind[31]):
                    m.d.sync += [
                        context.again_at.eq(context.una),
                        context.again_end.eq(context.una + highest),
                        context.recover.eq(context.next),
                    ]
                m.next = "RETIRE"
            with m.State("RETIRE"):
                m.next = "RETIRE READ"
                with m.If(begin == 0):
                    m.next = "SETTLE"
            with m.State("RETIRE READ"):
                m.next = "RETIRE HELD"
            with m.State("RETIRE HELD"):
                m.d.sync += [sent.eq(sent_read.data), ahead.eq(context.una
                                                               - sent_read.data.end)]
                m.next = "RETIRE END"
            with m.State("RETIRE END"):
                with m.If(ahead[31]):
                    m.next = "SETTLE"
                with m.Elif(~completion_valid):
                    m.d.sync += [
                        completion_valid.eq(1),
                        completion.eq(0),
                        completion.kind.eq(Completed.MESSAGE_SENT),
                        completion.status.eq(Status.OK),
                        completion.index.eq(sent.index), completion.tag.eq(sent.tag),
                        completion.count.eq(sent.buckets), completion.detail.eq(sent.again),
                        head.eq(Mux(head == places - 1, 0, head + 1)),
                        held.eq(held - 1), begin.eq(begin - 1),
                    ]
                    m.next = "RETIRE"

            # ---- nothing came for too long ----
            with m.State("LATE READ"):
                m.next = "LATE HELD"
            with m.State("LATE HELD"):
                m.d.sync += context.eq(stream_read.data)
                m.next = "LATE"
            with m.State("LATE"):
                m.d.comb += self.timed_out.eq(1)
                for n in range(n_streams):
                    m.d.comb += renew[n].eq(at == n)
                m.d.sync += [
                    context.tries.eq(context.tries + 1),
                    context.again_at.eq(context.una), context.again_end.eq(context.next),
                    context.recover.eq(context.next),
                ]
                m.next = "SETTLE"
                with m.If(context.tries == self.tries):
                    m.d.sync += status.eq(Status.GAVE_UP)
                    m.next = "FAIL"

            # ---- a new message ----
            with m.State("MESSAGE READ"):
                m.d.sync += [
                    need_words.eq((message.span << record_shift)
                                  + Mux(is_raw(message.codec), 0, message.span)),
                    buckets.eq((message.bytes[2:] + (1 << message.log2_bucket) - 1)
                               >> message.log2_bucket),
                ]
                m.next = "MESSAGE"
            with m.State("MESSAGE"):
                m.d.sync += context.eq(stream_read.data)
                m.d.sync += [
                    *(sent[name].eq(message[name]) for name in MESSAGE.members),
                    sent.buckets.eq(buckets), sent.first.eq(0), sent.again.eq(0),
                    step.eq(held),
                ]
                m.next = "MESSAGE PUT"
                with m.If(~known | ~is_legal(message.codec) | (message.span == 0)
                          | (message.log2_bucket < LOG2_BUCKET_MIN)
                          | (message.log2_bucket > largest)
                          | (message.bytes == 0) | (message.bytes[:2] != 0)
                          | (message.address[:2] != 0) | (need_words > payload_words)):
                    m.d.sync += [
                        completion_valid.eq(1),
                        completion.eq(0),
                        completion.kind.eq(Completed.MESSAGE_SENT),
                        completion.status.eq(Status.BAD_DESCRIPTOR),
                        completion.index.eq(message.index), completion.tag.eq(message.tag),
                    ]
                    m.next = "IDLE"
            with m.State("MESSAGE PUT"):
                m.d.comb += sent_write.en.eq(1)
                m.d.sync += [held.eq(held + 1), context.peer.eq(sent.peer)]
                m.next = "SETTLE"

            # ---- a frame ----
            with m.State("FRAME READ"):
                m.next = "FRAME HELD"
            with m.State("FRAME HELD"):
                m.d.sync += context.eq(stream_read.data)
                m.next = "FRAME"
            with m.State("FRAME"):
                # Something to be sent again goes first; what came meanwhile is passed over.
                lag = Signal(32)
                m.d.comb += lag.eq(context.again_at - context.una)
                with m.If(context.again_at == context.again_end):
                    m.d.sync += [repeats.eq(0), sequence.eq(context.next), step.eq(begin)]
                    m.next = "SETTLE"
                    with m.If((begin != held) & window_open):
                        m.next = "FRAME FIND"
                with m.Elif(lag[31]):
                    ended = Signal(32)
                    m.d.comb += ended.eq(context.again_end - context.una)
                    m.d.sync += context.again_at.eq(
                        Mux(ended[31], context.again_end, context.una))
                with m.Elif(context.bitmap.bit_select(lag[:6], 1)):
                    m.d.sync += context.again_at.eq(context.again_at + 1)
                with m.Else():
                    m.d.sync += [repeats.eq(1), sequence.eq(context.again_at), step.eq(0)]
                    m.next = "FRAME FIND"
            with m.State("FRAME FIND"):
                m.next = "FRAME FOUND"
            with m.State("FRAME FOUND"):
                m.d.sync += [
                    sent.eq(sent_read.data),
                    ahead.eq(sequence - sent_read.data.end),
                    flight.eq(sequence - sent_read.data.base),
                ]
                m.next = "FRAME PLACE"
            with m.State("FRAME PLACE"):
                m.d.sync += first.eq(Mux(repeats, flight * sent.span, sent.first))
                m.next = "FRAME SIZE"
                # One that is sent completely may end before this frame: then it is the next one's.
                with m.If(repeats & (step < begin) & ~ahead[31]):
                    m.d.sync += step.eq(step + 1)
                    m.next = "FRAME FIND"
            with m.State("FRAME SIZE"):
                m.d.sync += [
                    buckets_left.eq(sent.buckets - first),
                    offset.eq(first << (sent.log2_bucket + 2)),
                ]
                with m.If((sent.first == 0) & ~repeats):
                    m.d.sync += sent.base.eq(sequence)
                m.next = "FRAME END"
            with m.State("FRAME END"):
                m.d.sync += [
                    span.eq(Mux(buckets_left < sent.span, buckets_left, sent.span)),
                    bytes_left.eq(sent.bytes - offset),
                ]
                m.next = "FRAME OUT"
            with m.State("FRAME OUT"):
                last = Signal()
                span_bytes = Signal(32)
                side = request.tag
                m.d.comb += [
                    last.eq(buckets_left <= sent.span),
                    span_bytes.eq(span << (sent.log2_bucket + 2)),
                    self.sent.eq(~repeats), self.sent_again.eq(repeats),
                    sent_write.en.eq(1),
                    sent_write.data.again.eq(sent.again + repeats),
                ]
                m.d.sync += [
                    request_valid.eq(1),
                    request.address.eq(sent.address + offset),
                    request.bytes.eq(Mux(bytes_left < span_bytes, bytes_left, span_bytes)),
                    side.bypass.eq(0), side.kind.eq(FrameKind.DATA),
                    side.flags.eq(Mux(last, FLAG_LAST, 0)),
                    *(side[name].eq(sent[name]) for name in (
                        "codec", "log2_bucket", "stream", "message", "peer")),
                    side.first.eq(first), side.span.eq(span), side.records.eq(span),
                    side.sequence.eq(sequence), side.bytes.eq(words << 2),
                ]
                with m.If(repeats):
                    m.d.sync += context.again_at.eq(context.again_at + 1)
                with m.Else():
                    m.d.comb += [
                        sent_write.data.first.eq(first + span),
                        sent_write.data.end.eq(sequence + 1),
                    ]
                    m.d.sync += [context.next.eq(context.next + 1), begin.eq(begin + last)]
                m.next = "SETTLE"

            # ---- back to memory, and what is to be done next for the stream ----
            with m.State("SETTLE"):
                m.d.comb += stream_write.en.eq(1)
                per_stream(fresh, (begin != held) & window_open)
                per_stream(again, context.again_at != context.again_end)
                per_stream(waits, context.next != context.una)
                m.next = "IDLE"
        m.d.comb += self.idle.eq(
            fsm.ongoing("IDLE") & ~completion_valid & ~request_valid & (waits == 0)
            & ~turns.any & ~self.message.valid & ~self.open.valid & ~self.failed.valid)
        return m
