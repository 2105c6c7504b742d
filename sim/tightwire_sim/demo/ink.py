"""Figures that follow the page they stand in: SVG whose colours are the page's.

matplotlib writes fixed colours, so what is drawn here uses stand-ins, which become CSS variables
in the finished text. Text stays text, in the page's font.
"""

import io
import re

import matplotlib as mpl
from matplotlib.figure import Figure

__all__ = ["FAMILY_INK", "GRID", "INK", "MUTED", "SURFACE", "canvas", "to_svg"]

INK, MUTED, GRID, SURFACE = "#010101", "#010102", "#010103", "#010104"
_SERIES = [f"#01020{n}" for n in range(6)]

_VARIABLES = {INK: "ink", MUTED: "muted", GRID: "grid", SURFACE: "surface",
              **{stand_in: f"series-{n}" for n, stand_in in enumerate(_SERIES)}}

FAMILY_INK = dict(zip(
    ("float32, raw", "QSGD", "QSGDinf", "NUQSGD", "exp. largest"), _SERIES, strict=False))
"""The colour of each family of codec choices, the same in all figures."""

_STYLE = {
    "svg.fonttype": "none",  # text as text
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": GRID,
    "axes.labelcolor": MUTED,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "figure.facecolor": "none",
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": INK,
    "xtick.labelcolor": MUTED,
    "ytick.labelcolor": INK,
    "xtick.major.size": 0,
    "ytick.major.size": 0,
    "xtick.minor.size": 0,
    "ytick.minor.size": 0,
    "legend.frameon": False,
    "legend.labelcolor": INK,
}


def canvas(name, draw, figures, *, height):
    """SVG of what ``draw(figure, figures)`` draws.

    Parameters
    ----------
    name : str
        Tells the figures of a page apart.
    draw : callable
    figures : dict
        What figures.json holds.
    height : float
        In inches of 100 pixels; the width is that of the page.
    """
    with mpl.rc_context({**_STYLE, "svg.hashsalt": name}):
        figure = Figure(figsize=(9.6, height), layout="constrained")
        draw(figure, figures)
        return to_svg(figure, name)


def to_svg(figure, name):
    """The figure as an SVG element to put into HTML."""
    file = io.StringIO()
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    text = text[text.index("<svg"):]
    # Only HTML parses it, which knows the namespaces; and nothing shall look like a link.
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text)
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', rf'\1 role="img" aria-label="{name}"', text,
                  count=1)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    # Groups have the same names in all figures; nothing refers to them.
    text = re.sub(r'<g id="[^"]*"', "<g", text)
    for stand_in, variable in _VARIABLES.items():
        text = text.replace(stand_in, f"var(--{variable})")
    return text
