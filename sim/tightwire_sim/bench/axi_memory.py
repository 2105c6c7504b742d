"""The host's memory behind an AXI4 port of the card, stepped once a clock.

Like ``drivers``, it relies on what our edges obey: all outputs are registers. Data move as whole
bursts between memory and the strings of bits that simulators take, so that a beat costs no more
than a few calls.
"""

import random
from collections import deque
from dataclasses import dataclass

import numpy as np

from .drivers import never
from .pins import Pins
from .protocol import ProtocolError

__all__ = ["AxiMemory", "Latency"]

_OKAY, _SLVERR, _DECERR = "00", "10", "11"
_INCR = "01"
_CACHE = "1111"
_BURST = 4096


@dataclass(frozen=True)
class Latency:
    """Clocks from a burst to its answer: ``least`` to ``most``, evenly."""

    least: int = 16
    most: int = 16

    def draw(self, rng):
        return rng.randint(self.least, self.most)


class _Burst:
    """A burst that was asked for."""

    __slots__ = ("address", "beats", "due", "id", "left", "responses")

    def __init__(self, address, beats, id_, due):
        self.address, self.beats, self.id, self.due = address, beats, id_, due
        self.left = None       # data of the beats to come
        self.responses = None


class _Channel:
    """Signals of a channel that the card drives, and that they stay as they are while waiting."""

    def __init__(self, pins, channel, signals, pause):
        self.name = f"{pins.prefix}_{channel}"
        self.pause = pause
        self._valid = pins.get(f"{channel}valid")
        self._get = [pins.get(f"{channel}{name}") for name in signals]
        self._put_ready = pins.put(f"{channel}ready")
        self.restart()

    def restart(self):
        self._put_ready("0")
        self._ready = False
        self._waiting = None

    def take(self, clock, room=True):
        """What is handed over with this clock, or None."""
        ready = room and not self.pause()
        if ready != self._ready:
            self._put_ready("1" if ready else "0")
            self._ready = ready
        valid = self._valid()
        if valid != "1":
            if valid != "0" or self._waiting:
                raise ProtocolError(f"{self.name}, clock {clock}: valid is {valid}"
                                    + " and was 1, not taken" * bool(self._waiting))
            return None
        if ready and self._waiting is None:
            return [get() for get in self._get]
        values = [get() for get in self._get]
        if self._waiting not in (None, values):
            raise ProtocolError(f"{self.name}, clock {clock}: changed while it was waiting")
        self._waiting = None if ready else values
        return values if ready else None


class AxiMemory:
    """A slave on the flat signals ``{prefix}_araddr`` and so on; steps with a ``Stepper``.

    At full speed it reads and writes a beat every clock. Bursts of one id are answered in order,
    those of others in any order where ``rng`` is given. Reads see memory as it is when their first
    beat goes out, writes are done when their last beat is there.

    What it is asked is checked: bursts of type INCR, of whole beats, at whole beats, within 4 KB,
    cacheable, wlast where it belongs, nothing changed while it waits (ProtocolError).

    Parameters
    ----------
    dut : handle
    memory : HostMemory
    prefix : str
    latency : Latency
        Of reads, and of the answers to writes.
    rng : random.Random, optional
        For latencies and the order of ids.
    pauses : dict of str to callable
        For ``ar``, ``r``, ``aw``, ``w`` and ``b``: whether to pause, asked each clock.
    outstanding : int
        Bursts of each kind that are taken before the first is answered.
    interleave : bool
        Whether beats of bursts with different ids are mixed (with ``rng``).

    Members
    -------
    errors : list of (begin, end)
        Addresses for which the answer is SLVERR. Outside of the memory it is DECERR. In neither
        case is anything written.
    reads, writes : int
        Beats.
    most_outstanding : int
        Of reads, the most that there were.
    """

    def __init__(self, dut, memory, prefix="m_axi", *, latency=None, rng=None, pauses=None,
                 outstanding=32, interleave=False):
        pins = Pins(dut, prefix)
        self.name = prefix
        self.memory = memory
        self.latency = latency or Latency()
        self.outstanding = outstanding
        self.interleave = interleave
        self.errors = []
        self.reads = self.writes = self.most_outstanding = 0
        self._rng = rng
        self._draw = rng or random.Random(0)
        pauses = dict.fromkeys(("ar", "r", "aw", "w", "b"), never) | (pauses or {})
        self._width = pins.width("rdata") // 8
        self._size = f"{self._width.bit_length() - 1:03b}"
        asks = ("addr", "len", "size", "burst", "cache", "id")
        self._ar = _Channel(pins, "ar", asks, pauses["ar"])
        self._aw = _Channel(pins, "aw", asks, pauses["aw"])
        self._w = _Channel(pins, "w", ("data", "strb", "last"), pauses["w"])
        self._pause_r, self._pause_b = pauses["r"], pauses["b"]
        self._get_rready, self._get_bready = pins.get("rready"), pins.get("bready")
        self._put_r = [pins.put(name) for name in ("rdata", "rresp", "rlast", "rid")]
        self._put_rvalid = pins.put("rvalid")
        self._put_b = [pins.put(name) for name in ("bresp", "bid")]
        self._put_bvalid = pins.put("bvalid")
        self.restart()

    def restart(self):
        """Forget what was asked, for a reset."""
        for channel in (self._ar, self._aw, self._w):
            channel.restart()
        self._asked = {}          # bursts to be read, by id
        self._asked_count = 0
        self._current = None
        self._to_write = deque()
        self._beats = []          # of the burst that is being written
        self._whole = deque()     # bursts whose beats are there, before their address was
        self._answers = {}        # to writes, by id
        self._answers_count = 0
        self._r_offered = self._b_offered = self._r_valid = self._b_valid = False
        self._put_rvalid("0")
        self._put_bvalid("0")
        self._driven_r = [None] * 4

    def state(self):
        """For the text of an error."""
        return (f"{self.name} {self._asked_count} reads, {len(self._to_write)} writes, "
                f"{self._answers_count} answers wait")

    @property
    def idle(self):
        """Whether nothing is under way."""
        return not (self._asked_count or self._to_write or self._answers_count or self._beats
                    or self._whole or self._r_offered or self._b_offered)

    def step(self, clock):
        """To be called at each falling edge."""
        self._answer_reads(clock)
        self._answer_writes(clock)
        ask = self._ar.take(clock, self._asked_count < self.outstanding)
        if ask:
            burst = self._burst("ar", clock, ask)
            self._asked.setdefault(burst.id, deque()).append(burst)
            self._asked_count += 1
            self.most_outstanding = max(self.most_outstanding, self._asked_count)
        ask = self._aw.take(
            clock, len(self._to_write) + self._answers_count < self.outstanding)
        if ask:
            self._to_write.append(self._burst("aw", clock, ask))
        beat = self._w.take(clock, len(self._whole) < self.outstanding)
        if beat:
            self._beats.append(beat)
            self.writes += 1
            if beat[2] == "1":
                self._whole.append(self._beats)
                self._beats = []
        while self._whole and self._to_write:
            self._write(clock, self._to_write.popleft(), self._whole.popleft())

    def _burst(self, channel, clock, ask):
        address, length, size, kind, cache, id_ = ask
        burst = _Burst(int(address, 2), int(length, 2) + 1, id_, clock + self.latency.draw(
            self._draw))
        end = burst.address + burst.beats * self._width
        for wrong, text in (
                (size != self._size, f"size is {size}"), (kind != _INCR, f"burst is {kind}"),
                (cache != _CACHE, f"cache is {cache}"),
                (burst.address % self._width, "it does not begin at a whole beat"),
                (burst.address // _BURST != (end - 1) // _BURST, "it crosses 4 KB")):
            if wrong:
                raise ProtocolError(f"{self.name}_{channel}, clock {clock}: a burst of "
                                    f"{burst.beats} beats at {burst.address:#x}: {text}")
        return burst

    def _response(self, begin, end):
        memory = self.memory
        if begin < memory.base or end > memory.base + memory.size:
            return _DECERR
        if any(begin < error_end and end > error for error, error_end in self.errors):
            return _SLVERR
        return _OKAY

    # ---- reads ----

    def _choose(self, clock, queues):
        """The id that is served now, or None."""
        due = [id_ for id_, queue in queues.items() if queue and queue[0].due <= clock]
        if not due:
            return None
        if self._rng is not None:
            return self._rng.choice(due)
        return min(due, key=lambda id_: queues[id_][0].due)

    def _answer_reads(self, clock):
        if not self._r_offered:
            id_ = self._current
            if self._asked_count and (id_ is None or self.interleave):
                id_ = self._choose(clock, self._asked)
            if id_ is None or self._pause_r():
                if self._r_valid:
                    self._put_rvalid("0")
                    self._r_valid = False
                return
            burst = self._asked[id_][0]
            if burst.left is None:
                self._fetch(burst)
            last = len(burst.left) == 1
            beat = burst.left.popleft(), burst.responses.popleft(), "1" if last else "0", id_
            driven = self._driven_r
            for n, bits in enumerate(beat):
                if bits != driven[n]:
                    self._put_r[n](bits)
                    driven[n] = bits
            if not self._r_valid:
                self._put_rvalid("1")
                self._r_valid = True
            self._r_offered = True
            self._current = None if last else id_
            if last:
                self._asked[id_].popleft()
                self._asked_count -= 1
        if self._get_rready() == "1":
            self._r_offered = False
            self.reads += 1

    def _fetch(self, burst):
        """The data of a burst, as strings of bits, and the responses."""
        width, beats = self._width, burst.beats
        burst.responses = deque(
            self._response(at, at + width)
            for at in range(burst.address, burst.address + beats * width, width))
        try:
            data = self.memory.at(burst.address, beats * width)
        except IndexError:
            data = np.full(beats * width, 0xEE, np.uint8)
        bits = np.unpackbits(data.reshape(beats, width)[:, ::-1], axis=1) + ord("0")
        text = bits.tobytes().decode("ascii")
        burst.left = deque(text[at:at + 8 * width] for at in range(0, len(text), 8 * width))

    # ---- writes ----

    def _write(self, clock, burst, beats):
        if len(beats) != burst.beats:
            raise ProtocolError(f"{self.name}_w, clock {clock}: {len(beats)} beats with wlast, "
                                f"for a burst of {burst.beats}")
        width = self._width
        response = self._response(burst.address, burst.address + burst.beats * width)
        if response == _OKAY:
            place = self.memory.at(burst.address, burst.beats * width).reshape(-1, width)
            strobes = "".join(beat[1] for beat in beats)
            data = _bytes_of("".join(beat[0] for beat in beats), width)
            if "0" in strobes:
                mask = np.frombuffer(strobes.encode(), np.uint8).reshape(-1, width)[:, ::-1]
                np.copyto(place, data, where=mask == ord("1"))
            else:
                place[:] = data
        burst.due = clock + self.latency.draw(self._draw)
        burst.responses = response
        self._answers.setdefault(burst.id, deque()).append(burst)
        self._answers_count += 1

    def _answer_writes(self, clock):
        if not self._b_offered:
            id_ = self._choose(clock, self._answers) if self._answers_count else None
            if id_ is None or self._pause_b():
                if self._b_valid:
                    self._put_bvalid("0")
                    self._b_valid = False
                return
            burst = self._answers[id_].popleft()
            self._answers_count -= 1
            self._put_b[0](burst.responses)
            self._put_b[1](id_)
            if not self._b_valid:
                self._put_bvalid("1")
                self._b_valid = True
            self._b_offered = True
        if self._get_bready() == "1":
            self._b_offered = False


def _bytes_of(bits, width):
    """Beats, as strings of bits one behind the other, as rows of bytes."""
    ones = np.frombuffer(bits.encode(), np.uint8).reshape(-1, 8 * width) - ord("0")
    return np.packbits(ones, axis=1)[:, ::-1]
