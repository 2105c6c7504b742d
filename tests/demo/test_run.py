"""The demonstration itself, small: it passes, and it can fail."""

import json
import re
from dataclasses import replace
from functools import cache

import pytest
from tightwire import cli
from tightwire.formats import Codec
from tightwire_sim.demo import check, options, show
from tightwire_sim.demo.results import Results

ARGUMENTS = ["demo", "--lanes", "4", "--quick", "--codec", "raw", "qsgd-4",
             "exponential-largest-2"]


@pytest.fixture(scope="module", autouse=True)
def design():
    """The Verilog is made once for all runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(show, "pair_design", cache(show.pair_design))
        yield


@pytest.fixture
def output(tmp_path):
    return tmp_path / "new" / "demo"


def run(output, capsys):
    """Exit code, and what was printed."""
    code = cli.main([*ARGUMENTS, "--output", str(output)])
    printed = capsys.readouterr()
    return code, printed.out + printed.err


def test_passes(output, capsys):
    code, text = run(output, capsys)
    assert code == 0
    assert "PASS" in text and "FAIL" not in text
    assert str(output / "index.html") in text
    figures = json.loads((output / "figures.json").read_text())
    assert figures["faults"] == []
    assert [one["name"] for one in figures["codecs"]] == [
        "raw", "uniform-euclidean-4", "exponential-largest-2"]
    for one in figures["codecs"]:
        assert one["title"] in text
        for mode in ("store", "cut_through"):
            assert one[mode]["in_rate"] == 1
        assert one["cut_through"]["out_rate"] > 0.99
        assert one["fill"] < one["cut_through"]["compress"] < one["store"]["compress"]
    raw, four, two = figures["codecs"]
    assert raw["error"] == 0 and 0 < four["error"] < 2
    assert 0.97 < raw["ratio"] < 1 < four["ratio"] < 8 < two["ratio"] < 16
    # Both bursts, both ways, at both places.
    plan = options.parse(ARGUMENTS[1:]).plan
    pieces = [piece for codec, mode in plan.bursts() for way in ("a", "b")
              for piece in plan.pieces(way, codec, mode)]
    assert figures["compared"]["frames"] == 2 * len(pieces)
    assert figures["compared"]["bytes"] == sum(
        piece.span * (4 * piece.codec.record_words(piece.bucket) + 4 * piece.bucket)
        for piece in pieces)


@pytest.mark.parametrize("place", ["on the wire", "at the far end"])
def test_fails_where_the_model_says_otherwise(place, output, capsys, monkeypatch):
    """With one bit of one frame of the model turned over, nothing may pass."""
    right = check.expected

    def disturbed(piece):
        payload, values = right(piece)
        if piece.codec.bits == 4 and piece.first == 0 and piece.message.number == 0:
            if place == "on the wire":
                payload = payload[:99] + bytes([payload[99] ^ 0x10]) + payload[100:]
            else:
                values = values.copy()
                values.view("u4")[99] ^= 1
        return payload, values

    monkeypatch.setattr(check, "expected", disturbed)
    code, text = run(output, capsys)
    assert code == 1
    assert "FAIL" in text and "PASS  " not in text
    at = 99 if place == "on the wire" else 99 * 4
    for way in ("A to B", "B to A"):
        assert re.search(rf"uniform-euclidean-4, \w+, {way}: frame 0 {place}: byte {at} is",
                         text.replace("\n", " "))
    rows = [line for line in text.splitlines() if line.endswith((" yes", " no"))]
    assert [line.split()[-1] for line in rows] == ["yes", "no", "yes"]


@pytest.fixture
def tell_the_bench(monkeypatch):
    """Have the bench told something else than what was agreed."""
    run_as_agreed = show.run

    def tell(change):
        def run_otherwise(*arguments, parameters, **others):
            change(parameters)
            return run_as_agreed(*arguments, parameters=parameters, **others)
        monkeypatch.setattr(show, "run", run_otherwise)
    return tell


def test_fails_where_the_bench_does(output, capsys, tell_the_bench):
    tell_the_bench(lambda parameters: parameters.update(folder="/nowhere"))
    code, text = run(output, capsys)
    assert code == 1
    assert "FAIL" in text and "PASS  " not in text
    assert "/nowhere" in text  # from the bench's log
    assert not output.exists()


def test_fails_where_something_is_not_sent(output, capsys, tell_the_bench):
    tell_the_bench(lambda parameters: parameters["plan"].update(codecs=["raw", "qsgd-4"]))
    code, text = run(output, capsys)
    assert code == 1
    assert "FAIL" in text and "PASS  " not in text
    assert "exponential-largest-2, cut_through: nothing was captured" in text


def test_fails_where_something_else_is_sent(output, capsys, tell_the_bench):
    tell_the_bench(lambda parameters: parameters["plan"].update(most=20))
    code, text = run(output, capsys)
    assert code == 1
    assert "FAIL" in text and "PASS  " not in text


def test_faults_of_the_checker_are_raised(tmp_path):
    """What goes wrong in the thread that checks does not get lost."""
    plan = replace(options.parse(["--quick"]).plan, codecs=(Codec.parse("raw"),))
    with pytest.raises(FileNotFoundError), Results(plan, tmp_path) as results:
        results.take({"codec": "raw", "mode": "store", "clocks": 1, "seconds": 1, "lost": []})
