"""Captures the gradients that are shipped: trains both models and writes down what was asked for.

    python -m tightwire_sim.data.capture [--folder FOLDER]

Takes about two minutes on one core. Needs PyTorch and scikit-learn. Seeded: on one machine, with
the same versions, it writes the same bytes each time.
"""

import argparse
import hashlib
import json
import math
import platform
import sys
import zipfile
from pathlib import Path

import numpy as np

from . import ARRAYS, FOLDER, PROVENANCE, provenance

__all__ = ["KEPT", "LAYERS", "describe", "main", "write", "zero_blocks"]

README = "README.md"

LAYERS = {
    "cnn": (
        "conv1.weight", "norm1.weight", "norm1.bias", "conv2.weight", "norm2.weight",
        "norm2.bias", "conv3.weight", "norm3.weight", "norm3.bias", "fc1.weight", "fc1.bias",
        "fc2.weight", "fc2.bias",
    ),
    "lm": (
        "embedding.weight", "position.weight", "blocks.0.norm1.weight", "blocks.0.norm1.bias",
        "blocks.0.self_attn.in_proj_weight", "blocks.0.self_attn.in_proj_bias",
        "blocks.1.linear1.weight", "blocks.1.linear1.bias", "norm.weight", "norm.bias",
        "output.weight", "output.bias",
    ),
}
"""Which parameters of each model are kept."""

KEPT = {("lm", "output.weight"): 256}
"""Rows that are kept, the first ones, of what is too large to ship whole."""

ABOUT = {
    "cnn": {
        "network": "3 convolutions (3x3; 32, 64, 64 channels) with batch norm, ReLU and max "
                   "pooling, 2 dense layers (64, 10)",
        "data": "Optical Recognition of Handwritten Digits, test part (E. Alpaydin, C. Kaynak, "
                "1998; UCI Machine Learning Repository, doi 10.24432/C50P49): 1,797 images of "
                "8x8, each put at a random place of a 12x12 canvas, with Gaussian noise; "
                "300 are held out",
        "licence": "CC BY 4.0",
        "package": "scikit-learn, sklearn.datasets.load_digits",
        "loss": "cross-entropy, nats per image",
        "optimiser": "SGD, learning rate 0.02, momentum 0.9, weight decay 0.0005",
        "batch": "64 images",
    },
    "lm": {
        "network": "causal transformer, pre-norm, 2 blocks, 128 wide, 4 heads, feed-forward 256, "
                   "dropout 0.1, embedding and output not tied",
        "data": "text of the Python documentation, pydoc_data.topics: about 115,000 words and "
                "signs, 3,071 different ones and the unknown one, numbered by frequency; "
                "the last tenth is held out",
        "licence": "PSF License Version 2",
        "package": "CPython, pydoc_data.topics",
        "loss": "cross-entropy, nats per word",
        "optimiser": "AdamW, learning rate 0.001, weight decay 0.01",
        "batch": "16 pieces of 32 words",
    },
}


def write(runs, folder, *, versions):
    """Writes values, provenance and README of some runs into a folder.

    Parameters
    ----------
    runs : dict of str to Run
        For each model what its training brought (``training.Run``).
    folder : path
    versions : dict of str to str
        Of the software that did it.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays, entries, about = {}, [], {}
    for model, run in runs.items():
        captured = next(iter(run.gradients.values()))
        about[model] = ABOUT[model] | {
            "parameters": sum(gradient.size for gradient in captured.values()),
            "steps": run.steps, "losses": run.losses, "held_out": run.held_out,
        }
        for phase, step in run.steps.items():
            for layer in LAYERS[model]:
                whole = run.gradients[phase][layer]
                values = np.ascontiguousarray(whole[:KEPT.get((model, layer))])
                arrays[f"{model}/{phase}/{layer}"] = values
                entries.append({
                    "model": model, "phase": phase, "step": step, "layer": layer,
                    "shape": values.shape, "layer_shape": whole.shape,
                    "zeros": int(np.count_nonzero(values == 0)),
                    "zero_blocks_256": zero_blocks(values, 256),
                })
    np.savez_compressed(folder / ARRAYS, **arrays)
    found = {
        "sha256": hashlib.sha256((folder / ARRAYS).read_bytes()).hexdigest(),
        "versions": versions, "runs": about, "gradients": entries,
    }
    (folder / PROVENANCE).write_text(_json(found))
    (folder / README).write_text(describe(provenance(folder=folder)))


def zero_blocks(values, size):
    """How many blocks of ``size`` elements are all zero; the last one is filled up with zeros."""
    flat = values.reshape(-1)
    return int(np.count_nonzero(~np.logical_or.reduceat(flat != 0, range(0, flat.size, size))))


def describe(about):
    """The README of a folder, from its provenance: Markdown."""
    lines = [
        "# Captured gradients",
        "",
        "Gradients of two small models, from real training, early and late in it: float32 as "
        "`backward()` left them, neither clipped nor scaled. This page is written by "
        "`capture.py`, from `provenance.json`; the values are in `gradients.npz`.",
        "",
        "```python",
        "from tightwire_sim.data import gradients",
        "",
        'for gradient in gradients(model="lm", phase="late"):',
        "    print(gradient.name, gradient.values.size)",
        "```",
        "",
        "To capture them anew: `pip install torch scikit-learn`, then "
        "`python -m tightwire_sim.data.capture`.",
    ]
    for model, run in about["runs"].items():
        lines += ["", f"## {model}", "", "| | |", "|---|---|"]
        lines += [f"| {key} | {run[key]} |" for key in ABOUT[model]]
        lines.append(f"| parameters | {run['parameters']:,} |")
        lines += [f"| loss at step {step:,} ({phase}) | {run['losses'][phase]:.3f} |"
                  for phase, step in run["steps"].items()]
        lines += [f"| held-out {key} | {value:.3f} |" for key, value in run["held_out"].items()]
        lines += ["", "| gradient | shape | elements | exact zeros | zero blocks of 256 |",
                  "|---|---|--:|--:|--:|"]
        for entry in about["gradients"]:
            if entry["model"] == model:
                lines.append(_row(entry))
    lines += ["", "Made with " + ", ".join(f"{name} {version}" for name, version
                                           in about["versions"].items()) + ".", ""]
    return "\n".join(lines)


def _row(entry):
    shape = " x ".join(map(str, entry["shape"]))
    if entry["shape"] != entry["layer_shape"]:
        shape += f" (the first rows of {entry['layer_shape'][0]:,})"
    size = math.prod(entry["shape"])
    return (f"| {entry['phase']}/{entry['layer']} | {shape} | {size:,} | "
            f"{entry['zeros'] / size:.1%} | "
            f"{entry['zero_blocks_256'] / math.ceil(size / 256):.1%} |")


def _json(found):
    """JSON with one line for each gradient, so that a change shows as one line."""
    entries = ",\n".join("  " + json.dumps(entry) for entry in found["gradients"])
    head = json.dumps({key: found[key] for key in found if key != "gradients"}, indent=1)
    return f'{head[:-2]},\n "gradients": [\n{entries}\n ]\n}}\n'


def main(arguments=None):
    """The command line; returns nothing, raises SystemExit with a line of text on failure."""
    parser = argparse.ArgumentParser(prog="python -m tightwire_sim.data.capture",
                                     description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=FOLDER,
                        help="where to write (default: where the package has its data)")
    folder = parser.parse_args(arguments).folder
    try:
        import sklearn
        import torch

        from . import training
    except ImportError as error:
        sys.exit(f"capturing gradients needs PyTorch and scikit-learn ({error}): "
                 "pip install torch scikit-learn")

    def say(line):
        print(line, flush=True)

    try:
        # Before the training, so that a folder that cannot be is told of now.
        folder.mkdir(parents=True, exist_ok=True)
        runs = {"cnn": training.train_cnn(say=say), "lm": training.train_lm(say=say)}
        write(runs, folder, versions={
            "Python": platform.python_version(), "PyTorch": torch.__version__,
            "scikit-learn": sklearn.__version__, "numpy": np.__version__,
        })
    except OSError as error:
        sys.exit(f"cannot write to {folder}: {error}")
    with zipfile.ZipFile(folder / ARRAYS) as archive:
        count = len(archive.namelist())
    say(f"{count} gradients, {(folder / ARRAYS).stat().st_size:,} bytes, in {folder}")


if __name__ == "__main__":
    main()
