"""The registers of the top ``nic``. Plain Python: the host code takes its addresses from here."""

from ..formats import UDP_PORT, VERSION
from .describe import Access, Bank, Command, Counter, Field, Map, Register

__all__ = ["IDENTITY", "INTERRUPTS", "MAP", "MAP_VERSION", "OP_ADD", "OP_STORE", "QUANTISED",
           "RINGS", "constants"]

IDENTITY = 0x54574E43
"""\"TWNC\"."""

MAP_VERSION = 1

OP_STORE, OP_ADD = 0, 1

RINGS = ("tx0", "tx1", "rx")
"""Ordinary frames to send, messages to send, buffers for ordinary frames received."""

INTERRUPTS = {"completion": 1, "error": 2}
"""Bits of ``interrupt_enable`` and ``interrupt_status``."""

QUANTISED = ("raw32", *(f"{levels}{bits}" for levels in ("uniform", "exponential")
                        for bits in (2, 4, 8)))
"""Choices that have byte counters of their own, ``raw32`` to ``exponential8``."""

RO, RW, W1C, PULSE = Access.RO, Access.RW, Access.W1C, Access.PULSE


def constants(config):
    """Values of the constant registers of a ``NicConfig``."""
    return {
        "identity": IDENTITY,
        "version": MAP_VERSION | VERSION << 8,
        **{name: getattr(config, name) for name in (
            "lanes", "max_bucket", "frame_bytes", "streams", "messages", "regions", "peers")},
    }


def _constant(name, offset, doc, **more):
    return Register(name=name, offset=offset, access=RO, doc=doc, constant=True, **more)


def _state(name, offset):
    return Register(name=f"{name}_state", offset=offset, access=RO, bits=2, doc="What it does.",
                    fields=(
                        Field("busy", 0, 1, "Something of it is being read, done or written."),
                        Field("error", 1, 1, "The host's memory answered with an error where the "
                                             "queue is; it has stopped until it is disabled.")))


def _queue(name, offset, host, card):
    """The registers that a ring and a completion queue have alike."""
    return (
        Register(name=f"{name}_base", offset=offset, access=RW, bits=64,
                 doc="Address, a multiple of 64."),
        Register(name=f"{name}_log2_size", offset=offset + 0x08, access=RW, bits=4,
                 doc="log2 of its entries, 1 to 15."),
        Register(name=f"{name}_enable", offset=offset + 0x0C, access=RW, bits=1,
                 doc="1: works. Base and size may be written only while this is 0; with 0 both "
                     "indices become 0."),
        Register(name=f"{name}_{host}", offset=offset + 0x10, access=RW, bits=16,
                 doc="The driver's index, free running: its doorbell."),
        Register(name=f"{name}_{card}", offset=offset + 0x14, access=RO, bits=16,
                 doc="The card's index, free running."),
        _state(name, offset + 0x18),
    )


def _argument(name, offset, bits, doc, **more):
    return Register(name=name, offset=offset, access=RW, bits=bits, doc=doc, **more)


_PEER = (
    _argument("entry", 0x00, 8, "Entry of the table."),
    _argument("mac", 0x04, 48, "MAC address; the first byte on the wire is the highest."),
    _argument("ip", 0x0C, 32, "IPv4 address; the first byte on the wire is the highest."),
    _argument("port", 0x10, 16, "UDP port."),
)

_SWITCH = (Field("open", 0, 1, "1: opens, 0: closes."),)

_OPEN_TX = (
    _argument("entry", 0x00, 8, "Entry of the table, below `streams`."),
    _argument("open", 0x04, 1, "What is done.", fields=_SWITCH),
    _argument("stream", 0x08, 16, "Stream."),
    _argument("sequence", 0x0C, 32, "Number of the next frame."),
)

_OPEN_RX = (
    _argument("entry", 0x00, 8, "Entry of the table, below `streams`."),
    _argument("open", 0x04, 1, "What is done.", fields=_SWITCH),
    _argument("stream", 0x08, 16, "Stream."),
    _argument("sequence", 0x0C, 32, "Number of the next frame."),
    _argument("peer", 0x10, 8, "Who sends it, and gets the ACKs: an entry of the table of peers."),
)

_REGION = (
    _argument("entry", 0x00, 8, "Entry of the table, below `regions`."),
    _argument("post", 0x04, 1, "What is done.", fields=(
        Field("post", 0, 1, "1: posts, 0: cancels; then only `entry` counts."),)),
    _argument("stream", 0x08, 16, "Stream."),
    _argument("message", 0x0C, 16, "Message."),
    _argument("address", 0x10, 64, "Address, a multiple of 4."),
    _argument("bytes", 0x18, 32, "Length, a multiple of 4; the end of the last bucket is left "
                                 "out where it is beyond."),
    _argument("how", 0x1C, 8, "How the message is written.", fields=(
        Field("op", 0, 1, "0: stores, 1: adds."),
        Field("log2_bucket", 4, 4, "log2 of the bucket size."))),
    _argument("tag", 0x20, 32, "Comes back in the completion."),
)

_DROPS = {
    "mac": "that the MAC marked as broken",
    "truncated": "that end before their IP length says, or in the header",
    "ip_checksum": "with a wrong IPv4 header checksum",
    "ip_length": "whose IP length is not that of UDP and a header",
    "udp_length": "with no room for our header and a payload",
    "magic": "whose header does not begin with our magic",
    "version": "of another version",
    "kind": "of a reserved kind",
    "flags": "with a reserved flag",
    "records": "with more records than buckets",
    "udp_checksum": "with a wrong UDP checksum",
    "codec": "with a codec byte that is reserved or not built",
    "bucket": "with a bucket size that is reserved or not built",
    "span": "that cover nothing",
    "length": "whose payload is not as long as its span asks for",
    "long": "longer than what they are stored in",
    "full": "that came when their store was full",
    "ring_empty": "for which the receive ring had no buffer (ordinary frames)",
    "too_short": "longer than their buffer (ordinary frames)",
    "unknown_stream": "of a stream that is not open",
    "wrong_source": "of a stream that another station sends",
    "beyond_window": "beyond the window of 64 frames",
    "duplicate": "that had come already (acknowledged again)",
    "unposted": "of a message for which no region is posted",
    "outside": "that reach beyond their region",
    "other_bucket": "with another bucket size than their region",
}

_TX_DROPS = {
    "codec": "with a codec byte that is reserved or not built",
    "bucket": "with a bucket size that is reserved or not built",
    "span": "that cover nothing",
    "length": "whose floats are not as many as their span asks for",
    "marked": "whose memory could not be read",
    "long": "longer, coded, than what they are stored in",
}

_FRAME_BYTES = 16
_BEAT_BYTES = 7


def _counters():
    kinds = {"ordinary": "ordinary frames", "data": "DATA frames", "ack": "ACK frames"}
    for way, did in (("tx", "sent"), ("rx", "received")):
        for kind, name in kinds.items():
            name = name[0].upper() + name[1:]
            yield Counter(f"{way}_{kind}_frames", f"{name} {did}.")
            yield Counter(f"{way}_{kind}_bytes", f"Bytes of {name} {did}, without FCS.",
                          _FRAME_BYTES)
    for reason, text in _DROPS.items():
        yield Counter(f"rx_dropped_{reason}", f"Received frames {text}.")
    for reason, text in _TX_DROPS.items():
        yield Counter(f"tx_dropped_{reason}", f"Frames to be sent {text}.")
    for way, verb in (("tx", "made"), ("rx", "read")):
        for choice in QUANTISED:
            yield Counter(f"{way}_{choice}_payload_bytes", f"Payload bytes {verb}, {choice}.",
                          _FRAME_BYTES)
            yield Counter(f"{way}_{choice}_float_bytes", f"Bytes of float32 for them, {choice}.",
                          _BEAT_BYTES)
    yield Counter("frames_again", "DATA frames sent again.")
    yield Counter("timeouts", "Times that nothing was acknowledged for the timeout.")
    yield Counter("gave_up", "Messages that were given up.")
    yield Counter("axi_read_errors", "Bursts read that were answered with an error.")
    yield Counter("axi_write_errors", "Bursts written that were answered with an error.")


MAP = Map(name="nic", address_bits=12, blocks=(
    ("Identity", "What the card is, and what it was built with.", (
        _constant("identity", 0x000, f"{IDENTITY:#010x}, \"TWNC\"."),
        _constant("version", 0x004, "Versions.", bits=16, fields=(
            Field("map", 0, 8, f"Of this map: {MAP_VERSION}."),
            Field("format", 8, 8, f"Of the wire format: {VERSION}."))),
        _constant("lanes", 0x008, "32-bit words in a beat."),
        _constant("max_bucket", 0x00C, "The largest bucket, in elements."),
        _constant("frame_bytes", 0x010, "The longest Ethernet frame, without FCS."),
        _constant("streams", 0x014, "Streams that may be open in each direction."),
        _constant("messages", 0x018, "Messages of a stream under way at most."),
        _constant("regions", 0x01C, "Regions that may be posted at a time."),
        _constant("peers", 0x020, "Entries of the table of peers."),
    )),
    ("Control", "While `busy` is 1 after a reset, nothing but this block and the identity may be "
                "used.", (
        Register(name="control", offset=0x040, access=RW, bits=1, doc="The whole card.", fields=(
            Field("enable", 0, 1, "1: takes frames from the network and sends. With 0, nothing "
                                  "new begins."),)),
        Register(name="reset", offset=0x044, access=PULSE, bits=1, doc="A reset.", fields=(
            Field("reset", 0, 1, "Forgets all rings, streams, regions and frames, once what was "
                                 "begun on the memory bus has ended. Registers and counters "
                                 "keep their values; clear the enables first."),)),
        Register(name="status", offset=0x048, access=RO, bits=1, doc="The whole card.", fields=(
            Field("busy", 0, 1, "A reset is not yet done."),)),
        Register(name="station_mac", offset=0x050, access=RW, bits=48,
                 doc="The card's MAC address; the first byte on the wire is the highest."),
        Register(name="station_ip", offset=0x058, access=RW,
                 doc="Its IPv4 address; the first byte on the wire is the highest."),
        Register(name="station_port", offset=0x05C, access=RW, bits=16, reset=UDP_PORT,
                 doc="Its UDP port."),
        Register(name="timeout", offset=0x060, access=RW, reset=50_000,
                 doc="Clocks without an acknowledgement until frames are sent again."),
        Register(name="tries", offset=0x064, access=RW, bits=8, reset=16,
                 doc="Timeouts in a row until a message is given up."),
    )),
    ("Ring 0: ordinary frames to send", "Transmit descriptors of kind 1.",
     _queue("tx0", 0x080, "producer", "consumer")),
    ("Ring 1: messages to send", "Transmit descriptors of kind 2.",
     _queue("tx1", 0x0A0, "producer", "consumer")),
    ("Receive ring", "Buffers for ordinary frames.",
     _queue("rx", 0x0C0, "producer", "consumer")),
    ("Completion queue", "One for all rings and regions.",
     _queue("cq", 0x0E0, "consumer", "producer")),
    ("Interrupt", "The interrupt is high while a bit is set in both registers.", (
        Register(name="interrupt_enable", offset=0x100, access=RW, bits=2, doc="Which count.",
                 fields=(
                     Field("completion", 0, 1, "A completion is there."),
                     Field("error", 1, 1, "A queue has stopped with an error."))),
        Register(name="interrupt_status", offset=0x104, access=W1C, bits=2,
                 doc="What has happened; write 1 to acknowledge.", fields=(
                     Field("completion", 0, 1, "A completion is there."),
                     Field("error", 1, 1, "A queue has stopped with an error."))),
        Register(name="coalesce_count", offset=0x108, access=RW, bits=16, reset=1,
                 doc="Completions until `completion` is set."),
        Register(name="coalesce_time", offset=0x10C, access=RW, reset=2_500,
                 doc="Clocks after the first of them until it is set although they are fewer; "
                     "0: at once."),
    )),
    ("Commands", "Write the arguments, then `push`. Arguments keep their values.", (
        Command(name="peer", offset=0x140, arguments=_PEER,
                doc="Writes an entry of the table of peers."),
        Command(name="open_tx", offset=0x180, arguments=_OPEN_TX,
                doc="Opens or closes a stream to send."),
        Command(name="open_rx", offset=0x1A0, arguments=_OPEN_RX,
                doc="Opens or closes a stream to receive."),
        Command(name="region", offset=0x1C0, arguments=_REGION,
                doc="Posts a region, or cancels it; a cancelled one completes with CANCELLED, "
                    "and is not written any more from then on."),
    )),
    ("Counters", "64 bits each; they wrap. Only a reset of the whole chip clears them.", (
        Bank(name="counters", offset=0x400, doc="Counters.", counters=tuple(_counters())),
    )),
))
