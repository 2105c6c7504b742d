"""The benches' own bench: every fault is complained about, in the right words."""

import re

import cocotb
from faulty import FAULTS
from tightwire_sim.bench.drivers import Pauses
from tightwire_sim.bench.tb_pace import finish_without_bubble
from tightwire_sim.bench.traffic import Traffic


@cocotb.test()
@cocotb.parametrize(fault=list(FAULTS))
async def complains(dut, fault):
    """Bypass frames through a design with one fault."""
    dut.fault.value = list(FAULTS).index(fault)
    # In a hurry for bubbles; else with waits, without which some faults don't show.
    pace = FAULTS[fault] == "bubble"
    said = await _said(dut, pace)
    if FAULTS[fault] is None:
        assert said is None, said
        assert await _said(dut, not pace) is None
    else:
        assert said is not None, "nothing was said"
        assert re.search(FAULTS[fault], said), said


async def _said(dut, pace):
    """What the bench has to say."""
    traffic = await Traffic.start(dut)
    if not pace:
        traffic.pause(sink=Pauses(traffic.rng))
    width = traffic.width
    for n in range(20):
        size = traffic.rng.randrange(3 * width + 3, 6 * width) if n % 4 else 4 * width
        traffic.send_bypass(traffic.rng.randbytes(size), error=not pace and n % 5 == 4)
    try:
        if pace:
            await finish_without_bubble(traffic)
        else:
            await traffic.finish()
    except AssertionError as error:
        return str(error)
    return None
