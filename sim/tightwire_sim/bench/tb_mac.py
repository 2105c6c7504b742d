"""The 1 Gb/s MAC against cocotbext-eth's models of a PHY's GMII."""

import random
import struct
import zlib
from collections import Counter
from itertools import pairwise

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles, FallingEdge
from cocotbext.eth import GmiiFrame, GmiiSink, GmiiSource
from tightwire.mac.receive import ETHERNET, REASONS
from tightwire.stream.beat import beat_layout

from .context import parameters, record

_LAYOUT = beat_layout(1, ETHERNET)
_PS = 8000  # of a byte on the wire
_GAP = 12
_SETTLE = 200


def _field(number, name):
    field = _LAYOUT[name]
    return number >> field.offset & (1 << field.width) - 1


def _beats(frame, error=False):
    beats = []
    for at in range(0, len(frame), 4):
        part = frame[at:at + 4]
        last = at + 4 >= len(frame)
        values = {"data": int.from_bytes(part, "little"), "empty": 4 - len(part),
                  "first": at == 0, "last": last, "error": last and error, "side": 1}
        beats.append(sum(int(value) << _LAYOUT[name].offset for name, value in values.items()))
    return beats


class _Mac:
    """The card's side of the MAC by hand, the wire's side by cocotbext-eth."""

    def __init__(self, dut):
        self.dut = dut
        self.rng = random.Random(cocotb.RANDOM_SEED)
        self.source = GmiiSource(dut.rx_data, dut.rx_er, dut.rx_dv, dut.rx_clk)
        self.sink = GmiiSink(dut.tx_data, dut.tx_er, dut.tx_en, dut.tx_clk)
        self.source.log.setLevel("WARNING")
        self.sink.log.setLevel("WARNING")
        self.to_send = []
        self.received = []  # (bytes, error)
        self.drops = Counter()
        self.underruns = 0
        self.pause = lambda: False

    @classmethod
    async def start(cls, dut):
        self = cls(dut)
        dut.tx__valid.value = 0
        dut.rx__ready.value = 0
        dut.rst.value = 1
        # The card's period is no multiple of the others', so all phases come.
        Clock(dut.rx_clk, 8000, "ps").start()
        Clock(dut.tx_clk, 8000, "ps").start()
        Clock(dut.clk, parameters().get("period_ps", 9998), "ps").start()
        await ClockCycles(dut.clk, 20)
        dut.rst.value = 0
        await ClockCycles(dut.clk, 20)
        cocotb.start_soon(self._card())
        return self

    async def _card(self):
        """Looks at the falling edge: all outputs come from registers."""
        dut = self.dut
        parts = b""
        edge = FallingEdge(dut.clk)
        offered = False
        while True:
            await edge
            if not offered and self.to_send:
                dut.tx__payload.value = self.to_send.pop(0)
                dut.tx__valid.value = 1
                offered = True
            elif not offered:
                dut.tx__valid.value = 0
            if offered and int(dut.tx__ready.value):
                offered = False
            ready = not self.pause()
            dut.rx__ready.value = ready
            if ready and int(dut.rx__valid.value):
                beat = int(dut.rx__payload.value)
                assert _field(beat, "side") == 1
                assert _field(beat, "first") == (not parts)
                empty, last = _field(beat, "empty"), _field(beat, "last")
                assert last or not empty
                assert last or not _field(beat, "error")
                parts += _field(beat, "data").to_bytes(4, "little")[:4 - empty]
                if last:
                    self.received.append((parts, bool(_field(beat, "error"))))
                    parts = b""
            drop = int(dut.drop.value)
            for n, reason in enumerate(REASONS):
                self.drops[reason] += drop >> n & 1
            self.underruns += int(dut.underrun.value)

    def send(self, frame, error=False):
        self.to_send += _beats(frame, error)

    async def until(self, condition, limit=200_000):
        edge = FallingEdge(self.dut.clk)
        for _ in range(limit):
            if condition():
                break
            await edge
        assert condition(), "nothing comes any more"
        for _ in range(_SETTLE):
            await edge

    def frame(self, size):
        return self.rng.randbytes(size)


def _on_wire(frame):
    """What has to be between start delimiter and end."""
    frame = frame + bytes(max(0, 60 - len(frame)))
    return frame + struct.pack("<L", zlib.crc32(frame))


async def _both_ways(mac, sizes):
    frames = [mac.frame(size) for size in sizes]
    back = [mac.frame(max(60, size)) for size in sizes]
    for frame in frames:
        mac.send(frame)
    for frame in back:
        mac.source.send_nowait(GmiiFrame.from_payload(frame))
    limit = 4 * sum(size + 40 for size in sizes) + 4000
    await mac.until(lambda: len(mac.received) >= len(back) and mac.sink.count() >= len(frames),
                    limit)
    assert mac.received == [(frame, False) for frame in back]
    mac.received.clear()
    came = [mac.sink.recv_nowait() for _ in frames]
    assert mac.sink.empty()
    for frame, got in zip(frames, came, strict=True):
        # The model notes when it saw the first byte, but does not keep it.
        assert got.get_preamble() == bytes([0x55] * 6 + [0xD5])
        assert round((got.sim_time_sfd - got.sim_time_start) / _PS) == 8
        assert bytes(got.get_payload(strip_fcs=False)) == _on_wire(frame)
        assert got.error is None
    assert not mac.underruns and not +mac.drops
    return came


def _gaps(frames):
    return [round((after.sim_time_start - before.sim_time_end) / _PS)
            for before, after in pairwise(frames)]


@cocotb.test()
async def line_rate_both_ways(dut):
    """Back to back, smallest, every size about a word's end, largest: the gap is always 12."""
    mac = await _Mac.start(dut)
    sizes = [60] * 64 + [*range(60, 77)] + [1514, 1513, 1514] + [9018, 9216]
    came = await _both_ways(mac, sizes)
    gaps = _gaps(came)
    record(gaps=sorted(set(gaps)), frames=len(came))
    assert set(gaps) == {_GAP}


@cocotb.test()
async def short_frames_are_padded(dut):
    mac = await _Mac.start(dut)
    await _both_ways(mac, [*range(1, 62)])


@cocotb.test()
async def random_sizes(dut):
    mac = await _Mac.start(dut)
    await _both_ways(mac, [mac.rng.choice([mac.rng.randint(60, 130), mac.rng.randint(60, 1514)])
                           for _ in range(60)])


@cocotb.test()
async def a_marked_frame_does_not_leave_as_a_good_one(dut):
    mac = await _Mac.start(dut)
    for size in (20, 59, 60, 61, 62, 63, 64, 300):
        good, bad = mac.frame(size), mac.frame(size)
        mac.send(bad, error=True)
        mac.send(good)
        await mac.until(lambda: mac.sink.count() >= 2)
        first, second = mac.sink.recv_nowait(), mac.sink.recv_nowait()
        assert not first.check_fcs()
        assert bytes(second.get_payload(strip_fcs=False)) == _on_wire(good)


def _damaged(mac):
    """Frames as they must not be, by reason."""
    good = _on_wire(mac.frame(mac.rng.randint(60, 200)))
    at = mac.rng.randrange(len(good))
    flipped = bytearray(good)
    flipped[at] ^= 1 << mac.rng.randrange(8)
    yield "fcs", GmiiFrame.from_raw_payload(flipped)
    yield "fcs", GmiiFrame.from_raw_payload(good[:-4] + bytes(4))
    for cut in (1, 2, 3, 4, 5):
        whole = _on_wire(mac.frame(100 + cut))
        yield "fcs", GmiiFrame.from_raw_payload(whole[:-cut])
    for size in (1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 62, 63):
        yield "runt", GmiiFrame.from_raw_payload(mac.frame(size))
    small = mac.frame(59)  # with a right FCS, but too small
    yield "runt", GmiiFrame.from_raw_payload(small + struct.pack("<L", zlib.crc32(small)))
    for where in (8, 9, 40, len(good) + 7):
        marked = GmiiFrame.from_raw_payload(good)
        marked.error = [0] * len(marked.data)
        marked.error[where] = 1
        yield "phy", marked
    longest = parameters()["max_frame"]
    for more in (1, 2, 3, 4, 5, 2000):
        yield "long", GmiiFrame.from_payload(mac.frame(longest + more))
    yield "start", GmiiFrame(bytes([0x55] * 40))
    yield "start", GmiiFrame(bytes([0x55]))


@cocotb.test()
async def damaged_frames(dut):
    """Each is marked and counted once, by its reason; the good ones between them are whole."""
    mac = await _Mac.start(dut)
    expected = Counter()
    good = []
    total = 0
    for _ in range(2):
        for reason, frame in _damaged(mac):
            mac.source.send_nowait(frame)
            expected[reason] += 1
            between = mac.frame(mac.rng.randint(60, 90))
            good.append(between)
            mac.source.send_nowait(GmiiFrame.from_payload(between))
            total += len(frame.data) + 150
    longest = mac.frame(parameters()["max_frame"])
    mac.source.send_nowait(GmiiFrame.from_payload(longest))
    good.append(longest)
    await mac.until(lambda: mac.source.idle(), 4 * total + 50_000)
    assert +mac.drops == expected
    assert [frame for frame, error in mac.received if not error] == good
    marked = [frame for frame, error in mac.received if error]
    assert len(marked) == sum(expected.values()) - expected["start"]
    assert max(map(len, marked)) <= parameters()["max_frame"] + 8


@cocotb.test()
async def overrun(dut):
    """A card that takes nothing for a while: what comes is good, or marked, or counted."""
    mac = await _Mac.start(dut)
    frames = [mac.frame(mac.rng.randint(60, 300)) for _ in range(80)]
    for frame in frames:
        mac.source.send_nowait(GmiiFrame.from_payload(frame))
    stuck = 0

    def pause():
        nonlocal stuck
        if stuck:
            stuck -= 1
        elif mac.rng.random() < 0.002:
            stuck = 1500
        return stuck > 0

    mac.pause = pause
    await mac.until(lambda: mac.source.idle(), 200_000)
    mac.pause = lambda: False
    await mac.until(lambda: True)
    good = [frame for frame, error in mac.received if not error]
    assert mac.drops["overrun"] > 5
    assert set(mac.drops) - {"overrun"} == {name for name in REASONS if name != "overrun"}
    assert sum(mac.drops.values()) == mac.drops["overrun"]
    assert len(good) + mac.drops["overrun"] == len(frames)
    left = iter(frames)
    assert all(frame in left for frame in good), "good frames, in their order"
    for frame, error in mac.received:
        # The word with the mark says nothing.
        assert not error or any(whole.startswith(frame[:-4]) for whole in frames)
