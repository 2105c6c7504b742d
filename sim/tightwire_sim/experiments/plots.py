"""The pictures of the experiments' page, as PNG."""

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

__all__ = ["COLOURS", "metric_plot", "variance_plot"]

COLOURS = {"baseline": "#444444", "PowerSGD": "#999999", "QSGD": "#1f77b4",
           "QSGDinf": "#2ca02c", "NUQSGD": "#d62728", "exp. largest": "#e08a00"}
"""Of each family of methods."""

_MARKS = {"baseline": "s", "PowerSGD": "D", "QSGD": "o", "QSGDinf": "^", "NUQSGD": "v",
          "exp. largest": "P"}
_STYLE = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False,
          "axes.grid": True, "grid.color": "#dddddd", "axes.axisbelow": True,
          "legend.frameon": False}


def _saved(figure, path):
    figure.savefig(path, dpi=100, metadata={"Software": None})
    return path


def metric_plot(rows, *, metric, path):
    """A task's metric against bits on the wire, with bars from the worst seed to the best.

    ``rows`` are what ``page.summary`` returns for the task.
    """
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(8, 4.6), layout="constrained")
        axes = figure.subplots()
        for family, colour in COLOURS.items():
            own = sorted((row for row in rows if row["family"] == family and row["values"]),
                         key=lambda row: row["bits_on_wire"])
            if not own:
                continue
            middle = [row["mean"] for row in own]
            axes.errorbar(
                [row["bits_on_wire"] for row in own], middle,
                [[row["mean"] - min(row["values"]) for row in own],
                 [max(row["values"]) - row["mean"] for row in own]],
                color=colour, marker=_MARKS[family], markersize=6, capsize=3, linewidth=1,
                label="float32, bf16, fp16" if family == "baseline" else family)
        axes.set_xscale("log", base=2)
        axes.xaxis.set_major_locator(FixedLocator([1, 2, 4, 8, 16, 32]))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_xlabel("bits on the wire for each element, mean over all layers, headers included")
        axes.set_ylabel(metric)
        axes.legend(loc="best", ncols=2)
        return _saved(figure, path)


def variance_plot(variances, methods, *, path):
    """Variance that each codec adds, by bits, for both models' gradients."""
    with mpl.rc_context(_STYLE):
        figure = Figure(figsize=(8, 3.8), layout="constrained")
        for axes, (model, values) in zip(figure.subplots(1, 2, sharey=True), variances.items(),
                                         strict=True):
            for family, colour in COLOURS.items():
                own = [(methods[name].bits, value) for name, value in values.items()
                       if methods[name].family == family]
                if own:
                    axes.plot(*zip(*sorted(own), strict=True), color=colour,
                              marker=_MARKS[family], label=family)
            axes.set_xscale("log", base=2)
            axes.set_yscale("log")
            axes.xaxis.set_major_locator(FixedLocator([2, 4, 8]))
            axes.xaxis.set_minor_locator(NullLocator())
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axes.set_title(f"gradients of the {model}", fontsize=10)
            axes.set_xlabel("bits of a code")
        figure.axes[0].set_ylabel("variance / squared norm")
        figure.axes[1].legend()
        return _saved(figure, path)
