"""The driver of a card."""

from dataclasses import dataclass, field
from ipaddress import IPv4Address

import numpy as np

from ..formats import HEADER_BYTES, UDP_PORT, VERSION, Codec, check_bucket, check_field
from ..registers.describe import PUSH_EMPTY, PUSH_FULL
from ..registers.nic import IDENTITY, INTERRUPTS, MAP, MAP_VERSION, OP_ADD, OP_STORE, RINGS
from .errors import DescriptorError, NoCard, QueueFull, TableFull, TimedOut
from .layouts import (
    COMPLETION_BYTES,
    DESCRIPTOR_BYTES,
    KIND_FRAME,
    KIND_MESSAGE,
    Completed,
    Completion,
    Status,
    frame_buckets,
    receive_descriptor,
    transmit_descriptor,
)
from .protocols import Region

__all__ = ["Card", "Failure", "Handle", "Station"]

_PARAMETERS = ("lanes", "max_bucket", "frame_bytes", "streams", "messages", "regions", "peers")
_INDEX = 0xFFFF
_LEAST_FRAME = 14  # an Ethernet header; the MAC pads


class Failure(RuntimeError):
    """What was asked for did not go well; ``status`` and the text say how."""

    def __init__(self, handle):
        self.status = handle.status
        super().__init__(f"{handle.what}: {handle.status.name}")


@dataclass(frozen=True)
class Station:
    """Where a card can be reached: a MAC address and an IPv4 address, as text or as a number."""

    mac: int | str
    ip: int | str
    port: int = UDP_PORT

    def __post_init__(self):
        mac = self.mac
        if isinstance(mac, str):
            mac = int(mac.replace(":", "").replace("-", ""), 16)
        object.__setattr__(self, "mac", check_field("mac", mac, 48))
        object.__setattr__(self, "ip", int(IPv4Address(self.ip)))
        check_field("port", self.port, 16)


@dataclass(eq=False)
class Handle:
    """What becomes of something that was given to the card.

    Members
    -------
    what : str
        In words.
    region : Region
        Its memory: the card's until ``done``.
    done : bool
    status : Status, once it is done
    count, detail : int
        Of the completion: bytes of a frame, or buckets; frames that were sent again.
    """

    what: str
    region: Region
    done: bool = False
    status: Status | None = None
    count: int = 0
    detail: int = 0
    _own: bool = field(default=False, repr=False)    # the driver allocated it, and frees it
    _entry: int | None = field(default=None, repr=False)

    @property
    def ok(self):
        return self.done and self.status == Status.OK

    def result(self):
        """Itself, where it went well.

        Raises
        ------
        Failure
        """
        if self.done and self.status != Status.OK:
            raise Failure(self)
        return self


class _Ring:
    """One of the rings: what stands in each place, until it is done with."""

    def __init__(self, name, memory, log2_size):
        self.name = name
        self.log2_size = log2_size
        self.size = 1 << log2_size
        self.region = memory.allocate(self.size * DESCRIPTOR_BYTES, DESCRIPTOR_BYTES)
        self.region.array[:] = 0
        self._words = self.region.array.view("<u4").reshape(self.size, -1)
        self.producer = 0
        self.places = [None] * self.size

    @property
    def full(self):
        """A place is free when its descriptor is done with; the card may finish them in another
        order than that of the ring."""
        one = self.places[self.producer % self.size]
        return one is not None and not one.done

    def put(self, words, handle):
        if self.full:
            raise QueueFull(f"ring {self.name} is full: its {self.size} descriptors are not done")
        place = self.producer % self.size
        self._words[place] = words
        self.places[place] = handle
        self.producer = self.producer + 1 & _INDEX


class Card:
    """Runs one card.

    All methods that touch registers are coroutines, of one caller at a time. Nothing is completed
    unless ``poll`` is called, or a method that says that it does so.

    Parameters
    ----------
    registers : protocols.Registers
    memory : protocols.Memory

    Members
    -------
    parameters : dict of str to int
        What the card was built with, after ``set_up``.
    station : Station
    """

    patience = 100_000
    """Register reads until a wait for the card itself is given up."""

    def __init__(self, registers, memory):
        self._registers = registers
        self._memory = memory
        self.parameters = {}
        self.station = None
        self._set_up_with = None
        self._forget()

    def _forget(self):
        self._rings = {}
        self._queue = None
        self._taken = 0
        self._pending = {}
        self._tag = 0
        self._received = []
        self._buffers = {}
        self._tables = {"open_tx": {}, "open_rx": {}}
        self._posted = {}
        self._peers = {}

    # ---- registers by name ----

    async def read(self, name):
        """The word of that name in the register map."""
        return await self._registers.read32(MAP.word[name])

    async def write(self, name, value):
        """Write the word of that name."""
        await self._registers.write32(MAP.word[name], value)

    async def _write_wide(self, name, value):
        await self.write(f"{name}_lo", value & 0xFFFFFFFF)
        await self.write(f"{name}_hi", value >> 32)

    async def _until(self, name, wanted, what):
        """Read a word until ``wanted(word)``."""
        for _ in range(self.patience):
            if wanted(await self.read(name)):
                return
            await self._registers.pause()
        raise TimedOut(f"the card does not {what}: {name} is {await self.read(name):#x}")

    async def _command(self, command, *, wait=False, **arguments):
        """Push an entry through a command window; ``wait`` until the card has taken it."""
        for one in MAP.commands[command].arguments:
            value = arguments.pop(one.name, 0)
            if one.bits > 32:
                await self._write_wide(f"{command}_{one.name}", value)
            else:
                await self.write(f"{command}_{one.name}", value)
        assert not arguments, arguments
        push = f"{command}_push"
        await self._until(push, lambda word: not word & PUSH_FULL, f"take commands of {command}")
        await self.write(push, 1)
        if wait:
            await self._until(push, lambda word: word & PUSH_EMPTY, f"take commands of {command}")

    # ---- setting up ----

    async def set_up(self, station, *, log2_size=6, log2_completions=9, buffers=32,
                     coalesce_count=1, coalesce_time=0, interrupts=0, timeout=None, tries=None):
        """Reset the card, and make it ready to send and receive.

        Parameters
        ----------
        station : Station
            This card's.
        log2_size : int
            log2 of the descriptors in each ring, 1 to 15.
        log2_completions : int
            Likewise, of the completion queue.
        buffers : int
            Buffers for ordinary frames, each as long as the longest frame; at most as many as
            the ring has places.
        coalesce_count, coalesce_time : int
            Completions until an interrupt, or clocks after the first of them.
        interrupts : int
            Bits of ``registers.nic.INTERRUPTS``: which of them interrupt.
        timeout, tries : int, optional
            Clocks until frames are sent again, and how often; what the card starts with if not
            given.

        Raises
        ------
        NoCard, DescriptorError, TimedOut
        """
        if await self.read("identity") != IDENTITY:
            raise NoCard(f"identity reads {await self.read('identity'):#x}, not {IDENTITY:#x}")
        version = await self.read("version")
        if version != MAP_VERSION | VERSION << 8:
            raise NoCard(f"version reads {version:#x}: this driver knows map {MAP_VERSION}, "
                         f"format {VERSION}")
        for name, value in (("log2_size", log2_size), ("log2_completions", log2_completions)):
            if not 1 <= value <= 15:
                raise DescriptorError(f"{name} must be from 1 to 15, not {value}")
        if not 0 <= buffers <= 1 << log2_size:
            raise DescriptorError(f"buffers must be from 0 to {1 << log2_size}, not {buffers}")
        for name in _PARAMETERS:
            self.parameters[name] = await self.read(name)
        await self._stop()
        self.station = station
        self._set_up_with = {
            "log2_size": log2_size, "log2_completions": log2_completions, "buffers": buffers,
            "coalesce_count": coalesce_count, "coalesce_time": coalesce_time,
            "interrupts": interrupts, "timeout": timeout, "tries": tries}

        await self._write_wide("station_mac", station.mac)
        await self.write("station_ip", station.ip)
        await self.write("station_port", station.port)
        if timeout is not None:
            await self.write("timeout", timeout)
        if tries is not None:
            await self.write("tries", tries)
        await self.write("coalesce_count", coalesce_count)
        await self.write("coalesce_time", coalesce_time)

        self._queue = self._memory.allocate(COMPLETION_BYTES << log2_completions, 64)
        self._queue.array[:] = 0
        self._queue_size = 1 << log2_completions
        self._completions = self._queue.array.view("<u4").reshape(-1, 4)
        await self._start("cq", self._queue, log2_completions, "consumer")
        for name in RINGS:
            ring = self._rings[name] = _Ring(name, self._memory, log2_size)
            await self._start(name, ring.region, log2_size, "producer")
        size = -(-self.parameters["frame_bytes"] // 64) * 64
        for _ in range(buffers):
            region = self._memory.allocate(size)
            self._buffers[region.address] = region
            self._provide(region)
        await self._ring_bell("rx")
        await self.write("interrupt_status", sum(INTERRUPTS.values()))
        await self.write("interrupt_enable", interrupts)
        await self.write("control", 1)

    async def _start(self, name, region, log2_size, doorbell):
        await self._write_wide(f"{name}_base", region.address)
        await self.write(f"{name}_log2_size", log2_size)
        await self.write(f"{name}_{doorbell}", 0)
        await self.write(f"{name}_enable", 1)

    async def _stop(self):
        """Stop the card, and take all memory back; what is pending is cancelled."""
        await self.write("control", 0)
        await self.write("interrupt_enable", 0)
        for name in (*RINGS, "cq"):
            await self.write(f"{name}_enable", 0)
        await self.write("reset", 1)
        await self._until("status", lambda word: not word & 1, "end its reset")
        # From here on the card does not touch memory any more.
        for handle in list(self._pending.values()):
            self._finish(handle, Status.CANCELLED)
        for region in (*self._buffers.values(), *(ring.region for ring in self._rings.values())):
            self._memory.free(region)
        if self._queue is not None:
            self._memory.free(self._queue)
        self._forget()

    async def reset(self):
        """Reset the card and set it up as before. All that is pending is done, CANCELLED; streams,
        regions and peers are forgotten."""
        if self._set_up_with is None:
            raise NoCard("the card has not been set up")
        await self.set_up(self.station, **self._set_up_with)

    async def close(self):
        """Stop the card; its memory can be used for other things then."""
        await self._stop()

    async def set_peer(self, entry, station):
        """Write an entry of the table of peers."""
        self._check_entry("peer", entry, "peers")
        await self._command("peer", wait=True, entry=entry, mac=station.mac, ip=station.ip,
                            port=station.port)
        self._peers[entry] = station

    def _check_entry(self, name, entry, table):
        if not 0 <= entry < self.parameters.get(table, 0):
            raise DescriptorError(
                f"{name} must be below {self.parameters.get(table, 0)}, not {entry}")

    def _check_peer(self, peer):
        if peer not in self._peers:
            raise DescriptorError(f"peer {peer} has not been set")

    # ---- streams ----

    async def open_send(self, stream, *, sequence=0):
        """Open a stream to send; both ends begin with the same sequence number."""
        await self._open("open_tx", stream, sequence=sequence)

    async def open_receive(self, stream, *, peer, sequence=0):
        """Open a stream to receive, from an entry of the table of peers."""
        self._check_peer(peer)
        await self._open("open_rx", stream, sequence=sequence, peer=peer)

    async def close_send(self, stream):
        """Close a stream to send. What is pending there is completed by the card, GAVE_UP."""
        await self._close("open_tx", stream)

    async def close_receive(self, stream):
        """Close a stream to receive. Its regions stay posted."""
        await self._close("open_rx", stream)

    async def _open(self, command, stream, *, sequence, **more):
        check_field("stream", stream, 16)
        check_field("sequence", sequence, 32)
        table = self._tables[command]
        entry = table.get(stream)
        if entry is None:
            entry = _free(table.values(), self.parameters["streams"], "streams are open")
        await self._command(command, wait=True, entry=entry, open=1, stream=stream,
                            sequence=sequence, **more)
        table[stream] = entry

    async def _close(self, command, stream):
        if stream not in self._tables[command]:
            raise DescriptorError(f"stream {stream} is not open")
        entry = self._tables[command][stream]
        await self._command(command, wait=True, entry=entry, open=0, stream=stream)
        del self._tables[command][stream]

    # ---- sending and receiving ----

    async def send_frame(self, frame):
        """Send an ordinary Ethernet frame, without FCS; returns its handle.

        Raises
        ------
        QueueFull, DescriptorError
        """
        if not _LEAST_FRAME <= len(frame) <= self.parameters["frame_bytes"]:
            raise DescriptorError(f"a frame has {_LEAST_FRAME} to "
                                  f"{self.parameters['frame_bytes']} bytes, not {len(frame)}")
        ring = self._room("tx0")
        region = self._memory.allocate(len(frame))
        region.array[:len(frame)] = np.frombuffer(frame, np.uint8)
        handle = Handle(f"frame of {len(frame)} bytes", region, _own=True)
        ring.put(transmit_descriptor(kind=KIND_FRAME, tag=self._tagged(handle),
                                     address=region.address, size=len(frame)), handle)
        await self._ring_bell("tx0")
        return handle

    def received(self):
        """The ordinary frames that ``poll`` has found since the last call, oldest first."""
        frames, self._received = self._received, []
        return frames

    async def send_tensor(self, tensor, *, stream, message, codec, bucket, peer,
                          frame_limit=None):
        """Send float32 as a message; returns its handle, done when all is acknowledged.

        Parameters
        ----------
        tensor : Region or numpy.ndarray
            A Region goes out from where it is, and must stay as it is until the handle is done,
            since a lost frame is read again. An array is copied.
        stream, message : int
            The stream is open; messages are sent in the order in which they are given.
        codec : Codec
        bucket : int
            Elements.
        peer : int
            An entry of the table of peers.
        frame_limit : int, optional
            The longest Ethernet frame, without FCS; the card's own limit if not given.

        Raises
        ------
        QueueFull, DescriptorError, FormatError
        """
        codec = codec if isinstance(codec, Codec) else Codec.from_byte(codec)
        self._check_bucket(bucket)
        self._check_peer(peer)
        check_field("message", message, 16)
        if stream not in self._tables["open_tx"]:
            raise DescriptorError(f"stream {stream} is not open to send")
        limit = self.parameters["frame_bytes"]
        if frame_limit is not None:
            if frame_limit > limit:
                raise DescriptorError(f"frame_limit must be at most {limit}, not {frame_limit}")
            limit = frame_limit
        span = frame_buckets(codec, bucket, limit - HEADER_BYTES)
        ring = self._room("tx1")
        region, size, own = self._floats(tensor)
        handle = Handle(f"message {message} of stream {stream}", region, _own=own)
        ring.put(transmit_descriptor(
            kind=KIND_MESSAGE, tag=self._tagged(handle), address=region.address, size=size,
            codec=codec.byte, log2_bucket=bucket.bit_length() - 1, peer=peer, stream=stream,
            message=message, span=span), handle)
        await self._ring_bell("tx1")
        return handle

    async def post_tensor(self, stream, message, tensor, *, bucket, op=OP_STORE):
        """Post a region for a message; returns its handle, done when all of it has come.

        Parameters
        ----------
        stream, message : int
        tensor : Region or int
            Where it goes, or how many elements: then memory is allocated, which is
            ``handle.region``, cleared, and stays the caller's.
        bucket : int
            The sender's.
        op : int
            ``OP_STORE`` or ``OP_ADD``.

        Raises
        ------
        TableFull, DescriptorError, FormatError
        """
        self._check_bucket(bucket)
        check_field("stream", stream, 16)
        check_field("message", message, 16)
        if op not in (OP_STORE, OP_ADD):
            raise DescriptorError(f"op must be {OP_STORE} or {OP_ADD}, not {op!r}")
        for handle in self._posted.values():
            if handle.what == _posted(stream, message):
                raise DescriptorError(f"a {handle.what} is posted already")
        entry = _free(self._posted, self.parameters["regions"], "regions are posted")
        if isinstance(tensor, Region):
            region, size, _ = self._floats(tensor)
        else:
            size = 4 * tensor
            if size < 4:
                raise DescriptorError(f"a tensor has 1 element or more, not {tensor}")
            region = self._memory.allocate(size)
            region.array[:] = 0
        handle = Handle(_posted(stream, message), region, _entry=entry)
        tag = self._tagged(handle)
        self._posted[entry] = handle
        await self._command(
            "region", entry=entry, post=1, stream=stream, message=message,
            address=region.address, bytes=size, tag=tag,
            how=op | (bucket.bit_length() - 1) << 4)
        return handle

    async def cancel(self, handle):
        """Take a posted region back: its handle is done soon, and the memory free then. One that
        was filled meanwhile is done as usual."""
        if handle._entry is None:
            raise DescriptorError("only a region can be cancelled")
        if not handle.done:
            await self._command("region", entry=handle._entry, post=0)

    def _room(self, name):
        if name not in self._rings:
            raise NoCard("the card has not been set up")
        ring = self._rings[name]
        if ring.full:
            raise QueueFull(f"ring {name} is full: its {ring.size} descriptors are not done")
        return ring

    def _check_bucket(self, bucket):
        if check_bucket(bucket) > self.parameters.get("max_bucket", 0):
            raise DescriptorError(
                f"bucket must be at most {self.parameters.get('max_bucket', 0)}, not {bucket}")

    def _floats(self, tensor):
        """Memory with a tensor in it, how long it is, and whether it is a copy."""
        if isinstance(tensor, Region):
            size = len(tensor.array)
            if size == 0 or size % 4 or tensor.address % 4:
                raise DescriptorError("a tensor has whole words, at a multiple of 4: not "
                                      f"{size} bytes at {tensor.address:#x}")
            return tensor, size, False
        array = np.ascontiguousarray(tensor, np.float32)
        if array.size == 0:
            raise DescriptorError("a tensor has 1 element or more, not 0")
        region = self._memory.allocate(array.nbytes)
        region.array[:array.nbytes] = array.reshape(-1).view(np.uint8)
        return region, array.nbytes, True

    def _tagged(self, handle):
        """A number by which its completion is known."""
        while self._tag in self._pending:
            self._tag = self._tag + 1 & 0xFFFFFFFF
        tag = self._tag
        self._pending[tag] = handle
        self._tag = tag + 1 & 0xFFFFFFFF
        return tag

    def _provide(self, region):
        """A buffer for an ordinary frame goes into the receive ring."""
        handle = Handle("buffer", region)
        self._rings["rx"].put(receive_descriptor(
            tag=self._tagged(handle), address=region.address, size=len(region.array)), handle)

    async def _ring_bell(self, name):
        await self.write(f"{name}_producer", self._rings[name].producer)

    # ---- completions ----

    async def poll(self):
        """Take what is in the completion queue; returns how many completions there were.

        Looks into memory only, unless there are some.
        """
        if self._queue is None:
            raise NoCard("the card has not been set up")
        found, provided = 0, False
        while True:
            place = self._taken % self._queue_size
            lap = self._taken // self._queue_size & 1
            if int(self._completions[place, 3]) >> 31 == lap:
                break  # written in the lap before, or never
            # The phase is in the last word to be written; on a machine, a read barrier goes here.
            done = Completion.of(self._completions[place])
            self._taken += 1
            found += 1
            provided |= self._complete(done)
            # Told early, so that a full queue does not hold the card up.
            if found % (self._queue_size // 2) == 0:
                await self.write("cq_consumer", self._taken & _INDEX)
        if found:
            await self.write("cq_consumer", self._taken & _INDEX)
        if provided:
            await self._ring_bell("rx")
        return found

    def _complete(self, done):
        """One completion; whether a buffer went back into the receive ring."""
        handle = self._pending.get(done.tag)
        if handle is None:
            return False  # it was cancelled, and filled as well
        frame = done.kind == Completed.FRAME_RECEIVED
        if frame and done.status == Status.OK:
            self._received.append(handle.region.array[:done.count].tobytes())
        self._finish(handle, Status(done.status), done, done.tag)
        if frame:
            self._provide(handle.region)
        return frame

    def _finish(self, handle, status, done=None, tag=None):
        handle.done, handle.status = True, status
        if done is not None:
            handle.count, handle.detail = done.count, done.detail
        if tag is not None:
            del self._pending[tag]
        if handle._entry is not None:
            self._posted.pop(handle._entry, None)
        if handle._own:
            self._memory.free(handle.region)

    async def wait(self, *handles, limit=None):
        """Poll until all of these are done.

        Raises
        ------
        Failure
            One did not go well.
        TimedOut
            They are not done after ``limit`` polls (``patience`` of them if not given).
        """
        for _ in range(self.patience if limit is None else limit):
            await self.poll()
            if all(handle.done for handle in handles):
                for handle in handles:
                    handle.result()
                return handles
            await self._registers.pause()
        raise TimedOut("not done: " + ", ".join(one.what for one in handles if not one.done))

    async def interrupt(self):
        """To be called when the card interrupts: acknowledges, then polls; returns the bits of
        INTERRUPTS that were set. In this order none is missed."""
        bits = await self.read("interrupt_status")
        if bits:
            await self.write("interrupt_status", bits)
        await self.poll()
        return bits

    async def queue_states(self):
        """For each ring and the completion queue: busy, error, and the card's index."""
        states = {}
        for name in (*RINGS, "cq"):
            state = await self.read(f"{name}_state")
            index = await self.read(f"{name}_{'producer' if name == 'cq' else 'consumer'}")
            states[name] = {"busy": bool(state & 1), "error": bool(state & 2), "index": index}
        return states

    async def statistics(self, *names):
        """Counters by name: these, or all."""
        counts = {}
        for name in names or [counter.name for bank in MAP.banks.values()
                              for counter in bank.counters]:
            low = await self.read(f"{name}_lo")
            counts[name] = await self.read(f"{name}_hi") << 32 | low
        return counts


def _posted(stream, message):
    return f"region for message {message} of stream {stream}"


def _free(taken, size, what):
    """The lowest entry of a table of that size that is not taken."""
    taken = set(taken)
    for entry in range(size):
        if entry not in taken:
            return entry
    raise TableFull(f"all {size} {what}")
