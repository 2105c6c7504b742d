"""The experiments: train with every way to sum gradients, and write down what it does."""

import argparse
import json
import sys
import time
from pathlib import Path

from tightwire.tools.toolchain import ToolError

from .methods import METHODS
from .run import SCALES, plan, require, run

__all__ = ["main"]

_TASKS = ("cnn", "lm")


def _count(text):
    if not text.isdecimal() or not 1 <= int(text) <= 64:
        raise argparse.ArgumentTypeError(f"must be a whole number from 1 to 64, not {text!r}")
    return int(text)


def parse(argv):
    """Options of command line arguments; SystemExit(2) and a message where they are bad."""
    parser = argparse.ArgumentParser(prog="python -m tightwire_sim.experiments",
                                     description=__doc__)
    parser.add_argument("--scale", choices=SCALES, default=SCALES[0],
                        help="how many steps: minutes, or half an hour (default %(default)s)")
    parser.add_argument("--seeds", metavar="N", type=_count, default=3, help="default 3")
    parser.add_argument("--ranks", metavar="N", type=_count, default=2,
                        help="workers, each a process (default 2)")
    parser.add_argument("--steps", metavar="N", type=int, help="instead of the scale's")
    parser.add_argument("--methods", metavar="NAME", nargs="+", choices=METHODS,
                        default=list(METHODS), help="only these of: " + ", ".join(METHODS))
    parser.add_argument("--render", metavar="FILE", type=Path,
                        help="train nothing: show what this results.json has")
    parser.add_argument("-o", "--output", metavar="DIR", type=Path,
                        default=Path("build/experiments"),
                        help="where training.md, plots and results.json go (default %(default)s)")
    return parser.parse_args(argv)


def main(argv=None):
    """The program; returns the exit code."""
    options = parse(argv)
    try:
        if options.render:
            figures = json.loads(options.render.read_text())
        else:
            figures = _measure(options)
            options.output.mkdir(parents=True, exist_ok=True)
            (options.output / "results.json").write_text(json.dumps(figures, indent=1) + "\n")
        from .page import write

        options.output.mkdir(parents=True, exist_ok=True)
        print(write(figures, options.output))
    except ToolError as error:
        print(f"tightwire: {error}", file=sys.stderr)
        return 1
    return 0


def _measure(options):
    require()
    import torch

    from .variance import variances

    began = time.monotonic()
    planned = plan(scale=options.scale, seeds=options.seeds, ranks=options.ranks, tasks=_TASKS,
                   methods=options.methods, steps=options.steps)
    count = len(planned["runs"])

    def say(number, record):
        value = "diverged" if record["metric"] is None else f"{record['metric']:.2f}"
        print(f"{number:4} of {count}: {record['task']:3} {record['method']:18} seed "
              f"{record['seed']}: {value}, {time.monotonic() - began:.0f} s", flush=True)

    records = run(planned, say=say)
    return {"scale": options.scale, "seeds": options.seeds, "ranks": options.ranks,
            "torch": torch.__version__, "seconds": time.monotonic() - began, "runs": records,
            "variances": variances()}


if __name__ == "__main__":
    sys.exit(main())
