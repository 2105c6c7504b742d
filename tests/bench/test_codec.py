"""The top ``codec`` in simulation, against the golden model: each bench at each width.

The widths share the work: everything at two of them, with the largest buckets at one; what
depends on the width at the narrowest and the widest; the rest in short, at all.
"""

from functools import cache

import pytest
from tightwire.config import LANES, CodecConfig
from tightwire.tops.codec import CodecTop
from tightwire_sim.bench import runner

# max_bucket by lanes: small where that saves time.
_MAX_BUCKET = {1: 512, 2: 512, 4: 512, 8: 1024, 16: 8192, 32: 1024, 64: 1024}

_CODEC, _PACE, _MALFORMED = "tb_codec", "tb_pace", "tb_malformed"
_ALL = None

_FULL = {_CODEC: _ALL, _PACE: _ALL, _MALFORMED: _ALL}
_MEDIUM = {
    _CODEC: ["each_codec/cut_through=False", "special_values", "hostile_content",
             "bypass_frames", "random_frames", "reset_amid_frames"],
    _PACE: ["line_rate_from_raw_to_quantised", "line_rate_of_turns", "line_rate_at_random",
            "latency", "real_gradients"],
    _MALFORMED: ["each_kind", "sequences/pauses=True"],
}
_SHORT = {
    _CODEC: ["each_codec/cut_through=True", "random_frames/source=True/sink=True"],
    _PACE: ["line_rate_at_random", "latency"],
    _MALFORMED: ["sequences/pauses=True"],
}
_PLAN = {lanes: _FULL if lanes in (4, 16) else _MEDIUM if lanes in (1, 64) else _SHORT
         for lanes in LANES}

_FRAMES = 40            # of each random test; there are many
_GRADIENTS = {16: 1 << 20, 64: 1 << 20, 4: 1 << 18, 1: 1 << 16}  # elements, 4 bytes each


def _config(lanes, max_bucket):
    return {"lanes": lanes, "max_bucket": max_bucket}


@cache
def _simulation(simulator, lanes, max_bucket):
    config = _config(lanes, max_bucket)
    return runner.build(CodecTop(CodecConfig(**config)), name="codec", simulator=simulator,
                        parameters=config)


def _run(bench, lanes, *, tests=_ALL, simulator="verilator", max_bucket=None, **parameters):
    max_bucket = max_bucket or _MAX_BUCKET[lanes]
    return runner.run(
        _simulation(simulator, lanes, max_bucket), module=f"tightwire_sim.bench.{bench}",
        tests=tests,
        parameters={"config": _config(lanes, max_bucket), "frames": _FRAMES, **parameters})


# One process per width where pytest is told to keep groups together: it is elaborated once.
@pytest.mark.parametrize("lanes, bench", [
    pytest.param(lanes, bench, marks=pytest.mark.xdist_group(f"codec_{lanes}"))
    for lanes in sorted(LANES, key=lambda lanes: -len(str(_PLAN[lanes])))
    for bench in _PLAN[lanes]])
def test_codec(lanes, bench, record_property):
    records = _run(bench, lanes, tests=_PLAN[lanes][bench], gradients=_GRADIENTS.get(lanes, 0))
    for record in records:
        if record["figure"] == "speed":
            print("{clocks} clocks simulated in {cpu_seconds:.1f} s of one core".format(**record))
    record_property("records", records)


@pytest.mark.xdist_group("codec_4")
def test_between_cocotbext_axi():
    """Somebody else's sources and sinks have no objections."""
    _run("tb_axi", 4)


@pytest.mark.skipif(not runner.has_icarus(), reason="iverilog is not installed "
                    "(Debian: apt-get install iverilog)")
def test_without_unknowns():
    """On Icarus, where a register is X until it is reset or written, no output ever is."""
    _run("tb_codec", 2, tests=["each_codec_in_short"], simulator="icarus", max_bucket=64)
