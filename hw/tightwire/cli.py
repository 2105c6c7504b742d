"""The command line, ``tightwire``.

What a command needs is imported when that command runs, so that help comes at once.
"""

import argparse
import sys
from pathlib import Path

from . import __version__
from .config import LANES, CodecConfig, ConfigError
from .formats import BUCKETS
from .tools.catalogue import TOPS
from .tools.toolchain import ToolError

__all__ = ["main"]

_PROGRAM = "tightwire"
_BAD_ARGUMENT = 2
_FAILED = 1


def _listed(values):
    return ", ".join(map(str, values))


def _whole(legal):
    """An argparse type: a whole number, of which ``legal`` says what is allowed."""
    def parse(text):
        try:
            return int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"must be {legal}, not {text!r}") from None
    return parse


def _one_of(values):
    """An argparse type: one of some whole numbers."""
    whole = _whole(f"one of {_listed(values)}")

    def parse(text):
        number = whole(text)
        if number not in values:
            raise argparse.ArgumentTypeError(f"must be one of {_listed(values)}, not {text!r}")
        return number
    return parse


def _verilog(args):
    from .tools.catalogue import make_config
    from .tools.lint import lint
    from .tools.verilog import generate_top

    if args.lint and args.output is None:
        raise ConfigError("--lint needs a file: give one with -o FILE")
    config = make_config(
        args.top, lanes=args.lanes, max_bucket=args.max_bucket, frame_bytes=args.frame_bytes)
    design = generate_top(args.top, config)
    if args.output is None:
        sys.stdout.write(design.text)
        return
    args.output.parent.mkdir(parents=True, exist_ok=True)
    args.output.write_text(design.text)
    print(f"{args.output}: module {design.name}, {len(design.text.splitlines()):,} lines")
    if args.lint:
        lint(args.output, top=design.name)
        print(f"{args.output}: passes verilator --lint-only -Wall")


def _add_verilog(commands):
    tops = "\n".join(f"  {name:8}  {top.summary}" for name, top in TOPS.items())
    parser = commands.add_parser(
        "verilog", help="write a top as one Verilog file",
        description="Write a top as one Verilog file that needs nothing else.\n\n"
                    f"tops:\n{tops}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("top", metavar="TOP", choices=TOPS, help=f"one of {_listed(TOPS)}")
    parser.add_argument(
        "--lanes", metavar="N", type=_one_of(LANES),
        help=f"32-bit words in a beat: {_listed(LANES)} (default {CodecConfig.lanes})")
    parser.add_argument(
        "--max-bucket", metavar="N", type=_one_of(BUCKETS),
        help="largest bucket, in elements; it sets the block RAM: "
             f"{_listed(BUCKETS)} (default {CodecConfig.max_bucket})")
    parser.add_argument(
        "--frame-bytes", metavar="N", type=_whole("a whole number of bytes, 1024 to 65536"),
        help="largest coded payload of a frame, in bytes: 1024 to 65536 "
             f"(default {CodecConfig.frame_bytes})")
    parser.add_argument("-o", "--output", metavar="FILE", type=Path,
                        help="where to write it (default: standard output)")
    parser.add_argument("--lint", action="store_true",
                        help="then check the file with verilator --lint-only -Wall")
    parser.set_defaults(run=_verilog)


def _report(args):
    from .tools.report import report

    report(lanes=args.lanes, quick=args.quick, output=args.output)


def _add_report(commands):
    parser = commands.add_parser(
        "report", help="synthesise, place and route, and write the figures down",
        description="Synthesise the codec for UltraScale+ and for ECP5, place and route it for "
                    "ECP5, and write the figures beside their targets. That takes an hour or "
                    "more on two cores; what has been computed is kept below build/, so a "
                    "second run takes seconds.",
    )
    parser.add_argument(
        "--lanes", metavar="N", type=_one_of(LANES), nargs="+",
        help=f"only these lane counts, of {_listed(LANES)} (default: all); those above 8 are for "
             "UltraScale+ only")
    parser.add_argument("--quick", action="store_true",
                        help="one seed of place and route, not five")
    parser.add_argument(
        "-o", "--output", metavar="FILE", type=Path, default=Path("docs/results.md"),
        help="where to write it (default: %(default)s)")
    parser.set_defaults(run=_report)


def _demo(rest):
    """Hand the arguments to the demonstration, in the other package, which parses them."""
    try:
        from tightwire_sim.demo import main as demo
    except ModuleNotFoundError as error:
        raise ToolError(
            f"the demonstration needs the Python module {error.name}: "
            "make demo, or pip install 'tightwire[sim]'") from None
    return demo(rest)


def _add_demo(commands):
    # Its options are its own; even --help goes there.
    commands.add_parser(
        "demo", add_help=False,
        help="send real gradients through two codecs in simulation, and compare with the model")


def _parser():
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="An open FPGA network card that compresses gradients at line rate.",
        epilog=f"{_PROGRAM} COMMAND --help says more about a command.",
    )
    parser.add_argument("--version", action="version", version=f"{_PROGRAM} {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command",
                                     required=True)
    _add_demo(commands)
    _add_verilog(commands)
    _add_report(commands)
    return parser


def main(argv=None):
    """Run a command.

    Parameters
    ----------
    argv : list of str
        Without the program's name; the process's own if not given.

    Returns
    -------
    int
        The exit code: 0 done, 1 a tool is missing or failed, 2 a bad argument.
    """
    parser = _parser()
    args, rest = parser.parse_known_args(argv)
    try:
        if args.command == "demo":
            return _demo(rest) or 0
        if rest:
            parser.error(f"unrecognized arguments: {' '.join(rest)}")
        args.run(args)
    except ConfigError as error:
        return _complain(error, _BAD_ARGUMENT)
    except ToolError as error:
        return _complain(error, _FAILED)
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {error.strerror}", _FAILED)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    return 0


def _complain(error, code):
    print(f"{_PROGRAM}: {error}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
