"""AXI4-Lite accesses in Amaranth's simulator."""

import random

OKAY, SLVERR = 0, 2
PATIENCE = 40


class Bus:
    """A master whose channels come and go at random, or at once with ``rng`` None."""

    def __init__(self, bus, rng=None):
        self.bus = bus
        self.rng = rng

    def _late(self):
        return self.rng.randrange(4) if self.rng else 0

    async def write(self, ctx, address, data, strobes=15):
        """Write; the response, and how long it took from the first handshake on."""
        bus = self.bus
        waits = {"aw": self._late(), "w": self._late(), "b": self._late()}
        ctx.set(bus.aw.p, address)
        ctx.set(bus.w.p, {"data": data, "strobes": strobes})
        done = {}
        for clock in range(PATIENCE):
            for name in ("aw", "w"):
                ctx.set(getattr(bus, name).valid, name not in done and clock >= waits[name])
            ctx.set(bus.b.ready, clock >= waits["b"])
            *_, aw, w, b, response = await ctx.tick().sample(
                bus.aw.valid & bus.aw.ready, bus.w.valid & bus.w.ready,
                bus.b.valid & bus.b.ready, bus.b.p)
            for name, took in (("aw", aw), ("w", w)):
                if took:
                    done[name] = clock
            if b:
                assert len(done) == 2, "answered before it was asked"
                ctx.set(bus.b.ready, 0)
                return response.value, clock - max(done.values())
        raise AssertionError(f"a write of {address:#x} hangs")

    async def read(self, ctx, address):
        """Read; data, response, and how long it took."""
        bus = self.bus
        for _ in range(self._late()):
            await ctx.tick()
        ctx.set(bus.ar.p, address)
        ctx.set(bus.ar.valid, 1)
        wait = self._late()
        asked = None
        for clock in range(PATIENCE):
            ctx.set(bus.r.ready, clock >= wait)
            *_, ar, r, answer = await ctx.tick().sample(
                bus.ar.valid & bus.ar.ready, bus.r.valid & bus.r.ready, bus.r.p)
            if ar:
                asked = clock
                ctx.set(bus.ar.valid, 0)
            if r:
                assert asked is not None, "answered before it was asked"
                ctx.set(bus.r.ready, 0)
                return answer.data, answer.response.value, clock - asked
        raise AssertionError(f"a read of {address:#x} hangs")


def paces(seed):
    return [None, random.Random(seed)]
