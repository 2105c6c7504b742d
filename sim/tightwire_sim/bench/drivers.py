"""Moves whole beats in and out of AXI-Stream ports, one call a clock.

The thin driver: for megabytes of data, where cocotbext-axi's sources and sinks, made of
coroutines and events, are too slow. It relies on what every edge of ours obeys: all its outputs
are registers. So at the falling edge of the clock they are what they will be at the next rising
one, and what is driven then is there in time. Every simulator agrees on that, and one look a
clock is enough.
"""

import gc
from collections import deque

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge

from .frames import Beat
from .protocol import StreamCheck

__all__ = ["CLOCK_NS", "Pauses", "Sink", "Source", "Stepper", "Tap", "never"]

CLOCK_NS = 4
"""Of the clock in simulation, which stands for the 250 MHz of a 100 GbE card."""

_SIGNALS = ("tdata", "tkeep", "tlast", "tuser")


def never():
    """No pauses."""
    return False


class Pauses:
    """Random pauses, with runs of clocks from one to many on either side.

    Parameters
    ----------
    rng : random.Random
    going, pausing : sequence of int
        Lengths of runs, in clocks, that are drawn from.
    """

    def __init__(self, rng, going=(1, 1, 2, 3, 5, 20), pausing=(1, 1, 1, 2, 3, 20)):
        self._rng = rng
        self._runs = {False: going, True: pausing}
        self._paused = False
        self._left = 0

    def __call__(self):
        """Whether to pause in this clock."""
        if self._left == 0:
            self._paused = not self._paused
            self._left = self._rng.choice(self._runs[self._paused])
        self._left -= 1
        return self._paused


class _Port:
    """The signals of a port, by the simulator's own functions.

    cocotb's ``value`` makes an object for every look, which for 512 bits takes longer than to
    simulate the clock; behind it are these two functions of strings. They are not part of its
    public interface; its version is pinned.
    """

    def __init__(self, dut, prefix):
        self.name = prefix
        self.width = {}
        for name in (*_SIGNALS, "tvalid", "tready"):
            handle = getattr(dut, f"{prefix}_{name}")
            self.width[name] = len(handle)
            setattr(self, f"get_{name}", handle._handle.get_signal_val_binstr)
            setattr(self, f"_put_{name}", handle._handle.set_signal_val_binstr)

    def put(self, name):
        """A function that drives a signal with a string of bits."""
        function = getattr(self, f"_put_{name}")
        return lambda bits: function(0, bits)  # 0: as a procedural assignment would


class Source:
    """Sends beats into a port.

    Parameters
    ----------
    dut : handle
    prefix : str
        Of the port's signals, without ``_tdata``.
    pause : callable
        Whether to pause, asked each clock in which a beat would be offered for the first time.

    Attributes
    ----------
    taken : list of int
        The clock of each beat that was taken.
    stalls : list of int
        Clocks in which a beat was offered and not taken.
    """

    def __init__(self, dut, prefix, pause=never):
        port = _Port(dut, prefix)
        self.name = prefix
        self.pause = pause
        self.taken = []
        self.stalls = []
        self._widths = [port.width[name] for name in _SIGNALS]
        self._put = [port.put(name) for name in _SIGNALS]
        self._put_valid = port.put("tvalid")
        self._get_ready = port.get_tready
        self._queue = deque()
        self._driven = [None] * len(_SIGNALS)
        self.restart()

    def send(self, beats):
        """Queue beats; returns the index that the first of them will have in ``taken``."""
        at = len(self.taken) + len(self._queue)
        widths = self._widths
        self._queue.extend([f"{field:0{width}b}" for field, width in zip(
            beat, widths, strict=True)] for beat in beats)
        return at

    @property
    def waiting(self):
        """Beats that have not been taken."""
        return len(self._queue)

    def state(self):
        """For the text of an error."""
        return f"{self.name} {self.waiting} beats wait"

    def restart(self):
        """Forget what has not been taken, for a reset."""
        self._queue.clear()
        self._offered = False
        self._put_valid("0")
        self._valid = False

    def step(self, clock):
        """To be called at each falling edge."""
        if not self._offered:
            if not self._queue or self.pause():
                if self._valid:
                    self._put_valid("0")
                    self._valid = False
                return
            driven = self._driven
            for n, bits in enumerate(self._queue[0]):
                if bits != driven[n]:
                    self._put[n](bits)
                    driven[n] = bits
            if not self._valid:
                self._put_valid("1")
                self._valid = True
            self._offered = True
        if self._get_ready() == "1":
            self._offered = False
            self._queue.popleft()
            self.taken.append(clock)
        else:
            self.stalls.append(clock)


class _Watcher:
    """Sees beats go by at a port, and holds them to the rules."""

    def __init__(self, port):
        self.name = port.name
        self.check = StreamCheck(port.name)
        self.taken = []
        self.frames = 0
        self._beats = []
        self._get = [getattr(port, f"get_{name}") for name in _SIGNALS]
        self._get_valid = port.get_tvalid

    def state(self):
        """For the text of an error."""
        return f"{self.name} {self.frames} frames came"

    def restart(self):
        """Forget a frame that has begun, for a reset."""
        self.check = StreamCheck(self.name)
        self._beats.clear()

    def beats(self):
        """The beats since the last call, as numbers."""
        beats = [Beat(*(int(bits, 2) for bits in beat)) for beat in self._beats]
        self._beats.clear()
        return beats

    def _look(self, clock, ready):
        valid = self._get_valid()
        if valid != "1":
            self.check.idle(clock, valid)
            return
        data, keep, last, user = self._get
        beat = data(), keep(), last(), user()
        self.check.beat(clock, beat, ready)
        if ready:
            self._beats.append(beat)
            self.taken.append(clock)
            if beat[2] == "1":
                self.frames += 1


class Sink(_Watcher):
    """Takes beats out of a port, and holds them to the rules.

    Parameters
    ----------
    dut : handle
    prefix : str
    pause : callable
        Whether to pause, asked each clock.

    Attributes
    ----------
    taken : list of int
        The clock of each beat.
    frames : int
        How many beats with tlast there were.
    check : StreamCheck
    """

    def __init__(self, dut, prefix, pause=never):
        port = _Port(dut, prefix)
        super().__init__(port)
        self.pause = pause
        self._put_ready = port.put("tready")
        self._put_ready("0")
        self._ready = False

    def step(self, clock):
        """To be called at each falling edge."""
        ready = not self.pause()
        if ready != self._ready:
            self._put_ready("1" if ready else "0")
            self._ready = ready
        self._look(clock, ready)


class Tap(_Watcher):
    """Watches a stream between two others, and holds it to the rules.

    Parameters
    ----------
    dut : handle
    prefix : str

    Attributes
    ----------
    taken, frames, check : as of a Sink
    """

    def __init__(self, dut, prefix):
        port = _Port(dut, prefix)
        super().__init__(port)
        self._get_ready = port.get_tready

    def step(self, clock):
        """To be called at each falling edge."""
        self._look(clock, self._get_ready() == "1")


class Stepper:
    """The one coroutine that steps all ports of a bench, and counts its clocks.

    Parameters
    ----------
    dut : handle
        With ``clk`` and ``rst``.
    ports : list of Source, Sink, Tap, AxiMemory, AxiLiteMaster, Wire
    """

    def __init__(self, dut, ports):
        self.dut = dut
        self.ports = ports
        self.clock = 0
        self._edge = FallingEdge(dut.clk)

    async def start(self):
        """Start the clock, and reset."""
        Clock(self.dut.clk, CLOCK_NS, "ns").start(start_high=False)
        await self.reset()

    async def reset(self, clocks=4):
        """Reset; nothing is stepped meanwhile. What was queued is forgotten."""
        for port in self.ports:
            port.restart()
        self.dut.rst.value = 1
        for _ in range(clocks):
            await self._edge
        self.dut.rst.value = 0

    async def drive(self, coroutine, *, limit):
        """Step until a coroutine, a driver's, is done; its result."""
        task = cocotb.start_soon(coroutine)
        await self.until(task.done, limit=limit)
        return task.result()

    async def run(self, clocks):
        """Let some clocks pass."""
        end = self.clock + clocks
        await self.until(lambda: self.clock >= end, limit=clocks + 1)

    async def until(self, condition, *, limit):
        """Step until ``condition()``; AssertionError if ``limit`` clocks are not enough."""
        steps = [port.step for port in self.ports]
        edge = self._edge
        clock = self.clock
        limit += clock
        # There are no cycles to collect in what a clock leaves behind, only much to look through.
        gc.disable()
        try:
            while not condition():
                if clock >= limit:
                    raise AssertionError(
                        f"nothing comes any more at clock {clock}: " + ", ".join(
                            port.state() for port in self.ports))
                await edge
                for step in steps:
                    step(clock)
                clock += 1
                self.clock = clock
        finally:
            gc.enable()
