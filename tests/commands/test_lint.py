"""Lint lets pass what generated code has, and nothing that is a fault."""

import re

import pytest

from tightwire.tools.lint import WAIVERS, lint
from tightwire.tools.toolchain import ToolError

FAULTS = {
    "LATCH": "output reg q; always @* if (a[0]) q = a[1];",
    "UNDRIVEN": "output q; wire w; assign q = w;",
    "ALWNEVER": "output reg [1:0] q; always @* q[0] = 1'b1; always @* q[1] = a[0];",
    "UNOPTFLAT": "output q; wire [2:0] w; assign w = {w[1:0] & a[1:0], a[2]} | {w[2], 2'b0};"
                 "assign q = w[2];",
    "MULTIDRIVEN": "output reg q; always @(posedge a[0]) q <= 1'b0; always @(posedge a[1]) q <= 1;",
    "WIDTHTRUNC": "output [1:0] q; assign q = a + 4'd1;",
    "PINMISSING": "output q; other o(.x(a[0]));",
}


def write(tmp_path, body):
    path = tmp_path / "faulty.v"
    path.write_text(
        f"module faulty(a, q); input [3:0] a; {body} endmodule\n"
        "module other(x, y); input x; output y; assign y = x; endmodule\n")
    return path


def test_clean(tmp_path):
    # The other module is in the same file, and a[3:1] is not used.
    lint(write(tmp_path, "output q; other o(.x(a[0]), .y(q));"), top="faulty")


@pytest.mark.parametrize("rule", FAULTS)
def test_fault(rule, tmp_path):
    with pytest.raises(ToolError, match=rf"faulty\.v does not pass lint:(.|\n)*%\w+-{rule}: "):
        lint(write(tmp_path, FAULTS[rule]), top="faulty")


def test_long_output_is_cut(tmp_path):
    body = "output q;" + "".join(f"wire w{n}; assign q = w{n};\n" for n in range(60))
    with pytest.raises(ToolError, match=r"\.\.\. and \d+ lines more$"):
        lint(write(tmp_path, body), top="faulty")


def test_every_waiver_has_a_reason():
    lines = WAIVERS.read_text().splitlines()
    waivers = [n for n, line in enumerate(lines) if line.startswith("lint_off")]
    assert waivers
    for n in waivers:
        assert re.match(r"// .*\.$", lines[n - 1])
