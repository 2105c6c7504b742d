"""Capturing: what is said where it cannot be done, and a tiny run where it can."""

import importlib.util
import sys

import numpy as np
import pytest

from tightwire_sim import data
from tightwire_sim.data import capture

STEPS = {"early": 1, "late": 2}

needs_torch = pytest.mark.skipif(
    not all(importlib.util.find_spec(name) for name in ("torch", "sklearn")),
    reason="capturing gradients needs PyTorch and scikit-learn: pip install torch scikit-learn")


@pytest.fixture(scope="module")
def runs():
    from tightwire_sim.data import training
    lines = []
    runs = {"cnn": training.train_cnn(steps=STEPS, say=lines.append),
            "lm": training.train_lm(steps=STEPS, say=lines.append)}
    assert [line.partition(",")[0] for line in lines] == [
        f"{model}: step {step} of 2" for model in runs for step in (1, 2)]
    return runs


def test_says_what_is_missing(monkeypatch, tmp_path):
    for name in ("torch", "sklearn"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(SystemExit) as stop:
        capture.main(["--folder", str(tmp_path)])
    assert "pip install torch scikit-learn" in stop.value.code
    assert "\n" not in stop.value.code
    assert not list(tmp_path.iterdir())


@needs_torch
def test_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(SystemExit, match="cannot write to"):
        capture.main(["--folder", str(tmp_path / "file")])


@needs_torch
def test_tiny_run_has_the_shipped_layers(runs, tmp_path):
    capture.write(runs, tmp_path, versions={"PyTorch": "some"})
    tiny, shipped = data.gradients(folder=tmp_path), data.gradients()
    assert [g.name for g in tiny] == [g.name for g in shipped]
    assert [g.shape for g in tiny] == [g.shape for g in shipped]
    assert [g.layer_shape for g in tiny] == [g.layer_shape for g in shipped]
    for gradient in tiny:
        whole = runs[gradient.model].gradients[gradient.phase][gradient.layer]
        assert gradient.values.tobytes() == whole[:gradient.shape[0]].tobytes()
    assert (tmp_path / capture.README).read_text().startswith("# Captured gradients")


@needs_torch
def test_tiny_run_repeats_itself(runs):
    from tightwire_sim.data import training
    for model, train in (("cnn", training.train_cnn), ("lm", training.train_lm)):
        again = train(steps=STEPS, say=lambda line: None)
        assert again.losses == runs[model].losses
        assert again.held_out == runs[model].held_out
        for phase, layers in runs[model].gradients.items():
            for layer, values in layers.items():
                assert np.array_equal(again.gradients[phase][layer], values)
