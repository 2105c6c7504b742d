"""Gate: the frames that pass, whole, and no other."""

import random

import pytest

from tightwire.stream.gate import Gate

from ..support.bench import PACES, Sink, Source, simulate
from ..support.frames import random_frames

SEED = 23


@pytest.mark.parametrize("paces", PACES, ids=str)
@pytest.mark.parametrize("lanes", [1, 4])
def test_what_passes(lanes, paces):
    rng = random.Random(SEED)
    frames = random_frames(lanes, rng, longest=9, count=60)
    verdicts = [rng.getrandbits(1) for _ in frames]
    expected = [beat for beats, passes in zip(frames, verdicts, strict=True) if passes
                for beat in beats]
    beats = [beat for one in frames for beat in one]
    come, go = paces
    dut = Gate(lanes=lanes)
    source = Source(dut.i, beats, random.Random(f"{SEED} in"), come)
    ruling = Source(dut.verdict, verdicts, random.Random(f"{SEED} verdicts"), come)
    sink = Sink(dut.o, len(expected), random.Random(f"{SEED} out"), go)
    simulate(dut, source.run, ruling.run, sink.run)
    assert sink.items == expected, f"seed {SEED}"
    if paces == (1, 1):
        # The source begins at clock 0, and so does the first verdict: nothing ever waits.
        assert source.clocks == list(range(len(beats)))
