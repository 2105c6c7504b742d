"""LiteEth's part of the 1 Gb/s MAC, generated as Verilog.

Of LiteEth it has the PHY, and the 8-bit path to it: padding, FCS, preamble, gap; and the search
for the start delimiter. What LiteEth lacks is added here, by what its objects offer:

* rx_er. Its PHYs leave the wire alone, or drop the second half of rx_ctl; here it goes with the
  byte as ``error``.
* A frame that was marked while it was sent. Its FCS leaves inverted, so no receiver takes it.
"""

import re

from ..config import check_choice
from ..tools.cache import BUILD, Cache, digest
from ..tools.toolchain import ToolError, version

__all__ = ["PHYS", "generate"]

PHYS = ("gmii", "ecp5_rgmii")
"""The PHY interfaces that there are."""

_REVISION = "1"  # of this file, for the cache


def generate(phy):
    """Name and Verilog of the module for one of ``PHYS``.

    The text is the same at each run, and cached.

    Raises
    ------
    ConfigError
        ``phy`` is not known.
    ToolError
        LiteEth is not installed.
    """
    check_choice("phy", phy, PHYS)
    name = f"tightwire_liteeth_{phy}"
    versions = [version(package) for package in ("liteeth", "litex", "migen")]
    key = digest("liteeth", _REVISION, phy, *versions)
    return name, Cache(BUILD / "mac").get(key, lambda: _text(phy, name))


def _text(phy, name):
    try:
        from litex.build.lattice.common import lattice_ecp5_special_overrides
        from litex.gen.fhdl import verilog
    except ImportError:
        raise ToolError("litex is missing: pip install 'tightwire[mac]'") from None
    from .migen_core import make

    core, ports = make(phy)
    text = str(verilog.convert(core, ports, name=name,
                               special_overrides=lattice_ecp5_special_overrides))
    # LiteX writes the time into comments and the machine's hierarchy beside them.
    text = re.sub(r"^\s*//.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"^`timescale.*\n", "", text, flags=re.MULTILINE)
    return (f"// {name}: LiteEth, BSD-2-Clause, copyright Florent Kermarrec and others\n"
            + text.lstrip())
