"""Pipelines in which nothing waits: what goes in when, and what comes out when."""

from ..support.bench import clocked

__all__ = ["results", "spaced"]


def spaced(rng, cases, *, interval, widths, gap=0):
    """Rows of (valid, operands...): the cases ``interval`` clocks apart and up to ``gap`` more.

    In between the operands are at random, of ``widths`` bits.
    """
    rows = []
    for case in cases:
        rows.append((1, *case))
        rows += [(0, *map(rng.getrandbits, widths))
                 for _ in range(interval - 1 + rng.randint(0, gap))]
    return rows


def results(dut, inputs, outputs, rows):
    """The values at ``outputs`` wherever the first of them is set, for each valid row.

    It must be set exactly ``dut.latency`` clocks behind a valid row, and else never.
    """
    seen = clocked(dut, inputs, outputs, rows, extra=dut.latency + 4)
    came = [clock for clock, (valid, *_) in enumerate(seen) if valid]
    assert came == [clock + dut.latency for clock, (valid, *_) in enumerate(rows) if valid]
    return [tuple(seen[clock][1:]) for clock in came]
