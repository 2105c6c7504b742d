"""A model of the card, as its driver sees it: registers, rings, completions. No frames get lost
here, and nothing takes time."""

from dataclasses import dataclass

import numpy as np
from tightwire.config import NicConfig
from tightwire.formats import HEADER_BYTES, Codec
from tightwire.host.errors import CardError
from tightwire.host.layouts import (
    COMPLETION_BYTES,
    DESCRIPTOR_BYTES,
    KIND_FRAME,
    KIND_MESSAGE,
    Completed,
    Status,
)
from tightwire.registers.describe import COMMAND_DEPTH, PUSH_EMPTY, PUSH_FULL, Access
from tightwire.registers.nic import INTERRUPTS, MAP, OP_ADD, RINGS, constants

from .golden import decode, encode

__all__ = ["CardModel"]


@dataclass
class _Message:
    stream: int
    message: int
    sender: object
    tag: int
    index: int
    peer: int
    bucket: int
    frames: list  # of first bucket and float32


class CardModel:
    """Registers (``tightwire.host.Registers``) of a card that does what it is told at once.

    Parameters
    ----------
    memory : HostMemory
        Of its host.
    config : NicConfig, optional

    Members
    -------
    far : CardModel
        The card at the other end of the wire; itself at first.
    frozen : bool
        While it is set, the card does nothing but answer.
    """

    def __init__(self, memory, config=None):
        self.memory = memory
        self.config = config or NicConfig()
        self.far = self
        self.frozen = False
        self.busy_reads = 3  # of status, for which a reset takes
        self._words = {offset: word for word, offset in MAP.word.items()}
        self._described = {word.name: word for word in MAP.words}
        self._values = {word.name: word.reset or 0 for word in MAP.words} | constants(self.config)
        self._widths = {}
        for one in MAP.registers.values():
            self._widths |= _widths(one, one.name)
        for command in MAP.commands.values():
            for one in command.arguments:
                self._widths |= _widths(one, f"{command.name}_{one.name}")
        self.peers = {}
        self.counts = {counter.name: 0 for bank in MAP.banks.values() for counter in bank.counters}
        self._busy = 0
        self._clear()

    def _clear(self):
        self._indices = dict.fromkeys((*RINGS, "cq"), 0)
        self._commands = {name: [] for name in MAP.commands}
        self._streams = {"open_tx": {}, "open_rx": {}}
        self._regions = {}
        self._waiting = []   # messages that nobody has taken yet
        self._backlog = []   # completions for which the queue had no room

    # ---- registers ----

    async def pause(self):
        pass

    async def read32(self, address):
        name = self._name(address)
        access = self._described[name].access
        if access == "push":
            waits = len(self._commands[name.removesuffix("_push")])
            return PUSH_FULL * (waits == COMMAND_DEPTH) | PUSH_EMPTY * (not waits)
        if access == "counter":
            return self._counter(name)
        if name == "status":
            self._busy = max(0, self._busy - 1)
            return int(self._busy > 0)
        for queue, index in self._indices.items():
            if name == (f"{queue}_producer" if queue == "cq" else f"{queue}_consumer"):
                return index & 0xFFFF
        return 0 if access == Access.PULSE.value else self._values[name]

    def _counter(self, name):
        counter, half = name[:-3], name[-2:]
        if half == "lo":
            self._upper = self.counts[counter] >> 32
            return self.counts[counter] & 0xFFFFFFFF
        return self._upper

    async def write32(self, address, value):
        name = self._name(address)
        access = self._described[name].access
        if not 0 <= value < 1 << 32:
            raise ValueError(f"{name}: {value} is no word")
        if access == "push":
            command = name.removesuffix("_push")
            if len(self._commands[command]) == COMMAND_DEPTH:
                raise CardError(f"{name}: SLVERR, the queue is full")
            self._commands[command].append(self._arguments(command))
        elif name == "reset":
            if value & 1:
                self._clear()
                self._busy = self.busy_reads
        elif access == "w1c":
            self._values[name] &= ~value
        elif access == "rw":
            if self._busy and not 0x40 <= address < 0x80:
                raise AssertionError(f"{name} is written while the card resets")
            ring = name.rsplit("_", 2)[0] if name.endswith(("lo", "hi")) else name.split("_")[0]
            if name.endswith(("_base_lo", "_base_hi", "_log2_size")) and \
                    self._values[f"{ring.removesuffix('_base')}_enable"]:
                raise AssertionError(f"{name} is written while {ring} is enabled")
            self._values[name] = value & (1 << self._widths[name]) - 1
        else:
            raise CardError(f"{name}: SLVERR, it cannot be written")
        self.work()

    def _name(self, address):
        if address not in self._words:
            raise CardError(f"{address:#x}: SLVERR, nothing is there")
        return self._words[address]

    def _wide(self, name):
        return self._values[f"{name}_hi"] << 32 | self._values[f"{name}_lo"]

    def _arguments(self, command):
        return {one.name: self._wide(f"{command}_{one.name}") if one.bits > 32
                else self._values[f"{command}_{one.name}"]
                for one in MAP.commands[command].arguments}

    @property
    def interrupt(self):
        """Whether the card interrupts."""
        return bool(self._values["interrupt_status"] & self._values["interrupt_enable"])

    # ---- what it does ----

    def work(self):
        """Do all that can be done."""
        if self.frozen or self._busy:
            return
        for command, entries in self._commands.items():
            while entries:
                getattr(self, f"_do_{command}")(**entries.pop(0))
        backlog, self._backlog = self._backlog, []
        for completion in backlog:
            self._complete(*completion)
        if self._values["control"]:
            for descriptor in self._fetch("tx0"):
                self._send_frame(*descriptor)
            for descriptor in self._fetch("tx1"):
                self._send_message(*descriptor)
        self._deliver()
        if self.far is not self:
            self.far._deliver()

    def _fetch(self, ring, most=None):
        """Descriptors that the host has made: words, and the index behind each."""
        if not self._values[f"{ring}_enable"]:
            return
        size = 1 << self._values[f"{ring}_log2_size"]
        there = self._values[f"{ring}_producer"] - self._indices[ring] & 0xFFFF
        assert there <= size, f"{ring} is overrun"
        for _ in range(there if most is None else min(there, most)):
            at = self._wide(f"{ring}_base") + self._indices[ring] % size * DESCRIPTOR_BYTES
            words = [int(word) for word in self.memory.at(at, DESCRIPTOR_BYTES).view("<u4")]
            self._indices[ring] = self._indices[ring] + 1 & 0xFFFF
            yield words, self._indices[ring]

    def _complete(self, kind, status, index, tag, count=0, detail=0):
        size = 1 << self._values["cq_log2_size"]
        written = self._indices["cq"]
        if not self._values["cq_enable"] or written - self._values["cq_consumer"] & 0xFFFF == size:
            self._backlog.append((kind, status, index, tag, count, detail))
            return
        at = self._wide("cq_base") + written % size * COMPLETION_BYTES
        phase = 1 - (written // size & 1)
        self.memory.at(at, COMPLETION_BYTES).view("<u4")[:] = [
            kind | status << 8 | index << 16, tag, count, detail | phase << 31]
        self._indices["cq"] = written + 1 & 0xFFFF
        self._values["interrupt_status"] |= INTERRUPTS["completion"]

    def _read(self, address, size):
        """Bytes of the host, or None where it answers with an error."""
        try:
            return self.memory.at(address, size).copy()
        except IndexError:
            return None

    def _send_frame(self, words, index):
        first, tag, low, high, size = words[:5]
        status = Status.OK
        if first & 0xFF != KIND_FRAME or not 0 < size <= self.config.frame_bytes:
            status = Status.BAD_DESCRIPTOR
        elif (frame := self._read(high << 32 | low, size)) is None:
            status = Status.READ_ERROR
        else:
            self.counts["tx_ordinary_frames"] += 1
            self.counts["tx_ordinary_bytes"] += size
            self.far._receive(frame)
        self._complete(Completed.FRAME_SENT, status, index, tag, size)

    def _receive(self, frame):
        """An ordinary frame from the wire."""
        if not self._values["control"]:
            return
        self.counts["rx_ordinary_frames"] += 1
        self.counts["rx_ordinary_bytes"] += len(frame)
        for words, index in self._fetch("rx", most=1):
            _, tag, low, high, size = words[:5]
            status = Status.OK if len(frame) <= size else Status.TOO_SHORT
            if status == Status.OK:
                self.memory.at(high << 32 | low, len(frame))[:] = frame
            else:
                self.counts["rx_dropped_too_short"] += 1
            self._complete(Completed.FRAME_RECEIVED, status, index, tag, len(frame))
            return
        self.counts["rx_dropped_ring_empty"] += 1

    def _send_message(self, words, index):
        first, tag, low, high, size, numbers, span = words[:7]
        stream, message, peer = numbers & 0xFFFF, numbers >> 16, first >> 24
        codec, bucket = Codec.from_byte(first >> 8 & 0xFF), 1 << (first >> 16 & 15)
        status = None
        if (first & 0xFF != KIND_MESSAGE or span == 0 or size == 0 or size % 4
                or HEADER_BYTES + 4 * span * codec.record_words(bucket) > self.config.frame_bytes):
            status = Status.BAD_DESCRIPTOR
        elif stream not in self._streams["open_tx"].values():
            status = Status.GAVE_UP
        elif (data := self._read(high << 32 | low, size)) is None:
            status = Status.READ_ERROR
        if status is not None:
            self._complete(Completed.MESSAGE_SENT, status, index, tag)
            return
        floats = data.view(np.float32)
        frames = []
        for begin in range(0, len(floats), span * bucket):
            piece, at = floats[begin:begin + span * bucket], begin // bucket
            payload = encode(piece, codec=codec, bucket=bucket, stream=stream, message=message,
                             first=at)
            frames.append((at, decode(payload, codec=codec, bucket=bucket,
                                      span=-(-len(piece) // bucket), first=at)))
            self.counts["tx_data_frames"] += 1
        self.far._waiting.append(_Message(stream, message, self, tag, index, peer, bucket, frames))

    def _deliver(self):
        """Messages on the wire for which there is a stream and a region."""
        for one in list(self._waiting):
            peer = self._streams["open_rx"].get(one.stream)
            wanted = one.stream, one.message, one.bucket
            entry = next((entry for entry, region in self._regions.items() if wanted == (
                region["stream"], region["message"], 1 << (region["how"] >> 4))), None)
            if peer is None or entry is None:
                continue
            region = self._regions[entry]
            self._waiting.remove(one)
            place = self.memory.at(region["address"], region["bytes"]).view(np.float32)
            buckets = 0
            for first, values in one.frames:
                part = place[first * one.bucket:][:len(values)]
                values = values[:len(part)]
                part[:] = part + values if region["how"] & 1 == OP_ADD else values
                buckets += -(-len(values) // one.bucket)
                self.counts["rx_data_frames"] += 1
            del self._regions[entry]
            self._complete(Completed.REGION_FILLED, Status.OK, entry, region["tag"], buckets)
            one.sender._complete(Completed.MESSAGE_SENT, Status.OK, one.index, one.tag, buckets)

    # ---- commands ----

    def _do_peer(self, entry, **station):
        self.peers[entry] = station

    def _do_open_tx(self, entry, open, stream, sequence):
        table = self._streams["open_tx"]
        table.pop(entry, None)
        if open:
            table[entry] = stream
            return
        for one in list(self.far._waiting):
            if one.sender is self and one.stream == stream:
                self.far._waiting.remove(one)
                self._complete(Completed.MESSAGE_SENT, Status.GAVE_UP, one.index, one.tag)

    def _do_open_rx(self, entry, open, stream, sequence, peer):
        self._streams["open_rx"].pop(stream, None)
        if open:
            self._streams["open_rx"][stream] = peer

    def _do_region(self, entry, post, **region):
        if post:
            self._regions[entry] = region
        elif entry in self._regions:
            self._complete(Completed.REGION_FILLED, Status.CANCELLED, entry,
                           self._regions.pop(entry)["tag"])


def _widths(register, name):
    if register.bits <= 32:
        return {name: register.bits}
    return {f"{name}_lo": 32, f"{name}_hi": register.bits - 32}
