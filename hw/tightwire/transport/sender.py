"""The sending end of the transport."""

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..codec.choice import is_legal, is_raw
from ..dma.transfer import COMPLETION, Completed, Status, request_layout
from ..formats import FLAG_LAST, HEADER_BYTES, LOG2_BUCKET_MIN, WINDOW, FrameKind
from ..frame.side import ADDRESS, TX_SIDE
from ..stream.beat import CODEC
from ..stream.queue import Queue
from ..stream.ram_queue import following
from ..stream.turns import Turns
from .ack import ACK
from .message import KIND_MESSAGE, MESSAGE, body_shift
from .window import between, highest, lowest, rotated

__all__ = ["EVENTS", "FAILED", "OPEN_SENDER", "Sender"]

OPEN_SENDER = data.StructLayout({"open": 1, "entry": 8, "stream": 16, "sequence": 32})
"""Opens an entry of the table of streams, whose first frame has that number, or closes it."""

FAILED = data.StructLayout({"stream": 16, "sequence": 32})
"""A frame whose floats could not be read."""

EVENTS = data.StructLayout({
    "sent": 1, "again": 1, "timeout": 1, "acked": 1, "bad_ack": 1, "unknown_ack": 1,
    "wrong_source": 1, "done": 1, "failed": 1, "gave_up": 1, "bad_descriptor": 1, "refused": 1})
"""What is to be counted: frames sent, and those of them that were sent again; timeouts; ACKs that
were right; ACKs of what was never sent, of a stream that is not open, not from the stream's peer;
messages that are acknowledged whole; messages that ended otherwise, those of them that were given
up, and those whose descriptor was wrong; a command that was refused."""

_PLACE = (WINDOW - 1).bit_length()
_FIRST_BITS = 24    # 2^30 floats in buckets of 64
_BUCKETS_BITS = 25
_WORDS_BITS = 32    # of a span of records, before it is known to fit
_NEAR = 8           # bits that are enough to compare numbers that are less than 128 apart

# What the FSM can be asked to do, in the order in which it takes them.
_ALARM, _COMMAND, _FAILED, _ACK, _SEND, _MESSAGE = range(6)


def _behind(number, other):
    """Whether ``number`` is behind ``other``, both of _NEAR bits and near each other."""
    return (number - other)[_NEAR - 1]


class Sender(wiring.Component):
    """The sending end of the transport (docs/transport.md): sends messages until they are had.

    A message is cut into frames, and each frame is a request to read its floats. What is sent
    again is read again. At most ``WINDOW`` frames of a stream are under way; its messages go in
    order, and the window goes over from one to the next. Streams take turns, frame by frame; one
    that has to wait for its window, or to be acknowledged, is not asked. Work of different kinds
    takes turns as well.

    Up to ``messages`` messages of each stream are under way. A descriptor for a stream that has as
    many waits, and those behind it with it. While nobody takes completions everything waits, once
    ``held`` of them are held; no timeout is counted meanwhile. A descriptor that is not right
    completes with BAD_DESCRIPTOR: another kind; a codec that is not built; a bucket size
    that is not built; an address or a length that is no multiple of 4; no length; a span of 0, or
    one of which a frame would be longer than ``frame_bytes``; a peer beyond the table, or another
    one than that of the stream's first message; a stream that is not open. One that could not be
    read completes with READ_ERROR.

    In clocks, with nothing else to do: ``frame_clocks`` a frame, ``again_clocks`` one that is sent
    again, ``ack_clocks`` an ACK, with a bitmap ``bitmap_clocks``, and 2 for each message that it
    completes; 7 a descriptor. A timeout is noticed up to 4 clocks for each stream late.

    Parameters
    ----------
    config : NicConfig

    Members
    -------
    message : In, stream of MESSAGE
    open : In, stream of OPEN_SENDER. Opening an entry that is open closes it first; closing
        completes its messages with CANCELLED. Refused for an entry that the table does not have,
        or a stream that is open in another one
    ack : In, stream of ACK
    failed : In, stream of FAILED. Completes the frame's message with READ_ERROR and the stream's
        others with CANCELLED, and closes it; without effect where the frame was acknowledged
    request : Out, stream of request_layout(TX_SIDE)
    completion : Out, stream of COMPLETION
    peer_at : Out(8), peer : In(ADDRESS), one clock later: the table of peers
    timeout : In(32), clocks, up to 2^32 - 2^16
    tries : In(8), timeouts in a row until it gives up; 0: never
    events : Out, EVENTS, each high for one clock
    idle : Out(1), no message is under way, and nothing is being worked on
    """

    frame_clocks = 8
    again_clocks = 13
    ack_clocks = 12
    bitmap_clocks = 14
    held = 8

    def __init__(self, *, config):
        self.config = config
        super().__init__({
            "message": In(stream.Signature(MESSAGE)),
            "open": In(stream.Signature(OPEN_SENDER)),
            "ack": In(stream.Signature(ACK)),
            "failed": In(stream.Signature(FAILED)),
            "request": Out(stream.Signature(request_layout(TX_SIDE))),
            "completion": Out(stream.Signature(COMPLETION)),
            "peer_at": Out(8),
            "peer": In(ADDRESS),
            "timeout": In(32),
            "tries": In(8),
            "events": Out(EVENTS),
            "idle": Out(1),
        })

    def elaborate(self, platform):
        m = Module()
        streams, messages = self.config.streams, self.config.messages
        slot_bits = (messages - 1).bit_length()
        places = streams << slot_bits  # for messages, ``messages`` of each stream's are in use
        at_bits = max(1, (streams - 1).bit_length())
        longest = (self.config.frame_bytes - HEADER_BYTES) // 4
        largest = self.config.max_bucket.bit_length() - 1

        STREAM = data.StructLayout({
            "una": 32,           # the lowest number that is not acknowledged,
            "next": 32,          # and the one behind the highest that was sent
            "acked": WINDOW,     # of those between, by number modulo 64: had,
            "pending": WINDOW,   # to be sent again
            "marked": _NEAR,     # the holes below were sent again in this round,
            "recover": _NEAR,    # which ends when this number or a later one was had
            "tries": 8,          # timeouts in a row
            "used": 1,           # there are messages, from head to tail
            "head": slot_bits,
            "tail": slot_bits,
            "more": 1,           # some of them have frames never sent, the first one is
            "current": slot_bits,
            "first": _FIRST_BITS,  # its next bucket
            "peered": 1,         # there was a message, so the peer is known
            "peer": 8,
        })
        INFO = data.StructLayout({   # of a message, as it came
            "address": 64, "bytes": 32, "tag": 32, "message": 16, "codec": CODEC,
            "log2_bucket": 4, "shift": 4, "span": 16, "peer": 8, "index": 16,
            "buckets": _BUCKETS_BITS})
        PROGRESS = data.StructLayout({
            "ended": 1,     # its last frame was sent,
            "end": _NEAR,   # and this is the number behind it
            "again": 31})
        ENTRY = data.StructLayout({"slot": slot_bits, "first": _FIRST_BITS})

        def table(name, shape, depth, at, write_at):
            m.submodules[name] = ram = memory.Memory(
                shape=shape, depth=depth, init=[], attrs={"ram_style": "distributed"})
            write, read = ram.write_port(), ram.read_port(domain="comb")
            m.d.comb += [read.addr.eq(at), write.addr.eq(write_at)]
            return read.data, write

        # ---- what is in hand ----
        kind = Signal(6)
        id = Signal(16, reset_less=True)
        at = Signal(at_bits)
        known = Signal()
        context = Signal(STREAM, reset_less=True)
        slot = Signal(slot_bits)    # the message's place among those of its stream,
        message_at = Cat(slot, at)  # and among all
        info = Signal(INFO, reset_less=True)
        progress = Signal(PROGRESS, reset_less=True)
        place = Signal(_PLACE)
        stamp = Signal()  # its timer begins anew

        streams_read, streams_write = table("streams", STREAM, streams, at, at)
        infos_read, infos_write = table("infos", INFO, places, message_at, message_at)
        progress_read, progress_write = table(
            "progress", PROGRESS, places, message_at, message_at)
        slot_next = Signal(slot_bits)
        # Where the frames of each window belong.
        m.submodules.frames = frames = memory.Memory(
            shape=ENTRY, depth=streams * WINDOW, init=[], attrs={"ram_style": "block"})
        frames_write, frames_read = frames.write_port(), frames.read_port()
        m.d.sync += [info.eq(infos_read), progress.eq(progress_read)]
        m.d.comb += [
            streams_write.data.eq(context),
            slot_next.eq(following(slot, messages)),
            frames_read.en.eq(1),
            frames_read.addr.eq(Cat(place, at)),
            frames_write.addr.eq(Cat(place, at)),
            self.peer_at.eq(context.peer),
        ]

        # ---- which streams are there, and what they can do ----
        is_open = Signal(streams)
        ids = [Signal(16, name=f"stream_{n}", reset_less=True) for n in range(streams)]
        sendable = Signal(streams)
        armed = Signal(streams)     # it waits for nothing but ACKs
        hits = Signal(streams)
        m.d.comb += hits.eq(Cat(is_open[n] & (ids[n] == id) for n in range(streams)))
        hit_any, hit = lowest(m, hits, "hit")
        elsewhere = Signal()  # the stream to be opened is open in another entry

        m.submodules.turns = turns = Turns(streams)
        pick = Signal(at_bits)
        pick_valid = Signal()
        m.d.comb += [turns.ask.eq(sendable), turns.next.eq(turns.any & ~pick_valid)]
        with m.If(~pick_valid):
            m.d.sync += [pick.eq(turns.index), pick_valid.eq(turns.any)]

        # ---- messages, and their completions ----
        busy = Signal(range(streams * messages + 1))  # messages under way
        blocked = Signal()  # the next descriptor has to wait until its stream has a place
        accept = Signal()
        m.submodules.completions = completions = Queue(COMPLETION, self.held)
        wiring.connect(m, completions.o, wiring.flipped(self.completion))
        complete = completions.i.valid
        entry = completions.i.p
        count = Signal(_BUCKETS_BITS, reset_less=True)
        m.d.comb += [
            entry.kind.eq(Completed.MESSAGE_SENT),
            entry.index.eq(info.index),
            entry.tag.eq(info.tag),
            entry.count.eq(count),
            entry.detail.eq(progress.again),
        ]
        retire = Signal()
        m.d.sync += busy.eq(busy + accept - retire)
        with m.If(retire):
            m.d.sync += blocked.eq(0)

        # ---- timers ----
        now = Signal(32)
        stamps_at = Signal(at_bits)
        stamps_read, stamps_write = table("stamps", 32, streams, stamps_at, at)
        scan = Signal(2)
        age = Signal(32, reset_less=True)
        late = Signal(reset_less=True)
        alarm = Signal()
        store = Signal()
        m.d.comb += [stamps_write.en.eq(store & stamp), stamps_write.data.eq(now)]
        m.d.sync += [now.eq(now + 1), age.eq(now - stamps_read), late.eq(age >= self.timeout)]
        with m.If(~alarm):
            m.d.sync += scan.eq(scan + 1)
            with m.If(scan == 3):
                with m.If(late & _one_of(armed, stamps_at)):
                    m.d.sync += alarm.eq(1)
                with m.Else():
                    m.d.sync += stamps_at.eq(Mux(stamps_at == streams - 1, 0, stamps_at + 1))
        closed = Signal()
        with m.If((store | closed) & (at == stamps_at)):
            # What was seen of it is no longer so.
            m.d.sync += [scan.eq(0), alarm.eq(0)]

        # ---- whose turn it is ----
        wants = Signal(6)
        served = Signal(6)
        fresh = Signal(6)
        chosen = Signal(6)
        take = Signal()  # what is in hand is done with
        m.d.comb += [
            wants[_ALARM].eq(alarm),
            wants[_COMMAND].eq(self.open.valid),
            wants[_FAILED].eq(self.failed.valid),
            wants[_ACK].eq(self.ack.valid),
            wants[_SEND].eq(pick_valid & ~self.request.valid),
            wants[_MESSAGE].eq(self.message.valid & ~blocked),
            fresh.eq(wants & ~served),
            self.open.ready.eq(take & kind[_COMMAND]),
            self.failed.ready.eq(take & kind[_FAILED]),
            self.ack.ready.eq(take & kind[_ACK]),
            self.message.ready.eq(take & kind[_MESSAGE]),
        ]
        candidates = Signal(6)
        m.d.comb += [
            candidates.eq(Mux(fresh.any(), fresh, wants)),
            chosen.eq(candidates & -candidates),
        ]

        # ---- the window ----
        mask_from = Signal(_PLACE)
        mask_to = Signal(_PLACE)
        mask_full = Signal()
        mask = Signal(WINDOW, reset_less=True)
        under_way = Signal(_PLACE + 1)  # frames from una to next
        m.d.sync += mask.eq(between(mask_from, mask_to, mask_full))
        m.d.comb += under_way.eq(context.next - context.una)
        pool = Signal(WINDOW, reset_less=True)
        _, pool_lowest = lowest(m, pool, "pool")

        # ---- a frame ----
        again = Signal()
        sequence = Signal(32, reset_less=True)
        first = Signal(_FIRST_BITS, reset_less=True)
        left = Signal(_BUCKETS_BITS, reset_less=True)
        offset = Signal(32, reset_less=True)
        last = Signal()
        span = Signal(16, reset_less=True)
        request = self.request.p
        with m.If(self.request.ready):
            m.d.sync += self.request.valid.eq(0)

        # ---- an ACK ----
        ack = self.ack.p
        distance = Signal(32, reset_less=True)    # of its number, or a failed one's, from una
        out = Signal(_PLACE + 1, reset_less=True)
        ours = Signal()
        ahead = Signal()
        behind = Signal()
        step = Signal(_PLACE + 1, reset_less=True)
        clean = Signal(WINDOW, reset_less=True)
        clean_any, clean_highest = highest(m, clean, "clean")
        clean_turned = rotated(m, clean, ack.sequence[:_PLACE], "turned")
        turned = Signal(WINDOW, reset_less=True)
        high = Signal(_PLACE + 1, reset_less=True)
        reach = Signal(_NEAR + 1, reset_less=True)
        top = Signal(_PLACE + 1, reset_less=True)
        begin = Signal(_PLACE + 1, reset_less=True)
        marked_ahead = Signal(_NEAR)
        recover_ahead = Signal(_NEAR)
        marked_from = Signal(_PLACE + 1)
        new_round = Signal()
        una = context.una[:_NEAR]
        m.d.comb += [
            marked_ahead.eq(context.marked - una),
            recover_ahead.eq(context.recover - una),
            marked_from.eq(Mux(marked_ahead[-1], 0, marked_ahead)),
            new_round.eq((top != 0) & (recover_ahead[-1] | (top > recover_ahead))),
        ]
        less = Signal(_PLACE)  # of its bitmap's beginning, what is known already
        m.d.comb += less.eq(Mux(distance[31], -distance[:_PLACE], 0))

        # ---- a descriptor ----
        message = self.message.p
        rounded = Signal(31, reset_less=True)
        words = Signal(_WORDS_BITS, reset_less=True)
        right = Signal(reset_less=True)
        fits = Signal(reset_less=True)
        buckets = Signal(_BUCKETS_BITS, reset_less=True)
        shift = Signal(4)
        m.d.comb += [
            shift.eq(body_shift(message.codec, message.log2_bucket)),
            *(infos_write.data[name].eq(message[name]) for name in (
                "address", "bytes", "tag", "message", "codec", "log2_bucket", "span", "peer",
                "index")),
            infos_write.data.shift.eq(shift),
            infos_write.data.buckets.eq(buckets),
        ]

        # ---- an end ----
        status = Signal(Status)
        unread = Signal()                  # a frame could not be read,
        unread_slot = Signal(slot_bits)    # of this message
        gives_up = Signal()

        event = self.events
        with m.FSM() as fsm:
            with m.State("IDLE"):
                m.d.sync += [kind.eq(chosen), stamp.eq(0), unread.eq(0)]
                for number, port in ((_COMMAND, self.open), (_FAILED, self.failed),
                                     (_ACK, self.ack), (_MESSAGE, self.message)):
                    with m.If(chosen[number]):
                        m.d.sync += id.eq(port.p.stream)
                        m.next = "FIND"
                with m.If(chosen[_ALARM]):
                    m.d.sync += at.eq(stamps_at)
                    m.next = "LOAD"
                with m.If(chosen[_SEND]):
                    m.d.sync += [at.eq(pick), pick_valid.eq(0)]
                    m.next = "LOAD"
                with m.If(wants.any()):
                    m.d.sync += served.eq(Mux(fresh.any(), served, 0) | chosen)
            with m.State("FIND"):
                m.d.sync += [at.eq(hit), known.eq(hit_any)]
                with m.If(kind[_COMMAND]):
                    m.d.sync += [
                        at.eq(self.open.p.entry),
                        known.eq(Cat(is_open[n] & (self.open.p.entry == n)
                                     for n in range(streams)).any()),
                        elsewhere.eq(Cat(hits[n] & (self.open.p.entry != n)
                                         for n in range(streams)).any()),
                    ]
                m.next = "LOAD"
            with m.State("LOAD"):
                m.d.sync += context.eq(streams_read)
                for number, state in ((_ALARM, "LATE"), (_COMMAND, "COMMAND"),
                                      (_FAILED, "FAILED"), (_ACK, "ACK"), (_SEND, "SEND"),
                                      (_MESSAGE, "MESSAGE")):
                    with m.If(kind[number]):
                        m.next = state
            with m.State("STORE"):
                m.d.comb += [
                    store.eq(1),
                    streams_write.en.eq(1),
                    take.eq(kind[_ACK] | kind[_COMMAND]),
                ]
                can = Signal()
                m.d.comb += can.eq(context.pending.any()
                                   | context.more & ~under_way[_PLACE])
                m.d.sync += [
                    sendable.bit_select(at, 1).eq(can),
                    armed.bit_select(at, 1).eq(~can & (under_way != 0)),
                ]
                m.next = "IDLE"

            # ---- send a frame ----
            with m.State("SEND"):
                m.d.sync += [
                    again.eq(context.pending.any()),
                    slot.eq(context.current),
                    first.eq(context.first),
                    place.eq(context.next),
                    sequence.eq(context.next),
                    mask_from.eq(context.una), mask_to.eq(0), mask_full.eq(1),
                ]
                m.next = "SLOT"
                with m.If(context.pending.any()):
                    m.next = "MASK"
                with m.If(~_one_of(sendable, at)):
                    m.next = "IDLE"  # something has happened since it was picked
            with m.State("MASK"):
                m.next = "POOL"
            with m.State("POOL"):
                # The lowest number first: from una's place on, and then from the bottom.
                m.d.sync += pool.eq(Mux((context.pending & mask).any(), context.pending & mask,
                                        context.pending))
                m.next = "CHOOSE"
            with m.State("CHOOSE"):
                m.d.sync += place.eq(pool_lowest)
                m.next = "LOOK UP"
            with m.State("LOOK UP"):
                m.next = "FOUND"
            with m.State("FOUND"):
                m.d.sync += [
                    slot.eq(frames_read.data.slot),
                    first.eq(frames_read.data.first),
                    sequence.eq(context.una + (place - context.una[:_PLACE])[:_PLACE]),
                ]
                m.next = "SLOT"
            with m.State("SLOT"):
                m.next = "LEFT"
            with m.State("LEFT"):
                m.d.sync += [
                    left.eq(info.buckets - first),
                    offset.eq((first << info.log2_bucket) << 2),
                ]
                m.next = "SPAN"
            with m.State("SPAN"):
                m.d.sync += [
                    last.eq(left <= info.span),
                    span.eq(Mux(left <= info.span, left, info.span)),
                ]
                m.next = "REQUEST"
            with m.State("REQUEST"):
                side = request.tag
                m.d.comb += [
                    event.sent.eq(1), event.again.eq(again),
                    frames_write.data.slot.eq(slot), frames_write.data.first.eq(first),
                    frames_write.en.eq(~again),
                    progress_write.data.eq(progress),
                    progress_write.en.eq(again | last),
                ]
                m.d.sync += [
                    self.request.valid.eq(1),
                    request.address.eq(info.address + offset),
                    request.bytes.eq(Mux(last, info.bytes - offset,
                                         ((span << info.log2_bucket) << 2)[:32])),
                    side.bypass.eq(0),
                    side.codec.eq(info.codec),
                    side.log2_bucket.eq(info.log2_bucket),
                    Value.cast(side.stream).eq(_one_of(ids, at)),
                    side.message.eq(info.message),
                    side.first.eq(first),
                    side.span.eq(span),
                    side.kind.eq(FrameKind.DATA),
                    side.flags.eq(Mux(last, FLAG_LAST, 0)),
                    side.sequence.eq(sequence),
                    side.records.eq(span),
                    side.peer.eq(info.peer),
                    side.bytes.eq((((span << info.shift)[:14]
                                    + Mux(is_raw(info.codec), 0, span)) << 2)[:16]),
                    stamp.eq(1),
                ]
                with m.If(again):
                    m.d.comb += progress_write.data.again.eq(progress.again + 1)
                    m.d.sync += context.pending.bit_select(place, 1).eq(0)
                with m.Else():
                    m.d.comb += [
                        progress_write.data.ended.eq(1),
                        progress_write.data.end.eq(context.next + 1),
                    ]
                    m.d.sync += [
                        context.next.eq(context.next + 1),
                        context.first.eq(first + span),
                        # The place may have been another number's.
                        context.acked.bit_select(place, 1).eq(0),
                    ]
                    with m.If(last):
                        m.d.sync += [
                            context.first.eq(0),
                            context.current.eq(slot_next),
                            context.more.eq(slot != context.tail),
                        ]
                m.next = "STORE"

            # ---- an ACK ----
            with m.State("ACK"):
                m.d.sync += [distance.eq(ack.sequence - context.una), out.eq(under_way)]
                m.next = "ACK NEAR"
                with m.If(~known):
                    m.d.comb += [event.unknown_ack.eq(1), take.eq(1)]
                    m.next = "IDLE"
            with m.State("ACK NEAR"):
                m.d.sync += [
                    ours.eq(context.peered & (self.peer.ip == ack.source)),
                    ahead.eq(~distance[31]),
                    behind.eq(distance[31] & distance[_PLACE:].all()
                              & distance[:_PLACE].any()),
                    step.eq(Mux(distance[31], 0, distance)),
                    # The lowest stays as the latest has it, whatever an older one says.
                    clean.eq(Cat(Const(0, 1), (
                        ack.bitmap[n] & (n > less) for n in range(1, WINDOW)))),
                ]
                m.next = "ACK TURN"
            with m.State("ACK TURN"):
                m.d.sync += [
                    turned.eq(clean_turned),
                    high.eq(Mux(clean_any, clean_highest + 1, 0)),
                    slot.eq(context.head),
                ]
                m.next = "ACK REACH"
                with m.If(~ours):
                    m.d.comb += [event.wrong_source.eq(1), take.eq(1)]
                    m.next = "IDLE"
                with m.Elif(ahead & (distance[:31] > out)):
                    m.d.comb += [event.bad_ack.eq(1), take.eq(1)]
                    m.next = "IDLE"
                with m.Elif(~ahead & ~behind):
                    m.d.comb += [event.acked.eq(1), take.eq(1)]  # too old to say anything new
                    m.next = "IDLE"
            with m.State("ACK REACH"):
                m.d.sync += reach.eq(distance[:_NEAR].as_signed() + high)
                m.next = "ACK CHECK"
            with m.State("ACK CHECK"):
                m.d.sync += [
                    context.una.eq(context.una + step),
                    top.eq(Mux(high == 0, 0, reach - step)),
                    mask_from.eq(context.una + step),
                    mask_to.eq(context.next),
                    mask_full.eq((step == 0) & out[_PLACE]),
                ]
                m.next = "ACK MASK"
                # It is not negative where the bitmap says anything.
                with m.If((high != 0) & (reach > out)):
                    m.d.comb += [event.bad_ack.eq(1), take.eq(1)]
                    m.next = "IDLE"
            with m.State("ACK MASK"):
                m.d.sync += begin.eq(Mux(new_round, 0, marked_from))
                m.next = "ACK WINDOW"
            with m.State("ACK WINDOW"):
                m.d.comb += event.acked.eq(1)
                m.d.sync += [
                    context.acked.eq((context.acked | turned) & mask),
                    context.pending.eq(context.pending & ~turned & mask),
                    # Kept near, so that a few bits are enough.
                    context.marked.eq(una + Mux(top > begin, top, begin)),
                    context.recover.eq(
                        Mux(new_round, context.next[:_NEAR],
                            una + Mux(recover_ahead[-1], 0, recover_ahead))),
                    mask_from.eq(una + begin),
                    mask_to.eq(una + Mux(top > begin, top, begin)),
                    mask_full.eq((begin == 0) & top[_PLACE]),
                ]
                with m.If((step != 0) | (turned & mask & ~context.acked).any()):
                    m.d.sync += [stamp.eq(1), context.tries.eq(0)]
                m.next = "RETIRE"
                with m.If(top != 0):
                    m.next = "ACK HOLES"
            with m.State("ACK HOLES"):
                m.next = "ACK AGAIN"
            with m.State("ACK AGAIN"):
                m.d.sync += context.pending.eq(context.pending | mask & ~context.acked)
                m.next = "RETIRE"
            with m.State("RETIRE"):
                m.next = "STORE"
                with m.If(context.used & progress.ended & ~_behind(una, progress.end)):
                    m.d.comb += [
                        complete.eq(1), entry.status.eq(Status.OK),
                        entry.count.eq(info.buckets)]
                    m.next = "RETIRE"
                    with m.If(completions.i.ready):
                        m.d.comb += [retire.eq(1), event.done.eq(1)]
                        m.d.sync += [slot.eq(slot_next), context.head.eq(slot_next)]
                        m.next = "NEXT"
                        with m.If(slot == context.tail):
                            m.d.sync += context.used.eq(0)
                            m.next = "STORE"
            with m.State("NEXT"):
                m.next = "RETIRE"

            # ---- a timeout ----
            with m.State("LATE"):
                m.d.comb += event.timeout.eq(1)
                m.d.sync += [
                    mask_from.eq(context.una), mask_to.eq(context.next),
                    mask_full.eq(under_way[_PLACE]),
                    gives_up.eq((self.tries != 0) & (context.tries + 1 >= self.tries)),
                    context.tries.eq(context.tries + 1),
                    status.eq(Status.GAVE_UP),
                    stamp.eq(1),
                ]
                m.next = "LATE MASK"
            with m.State("LATE MASK"):
                m.next = "LATE AGAIN"
                with m.If(gives_up):
                    m.next = "CLOSE"
            with m.State("LATE AGAIN"):
                m.d.sync += [
                    context.pending.eq(mask & ~context.acked),
                    # All that lacks is on its way: a new round.
                    context.marked.eq(context.next), context.recover.eq(context.next),
                ]
                m.next = "STORE"

            # ---- a frame that could not be read ----
            with m.State("FAILED"):
                m.d.sync += [
                    distance.eq(self.failed.p.sequence - context.una), out.eq(under_way),
                    place.eq(self.failed.p.sequence), status.eq(Status.CANCELLED)]
                m.next = "FAILED WHERE"
                with m.If(~known):
                    m.d.comb += take.eq(1)
                    m.next = "IDLE"
            with m.State("FAILED WHERE"):
                m.next = "FAILED WHICH"
                with m.If((distance >= out) | _one_of(context.acked, place)):
                    m.d.comb += take.eq(1)
                    m.next = "IDLE"
            with m.State("FAILED WHICH"):
                m.d.sync += [unread.eq(1), unread_slot.eq(frames_read.data.slot)]
                m.next = "CLOSE"

            # ---- commands ----
            with m.State("COMMAND"):
                m.d.sync += status.eq(Status.CANCELLED)
                with m.If((self.open.p.entry >= streams) | self.open.p.open & elsewhere):
                    m.d.comb += [take.eq(1), event.refused.eq(1)]
                    m.next = "IDLE"
                with m.Elif(known):
                    m.next = "CLOSE"
                with m.Elif(self.open.p.open):
                    m.next = "OPEN"
                with m.Else():
                    m.d.comb += take.eq(1)
                    m.next = "IDLE"
            with m.State("OPEN"):
                first_number = self.open.p.sequence
                m.d.sync += [
                    context.eq(0),
                    context.una.eq(first_number), context.next.eq(first_number),
                    context.marked.eq(first_number), context.recover.eq(first_number),
                    is_open.bit_select(at, 1).eq(1),
                ]
                for n in range(streams):
                    with m.If(at == n):
                        m.d.sync += ids[n].eq(self.open.p.stream)
                m.next = "STORE"

            # ---- a stream ends, and all its messages with it ----
            with m.State("CLOSE"):
                m.d.sync += [place.eq(context.una), slot.eq(context.head)]
                m.next = "CLOSE WHERE"
                with m.If(~context.used):
                    m.next = "CLOSED"
            with m.State("CLOSE WHERE"):
                m.next = "CLOSE COUNT"
            with m.State("CLOSE COUNT"):
                # Where all that was sent was had, the first message has more to be sent.
                m.d.sync += count.eq(
                    Mux(under_way == 0, context.first, frames_read.data.first))
                m.next = "CLOSE MESSAGE"
            with m.State("CLOSE MESSAGE"):
                m.d.comb += [
                    complete.eq(1),
                    entry.status.eq(Mux(unread & (slot == unread_slot),
                                        Value.cast(Status.READ_ERROR), Value.cast(status))),
                ]
                with m.If(completions.i.ready):
                    m.d.comb += [retire.eq(1), event.failed.eq(1),
                                 event.gave_up.eq(status == Status.GAVE_UP)]
                    m.d.sync += [slot.eq(slot_next), count.eq(0)]
                    m.next = "CLOSE NEXT"
                    with m.If(slot == context.tail):
                        m.next = "CLOSED"
            with m.State("CLOSE NEXT"):
                m.next = "CLOSE MESSAGE"
            with m.State("CLOSED"):
                m.d.comb += closed.eq(1)
                m.d.sync += [
                    is_open.bit_select(at, 1).eq(0), sendable.bit_select(at, 1).eq(0),
                    armed.bit_select(at, 1).eq(0)]
                m.next = "IDLE"
                with m.If(kind[_COMMAND] & self.open.p.open):
                    m.next = "OPEN"
                with m.Else():
                    m.d.comb += take.eq(kind[_FAILED] | kind[_COMMAND])

            # ---- a descriptor ----
            with m.State("MESSAGE"):
                size = message.log2_bucket
                place_next = following(context.tail, messages)
                m.d.sync += [
                    slot.eq(Mux(context.used, place_next, context.head)),
                    rounded.eq(message.bytes[2:] + ((1 << size) - 1)),
                    words.eq((message.span << shift) + Mux(is_raw(message.codec), 0,
                                                           message.span)),
                    right.eq(
                        (message.kind == KIND_MESSAGE) & ~message.error & known
                        & is_legal(message.codec) & (size >= LOG2_BUCKET_MIN) & (size <= largest)
                        & (message.bytes != 0) & (message.span != 0)
                        & ((message.bytes[:2] | message.address[:2]) == 0)
                        & (message.peer < self.config.peers)
                        & (~context.peered | (message.peer == context.peer))),
                ]
                m.next = "MESSAGE SIZE"
                with m.If(known & context.used & (place_next == context.head)):
                    m.d.sync += blocked.eq(1)
                    m.next = "IDLE"
            with m.State("MESSAGE SIZE"):
                m.d.sync += [buckets.eq(rounded >> message.log2_bucket), fits.eq(words <= longest)]
                m.next = "MESSAGE TAKE"
            with m.State("MESSAGE TAKE"):
                with m.If(right & fits):
                    m.d.comb += [
                        take.eq(1), accept.eq(1), infos_write.en.eq(1), progress_write.en.eq(1)]
                    m.d.sync += [
                        context.used.eq(1), context.tail.eq(slot),
                        context.peered.eq(1), context.peer.eq(message.peer),
                        context.more.eq(1),
                    ]
                    with m.If(~context.used):
                        m.d.sync += context.head.eq(slot)
                    with m.If(~context.more):
                        m.d.sync += [context.current.eq(slot), context.first.eq(0)]
                    m.next = "STORE"
                with m.Else():
                    m.d.comb += [
                        complete.eq(1), entry.index.eq(message.index), entry.tag.eq(message.tag),
                        entry.status.eq(Mux(message.error, Value.cast(Status.READ_ERROR),
                                            Value.cast(Status.BAD_DESCRIPTOR))),
                        entry.count.eq(0), entry.detail.eq(0),
                    ]
                    with m.If(completions.i.ready):
                        m.d.comb += [take.eq(1), event.failed.eq(1),
                                     event.bad_descriptor.eq(~message.error)]
                        m.next = "IDLE"
        m.d.comb += self.idle.eq(
            fsm.ongoing("IDLE") & (busy == 0) & ~self.completion.valid & ~self.request.valid
            & ~self.open.valid & ~self.failed.valid & ~self.ack.valid & ~self.message.valid)
        return m


def _one_of(values, at):
    """``values[at]`` as a tree of choices."""
    if len(values) == 1:
        return values[0]
    half = 1 << (len(values) - 1).bit_length() - 1
    return Mux(at[half.bit_length() - 1], _one_of(values[half:], at), _one_of(values[:half], at))
