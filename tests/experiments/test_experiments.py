"""The experiments: a few steps of them, and what the page makes of results."""

import importlib.util
import json

import pytest

from tightwire_sim.experiments import page
from tightwire_sim.experiments.__main__ import main
from tightwire_sim.experiments.methods import METHODS
from tightwire_sim.experiments.variance import variances

needs_torch = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("torch", "sklearn")),
    reason="the experiments need PyTorch and scikit-learn: pip install torch scikit-learn")


def figures(metrics, *, ranks=2):
    """Results of three seeds, whose metrics are given by task and method."""
    return {
        "scale": "quick", "seeds": 3, "ranks": ranks, "torch": "0", "seconds": 1.0,
        "runs": [{"task": task, "method": method, "seed": seed, "steps": 10, "elements": 1000,
                  "metric": value, "loss": value, "wire_bytes": 40_000, "seconds": 1.0}
                 for (task, method), values in metrics.items()
                 for seed, value in enumerate(values)],
        "variances": {"cnn": dict.fromkeys(METHODS, 1.0)},
    }


@needs_torch
def test_a_few_steps(tmp_path, capsys):
    """Every kind of method, on both tasks, with two processes."""
    methods = ["float32", "fp16", "bf16", "PowerSGD rank 2", "NUQSGD 4 bit", "QSGD 4 bit"]
    assert main(["--steps", "12", "--seeds", "1", "-o", str(tmp_path), "--methods",
                 *methods]) == 0
    assert "12 of 12" in capsys.readouterr().out
    found = json.loads((tmp_path / "results.json").read_text())
    for task in ("cnn", "lm"):
        rows = {row["name"]: row for row in page.summary(found, task)}
        assert list(rows) == [name for name in METHODS if name in methods]
        assert all(row["values"] for row in rows.values())
        assert rows["float32"]["bits_on_wire"] == pytest.approx(32, rel=0.01)
        assert rows["bf16"]["bits_on_wire"] == pytest.approx(16, rel=0.01)
        assert 4 < rows["NUQSGD 4 bit"]["bits_on_wire"] < 6
        # Ten steps of twelve are sent whole.
        assert 26 < rows["PowerSGD rank 2"]["bits_on_wire"] < 32
    text = (tmp_path / "training.md").read_text()
    for name in ("cnn", "lm", "variance"):
        picture = tmp_path / f"training-{name}.png"
        assert picture.read_bytes().startswith(b"\x89PNG")
        assert picture.name in text


def test_claims_can_fail():
    better = {("cnn", "NUQSGD 4 bit"): [90, 91, 92], ("cnn", "QSGD 4 bit"): [80, 81, 82],
              ("cnn", "float32"): [95, 96, 97], ("cnn", "QSGDinf 4 bit"): [91, 90, 93]}
    found = {claim: (text, held) for claim, text, held in page.claims(figures(better))}
    assert found["NUQSGD's result at 4 bits is at least QSGD's: cnn"][1] == "yes"
    text, held = found["NUQSGD's result at 4 bits is that of float32: cnn"]
    assert held == "no" and "worse with every seed (-5.00 to -5.00)" in text
    text, held = found["NUQSGD's result at 4 bits is at least QSGDinf's: cnn"]
    assert held == "yes" and "no difference" in text
    assert found["NUQSGD's result at 4 bits is that of float32: lm"] == ("not measured", "-")
    assert found["NUQSGD's variance is below QSGD's: cnn, 4 bits"][1] == "no"


def test_less_loss_is_better():
    found = page.claims(figures({("lm", "NUQSGD 4 bit"): [3.0], ("lm", "QSGD 4 bit"): [3.1]}))
    assert [held for claim, _, held in found if "QSGD's: lm" in claim] == ["yes"]
    found = page.claims(figures({("lm", "NUQSGD 4 bit"): [3.2], ("lm", "QSGD 4 bit"): [3.1]}))
    assert [held for claim, _, held in found if "QSGD's: lm" in claim] == ["no"]


def test_divergence_is_shown():
    text = page.render(figures({("cnn", "QSGD 2 bit"): [None, 10.0, None]}))
    assert "2 of 3 diverged" in text


def test_variances():
    """The order that theory has: more bits, less; and 2 bits the same with either levels."""
    found = variances(repeats=1)
    for values in found.values():
        assert values["NUQSGD 4 bit"] < values["QSGD 4 bit"] / 5
        assert values["QSGD 8 bit"] < values["QSGD 4 bit"] < values["QSGD 2 bit"]
        assert values["QSGD 2 bit"] == pytest.approx(values["NUQSGD 2 bit"], rel=0.02)


@pytest.mark.parametrize("argv", [["--seeds", "0"], ["--ranks", "x"], ["--scale", "huge"],
                                  ["--methods", "QSGD 3 bit"]])
def test_bad_arguments(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        main(argv)
    assert stop.value.code == 2
    assert argv[0] in capsys.readouterr().err
