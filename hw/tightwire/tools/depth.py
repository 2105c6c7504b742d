"""How many look-up tables lie in series between registers, in a netlist that yosys has mapped.

yosys has no delays for UltraScale+ (none for its carry, DSP and block RAM cells), so this count
is all that can be said about speed there without the vendor's tools.
"""

import re

from .toolchain import ToolError

__all__ = ["lut_levels"]

# What a signal passes through on its way, and what that adds. Carry chains and the multiplexers
# behind LUTs are fast beside a LUT and the wire to it. Everything else begins and ends a path.
_LUT = re.compile(r"LUT[1-6]|INV")
_RAM = re.compile(r"RAM\d+[MX].*|SRL\w*")
_FREE = re.compile(r"CARRY[48]|MUXF[789]")
_RAM_ADDRESS = re.compile(r"(DP|P)?(RA|A|ADDR)[A-H]?\d*")


def _arcs(cell):
    """(level added, output bits, input bits) of the ways through a cell."""
    kind = cell["type"]
    pins = cell["connections"]
    ways = cell["port_directions"]
    outs = [pin for pin in pins if ways[pin] == "output"]
    ins = [pin for pin in pins if ways[pin] == "input"]
    if kind.startswith("CARRY"):
        # Bit by bit: bits of one cell may belong to different sums.
        chain = [bit for pin in ("CI", "CYINIT", "CI_TOP") for bit in pins.get(pin, ())]
        for n in range(len(pins["S"])):
            chain = [*chain, pins["S"][n], *pins["DI"][n:n + 1]]
            yield 0, [pins[pin][n] for pin in ("O", "CO") if n < len(pins.get(pin, ()))], chain
        return
    if _LUT.fullmatch(kind) or _FREE.fullmatch(kind):
        added = int(bool(_LUT.fullmatch(kind)))
    elif _RAM.fullmatch(kind):
        # Written on a clock, read at once.
        added = 1
        ins = [pin for pin in ins if _RAM_ADDRESS.fullmatch(pin)]
    else:
        return
    yield added, [b for pin in outs for b in pins[pin]], [b for pin in ins for b in pins[pin]]


def lut_levels(module):
    """The most LUTs in series on a way between registers (or ports, DSPs, block RAMs).

    Parameters
    ----------
    module : dict
        A flat module, as in the JSON that yosys' ``write_json`` writes.

    Raises
    ------
    ToolError
        There is a loop without a register in it.
    """
    sources = {}  # output bit: (level added, input bits)
    for cell in module["cells"].values():
        for added, outs, ins in _arcs(cell):
            bits = [bit for bit in ins if isinstance(bit, int)]  # constants are strings
            sources.update((bit, (added, bits)) for bit in outs)

    level = {}
    for end in sources:
        # Depth first, on a stack of our own: a path may be longer than Python's.
        stack = [end]
        open_bits = set()
        while stack:
            bit = stack[-1]
            if bit in level:
                stack.pop()
                continue
            added, bits = sources.get(bit, (0, ()))
            todo = [b for b in bits if b not in level]
            if not todo:
                level[bit] = added + max((level[b] for b in bits), default=0)
                open_bits.discard(bit)
                stack.pop()
            elif bit in open_bits:
                raise ToolError(f"the netlist has a loop without a register, through net {bit}")
            else:
                open_bits.add(bit)
                stack += todo
    return max(level.values(), default=0)
