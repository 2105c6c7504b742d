"""The figures of the report; each answers one question."""

from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FuncFormatter, NullLocator

from .ink import FAMILY_INK, GRID, INK, MUTED, SURFACE, canvas
from .measure import TIMELINE

__all__ = ["BEST_PUBLISHED_NS", "error_plot", "latency_plot", "size_plot", "time_plot"]

BEST_PUBLISHED_NS = 590
"""Best published latency of an FPGA link with lossy compression (TPDS 2026)."""

_BAR = 0.62


def _rows(axes, choices):
    """One row for each choice, the first on top."""
    axes.set_ylim(len(choices) - 0.5, -0.5)
    axes.set_yticks(range(len(choices)), [one["title"] for one in choices])
    axes.grid(visible=False, axis="y")


def _ink(one):
    return FAMILY_INK[one["family"]]


def size_plot(figures):
    """Bits on the wire for each element, and what they are spent on."""
    return canvas("bits on the wire", _size, figures, height=0.34 * len(figures["codecs"]) + 0.95)


def _size(figure, figures):
    axes = figure.subplots()
    choices = figures["codecs"]
    _rows(axes, choices)
    for row, one in enumerate(choices):
        bits = one["bits_per_element"]
        left = 0
        # The overhead is thin: its colours are set apart by a rim in the page's own.
        for part, ink in (("codes", _ink(one)), ("norms", INK), ("headers", MUTED)):
            axes.barh(row, bits[part], _BAR, left, color=ink, linewidth=0)
            left += bits[part]
        smaller = f", {one['ratio']:.2f}x smaller" if one["ratio"] > 1 else ""
        axes.text(left + 0.35, row, f"{bits['all']:.2f} bits{smaller}", va="center")
    axes.axvline(32, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    axes.set_xlim(0, 40)
    axes.set_xticks([0, 4, 8, 16, 24, 32])
    axes.set_xlabel("bits on the wire for each gradient element, frame headers included")
    axes.legend(
        handles=[Patch(color=GRID, label="codes (in the colour of the scheme)"),
                 Patch(color=INK, label="norms"), Patch(color=MUTED, label="frame headers")],
        ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0, handlelength=1,
        handleheight=1)


def error_plot(figures):
    """Relative error over bits on the wire."""
    return canvas("relative error", _error, figures, height=4.4)


def _error(figure, figures):
    axes = figure.subplots()
    choices = [one for one in figures["codecs"] if one["error"] > 0]
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xlim(1.8, 16)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.set_xlabel("bits on the wire for each element")
    axes.set_ylabel("relative error, all gradients together")
    if not choices:
        axes.text(0.5, 0.5, "no choice with an error", transform=axes.transAxes, ha="center")
        return
    errors = [one["error"] for one in choices]
    axes.set_ylim(min(errors) / 2.2, max(errors) * 2.2)
    axes.axhline(1, color=MUTED, linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    if max(errors) * 2.2 > 1 > min(errors) / 2.2:
        axes.text(15.7, 1.04, "error as large as the gradient", color=MUTED, ha="right", size=9)
    for bits in {one["bits"] for one in choices}:
        column = [one for one in choices if one["bits"] == bits]
        _labelled(axes, sorted(column, key=lambda one: one["error"]))
    axes.grid(visible=False, which="minor")




def _labelled(axes, column):
    """Points above each other, and beside them their names, moved apart where too close."""
    heights = []
    low, high = axes.get_ylim()
    apart = (high / low) ** 0.052
    for one in column:
        heights.append(max(one["error"], heights[-1] * apart if heights else 0))
    # What was pushed up is let down again by half, so that a group sits around its points.
    shift = (heights[-1] / column[-1]["error"]) ** 0.5
    for one, height in zip(column, heights, strict=True):
        x, y = one["bits_per_element"]["all"], one["error"]
        axes.plot(x, y, "o", color=_ink(one), markersize=9, markeredgecolor=SURFACE)
        axes.annotate(
            f"{one['title']}: {y:.3g}", (x, y), (x * 1.14, height / shift), va="center",
            arrowprops={"arrowstyle": "-", "color": GRID, "shrinkA": 2, "shrinkB": 5})


def time_plot(figures):
    """When beats move, at the start of a burst."""
    return canvas("beats over time", _time, figures, height=0.62 * len(figures["codecs"]) + 0.9)


def _time(figure, figures):
    axes = figure.subplots()
    choices = figures["codecs"]
    _rows(axes, choices)
    for row, one in enumerate(choices):
        shown = one["timeline"]
        for offset, name, ink in ((-0.26, "in", MUTED), (0, "wire", _ink(one)),
                                  (0.26, "out", INK)):
            axes.broken_barh(shown[name], (row + offset - 0.1, 0.2), color=ink, linewidth=0)
        rate = one["cut_through"]
        axes.text(TIMELINE * 1.015, row - 0.26, f"in {rate['in_rate']:.3f}", va="center",
                  color=MUTED, size=9)
        axes.text(TIMELINE * 1.015, row + 0.26, f"out {rate['out_rate']:.3f}", va="center",
                  size=9)
    axes.set_xlim(0, TIMELINE)
    axes.set_xlabel("clocks since the burst began")
    axes.text(1.015, 1.01, "beats a clock", transform=axes.transAxes, size=9, color=MUTED,
              va="bottom")
    axes.legend(
        handles=[Line2D([], [], color=MUTED, linewidth=5, label="host to card A"),
                 Line2D([], [], color=GRID, linewidth=5,
                        label="wire, A to B (in the colour of the scheme)"),
                 Line2D([], [], color=INK, linewidth=5, label="card B to host")],
        ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0, handlelength=1)


def latency_plot(figures):
    """Where the nanoseconds go, frames cut through."""
    return canvas("latency", _latency, figures, height=0.34 * len(figures["codecs"]) + 1.3)


def _latency(figure, figures):
    axes = figure.subplots()
    choices = figures["codecs"]
    _rows(axes, choices)
    period = 1000 / figures["clock_mhz"]
    longest = max(one["cut_through"]["latency"] for one in choices) * period
    limit = max(longest, BEST_PUBLISHED_NS) * 1.12
    for row, one in enumerate(choices):
        clocks = one["cut_through"]
        left = 0
        for part, ink in ((one["fill"], GRID), (clocks["compress"] - one["fill"], _ink(one)),
                          (clocks["decompress"], MUTED)):
            axes.barh(row, part * period, _BAR, left, color=ink, linewidth=0)
            left += part * period
        axes.text(left + limit * 0.008, row, f"{left:,.0f} ns", va="center", weight="bold")
    axes.axvline(BEST_PUBLISHED_NS, color=INK, linewidth=1.2, linestyle=(0, (4, 3)))
    # Above the first bar, on the side where there is more room.
    side, step = ("left", 1) if limit / 2 > BEST_PUBLISHED_NS else ("right", -1)
    axes.set_ylim(len(choices) - 0.5, -1.15)
    axes.text(BEST_PUBLISHED_NS + step * limit * 0.008, -0.8,
              f"{BEST_PUBLISHED_NS} ns: best published link", ha=side, va="center", size=9)
    axes.set_xlim(0, limit)
    axes.set_xlabel(f"ns at {figures['clock_mhz']:g} MHz, first beat in to first beat out")
    axes.legend(
        handles=[Patch(color=GRID, label="waiting for the bucket to fill (norm)"),
                 Patch(color=FAMILY_INK["QSGD"], label="compress (in the colour of the scheme)"),
                 Patch(color=MUTED, label="wire and decompress")],
        ncols=3, loc="lower left", bbox_to_anchor=(0, 1), borderaxespad=0, handlelength=1,
        handleheight=1)
