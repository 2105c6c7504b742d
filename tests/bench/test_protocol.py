"""The checks complain about broken outputs, and about nothing else."""

from pathlib import Path

import pytest
from tightwire.config import CodecConfig
from tightwire_sim.bench import runner
from tightwire_sim.bench.protocol import ProtocolError, StreamCheck

_FULL = ("01100010" * 4, "1111", "0", "0110")
_END = ("00000000" * 2 + "01100010" * 2, "0011", "1", "0110")


def _changed(beat, **changes):
    names = ("tdata", "tkeep", "tlast", "tuser")
    return tuple(changes.get(name, bits) for name, bits in zip(names, beat, strict=True))


def test_a_right_stream_is_not_complained_about():
    check = StreamCheck("port")
    check.idle(0, "0")
    check.beat(1, _FULL, False)
    check.beat(2, _FULL, True)
    check.beat(3, _END, False)
    check.beat(4, _END, True)
    check.beat(5, _changed(_END, tuser="1001"), True)  # the next frame: its own tuser, marked
    check.idle(6, "0")
    check.end()
    assert check.beats == 3


@pytest.mark.parametrize("beat, text", [
    (_changed(_FULL, tdata="x" + _FULL[0][1:]), "tdata is x"),
    (_changed(_FULL, tkeep="111Z"), "tkeep is 111Z"),
    (_changed(_FULL, tlast="X"), "tlast is X"),
    (_changed(_FULL, tuser="01x0"), "tuser is 01x0"),
    (_changed(_FULL, tkeep="0111"), "before tlast"),
    (_changed(_FULL, tuser="0111"), "error mark came before tlast"),
    (_changed(_FULL, tuser="1110"), "tuser changed"),
    (_changed(_END, tkeep="0000"), "tkeep is zero"),
    (_changed(_END, tkeep="0101"), "tkeep has a hole"),
    (_changed(_END, tkeep="1110"), "tkeep has a hole"),
    (_changed(_END, tkeep="0001"), "a byte without tkeep is not 0"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_a_wrong_beat(beat, text):
    check = StreamCheck("port")
    check.beat(7, _FULL, True)
    with pytest.raises(ProtocolError, match=rf"^port, clock 8, beat 1: .*{text}"):
        check.beat(8, beat, True)


def test_a_beat_that_does_not_wait():
    check = StreamCheck("port")
    check.beat(1, _FULL, False)
    with pytest.raises(ProtocolError, match="tvalid fell"):
        check.idle(2, "0")
    check = StreamCheck("port")
    check.beat(1, _FULL, False)
    with pytest.raises(ProtocolError, match="changed while it was waiting: tlast 0 to 1"):
        check.beat(2, _changed(_FULL, tlast="1"), True)


def test_an_unknown_tvalid():
    with pytest.raises(ProtocolError, match="tvalid is X"):
        StreamCheck("port").idle(1, "X")


@pytest.mark.parametrize("taken", [False, True])
def test_half_a_frame_at_the_end(taken):
    check = StreamCheck("port")
    check.beat(1, _FULL, taken)
    with pytest.raises(ProtocolError, match="does not end"):
        check.end()


def test_broken_designs_are_complained_about(monkeypatch):
    """What the benches say to each fault of ``faulty.FAULTS``, put in one at a time."""
    monkeypatch.syspath_prepend(Path(__file__).parent)
    from faulty import FaultyTop

    parameters = {"lanes": 2, "max_bucket": 64}
    simulation = runner.build(FaultyTop(CodecConfig(**parameters)), name="faulty",
                              parameters=parameters)
    runner.run(simulation, module="tb_faulty", parameters={"config": parameters})
