"""The hook under DistributedDataParallel, with 2 and 4 processes, against the numpy collectives."""

import importlib.util
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tightwire_sim.collectives import Group, Scheme

pytestmark = [
    pytest.mark.skipif(not importlib.util.find_spec("torch"),
                       reason="the hook needs PyTorch: pip install torch"),
    pytest.mark.xdist_group("hook"),  # its processes are started once
]

ROOT = Path(__file__).parents[2]
SCHEMES = {
    "default": {}, "raw": {"codec": "raw"}, "bfloat16": {}, "float16": {}, "all coded": {},
    "uniform": {"codec": "qsgdinf-8", "bucket": 64, "frame_bytes": 500},
    "two codecs": {"codec": "qsgd-4", "result_codec": "qsgd-8"},
    "ring": {"codec": "exponential-largest-4", "collective": "ring"},
    "aggregator": {"codec": "nuqsgd-8", "collective": "aggregator"},
    "feedback": {"codec": "qsgdinf-2"},
    "feedback ring": {"codec": "qsgdinf-2", "collective": "ring"},
    "warm-up": {"codec": "qsgdinf-4"},
}
LAYERS = {"0.weight": 4608, "0.bias": 96, "2.weight": 9216, "2.bias": 96, "4.weight": 768,
          "4.bias": 8}
CODED = {"0.weight", "2.weight"}  # of two dimensions, and 1,024 elements or more


@pytest.fixture(scope="module", params=[2, 4], ids="{} processes".format)
def found(request, tmp_path_factory):
    """What each process found, by rank."""
    ranks, folder = request.param, tmp_path_factory.mktemp("ranks")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(
        [str(ROOT / "hw"), str(ROOT / "sim")])}
    processes = [
        subprocess.Popen([sys.executable, Path(__file__).with_name("ranks.py"), str(rank),
                          str(ranks), folder], env=environment, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True)
        for rank in range(ranks)]
    try:
        said = [process.communicate(timeout=240)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
    assert not any(process.returncode for process in processes), "\n".join(said)
    return [pickle.loads((folder / f"{rank}.pkl").read_bytes()) for rank in range(ranks)]


def as_type(values, name):
    """float32 that went through the type that a scenario is named after."""
    import torch
    return torch.from_numpy(values).to(getattr(torch, name, torch.float32)).float().numpy()


@pytest.mark.parametrize("name", SCHEMES)
def test_is_what_the_collectives_say(found, name):
    """Every gradient of every step, to the bit."""
    group = Group(len(found), Scheme(**SCHEMES[name]),
                  message=65530 if name == "two codecs" else 0)
    runs = [each[name] for each in found]
    calls = runs[0]["calls"]
    assert all(run["calls"] == calls for run in runs)
    assert sorted(layer for step, layers in calls if step == 1 for layer in layers) == sorted(
        LAYERS)
    assert len(calls) > 2 * len(runs[0]["steps"]), "several buckets a step"
    residuals = [{} for _ in runs]
    for step, layers in calls:
        kept = set(layers) if name == "all coded" else CODED & set(layers)
        if name == "warm-up" and step < 2:
            kept = set()
        for part, raw in (([n for n in layers if n not in kept], True),
                          ([n for n in layers if n in kept], False)):
            if not part:
                continue
            own = [np.concatenate([run["steps"][step]["own"][n] for n in part]) for run in runs]
            cuts = np.cumsum([LAYERS[n] for n in part])[:-1]
            lost = None
            if "feedback" in name and not raw:
                lost = [np.concatenate([one.get(n, np.zeros(LAYERS[n], np.float32))
                                        for n in part]) for one in residuals]
            sums = group.all_reduce(own, residuals=lost, raw=raw)
            if lost is not None:
                for one, vector in zip(residuals, lost, strict=True):
                    one.update(zip(part, np.split(vector, cuts), strict=True))
            for run, total in zip(runs, sums, strict=True):
                mean = as_type(total / np.float32(len(found)), name)
                for n, values in zip(part, np.split(mean, cuts), strict=True):
                    left = run["steps"][step]["mean"][n]
                    assert np.array_equal(left, values), f"step {step}, {n}"
    assert [run["wire_bytes"] for run in runs] == [
        worker.sender.wire_bytes for worker in group.workers]


def test_processes_agree(found):
    for name in SCHEMES:
        for step in range(3):
            for layer in LAYERS:
                means = [each[name]["steps"][step]["mean"][layer].tobytes() for each in found]
                assert len(set(means)) == 1, (name, step, layer)


def test_raw_is_the_mean(found):
    for step in range(3):
        for layer in LAYERS:
            own = [each["raw"]["steps"][step]["own"][layer] for each in found]
            np.testing.assert_allclose(found[0]["raw"]["steps"][step]["mean"][layer],
                                       np.mean(own, axis=0, dtype=np.float64), rtol=1e-4,
                                       atol=1e-9)


def test_statistics(found):
    run = found[0]["warm-up"]
    assert set(run["statistics"]) == set(LAYERS)
    for layer, one in run["statistics"].items():
        assert one["elements"] == LAYERS[layer]
        assert one["steps"] == 3
        assert one["coded"] == (layer in CODED)  # after two steps of warm-up
        assert one["seconds"] > 0
        ratio = one["plain_bytes"] / one["wire_bytes"]
        error = (one["error"] / one["power"]) ** 0.5 if one["power"] else 0
        if layer in CODED:
            # Two steps at 1, one at 7.8: 3 / (2 + 1/7.8).
            assert 1.3 < ratio < 1.41
            assert 0.05 < error < 0.5
        else:
            assert 0.5 < ratio < 1
            assert error == 0
        assert layer in run["report"]
    assert sum(one["wire_bytes"] for one in run["statistics"].values()) == pytest.approx(
        run["wire_bytes"])


def test_a_checkpoint_changes_nothing(found):
    for each in found:
        straight, stopped = each["resumed"]
        for one, other in zip(straight, stopped, strict=True):
            assert np.array_equal(one, other)


def test_reduce_scatter(found):
    group = Group(len(found), Scheme(codec="nuqsgd-4"))
    for step in range(3):
        own = [each["scattered"][0][step][0] for each in found]
        sums = group.reduce_scatter(own, raw=step == 0)
        for each, total in zip(found, sums, strict=True):
            mean = as_type(total / np.float32(len(found)), "bfloat16" if step == 2 else "float32")
            assert np.array_equal(each["scattered"][0][step][1], mean)
    assert "grad must have" in found[0]["scattered"][1]


def test_subgroup(found):
    if len(found) == 2:
        assert "subgroup" not in found[0]
        return
    for each in found:
        own, mean = each["subgroup"]
        for layer, left in enumerate(mean):
            np.testing.assert_allclose(left, np.mean([one[layer] for one in own], axis=0),
                                       rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize("collective", ["scatter-reduce-allgather", "ring", "aggregator"])
def test_it_learns(found, collective):
    first, last, weights = found[0]["learns"][collective]
    assert last < first / 3
    for each in found[1:]:
        for one, other in zip(weights, each["learns"][collective][2], strict=True):
            assert np.array_equal(one, other), "workers went apart"


def test_a_failure_is_raised(found):
    assert all("division by zero" in each["failure"] for each in found)


@pytest.mark.parametrize("name, legal", [
    ("warm_up", "0 or more, not -1"), ("smallest", "not 1.5"), ("dimensions", "not True"),
    ("error_feedback", "must be a bool"), ("statistics", "must be a bool"),
    ("model", "must be a torch.nn.Module, not str"), ("leave_alone", "parameters of the model"),
    ("collective", "one of scatter-reduce-allgather, ring, aggregator"),
    ("message", "from 0 to 65535"),
])
def test_refusals(found, name, legal):
    text = found[0]["refusals"][name]
    assert name in text and legal in text


def test_before_torch_distributed(found):
    assert "init_process_group" in found[0]["uninitialised"]
