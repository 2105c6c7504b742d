"""Counting LUTs in series, on netlists made by hand."""

import pytest

from tightwire.tools.depth import lut_levels
from tightwire.tools.toolchain import ToolError


def cell(kind, outputs, **inputs):
    """A cell as yosys writes it: pins are lists of nets."""
    return {
        "type": kind,
        "connections": {**outputs, **inputs},
        "port_directions": {**dict.fromkeys(outputs, "output"), **dict.fromkeys(inputs, "input")},
    }


def lut(out, *ins):
    return cell(f"LUT{len(ins)}", {"O": [out]}, **{f"I{n}": [i] for n, i in enumerate(ins)})


def levels(*cells):
    return lut_levels({"cells": dict(enumerate(cells))})


def test_no_logic():
    assert levels(cell("FDRE", {"Q": [2]}, D=[3], C=[4])) == 0


def test_chain_in_any_order():
    chain = [lut(n + 1, n) for n in range(2, 9)]
    assert levels(*chain) == levels(*reversed(chain)) == 7


def test_longest_of_several():
    assert levels(lut(10, 2), lut(11, 10, 3), lut(12, 4), lut(13, 11, 12, 5)) == 3


def test_register_ends_a_path():
    assert levels(lut(3, 2), cell("FDRE", {"Q": [4]}, D=[3], C=[9]), lut(5, 4)) == 1


def test_constants_are_no_nets():
    assert levels(lut(3, "0", "1", "x")) == 1


def test_wide_multiplexer_and_inverter():
    assert levels(lut(5, 2), lut(6, 3), cell("MUXF7", {"O": [7]}, I0=[5], I1=[6], S=[4]),
                  cell("INV", {"O": [8]}, I=[7])) == 2


def carry(outs, carries, chain_in, data, select):
    return cell("CARRY4", {"O": outs, "CO": carries}, CI=[chain_in], CYINIT=["0"], DI=data,
                S=select)


def test_carry_chain_is_free():
    first = carry([20, 21, 22, 23], [24, 25, 26, 27], "0", ["0"] * 4, [10, 11, 12, 13])
    second = carry([30, 31, 32, 33], [34, 35, 36, 37], 27, ["0"] * 4, ["0"] * 4)
    assert levels(lut(10, 2), first, second, lut(40, 33)) == 2


def test_bits_of_a_carry_cell_are_apart():
    """A lower bit of a sum may well go, by way of a LUT, into a higher bit of the same cell."""
    one = carry([20, 21, 22, 23], [24, 25, 26, 27], "0", ["0"] * 4, [10, "0", 12, "0"])
    assert levels(lut(10, 2), one, lut(12, 20)) == 2


def test_distributed_ram_is_read_through_its_address():
    ram = cell("RAM32M", {"DOA": [20, 21]}, ADDRA=[10, "0", "0", "0", "0"], DIA=[11, 12],
               WCLK=[5], WE=[6])
    assert levels(lut(10, 2), ram, lut(22, 20)) == 3
    # What is written waits for the clock: this is no loop.
    assert levels(lut(11, 20), ram) == 2


def test_block_ram_and_dsp_end_a_path():
    assert levels(cell("RAMB36E2", {"DOUT": [20]}, ADDR=[10]), cell("DSP48E2", {"P": [21]}, A=[20]),
                  lut(22, 21)) == 1


def test_loop():
    with pytest.raises(ToolError, match="loop without a register"):
        levels(lut(2, 3), lut(3, 2))


def test_deeper_than_the_recursion_limit():
    assert levels(*(lut(n + 1, n) for n in range(2, 5002))) == 5000
