"""Takes what the bench captured, has it checked, and keeps the figures."""

from concurrent.futures import ThreadPoolExecutor

from tightwire import __version__

from .capture import Capture
from .check import Verdict, check
from .measure import Errors, burst, choice, timeline
from .traffic import HEADER_BYTES, MODES, PAYLOAD_BYTES, WAYS

__all__ = ["PLACES", "Results", "capture_file"]

PLACES = ("host", "wire", "far")
"""Where frames are seen: into a card, between the cards, out of the other card."""


def capture_file(folder, codec, mode, way, place):
    """Where the bench leaves one capture."""
    return folder / f"{codec}.{mode}.{way}.{place}.npz"


class Results:
    """Checks run in a thread of their own, while the simulation goes on.

    As a context manager it waits at the end until all is checked, and raises what was raised.

    Parameters
    ----------
    plan : Plan
    folder : Path
        Where the bench leaves its captures.

    Attributes
    ----------
    verdict : Verdict
        Over everything.
    choices : list of dict
        The figures of each codec choice that is finished; of one of which too little or too
        much came, there are none.
    clocks : int
    seconds : float
        Simulated so far.
    """

    def __init__(self, plan, folder):
        self.plan = plan
        self.verdict = Verdict()
        self.choices = []
        self.clocks = 0
        self.seconds = 0.0
        self._folder = folder
        self._modes = {}  # what is known of the current choice
        self._checker = ThreadPoolExecutor(1)
        self._checks = []
        self._missing = plan.bursts()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._checker.shutdown()
        for one in self._checks:
            one.result()

    def take(self, record):
        """Have a burst checked, of which the bench says that it is captured."""
        self.clocks, self.seconds = record["clocks"], record["seconds"]
        codec = next(codec for codec in self.plan.codecs if str(codec) == record["codec"])
        self._checks.append(
            self._checker.submit(self._check, codec, record["mode"], record["lost"]))

    def _check(self, codec, mode, lost):
        verdict = Verdict(faults=[f"{codec}, {mode}: {text}" for text in lost])
        errors = Errors()
        both = []
        for way in WAYS:
            pieces = self.plan.pieces(way, codec, mode)
            places = []
            for place in PLACES:
                path = capture_file(self._folder, codec, mode, way, place)
                places.append(Capture.load(path))
                path.unlink()
            host, wire, far = places
            other = WAYS[1 - WAYS.index(way)]
            checked, values = check(
                pieces, wire, far,
                where=f"{codec}, {mode}, {way.upper()} to {other.upper()}")
            verdict += checked
            if len(values) != sum(len(piece.values) for piece in pieces):
                self._modes["broken"] = True  # there is a fault; no figures can be made of it
                continue
            errors.add(pieces, values)
            both.append(burst(host, wire, far))
            if mode == "cut_through" and way == WAYS[0]:
                self._modes["timeline"] = timeline(host, wire, far)
        self._missing.remove((codec, mode))
        self._modes[mode] = both
        self._modes.setdefault("faults", []).extend(verdict.faults)
        self.verdict += verdict
        if mode == [*MODES][-1]:
            self._finish(codec, errors)

    def _finish(self, codec, errors):
        known, self._modes = self._modes, {}
        if "broken" in known:
            return
        sent = [piece for way in WAYS for piece in self.plan.pieces(way, codec, "cut_through")]
        self.choices.append({
            **choice(codec, lanes=self.plan.lanes, bucket=self.plan.bucket, pieces=sent,
                     errors=errors, bursts={mode: known[mode] for mode in MODES},
                     shown=known["timeline"]),
            "faults": known["faults"],
        })

    def figures(self, options, seconds):
        """All that the report is made of: what JSON can hold.

        Parameters
        ----------
        options : Options
        seconds : dict
            How long each stage took.
        """
        return {
            "version": __version__,
            "arguments": options.arguments,
            "lanes": options.lanes,
            "bucket": options.bucket,
            "clock_mhz": options.clock_mhz,
            "frame_bytes": PAYLOAD_BYTES + HEADER_BYTES,
            "data": {
                "elements": self.plan.elements,
                "share": self.plan.share,
                "messages": {way: " and ".join(message.name for message in self.plan.messages(way))
                             for way in WAYS},
            },
            "compared": {"bytes": self.verdict.bytes, "frames": self.verdict.frames},
            # What was not compared has not passed.
            "faults": self.verdict.faults + [
                f"{codec}, {mode}: nothing was captured" for codec, mode in self._missing],
            "seconds": seconds,
            "clocks": self.clocks,
            "clocks_per_second": self.clocks / self.seconds if self.seconds else 0.0,
            "codecs": self.choices,
        }
