"""A host's memory behind AXI4, for components in Amaranth's simulator."""

from collections import deque

from amaranth.hdl import Value

from tightwire.dma.axi import BURST_BYTES, Response

from .layouts import join, split

__all__ = ["AxiMemory"]


class AxiMemory:
    """Answers a master's reads and writes, in order for each id, and holds it to the protocol.

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
    """

    def __init__(self, *, lanes, size, rng, latency=0, pace=1, bad=()):
        self.lanes, self.rng, self.latency, self.pace = lanes, rng, latency, pace
        self.bytes = bytearray(rng.randbytes(size))
        self.bad = set(bad)
        self.clock = 0
        self.reads, self.writes, self.answers = deque(), deque(), deque()
        self.bursts = []  # (address, beats) of all
        self.r_clocks = []
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

    async def _burst(self, ctx, port, into):
        waits = None
        while True:
            ready = self._open()
            ctx.set(port.ready, ready)
            *_, valid, payload = await ctx.tick().sample(port.valid, Value.cast(port.payload))
            if waits is not None:
                assert valid and payload == waits, "a burst changed while it waited"
            waits = payload if valid and not ready else None
            if valid and ready:
                burst = split(port.p.shape(), payload)
                due = self.clock + self.rng.randint(self.latency // 2, self.latency)
                into.append((due, *self._take(burst), burst.get("id", 0)))

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
                if not self.reads or self.reads[0][0] > self.clock:
                    await ctx.tick()
                    continue
                _, address, count, ident = self.reads.popleft()
                for n in range(count):
                    while not self._open():
                        await ctx.tick()
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
                    ctx.set(r.valid, 0)
        return [bursts, beats]

    def write(self, port):
        """The processes that answer an AxiWrite."""
        async def bursts(ctx):
            await self._burst(ctx, port.aw, self.writes)

        async def beats(ctx):
            w, size, n = port.w, 4 * self.lanes, 0
            response = 0
            while True:
                ready = self._open() and bool(self.writes)
                ctx.set(w.ready, ready)
                *_, valid, payload = await ctx.tick().sample(w.valid, Value.cast(w.payload))
                if not (valid and ready):
                    continue
                self.w_clocks.append(self.clock)
                beat = split(w.p.shape(), payload)
                due, address, count, ident = self.writes[0]
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
                    self.answers.append((max(due, self.clock), ident, response))
                    n = response = 0

        async def answers(ctx):
            b = port.b
            while True:
                if not self.answers or self.answers[0][0] > self.clock or not self._open():
                    await ctx.tick()
                    continue
                _, ident, response = self.answers.popleft()
                ctx.set(Value.cast(b.payload), join(
                    b.p.shape(), {"response": response, "id": ident}))
                ctx.set(b.valid, 1)
                ready = False
                while not ready:
                    *_, ready = await ctx.tick().sample(b.ready)
                ctx.set(b.valid, 0)
        return [bursts, beats, answers]
