"""How fast the model is: ``python -m tightwire_sim.golden`` prints M elements a second."""

import argparse
import time

import numpy as np

from tightwire.formats import BITS, BUCKETS, RAW, Codec, Levels, Norm

from . import decode, encode

__all__ = ["CODECS", "main", "rate"]

CODECS = [RAW] + [Codec(levels, norm, bits) for levels in (Levels.UNIFORM, Levels.EXPONENTIAL)
                  for norm in Norm for bits in BITS]


def rate(function, data, elements, seconds, **arguments):
    """Best rate of ``function``, in M elements a second, over ``seconds`` of trying."""
    function(data, **arguments)  # builds what is built once
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        function(data, **arguments)
        best = min(best, time.perf_counter() - begin)
    return elements / best / 1e6


def main():
    """The program."""
    parser = argparse.ArgumentParser(prog="python -m tightwire_sim.golden", description=__doc__)
    parser.add_argument("--elements", type=int, default=1 << 20, help="elements of a frame")
    parser.add_argument("--bucket", type=int, default=512, choices=BUCKETS)
    parser.add_argument("--seconds", type=float, default=0.3, help="how long to try each")
    options = parser.parse_args()
    elements, bucket, seconds = options.elements, options.bucket, options.seconds
    values = np.random.default_rng(0).standard_normal(elements, np.float32)
    span = -(-elements // bucket)
    print(f"{elements} elements, buckets of {bucket}; M elements a second")
    print(f"{'codec':24}{'encode':>8}{'decode':>8}")
    for codec in CODECS:
        payload = encode(values, codec=codec, bucket=bucket)
        coded = rate(encode, values, elements, seconds, codec=codec, bucket=bucket)
        decoded = rate(decode, payload, elements, seconds, codec=codec, bucket=bucket, span=span)
        print(f"{codec!s:24}{coded:8.1f}{decoded:8.1f}")


if __name__ == "__main__":
    main()
