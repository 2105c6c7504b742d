"""How fast the codec is: ``python -m tightwire_sim.fast`` prints M elements a second."""

import argparse

import numpy as np

from tightwire.formats import BUCKETS, RAW

from ..golden.__main__ import CODECS, rate
from . import decode, encode, round_trip


def main(argv=None):
    """The program."""
    parser = argparse.ArgumentParser(prog="python -m tightwire_sim.fast", description=__doc__)
    parser.add_argument("--elements", type=int, default=1 << 22, help="elements of a message")
    parser.add_argument("--bucket", type=int, default=512, choices=BUCKETS)
    parser.add_argument("--span", type=int, default=32, help="buckets in a frame")
    parser.add_argument("--seconds", type=float, default=0.5, help="how long to try each")
    options = parser.parse_args(argv)
    elements, seconds = options.elements, options.seconds
    values = np.random.default_rng(0).standard_normal(elements, np.float32)
    place = {"bucket": options.bucket, "span": options.span}
    print(f"{elements} elements, buckets of {options.bucket}, {options.span} in a frame; "
          "M elements a second")
    print(f"{'codec':24}{'encode':>10}{'decode':>10}{'both':>10}{'round trip':>12}")
    out = np.empty_like(values)
    for codec in CODECS:
        if codec == RAW:
            continue  # a copy
        payload = encode(values, codec=codec, **place)
        coded = rate(encode, values, elements, seconds, codec=codec, **place)
        decoded = rate(decode, payload, elements, seconds, codec=codec, bucket=options.bucket,
                       size=elements, out=out)
        at_once = rate(round_trip, values, elements, seconds, codec=codec, out=out, **place)
        both = 1 / (1 / coded + 1 / decoded)
        print(f"{codec!s:24}{coded:10.0f}{decoded:10.0f}{both:10.0f}{at_once:12.0f}")


if __name__ == "__main__":
    main()
