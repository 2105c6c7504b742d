"""A wire between two AXI-Stream ports, on which frames may fare badly."""

from collections import Counter, deque
from dataclasses import dataclass, field

from .drivers import never
from .pins import Pins
from .protocol import StreamCheck

__all__ = ["FATES", "Faults", "Sent", "Wire"]

FATES = ("lost", "doubled", "late", "corrupt")

_SIGNALS = ("tdata", "tkeep", "tlast", "tuser")


@dataclass(frozen=True)
class Faults:
    """How often, from 0 to 1, a frame is lost, comes twice, later than others, or with some bits
    wrong and the error mark that a MAC gives it for its FCS; one frame may have several."""

    lost: float = 0
    doubled: float = 0
    late: float = 0
    corrupt: float = 0
    delay: int = 400  # clocks, at most, that a late frame or a second copy is late


@dataclass(frozen=True, eq=False)
class Sent:
    """A frame that was put on the wire.

    Members
    -------
    clock : int
        Of its last beat.
    beats : list of tuple of str
        tdata, tkeep, tlast, tuser.
    fates : list of str
        Of ``FATES``: what became of it.
    """

    clock: int
    beats: list
    fates: list = field(default_factory=list)

    @property
    def data(self):
        """Its bytes."""
        width = len(self.beats[0][1])
        whole = b"".join(int(beat[0], 2).to_bytes(width, "little") for beat in self.beats)
        return whole[:len(whole) - width + self.beats[-1][1].count("1")]

    @property
    def marked(self):
        """Whether it had an error mark."""
        return self.beats[-1][3][-1] == "1"


class Wire:
    """Takes frames from a master port and gives them to a slave port; steps with a ``Stepper``.

    A frame goes on when it is whole. The wire takes a beat in every clock, unless it pauses, and
    has room for all.

    Parameters
    ----------
    dut : handle
    source, target : str
        Prefixes of the port that sends and of the one that receives.
    faults : Faults
    rng : random.Random
        Of the faults; needed only if there are some.
    latency : int
        Clocks, for every frame.
    pause_in, pause_out : callable
        Whether it pauses, asked each clock.

    Members
    -------
    faults : Faults, may be changed at any time
    sent : list of Sent
    counts : Counter of fates
    delivered : int
        Frames that have arrived, copies among them.
    """

    def __init__(self, dut, source, target, *, faults=None, rng=None, latency=0, pause_in=never,
                 pause_out=never):
        self.name = f"{source} to {target}"
        self.faults = faults or Faults()
        self.latency = latency
        self.pause_in, self.pause_out = pause_in, pause_out
        self.sent = []
        self.counts = Counter()
        self.delivered = 0
        self._rng = rng
        come, go = Pins(dut, source), Pins(dut, target)
        self._get = [come.get(name) for name in _SIGNALS]
        self._get_valid, self._put_ready = come.get("tvalid"), come.put("tready")
        self._put = [go.put(name) for name in _SIGNALS]
        self._put_valid, self._get_ready = go.put("tvalid"), go.get("tready")
        self._check_name = source
        self._driven = [None] * len(_SIGNALS)
        self.restart()

    def restart(self):
        """Forget what is on the wire, for a reset of both ends."""
        self._check = StreamCheck(self._check_name)
        self._beats = []
        self._frames = []        # (clock from which on, beats), in order of arrival
        self._out = deque()      # beats of the frame that arrives
        self._offered = self._valid = self._ready = False
        self._put_valid("0")
        self._put_ready("0")

    def state(self):
        """For the text of an error."""
        return f"{self.name} {len(self.sent)} frames sent, {self.delivered} delivered"

    @property
    def idle(self):
        """Whether nothing is on the wire."""
        return not (self._beats or self._frames or self._out)

    def step(self, clock):
        """To be called at each falling edge."""
        ready = not self.pause_in()
        if ready != self._ready:
            self._put_ready("1" if ready else "0")
            self._ready = ready
        valid = self._get_valid()
        if valid != "1":
            self._check.idle(clock, valid)
        else:
            data, keep, last, user = self._get
            beat = data(), keep(), last(), user()
            self._check.beat(clock, beat, ready)
            if ready:
                self._beats.append(beat)
                if beat[2] == "1":
                    self._send(Sent(clock, self._beats))
                    self._beats = []
        self._arrive(clock)

    def _send(self, frame):
        self.sent.append(frame)
        faults, rng = self.faults, self._rng
        for fate in FATES:
            often = getattr(faults, fate)
            if often and rng.random() < often:
                frame.fates.append(fate)
                self.counts[fate] += 1
        if "lost" in frame.fates:
            return
        due = frame.clock + self.latency
        for copy in range(1 + ("doubled" in frame.fates)):
            at = due
            if copy or "late" in frame.fates:
                at += rng.randint(1, faults.delay)
            # One of the copies is corrupt: the other one shows that this is no loss.
            beats = frame.beats
            if "corrupt" in frame.fates and not copy:
                beats = self._corrupt(beats)
            self._frames.append((at, beats))

    def _corrupt(self, beats):
        """Some bits of some beat are wrong; sometimes the end is missing as well."""
        rng = self._rng
        beats = list(beats)
        if len(beats) > 1 and rng.random() < 0.2:
            del beats[rng.randrange(1, len(beats)):]
        n = rng.randrange(len(beats))
        data, keep, last, user = beats[n]
        bits = list(data)
        used = 8 * keep.count("1")
        # No bit twice, or it would be right again.
        for at in rng.sample(range(used), min(used, rng.choice((1, 2, 3, 30)))):
            bits[-1 - at] = "10"[int(bits[-1 - at])]
        beats[n] = "".join(bits), keep, last, user
        data, keep, last, user = beats[-1]
        beats[-1] = data, keep, "1", user[:-1] + "1"
        return beats

    def _arrive(self, clock):
        if not self._offered:
            if not self._out:
                # The first one that is due; those behind it may overtake one that is late.
                for n, (due, beats) in enumerate(self._frames):
                    if due <= clock:
                        self._out.extend(beats)
                        del self._frames[n]
                        break
            if not self._out or self.pause_out():
                if self._valid:
                    self._put_valid("0")
                    self._valid = False
                return
            driven = self._driven
            for n, bits in enumerate(self._out[0]):
                if bits != driven[n]:
                    self._put[n](bits)
                    driven[n] = bits
            if not self._valid:
                self._put_valid("1")
                self._valid = True
            self._offered = True
        if self._get_ready() == "1":
            self._offered = False
            if self._out.popleft()[2] == "1":
                self.delivered += 1
