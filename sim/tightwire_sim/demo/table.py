"""The table that the demonstration ends with: one row for each codec choice."""

from rich import box
from rich.table import Table

__all__ = ["COLUMNS", "rows", "table"]

COLUMNS = ("codec", "wire\nbytes", "ratio", "rel.\nerror", "beats/\nclock",
           "latency\nclocks", "\nns", "stored\nclocks", "\nns", "bit-\nexact")
"""Heads of the columns; the lines of one are joined in the report."""


def rows(figures):
    """The cells, as text, for the terminal and for the report."""
    period = 1000 / figures["clock_mhz"]
    result = []
    for one in figures["codecs"]:
        cut, store = one["cut_through"], one["store"]
        rate = min(cut["in_rate"], cut["out_rate"])
        result.append((
            one["title"],
            f"{one['wire_bytes']:,}",
            f"{one['ratio']:.2f}",
            f"{one['error']:.3g}",
            f"{rate:.3f}",
            f"{cut['latency']:,}",
            f"{cut['latency'] * period:,.0f}",
            f"{store['latency']:,}",
            f"{store['latency'] * period:,.0f}",
            "no" if one["faults"] else "yes",
        ))
    return result


def table(figures):
    """The same as a table for the terminal."""
    # As narrow as can be: it has to fit a terminal of 80 characters.
    made = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=0)
    made.add_column(COLUMNS[0], no_wrap=True)
    for name in COLUMNS[1:]:
        made.add_column(name, justify="right", no_wrap=True)
    for cells, one in zip(rows(figures), figures["codecs"], strict=True):
        made.add_row(*cells, style="bold red" if one["faults"] else None)
    return made
