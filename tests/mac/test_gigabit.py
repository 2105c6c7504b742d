"""The 1 Gb/s MAC in its bench, and what LiteEth is generated to."""

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from tightwire.config import ConfigError
from tightwire.mac import liteeth
from tightwire.mac.gigabit import GigabitMac
from tightwire.tools.verilog import generate
from tightwire_sim.bench.runner import build_design, run

MAX_FRAME = 9216


def simulation():
    mac = GigabitMac(phy="gmii", max_frame=MAX_FRAME)
    design = generate(mac, name="gigabit_mac", parameters={"phy": "gmii"})
    return build_design(replace(design, text="\n".join([design.text, *mac.sources().values()])))


@pytest.mark.parametrize("period_ps", [9998, 6002])
def test_bench(period_ps):
    """The card's clock slower and faster than the wire's."""
    records = run(simulation(), module="tightwire_sim.bench.tb_mac",
                  parameters={"max_frame": MAX_FRAME, "period_ps": period_ps})
    assert records == [{"gaps": [12], "frames": 86}]


@pytest.mark.parametrize("phy", liteeth.PHYS)
def test_generated_the_same_in_any_process(phy, tmp_path):
    program = ("from tightwire.mac.liteeth import generate\n"
               f"print(generate({phy!r})[1], end='')")
    texts = {
        subprocess.run([sys.executable, "-W", "error", "-c", program], cwd=tmp_path / seed,
                       env=os.environ | {"PYTHONHASHSEED": seed,
                                         "PYTHONPATH": os.pathsep.join(sys.path)},
                       check=True, capture_output=True, text=True).stdout
        for seed in ("1", "2") if not (tmp_path / seed).mkdir()}
    assert len(texts) == 1
    text = texts.pop()
    assert f"module tightwire_liteeth_{phy} (" in text
    assert ("ODDRX1F" in text) == (phy == "ecp5_rgmii")


def test_refusals():
    with pytest.raises(ConfigError, match="phy must be one of gmii, ecp5_rgmii"):
        GigabitMac(phy="mii")
    with pytest.raises(ConfigError, match="max_frame"):
        GigabitMac(phy="gmii", max_frame=59)
