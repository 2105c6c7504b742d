"""The bench of the demonstration: bursts between two cards, captured at three places.

It compares nothing: what it captures is held against the model outside of the simulation, while
that goes on. It does hold every stream to the rules of its interface.
"""

import gc
import time
from pathlib import Path

import cocotb
from tightwire.codec.check import DROPS

from ..bench.context import parameters, record
from ..bench.drivers import Sink, Source, Stepper, Tap
from ..bench.frames import from_beats, to_beats
from .capture import Capture
from .results import PLACES, capture_file
from .traffic import MODES, WAYS, Plan

_REPORT = 1500  # clocks between two signs of life
_STUCK = 20_000  # clocks in which something has to move
_QUIET = 100  # clocks at the end of a burst in which nothing more may come


class _Way:
    """What goes from one card to the other."""

    def __init__(self, dut, near, far):
        self.near, self.far = near, far
        self.source = Source(dut, f"{near}_s_axis")
        self.tap = Tap(dut, f"{near}_wire")
        self.sink = Sink(dut, f"{far}_m_axis")
        self.ports = (self.source, self.tap, self.sink)
        self._dropped = [
            (name, getattr(dut, name)) for name in (
                f"{card}_{reason}" for card, side in ((near, "tx"), (far, "rx"))
                for reason in (f"{side}_dropped_{reason}" for reason in DROPS.members))]
        self._seen = dict.fromkeys(PLACES, 0)

    def captures(self, lanes):
        """What was seen since the last time, by place."""
        result = {}
        for place, port in zip(PLACES, self.ports, strict=True):
            begin, self._seen[place] = self._seen[place], len(port.taken)
            result[place] = Capture(clocks=port.taken[begin:])
        for place, port in (("wire", self.tap), ("far", self.sink)):
            port.check.end()
            for payload, user, error in from_beats(port.beats(), lanes):
                result[place].frames.append(payload)
                result[place].users.append(user | error)
        return result

    def lost(self):
        """What the counters say of lost frames, in words."""
        return [f"{name} is {int(handle.value)}" for name, handle in self._dropped
                if int(handle.value)]


@cocotb.test()
async def demo(dut):
    """All bursts of the plan, one after the other."""
    given = parameters()
    plan = Plan.from_parameters(given["plan"])
    folder = Path(given["folder"])
    ways = {near: _Way(dut, near, far) for near, far in zip(WAYS, WAYS[::-1], strict=True)}
    stepper = Stepper(dut, [port for way in ways.values() for port in way.ports])
    sources = [way.source for way in ways.values()]
    dut.cut_through.value = 0
    await stepper.start()

    # Millions of beats are kept, without cycles: to look for some takes a tenth of the time.
    gc.disable()
    begin = time.monotonic()
    for codec, mode in plan.bursts():
        dut.cut_through.value = MODES[mode]
        await stepper.run(_QUIET)
        wanted = []
        for near, way in ways.items():
            pieces = plan.pieces(near, codec, mode)
            wanted.append((way.sink, way.sink.frames + len(pieces)))
            for piece in pieces:
                way.source.send(to_beats(piece.frame, plan.lanes))

        def tell(**more):
            record(codec=str(codec), clocks=stepper.clock, seconds=time.monotonic() - begin,  # noqa: B023
                   beats=sum(len(source.taken) for source in sources), **more)

        await _all(stepper, wanted, tell)
        await stepper.run(_QUIET)
        for near, way in ways.items():
            for place, capture in way.captures(plan.lanes).items():
                capture.save(capture_file(folder, codec, mode, near, place))
        tell(mode=mode, lost=[text for way in ways.values() for text in way.lost()])


async def _all(stepper, wanted, tell):
    """Step until the sinks have had so many frames; AssertionError where nothing moves."""
    moved, since = None, stepper.clock
    while not all(sink.frames >= count for sink, count in wanted):
        end = stepper.clock + _REPORT
        (one, one_count), (other, other_count) = wanted
        await stepper.until(
            lambda: stepper.clock >= end  # noqa: B023
            or (one.frames >= one_count and other.frames >= other_count),  # noqa: B023
            limit=_REPORT + 1)
        tell()
        now = sum(len(port.taken) for port in stepper.ports)
        if now != moved:
            moved, since = now, stepper.clock
        elif stepper.clock - since > _STUCK:
            came = ", ".join(f"{sink.frames} of {count} at {sink.name}" for sink, count in wanted)
            raise AssertionError(f"nothing moves any more at clock {stepper.clock}: {came}")
