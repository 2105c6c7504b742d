"""The page docs/results.md: figures in tables, beside their targets."""

from dataclasses import dataclass
from statistics import median
from textwrap import fill

from .ecp5 import CAPACITY, DEVICE
from .ecp5 import Area as Ecp5Area
from .ultrascale import Area as UltrascaleArea

__all__ = ["BUCKET", "CLOCK_MHZ", "Latency", "Figures", "render"]

BUCKET = 512
"""Elements in a bucket, for latency: the one that published figures are for."""

CLOCK_MHZ = 250
"""The clock of the cards with UltraScale+ that this is made for."""

_TARGET_NS = 590
_TARGET_LUTS = 10_000
_TARGET_DSPS = 64
_TARGET_LANES = 16
_TARGET_ECP5_MHZ = {1: 150, 4: 125}

_NO_FIT = "does not fit"
_COLUMNS = 100


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Clocks from the first beat in to the first beat out, in buckets of ``BUCKET``.

    Members
    -------
    largest, euclidean : of the compressor, at 4 bits, by norm
    decompress : of the decompressor
    """

    largest: int
    euclidean: int
    decompress: int


@dataclass(frozen=True, kw_only=True)
class Figures:
    """What is known of one lane count; None or empty where it was not computed."""

    lanes: int
    latency: Latency
    ultrascale: UltrascaleArea | None = None
    ecp5: Ecp5Area | None = None
    ecp5_mhz: tuple = ()


def _table(head, rows):
    """A Markdown table with its columns aligned in the source too; numbers to the right."""
    cells = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numeric = [all(cell[:1].isdigit() or cell in ("-", _NO_FIT) for cell in column)
               for column in zip(*rows, strict=True)]

    def line(row):
        padded = [cell.rjust(width) if right else cell.ljust(width)
                  for cell, width, right in zip(row, widths, numeric, strict=True)]
        return f"| {' | '.join(padded)} |"

    rule = [f"{'-' * (width + 1)}{':' if right else '-'}"
            for width, right in zip(widths, numeric, strict=True)]
    return "\n".join([line(head), f"|{'|'.join(rule)}|", *map(line, rows)])


def _gbps(lanes, mhz):
    return 32 * lanes * mhz / 1000


def _ns(clocks, mhz):
    return 1000 * clocks / mhz


def _targets(figures):
    of_lanes = {one.lanes: one for one in figures}
    rows = []

    def row(what, target, reached, met):
        rows.append([what, target, reached, "yes" if met else "no"])

    sixteen = of_lanes.get(_TARGET_LANES)
    if sixteen:
        for norm, clocks in (("largest magnitude", sixteen.latency.largest),
                             ("Euclidean norm", sixteen.latency.euclidean)):
            reached = _ns(clocks + sixteen.latency.decompress, CLOCK_MHZ)
            row(f"compress + decompress, {norm}, {_TARGET_LANES} lanes", f"< {_TARGET_NS} ns",
                f"{reached:.0f} ns", reached < _TARGET_NS)
        if area := sixteen.ultrascale:
            row(f"LUTs, {_TARGET_LANES} lanes, UltraScale+", f"< {_TARGET_LUTS:,}",
                f"{area.luts:,}", area.luts < _TARGET_LUTS)
            row(f"DSPs, {_TARGET_LANES} lanes, UltraScale+", f"< {_TARGET_DSPS}",
                f"{area.dsps}", area.dsps < _TARGET_DSPS)
    for lanes, target in _TARGET_ECP5_MHZ.items():
        if lanes in of_lanes and (reached := of_lanes[lanes].ecp5_mhz):
            row(f"clock, {lanes} lane{'s' * (lanes > 1)}, ECP5", f">= {target} MHz",
                f"{median(reached):.1f} MHz", median(reached) >= target)
    return _table(["", "target", "reached", "met"], rows) if rows else None


def _ultrascale(figures):
    rows = []
    for one in figures:
        if area := one.ultrascale:
            largest, euclidean = (
                _ns(clocks + one.latency.decompress, CLOCK_MHZ)
                for clocks in (one.latency.largest, one.latency.euclidean))
            rows.append([
                f"{one.lanes}", f"{area.luts:,}", f"{area.memory_luts:,}", f"{area.registers:,}",
                f"{area.dsps}", f"{area.block_rams:g}", f"{area.levels}",
                f"{largest:,.0f}", f"{euclidean:,.0f}", f"{_gbps(one.lanes, CLOCK_MHZ):.0f}",
            ])
    head = ["lanes", "LUT", "of them memory", "FF", "DSP48E2", "BRAM36", "LUTs in series",
            "ns, largest", "ns, Euclidean", "Gb/s"]
    return _table(head, rows) if rows else None


def _ecp5(figures):
    rows = []
    for one in figures:
        if area := one.ecp5:
            placed = [_NO_FIT, "-", "-", "-", "-"]
            if one.ecp5_mhz:
                mhz = median(one.ecp5_mhz)
                placed = [
                    f"{mhz:.1f}", f"{min(one.ecp5_mhz):.1f} to {max(one.ecp5_mhz):.1f}",
                    *(f"{_ns(clocks + one.latency.decompress, mhz):,.0f}"
                      for clocks in (one.latency.largest, one.latency.euclidean)),
                    f"{_gbps(one.lanes, mhz):.1f}",
                ]
            rows.append([f"{one.lanes}", f"{area.luts:,}", f"{area.registers:,}",
                         f"{area.multipliers}", f"{area.block_rams}", *placed])
    head = ["lanes", "LUT4", "FF", "MULT18X18D", "DP16KD", "MHz", "lowest to highest",
            "ns, largest", "ns, Euclidean", "Gb/s"]
    return _table(head, rows) if rows else None


def _latency(figures):
    return _table(
        ["lanes", "compress, largest", "compress, Euclidean", "decompress"],
        [[f"{one.lanes}", f"{one.latency.largest}", f"{one.latency.euclidean}",
          f"{one.latency.decompress}"] for one in figures])


def render(figures, *, seeds, tools):
    """The page.

    Parameters
    ----------
    figures : list of Figures
        In the order in which they are shown.
    seeds : int
        How many seeds ``ecp5_mhz`` has.
    tools : dict of str to str
        Names and versions, for the head of the page.

    Returns
    -------
    str
    """
    versions = ", ".join(f"{name} {number}" for name, number in tools.items())
    median_of = f"the median of {seeds} seeds" if seeds > 1 else "one seed's, not a median"
    head = (
        f"The `codec` top: compressor and decompressor. {versions}. Gb/s is float32 in, or out: "
        "32 bits x lanes x clock. ns is from the first beat in to the first beat out, compress + "
        f"decompress, 4 bits, buckets of {BUCKET}.")
    sections = [
        ("Targets", f"ns at {CLOCK_MHZ} MHz.", _targets(figures)),
        ("AMD UltraScale+",
         "Synthesised by yosys (`synth_xilinx -family xcup`), flattened, without pads; not placed. "
         "LUTs include those used as memory and shift registers, and no two small ones are taken "
         "to share one place. BRAM36 counts a block of 18 Kb as a half. *LUTs in series* is the "
         "longest way between registers, carry chains not counted; yosys has no delays for this "
         f"family, so whether it meets {CLOCK_MHZ} MHz is for the vendor's tools to say. Gb/s and "
         f"ns are at {CLOCK_MHZ} MHz.",
         _ultrascale(figures)),
        ("Lattice ECP5",
         f"Synthesised by yosys (`synth_ecp5`), placed and routed by nextpnr for {DEVICE}, which "
         f"has {CAPACITY['luts']:,} LUT4 and as many FF, {CAPACITY['multipliers']} MULT18X18D and "
         f"{CAPACITY['block_rams']} DP16KD. Around the design are registers that stand in for what "
         f"is there in a card; they are not counted. MHz is {median_of}; Gb/s and ns are at that "
         "clock.",
         _ecp5(figures)),
        ("Latency in clocks", "AXI-Stream edges included, with `cut_through` high.",
         _latency(figures)),
    ]
    lines = [
        "<!-- Generated by `tightwire report` (make report). Changes made here are lost. -->",
        "",
        "# Results",
        "",
        fill(head, _COLUMNS),
    ]
    for title, text, table in sections:
        if table:
            lines += ["", f"## {title}", "", fill(text, _COLUMNS), "", table]
    return "\n".join(lines) + "\n"
