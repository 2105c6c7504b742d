"""A Verilog module that hides a design's many ports behind four pins.

To place and route a block by itself, it must fit the pins of a package, and its edges must be
timed as they will be inside a card: from a register, into a register.
"""

__all__ = ["harness"]

_FOLD = 4  # bits that become one at each stage: one LUT4


def harness(ports, *, top):
    """Module ``harness`` around one instance ``dut`` of module ``top``.

    Each input comes straight from a stage of a shift register, each output goes straight into a
    register, and those are folded by exclusive-or into one bit over some clocks. So nothing of
    the design can be optimised away, and no path of the harness is longer than one LUT4.

    Parameters
    ----------
    ports : list of (name, direction, width)
        Among them ``clk`` and ``rst``.
    top : str
    """
    clocked = ("clk", "rst")
    ins = [(name, width) for name, way, width in ports if way == "in" and name not in clocked]
    outs = [(name, width) for name, way, width in ports if way == "out"]
    shifted = sum(width for _, width in ins)
    folded = sum(width for _, width in outs)

    connections = [".clk(clk)", ".rst(reset)"]
    for name_of, members in (("shift", ins), ("result", outs)):
        at = 0
        for name, width in members:
            connections.append(f".{name}({name_of}[{at} +: {width}])")
            at += width

    lines = [
        "module harness(input clk, input rst, input d, output q);",
        "  reg reset;",
        f"  reg [{shifted - 1}:0] shift;",
        f"  wire [{folded - 1}:0] result;",
        "  always @(posedge clk) begin",
        "    reset <= rst;",
        "    shift <= {shift, d};",
        "  end",
        f"  {top} dut(",
        ",\n".join(f"    {connection}" for connection in connections),
        "  );",
        f"  reg [{folded - 1}:0] fold0;",
        "  always @(posedge clk) fold0 <= result;",
    ]
    stage = 0
    while folded > 1:
        groups = [(at, min(_FOLD, folded - at)) for at in range(0, folded, _FOLD)]
        bits = ", ".join(f"^fold{stage}[{at} +: {width}]" for at, width in reversed(groups))
        stage += 1
        folded = len(groups)
        lines += [
            f"  reg [{folded - 1}:0] fold{stage};",
            f"  always @(posedge clk) fold{stage} <= {{{bits}}};",
        ]
    lines += [f"  assign q = fold{stage}[0];", "endmodule"]
    return "\n".join(lines) + "\n"
