"""The captured gradients that are shipped, and how the loader takes damage."""

import math
import shutil

import numpy as np
import pytest

from tightwire_sim import data
from tightwire_sim.data import capture

BUDGET = 2_000_000  # bytes, for the whole folder

ABOUT = data.provenance()
ENTRIES = {"{model}/{phase}/{layer}".format_map(entry): entry for entry in ABOUT["gradients"]}


@pytest.fixture
def copy(tmp_path):
    """A folder with the shipped files, to be damaged."""
    for name in (data.ARRAYS, data.PROVENANCE):
        shutil.copy(data.FOLDER / name, tmp_path)
    return tmp_path


def zero_share(gradient, size):
    blocks = math.ceil(len(gradient) / size)
    return capture.zero_blocks(gradient.values, size) / blocks


def test_every_layer_early_and_late():
    names = [gradient.name for gradient in data.gradients()]
    assert names == list(ENTRIES)
    assert names == [f"{model}/{phase}/{layer}" for model, layers in capture.LAYERS.items()
                     for phase in ("early", "late") for layer in layers]


@pytest.mark.parametrize("name", ENTRIES)
def test_matches_its_provenance(name):
    entry = ENTRIES[name]
    gradient, = (g for g in data.gradients() if g.name == name)
    assert gradient.values.dtype == np.float32
    assert gradient.values.shape == (len(gradient),) == (math.prod(gradient.shape),)
    assert gradient.values.flags.c_contiguous and not gradient.values.flags.writeable
    assert np.isfinite(gradient.values).all() and gradient.values.any()
    assert gradient.step == entry["step"] == ABOUT["runs"][gradient.model]["steps"][gradient.phase]
    assert gradient.shape == tuple(entry["shape"])
    assert gradient.layer_shape == tuple(entry["layer_shape"])
    assert np.count_nonzero(gradient.values == 0) == entry["zeros"]
    assert capture.zero_blocks(gradient.values, 256) == entry["zero_blocks_256"]


def test_only_what_is_too_large_is_cut():
    cut = {(g.model, g.layer): g for g in data.gradients() if g.shape != g.layer_shape}
    assert cut.keys() == capture.KEPT.keys()
    for key, gradient in cut.items():
        assert gradient.shape == (capture.KEPT[key], *gradient.layer_shape[1:])


def test_within_the_budget():
    assert sum(path.stat().st_size for path in data.FOLDER.iterdir() if path.is_file()) < BUDGET


@pytest.mark.parametrize("phase", ["early", "late"])
def test_embedding_is_sparse_by_rows(phase):
    embedding, = data.gradients("lm", phase, "embedding.weight")
    touched = embedding.values.reshape(embedding.shape).any(axis=1)
    # At most as many rows as the batch has words; each of them full, but for chance.
    assert 50 < np.count_nonzero(touched) <= 16 * 32
    assert np.count_nonzero(embedding.values) > 0.99 * np.count_nonzero(touched) * 128
    assert zero_share(embedding, 64) > 0.9
    assert zero_share(embedding, 256) > 0.85


@pytest.mark.parametrize("layer", ["conv3.weight", "blocks.1.linear1.weight", "output.weight"])
def test_others_are_dense(layer):
    for gradient in data.gradients(layer=layer):
        assert np.count_nonzero(gradient.values) > 0.99 * len(gradient)


@pytest.mark.parametrize("model", ["cnn", "lm"])
def test_the_models_learned(model):
    losses = ABOUT["runs"][model]["losses"]
    assert losses["late"] < 0.6 * losses["early"]


def test_early_and_late_differ():
    for model, layers in capture.LAYERS.items():
        for layer in layers:
            early, late = data.gradients(model, layer=layer)
            assert early.step < late.step
            assert not np.array_equal(early.values, late.values)


def test_filters():
    assert {g.model for g in data.gradients(model="cnn")} == {"cnn"}
    assert {g.phase for g in data.gradients(phase="late")} == {"late"}
    only, = data.gradients(model="cnn", phase="early", layer="conv2.weight")
    assert only.name == "cnn/early/conv2.weight"
    assert len(only) == 64 * 32 * 3 * 3


@pytest.mark.parametrize("wanted, told", [
    ({"model": "gpt"}, "model must be one of cnn, lm, not 'gpt'"),
    ({"phase": "middle"}, "phase must be one of early, late, not 'middle'"),
    ({"model": "lm", "layer": "conv1.weight"}, "layer of model 'lm' must be one of embedding"),
    ({"layer": "conv9"}, "layer must be one of conv1.weight, .*output.bias, not 'conv9'"),
    ({"model": ""}, "model must be one of"),
])
def test_unknown_filter_names_the_known(wanted, told):
    with pytest.raises(ValueError, match=told):
        data.gradients(**wanted)


def test_values_cannot_be_changed():
    gradient = data.gradients()[0]
    with pytest.raises(ValueError, match="read-only"):
        gradient.values[0] = 1
    with pytest.raises(AttributeError):
        gradient.step = 1


def test_copy_loads(copy):
    assert [g.name for g in data.gradients(folder=copy)] == list(ENTRIES)


@pytest.mark.parametrize("name", [data.ARRAYS, data.PROVENANCE])
def test_missing_file_says_what_to_do(copy, name):
    (copy / name).unlink()
    with pytest.raises(data.MissingDataError, match=f"{name} is missing: restore it.*capture"):
        data.gradients(folder=copy)


def flipped(content):
    return content[:len(content) // 2] + bytes([content[len(content) // 2] ^ 1]) + content[
        len(content) // 2 + 1:]


@pytest.mark.parametrize("damage", [
    flipped, lambda content: content[:-1], lambda content: b"", lambda content: b"not a zip"])
def test_damaged_values_say_what_to_do(copy, damage):
    path = copy / data.ARRAYS
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(data.CorruptDataError, match=r"gradients\.npz does not match.*restore it"):
        data.gradients(folder=copy)


@pytest.mark.parametrize("content", [
    b"", b"{", b"[]", b"{}", b"\xff\xfe", b'{"sha256": "", "runs": {}}'])
def test_damaged_provenance_says_what_to_do(copy, content):
    (copy / data.PROVENANCE).write_bytes(content)
    with pytest.raises(data.CorruptDataError, match=r"provenance\.json is damaged.*restore it"):
        data.gradients(folder=copy)


@pytest.mark.parametrize("old, new", [
    ('"shape": [32, 1, 3, 3]', '"shape": [32, 1, 9]'),
    ('"layer": "conv1.weight"', '"layer": "conv8.weight"'),
    ('"step": 10,', ""),
])
def test_provenance_of_other_values_says_what_to_do(copy, old, new):
    path = copy / data.PROVENANCE
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    with pytest.raises(data.CorruptDataError, match=r"does not match.*restore it"):
        data.gradients(folder=copy)


def test_readme_is_that_of_the_provenance():
    assert (data.FOLDER / capture.README).read_text() == capture.describe(ABOUT)


def test_zero_blocks():
    values = np.zeros(10, np.float32)
    assert capture.zero_blocks(values, 4) == 3
    values[[0, 9]] = 1
    values[5] = -0.0
    assert capture.zero_blocks(values, 4) == 1
