"""A host's memory behind AXI4, for components in Amaranth's simulator."""

from collections import deque

from amaranth.hdl import Value

from tightwire.dma.axi import BURST_BYTES, Response

from .layouts import join, split

__all__ = ["AxiMemory"]


class AxiMemory:
    """Answers a master's reads and writes, in order for each id, and holds it to the protocol:
    bursts of whole beats within 4 KB, nothing that changes or goes away while it waits, last with
    the last beat of a burst.

    Parameters
    ----------
    lanes : int
    size : int
        In bytes; what is beyond is answered with DECERR.
    rng : random.Random
    latency : int
        The longest time from a burst to its answer, in clocks; 0 for an ideal memory.
    pace : float
        How often a channel is ready or valid.
    bad : set of int
        Addresses, multiples of 4, of words that answer with SLVERR.
    shuffle : bool
        Answers of different ids come in any order, also beat by beat.
    data_first : bool
        No burst is taken to be written before its first beat is offered.
    """

    def __init__(self, *, lanes, size, rng, latency=0, pace=1, bad=(), shuffle=False,
                 data_first=False):
        self.lanes, self.rng, self.latency, self.pace = lanes, rng, latency, pace
        self.shuffle, self.data_first = shuffle, data_first
        self.data_waits = False
        self.bytes = bytearray(rng.randbytes(size))
        self.bad = set(bad)
        self.clock = 0
        self.reads, self.writes, self.answers = deque(), deque(), deque()
        self.bursts = []  # (address, beats) of all
        self.ar_clocks = []
        self.r_clocks = []
        self.r_ids = []
        self.b_clocks = []
        self.w_clocks = []

    def _response(self, address, count):
        if address + count > len(self.bytes):
            return Response.DECERR.value
        if any(word in self.bad for word in range(address & ~3, address + count, 4)):
            return Response.SLVERR.value
        return Response.OKAY.value

    def _take(self, burst):
        address, beats, size = burst["address"], burst["beats"] + 1, 4 * self.lanes
        assert address % size == 0, f"burst at {address:#x} is not at a whole beat"
        assert address // BURST_BYTES == (address + beats * size - 1) // BURST_BYTES, (
            f"burst of {beats} beats at {address:#x} crosses {BURST_BYTES} bytes")
        self.bursts.append((address, beats))
        return address, beats

    def _open(self):
        return self.rng.random() < self.pace

    def _due(self, queue):
        """The next one of a queue of [due, id, ..] whose time has come, or None."""
        ids = set()
        due = []
        for entry in queue:
            if entry[0] <= self.clock and entry[1] not in ids:
                due.append(entry)
            ids.add(entry[1])
        if not self.shuffle:
            return due[0] if due and due[0] is queue[0] else None
        return self.rng.choice(due) if due else None

    async def _burst(self, ctx, port, into):
        waits = None
        while True:
            ready = self._open() and (
                into is self.reads or self.data_waits or not self.data_first)
            ctx.set(port.ready, ready)
            *_, valid, payload = await ctx.tick().sample(port.valid, Value.cast(port.payload))
            if waits is not None:
                assert valid and payload == waits, "a burst changed while it waited"
            waits = payload if valid and not ready else None
            if valid and ready:
                burst = split(port.p.shape(), payload)
                due = self.clock + self.rng.randint(self.latency // 2, self.latency)
                into.append([due, burst.get("id", 0), *self._take(burst), 0])
                if into is self.reads:
                    self.ar_clocks.append(self.clock)

    async def ticks(self, ctx):
        while True:
            await ctx.tick()
            self.clock += 1

    def read(self, port):
        """The processes that answer an AxiRead."""
        async def bursts(ctx):
            await self._burst(ctx, port.ar, self.reads)

        async def beats(ctx):
            r, size = port.r, 4 * self.lanes
            while True:
                burst = self._due(self.reads) if self._open() else None
                if burst is None:
                    await ctx.tick()
                    continue
                _, ident, address, count, n = burst
                at = address + n * size
                payload = {"data": int.from_bytes(self.bytes[at:at + size], "little"),
                           "response": self._response(at, size), "last": n == count - 1,
                           "id": ident}
                ctx.set(Value.cast(r.payload), join(r.p.shape(), payload))
                ctx.set(r.valid, 1)
                ready = False
                while not ready:
                    *_, ready = await ctx.tick().sample(r.ready)
                self.r_clocks.append(self.clock)
                self.r_ids.append(ident)
                ctx.set(r.valid, 0)
                burst[-1] += 1
                if burst[-1] == count:
                    self.reads.remove(burst)
        return [bursts, beats]

    def write(self, port):
        """The processes that answer an AxiWrite."""
        async def bursts(ctx):
            await self._burst(ctx, port.aw, self.writes)

        async def beats(ctx):
            w, size, n = port.w, 4 * self.lanes, 0
            response = 0
            waits = None
            while True:
                ready = self._open() and bool(self.writes)
                ctx.set(w.ready, ready)
                *_, valid, payload = await ctx.tick().sample(w.valid, Value.cast(w.payload))
                if waits is not None:
                    assert valid and payload == waits, "data changed while they waited"
                waits = payload if valid and not ready else None
                self.data_waits = bool(waits is not None and not self.writes)
                if not (valid and ready):
                    continue
                self.w_clocks.append(self.clock)
                beat = split(w.p.shape(), payload)
                due, ident, address, count, _ = self.writes[0]
                at = address + n * size
                n += 1
                assert beat["last"] == (n == count), "last is not with a burst's last beat"
                words = join(w.p.shape()["data"].shape, beat["data"]).to_bytes(size, "little")
                written = [k for k in range(size) if beat["strobes"] >> k & 1]
                for k in written:
                    response = max(response, self._response(at + k, 1))
                    if at + k < len(self.bytes):
                        self.bytes[at + k] = words[k]
                if n == count:
                    self.writes.popleft()
                    self.answers.append([max(due, self.clock), ident, response])
                    n = response = 0

        async def answers(ctx):
            b = port.b
            while True:
                answer = self._due(self.answers) if self._open() else None
                if answer is None:
                    await ctx.tick()
                    continue
                self.answers.remove(answer)
                _, ident, response = answer
                ctx.set(Value.cast(b.payload), join(
                    b.p.shape(), {"response": response, "id": ident}))
                ctx.set(b.valid, 1)
                ready = False
                while not ready:
                    *_, ready = await ctx.tick().sample(b.ready)
                self.b_clocks.append(self.clock)
                ctx.set(b.valid, 0)
        return [bursts, beats, answers]
