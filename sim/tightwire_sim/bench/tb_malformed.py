"""Frames that the top ``codec`` must refuse: no trace, counted once, and the next one is right."""

import cocotb

from .context import parameters
from .drivers import Pauses
from .malformed import KINDS, Malformed
from .traffic import CODECS, REASONS, WAYS, Traffic
from .values import ordinary


def _kinds(traffic):
    """The kinds that can be in this mode: nothing is too long where frames are not stored."""
    return [kind for kind, (_, reason) in KINDS.items()
            if not (traffic.cut_through and reason == "long")]


def _send_malformed(traffic, way, kind):
    """Queue a broken frame one way, and expect what is to become of it."""
    broken = Malformed(traffic, way, kind)
    traffic.ways[way].source.send(broken.beats)
    traffic.dropped(way, broken.reason)
    if traffic.cut_through and broken.leaves:
        traffic.way_out(way, broken.marked(), payload=False)


def _send_good(traffic, most=4):
    bucket = traffic.rng.choice(traffic.buckets[:3])
    span = traffic.rng.randrange(1, most)
    traffic.send(ordinary(traffic.np_rng, bucket * span), codec=traffic.rng.choice(CODECS),
                 bucket=bucket)


@cocotb.test()
@cocotb.parametrize(cut_through=[False, True])
async def each_kind(dut, cut_through):
    """Each by itself, and between right frames: a fault is found at the frame that has it."""
    traffic = await Traffic.start(dut, cut_through=cut_through)
    faults = []
    for kind in _kinds(traffic):
        for way in WAYS:
            try:
                _send_malformed(traffic, way, kind)
                await traffic.finish()
                _send_good(traffic)
                _send_malformed(traffic, way, kind)
                _send_good(traffic)
                await traffic.finish()
            except AssertionError as error:
                faults.append(f"{way}, {kind}: {error}")
                await traffic.reset()
    assert not faults, "\n".join(faults)


@cocotb.test()
@cocotb.parametrize(("pauses", [False, True]), ("cut_through", [False, True]))
async def sequences(dut, pauses, cut_through):
    """Many of all kinds, with and without right ones between, gaps and waits."""
    traffic = await Traffic.start(dut, cut_through=cut_through)
    kinds = _kinds(traffic)
    for _ in range(2):
        if pauses:
            traffic.pause(Pauses(traffic.rng), Pauses(traffic.rng))
        for _ in range(parameters()["frames"]):
            if traffic.rng.random() < 0.3:
                _send_good(traffic)
            elif traffic.rng.random() < 0.1:
                traffic.send_bypass(traffic.rng.randbytes(traffic.rng.randrange(
                    1, 4 * traffic.width)), error=traffic.rng.random() < 0.5)
            else:
                kind = traffic.rng.choice(kinds)
                if "store" in kind and traffic.rng.random() < 0.8:
                    continue  # they take long
                for way in WAYS:
                    _send_malformed(traffic, way, kind)
        await traffic.finish()
    counts = {reason: sum(way.counts[f"dropped_{reason}"] for way in traffic.ways.values())
              for reason in REASONS}
    dut._log.info(f"dropped: {counts}")


@cocotb.test()
async def bypass_with_broken_tkeep(dut):
    """It passes with an error mark, since nothing else of it is looked at."""
    traffic = await Traffic.start(dut)
    for way in WAYS:
        for kind in (name for name in KINDS if name.startswith("tkeep")):
            broken = Malformed(traffic, way, kind)
            frame = broken.marked(bypass=True)
            user = frame.user
            beats = [beat._replace(user=user) for beat in broken.beats]
            if way == "tx" and len(beats) * traffic.width > traffic.store:
                continue
            traffic.ways[way].source.send(beats)
            traffic.way_out(way, frame, payload=False)
            _send_good(traffic)
    await traffic.finish()


@cocotb.test()
async def bypass_longer_than_the_store(dut):
    """It is dropped whole and counted; what comes before and after it is right."""
    traffic = await Traffic.start(dut)
    for more in (1, traffic.width, 3 * traffic.width + 1):
        _send_good(traffic)
        frame = traffic.bypass(traffic.rng.randbytes(traffic.store + more))
        for way in WAYS:
            traffic.way_in(way, frame)
            traffic.dropped(way, "long")
        _send_good(traffic)
        traffic.send_bypass(traffic.rng.randbytes(5))
    await traffic.finish()
