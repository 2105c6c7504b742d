"""A Sender with a host on one side and receivers behind a network on the other."""

import itertools
from collections import Counter, deque

from amaranth.hdl import Value

from tightwire.config import NicConfig
from tightwire.dma.transfer import COMPLETION, Status, request_layout
from tightwire.formats import HEADER_BYTES, Codec, FrameKind
from tightwire.frame.side import ADDRESS, TX_SIDE
from tightwire.transport.ack import ACK
from tightwire.transport.message import MESSAGE
from tightwire.transport.sender import EVENTS, FAILED, OPEN_SENDER, Sender
from tightwire_sim.transport import Channel, Frame, Receiver

from ..support.bench import simulate
from ..support.layouts import join, split

__all__ = ["CONFIG", "PEERS", "Bench", "ack_of", "descriptor", "frames_of", "outcomes"]

CONFIG = NicConfig(lanes=1, streams=3, messages=4, max_bucket=512, frame_bytes=2048, peers=4)

PEERS = [0x0A000001 + 7 * n for n in range(256)]

REQUEST = request_layout(TX_SIDE)

QSGD4 = Codec.parse("qsgd-4").byte


def descriptor(stream, message, *, tag, buckets=None, **other):
    """A descriptor that is right, as a dict, with ``other`` instead of what it would have."""
    made = {"kind": 2, "codec": QSGD4, "log2_bucket": 6, "peer": stream % 4, "tag": tag,
            "address": 0x1000 * tag, "bytes": 4, "stream": stream, "message": message, "span": 4,
            "index": (tag + 1) % 2**16, "error": 0}
    if buckets is not None:
        made["bytes"] = (4 << other.get("log2_bucket", 6)) * buckets
    return made | other


def frames_of(one):
    """Frames of a message."""
    bucket = 4 << one["log2_bucket"]
    buckets = -(-one["bytes"] // bucket)
    return -(-buckets // one["span"])


def ack_of(stream, sequence, *also, source=None):
    """An ACK of all below ``sequence`` and of ``also``, as a dict."""
    return {"stream": stream, "sequence": sequence % 2**32,
            "bitmap": sum(1 << (number - sequence) for number in also),
            "source": PEERS[stream % 4] if source is None else source}


def outcomes(bench):
    """(tag, status, buckets) of each completion."""
    return [(one["tag"], Status(one["status"]), one["count"]) for one in bench.completions]


class Bench:
    """Drives a Sender. ``stop`` is asked every clock whether it is enough.

    Members
    -------
    descriptors, commands, failed, acks : what is to be offered at the inputs, as dicts
    requests : (clock, sequence, stream, message, first) of each
    completions : dicts
    taken : (port, clock) of each item taken at an input
    events : Counter
    """

    def __init__(self, rng, *, config=CONFIG, timeout=3000, tries=0, delay=40, on_data=None,
                 on_acks=None, paces=(1, 1, 1), deaf=()):
        self.rng = rng
        self.config = config
        self.timeout = timeout
        self.tries = tries
        self.paces = paces  # of requests, completions, and what is offered
        self.deaf = set(deaf)  # streams whose receiver does not answer
        self.dut = Sender(config=config)
        self.data = Channel(rng, delay=delay, **on_data or {})
        self.acked = Channel(rng, delay=delay, **on_acks or {})
        self.descriptors, self.commands = deque(), deque()
        self.failed, self.acks = deque(), deque()
        self.receivers = {}   # by stream,
        self.former = []      # and those of streams that were opened again
        self.messages = {}    # (stream, message): descriptor
        self.requests, self.completions, self.taken = [], [], []
        self.events = Counter()
        self.clock = 0
        self.idle = 0

    def open(self, entry, stream, sequence):
        self.commands.append({"open": 1, "entry": entry, "stream": stream, "sequence": sequence})

    def close(self, entry):
        self.commands.append({"open": 0, "entry": entry})

    def send(self, one):
        self.messages[one["stream"], one["message"]] = one
        self.descriptors.append(one)

    def run(self, stop, *, limit=60_000, each=None):
        """Until ``stop()``; ``each()`` is called in every clock."""
        async def steps(ctx):
            await self._steps(ctx, stop, limit, each)
        simulate(self.dut, steps)

    async def _steps(self, ctx, stop, limit, each):
        dut, rng = self.dut, self.rng
        ctx.set(dut.timeout, self.timeout)
        ctx.set(dut.tries, self.tries)
        inputs = [(name, port, layout, items, Value.cast(port.payload)) for
                  name, port, layout, items in (
            ("message", dut.message, MESSAGE, self.descriptors),
            ("open", dut.open, OPEN_SENDER, self.commands),
            ("failed", dut.failed, FAILED, self.failed), ("ack", dut.ack, ACK, self.acks))]
        offered = {}
        outputs = [Value.cast(one) for one in (
            dut.request.valid, dut.request.payload, dut.completion.valid, dut.completion.payload,
            dut.events, dut.peer_at, dut.idle)]
        held = [None, None]
        n_outputs = len(outputs)
        sampled = outputs + [port.ready for _, port, *_ in inputs]
        events = list(EVENTS.members)
        last_peer = None
        for self.clock in itertools.count():
            if stop():
                return
            assert self.clock < limit, (
                f"clock {limit}: {len(self.completions)} completions, {dict(self.events)}")
            if each is not None:
                each()
            for ack in self.acked.arrived(self.clock):
                self.acks.append(ack)
            for name, port, layout, items, payload in inputs:
                if name == "message" and (self.commands or "open" in offered):
                    continue  # a stream is open before it is used
                if name not in offered and items and rng.random() < self.paces[2]:
                    offered[name] = items.popleft()
                    ctx.set(payload, join(layout, offered[name]))
                    ctx.set(port.valid, 1)
            ready = [rng.random() < pace for pace in self.paces[:2]]
            ctx.set(dut.request.ready, ready[0])
            ctx.set(dut.completion.ready, ready[1])
            *_, = values = (await ctx.tick().sample(*sampled))[2:]
            asks, request, ends, completion, event, peer_at, self.idle = values[:n_outputs]
            for n, (valid, payload) in enumerate(((asks, request), (ends, completion))):
                assert held[n] is None or (valid and payload == held[n]), "changed while it waited"
                held[n] = payload if valid and not ready[n] else None
            for (name, port, *_), taken in zip(inputs, values[n_outputs:], strict=True):
                if taken and name in offered:
                    self.taken.append((name, self.clock))
                    refused = event >> events.index("refused") & 1
                    if name == "open" and offered[name]["open"] and not refused:
                        self._opened(offered[name])
                    ctx.set(port.valid, 0)
                    del offered[name]
            if event:
                self.events.update(
                    name for n, name in enumerate(events) if event >> n & 1)
            if peer_at != last_peer:  # the table's answer comes a clock later
                ctx.set(dut.peer.as_value(), join(ADDRESS, {"mac": 1, "ip": PEERS[peer_at],
                                                            "port": 2}))
                last_peer = peer_at
            if asks and ready[0]:
                self._request(split(REQUEST, request))
            if ends and ready[1]:
                self.completions.append(split(COMPLETION, completion))
            for frame in self.data.arrived(self.clock):
                if frame.stream not in self.deaf:
                    self._arrives(frame)

    def _opened(self, command):
        """The other end is opened as well."""
        stream = command["stream"]
        if stream in self.receivers:
            self.former.append(self.receivers[stream])
        self.receivers[stream] = Receiver(stream=stream, sequence=command.get("sequence", 0))

    def _request(self, request):
        """Every field is as the message has it; the frame goes into the network."""
        side = request["tag"]
        one = self.messages[side["stream"], side["message"]]
        codec = Codec.from_byte(one["codec"])
        bucket = 1 << one["log2_bucket"]
        buckets = -(-one["bytes"] // (4 * bucket))
        first = side["first"]
        span = min(one["span"], buckets - first)
        last = first + span == buckets
        levels = one["codec"]
        sequence = side["sequence"]
        assert first % one["span"] == 0 and first < buckets
        assert request == {
            "address": one["address"] + 4 * bucket * first,
            "bytes": min(4 * bucket * span, one["bytes"] - 4 * bucket * first),
            "tag": {
                "bypass": 0, "log2_bucket": one["log2_bucket"], "stream": one["stream"],
                "message": one["message"], "first": first, "span": span,
                "kind": FrameKind.DATA, "flags": int(last), "sequence": sequence,
                "records": span, "peer": one["peer"],
                "bytes": 4 * span * codec.record_words(bucket),
                "codec": {"levels": levels & 3, "norm": levels >> 2 & 1, "bits": levels >> 3 & 3,
                          "coding": 0, "sparse": 0}}}
        assert side["bytes"] + HEADER_BYTES <= self.config.frame_bytes
        self.requests.append((self.clock, sequence, side["stream"], side["message"], first))
        self.data.send(Frame(stream=side["stream"], message=side["message"], sequence=sequence,
                             first=first, span=span, last=last), self.clock)

    def _arrives(self, frame):
        receiver = self.receivers[frame.stream]
        ack = receiver.take(frame)
        if ack is not None:
            peer = next(one["peer"] for key, one in self.messages.items()
                        if key[0] == frame.stream)
            self.acked.send({"stream": ack.stream, "sequence": ack.sequence,
                             "bitmap": ack.bitmap, "source": PEERS[peer]}, self.clock)

    def done(self, count):
        """A ``stop`` for when so many completions were taken and nothing is to be done."""
        return lambda: len(self.completions) == count and self.idle and not len(self.acked)

    def check_all_had(self):
        """Every message was had once, from end to end, and completed with OK."""
        assert [one["status"] for one in self.completions] == (
            [Status.OK.value] * len(self.messages))
        for stream, receiver in self.receivers.items():
            covered = Counter()
            for frame in receiver.taken:
                covered.update((frame.message, n)
                               for n in range(frame.first, frame.first + frame.span))
            expected = [(message, n) for (of, message), one in self.messages.items()
                        if of == stream
                        for n in range(-(-one["bytes"] // (4 << one["log2_bucket"])))]
            assert covered == Counter(expected)
        for one in self.completions:
            sent = next(d for d in self.messages.values() if d["tag"] == one["tag"])
            assert one["count"] == -(-sent["bytes"] // (4 << sent["log2_bucket"]))
            assert one["index"] == sent["index"] and one["kind"] == 2
        frames = sum(map(frames_of, self.messages.values()))
        assert self.events["sent"] == len(self.requests) == frames + self.events["again"]
        assert sum(one["detail"] for one in self.completions) == self.events["again"]
        assert self.events["done"] == len(self.messages)
        assert not self.events["failed"] and not self.events["bad_ack"]
        assert not self.events["unknown_ack"] and not self.events["wrong_source"]
        # Never beyond a receiver's window, for it is never behind the sender's.
        assert not any(receiver.beyond for receiver in self.receivers.values())

    def play(self, script):
        """Runs a generator, which yields how many clocks it waits."""
        until = [0, False]

        def each():
            while not until[1] and self.clock >= until[0]:
                try:
                    until[0] = self.clock + next(script)
                except StopIteration:
                    until[1] = True

        self.run(lambda: until[1], each=each)
