"""What the demonstration can be told on the command line."""

import argparse
from dataclasses import dataclass
from pathlib import Path

from tightwire.config import LANES, CodecConfig
from tightwire.formats import BUCKETS, Codec, Coding, FormatError

from ..data import gradients
from .choices import CODECS
from .traffic import Plan

__all__ = ["Options", "parse"]

_BUCKETS = tuple(bucket for bucket in BUCKETS if bucket <= 2048)
"""Those of which a frame holds at least one, raw as well."""

_MOST_MHZ = 1000

_BEATS, _QUICK_BEATS = 20_000, 1_000
"""Beats that each card sends under each codec choice: so many that it takes a minute, or seconds.
All that is shipped is 38,127 of 16 lanes."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is to be shown.

    Attributes
    ----------
    lanes, bucket : int
    codecs : tuple of Codec
    clock_mhz : float
        At which clocks are turned into ns.
    quick, all : bool
        How much is sent.
    output : Path
        Folder of the report.
    open : bool
        Whether to open it.
    """

    lanes: int = CodecConfig.lanes
    bucket: int = 512
    codecs: tuple = CODECS
    clock_mhz: float = 250.0
    quick: bool = False
    all: bool = False
    output: Path = Path("build/demo")
    open: bool = False

    @property
    def plan(self):
        """What is sent."""
        beats = _QUICK_BEATS if self.quick else _BEATS
        most = max(2, beats * self.lanes // self.bucket)
        if self.all:
            most = sum(map(len, gradients()))  # more than there are
        return Plan(lanes=self.lanes, bucket=self.bucket, codecs=self.codecs, most=most)

    @property
    def arguments(self):
        """The arguments that lead to the same figures."""
        words = []
        for name in ("lanes", "bucket", "clock_mhz"):
            if getattr(self, name) != getattr(Options, name):
                words += [f"--{name.replace('_', '-')}", f"{getattr(self, name):g}"]
        if self.codecs != CODECS:
            words += ["--codec", *map(str, self.codecs)]
        return words + [f"--{name}" for name in ("quick", "all") if getattr(self, name)]


def _listed(values):
    return ", ".join(map(str, values))


def _one_of(values):
    """An argparse type: one of some whole numbers."""
    def parse_one(text):
        if text not in map(str, values):
            raise argparse.ArgumentTypeError(f"must be one of {_listed(values)}, not {text!r}")
        return int(text)
    return parse_one


def _clock(text):
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 1 <= value <= _MOST_MHZ:  # NaN is not either
        raise argparse.ArgumentTypeError(
            f"must be a number of MHz from 1 to {_MOST_MHZ}, not {text!r}")
    return value


def _codec(text):
    try:
        codec = Codec.parse(text)
    except FormatError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if codec.coding != Coding.FIXED or codec.sparse:
        raise argparse.ArgumentTypeError(
            f"{codec} is not built yet: coding must be fixed, and not sparse")
    return codec


def _folder(text):
    path = Path(text)
    if path.exists() and not path.is_dir():
        raise argparse.ArgumentTypeError(f"must be a folder, and {text!r} is a file")
    return path


def parse(argv):
    """Options of command line arguments; SystemExit(2) and a message where they are bad."""
    default = Options()
    parser = argparse.ArgumentParser(
        prog="tightwire demo",
        description="Send real gradients from card A to card B and others from B to A, through "
                    "two codecs in simulation. Compare every byte on the wire and at the far "
                    "end with the golden model; print a table and write a report. Exits with 1 "
                    "if any byte is wrong.")
    parser.add_argument(
        "--lanes", metavar="N", type=_one_of(LANES), default=default.lanes,
        help=f"32-bit words in a beat: {_listed(LANES)} (default %(default)s)")
    parser.add_argument(
        "--bucket", metavar="N", type=_one_of(_BUCKETS), default=default.bucket,
        help=f"elements in a bucket: {_listed(_BUCKETS)} (default %(default)s)")
    parser.add_argument(
        "--codec", metavar="NAME", type=_codec, nargs="+", default=default.codecs, dest="codecs",
        help=f"codec choices to show (default {' '.join(map(str, CODECS))})")
    parser.add_argument(
        "--clock-mhz", metavar="F", type=_clock, default=default.clock_mhz,
        help=f"clock at which latencies are given in ns: 1 to {_MOST_MHZ} (default 250)")
    amount = parser.add_mutually_exclusive_group()
    amount.add_argument("--quick", action="store_true",
                        help="send little, for a first impression")
    amount.add_argument("--all", action="store_true",
                        help="send everything that is shipped, not an even sample of it")
    parser.add_argument("-o", "--output", metavar="DIR", type=_folder, default=default.output,
                        help="where the report goes (default %(default)s)")
    parser.add_argument("--open", action="store_true", help="open the report in a browser")
    args = parser.parse_args(argv)
    args.codecs = tuple(dict.fromkeys(args.codecs))  # each once
    return Options(**vars(args))
