"""Frames through the top ``codec``, both ways at once, held against what was expected."""

import random

import numpy as np
from tightwire.codec.check import DROPS
from tightwire.config import CodecConfig
from tightwire.formats import BUCKETS, RAW, Codec, Levels, Norm
from tightwire.tops.codec import CodecTop

from .context import parameters
from .drivers import Sink, Source, Stepper, never
from .frames import Frame, floats_and_records, from_beats, to_beats

__all__ = ["CODECS", "REASONS", "WAYS", "Traffic"]

WAYS = ("tx", "rx")
REASONS = tuple(DROPS.members)

CODECS = (RAW, *(Codec(levels, norm, bits) for bits in (2, 4, 8)
                 for levels in (Levels.UNIFORM, Levels.EXPONENTIAL) for norm in Norm))
"""Every choice that is built."""

_FEWEST_CLOCKS = 20_000
_QUIET = 64


class _Way:
    """One direction: what goes in, what is expected to come out, what was counted."""

    def __init__(self, dut, name):
        self.source = Source(dut, f"s_axis_{name}")
        self.sink = Sink(dut, f"m_axis_{name}")
        self.counters = {what: getattr(dut, f"{name}_{what}")
                         for what in ("frames", *(f"dropped_{reason}" for reason in REASONS))}
        self.expected = []
        self.counts = dict.fromkeys(self.counters, 0)


class Traffic:
    """A bench around the top ``codec``.

    Frames are queued by ``send`` and the like, go in one after the other by ``finish``, and are
    compared, and counted, at its end.

    Parameters
    ----------
    dut : handle
    cut_through : bool
        The mode of the top.

    Attributes
    ----------
    config : CodecConfig
    top : CodecTop
        What ``dut`` was made from, for its latencies.
    rng, np_rng : random.Random, numpy.random.Generator
        Seeded by cocotb's seed.
    ways : dict of str to _Way
    buckets : list of int
        Bucket sizes that ``dut`` takes.
    """

    def __init__(self, dut, *, cut_through):
        self.dut = dut
        given = parameters()
        self.config = CodecConfig(**given["config"])
        self.top = CodecTop(self.config)
        self.lanes = self.config.lanes
        self.width = 4 * self.lanes
        self.rng = random.Random(random.getrandbits(64))  # cocotb has seeded the module
        self.np_rng = np.random.default_rng(self.rng.getrandbits(64))
        self.buckets = [bucket for bucket in BUCKETS if bucket <= self.config.max_bucket]
        self.ways = {name: _Way(dut, name) for name in WAYS}
        self.cut_through = cut_through
        # Long enough for another frame to come, if there is one that should not.
        self._quiet = _QUIET + max(self.top.tx_latency(codec, min(512, self.config.max_bucket))
                                   for codec in CODECS)
        dut.cut_through.value = int(cut_through)
        ports = [port for way in self.ways.values() for port in (way.source, way.sink)]
        self.stepper = Stepper(dut, ports)

    @classmethod
    async def start(cls, dut, *, cut_through=False):
        """A bench whose clock runs and that has been reset."""
        self = cls(dut, cut_through=cut_through)
        await self.stepper.start()
        return self

    def pause(self, source=never, sink=never):
        """Set when sources and sinks pause, both ways."""
        for way in self.ways.values():
            way.source.pause = source
            way.sink.pause = sink

    # ---- what to send ----

    def way_in(self, name, frame):
        """Queue a frame one way, nothing expected; the index of its first beat in ``taken``."""
        return self.ways[name].source.send(to_beats(frame, self.lanes))

    def way_out(self, name, frame, *, payload=True):
        """Expect a frame one way; with ``payload`` False it may carry anything."""
        way = self.ways[name]
        way.expected.append((frame.payload if payload else None, frame.user, frame.error))
        if not frame.error:
            way.counts["frames"] += 1

    def dropped(self, name, reason):
        """Expect that a frame is counted as dropped."""
        self.ways[name].counts[f"dropped_{reason}"] += 1

    def both_sides(self, values, *, codec, bucket, stream=None, message=None, first=None):
        """A frame for each way, its place random where none is given: (in, out) by way."""
        place = {"stream": (stream, 16), "message": (message, 16), "first": (first, 32)}
        place = {name: self.rng.getrandbits(bits) if value is None else value
                 for name, (value, bits) in place.items()}
        floats, records, decoded = floats_and_records(
            values, codec=codec, bucket=bucket, **place)
        return {"tx": (floats, records), "rx": (records, decoded)}

    def send(self, values, **choice):
        """Queue a frame both ways, of ``both_sides``."""
        for name, (given, wanted) in self.both_sides(values, **choice).items():
            self.way_in(name, given)
            self.way_out(name, wanted)

    def bypass(self, payload, *, error=False):
        """A frame that is to pass as it is, with a random side band."""
        return Frame(
            payload=payload, bypass=True, error=error, codec=self.rng.getrandbits(8),
            log2_bucket=self.rng.getrandbits(4), stream=self.rng.getrandbits(16),
            message=self.rng.getrandbits(16), first=self.rng.getrandbits(32),
            span=self.rng.getrandbits(16))

    def send_bypass(self, payload, *, error=False):
        """Queue such a frame both ways."""
        frame = self.bypass(payload, error=error)
        for name in WAYS:
            self.way_in(name, frame)
            self.way_out(name, frame)

    def fits(self, codec, bucket, span):
        """Whether the records of a frame fit a store."""
        return self.cut_through or span * codec.record_words(bucket) * 4 <= self.store

    @property
    def store(self):
        """The bytes that one store holds."""
        return -(-2 * self.config.frame_bytes // self.width) * self.width

    # ---- what came ----

    async def finish(self, quiet=None):
        """Let everything through, then compare and count it.

        That is ``quiet`` clocks later; if not given, as many as a frame may need inside.

        AssertionError where a frame is missing, wrong, or too many, or a count is wrong.
        """
        ways = self.ways.values()
        beats = sum(way.source.waiting for way in ways)
        bytes_out = sum(len(payload or b"") for way in ways for payload, _, _ in way.expected)
        counts = [(way.sink, way.sink.frames + len(way.expected)) for way in ways]
        (one, of_one), (other, of_other) = counts

        def done():  # asked every clock: as little as can be
            return (one.frames >= of_one and other.frames >= of_other
                    and not any(way.source.waiting for way in ways))

        await self.stepper.until(
            done,
            limit=_FEWEST_CLOCKS + 8 * (beats + bytes_out // self.width))
        self.pause()
        await self.stepper.run(self._quiet if quiet is None else quiet)
        for name, way in self.ways.items():
            way.sink.check.end()
            self._compare(name, way)
            self._count(name, way)

    def _compare(self, name, way):
        came = from_beats(way.sink.beats(), self.lanes)
        expected, way.expected = way.expected, []
        for n, (got, want) in enumerate(zip(came, expected, strict=False)):
            if got[1:] == want[1:] and want[0] in (None, got[0]):
                continue
            raise AssertionError(f"{name}, frame {n} of {len(expected)}: {_difference(got, want)}")
        assert len(came) == len(expected), (
            f"{name}: {len(came)} frames came, not {len(expected)}")

    def _count(self, name, way):
        counted = {what: int(handle.value) for what, handle in way.counters.items()}
        wrong = [f"{what} {counted[what]}, not {right}" for what, right in way.counts.items()
                 if counted[what] != right]
        if wrong:
            raise AssertionError(f"{name}: counted are {'; '.join(wrong)}")

    async def reset(self):
        """Reset in the middle of it: nothing that was sent before is expected any more."""
        await self.stepper.reset()
        for way in self.ways.values():
            way.expected.clear()
            way.counts = dict.fromkeys(way.counters, 0)


def _difference(got, want):
    """What is wrong with a frame, in words."""
    (payload, user, error), (right, right_user, right_error) = got, want
    if user != right_user:
        return f"tuser is {user:#x}, not {right_user:#x}"
    codec, log2 = right_user >> 2 & 0xFF, right_user >> 10 & 0xF
    what = "a bypass frame" if right_user & 2 else f"codec {codec:#04x}, bucket 2^{log2}"
    if error != right_error:
        return f"{what}: error mark {error}, not {right_error}"
    at = next((n for n, (a, b) in enumerate(zip(payload, right, strict=False)) if a != b),
              min(len(payload), len(right)))
    return (f"{what}: {len(payload)} bytes, not {len(right)}; they differ from byte {at}: "
            f"{payload[at:at + 16].hex()}, not {right[at:at + 16].hex()}")
