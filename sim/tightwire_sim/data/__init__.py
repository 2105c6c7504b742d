"""Gradients captured from real training, and how to get at them.

They are shipped with the package and load with numpy alone. README.md in this folder lists them
and says where they come from; ``provenance.json`` says the same to a program, ``capture.py``
makes them anew.

    >>> from tightwire_sim.data import gradients
    >>> sparse, = gradients(model="lm", phase="late", layer="embedding.weight")
    >>> sparse.name
    'lm/late/embedding.weight'
"""

import hashlib
import io
import json
import zipfile
import zlib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np

__all__ = ["CorruptDataError", "Gradient", "MissingDataError", "gradients", "provenance"]

FOLDER = Path(__file__).parent
ARRAYS = "gradients.npz"
PROVENANCE = "provenance.json"

_REMEDY = ("restore it from the repository (git checkout), or capture anew with "
           "'python -m tightwire_sim.data.capture'")


class MissingDataError(FileNotFoundError):
    """A file of the captured gradients is not there; the text names it and what to do."""


class CorruptDataError(ValueError):
    """A file of the captured gradients is not what was captured; the text says what to do."""


@dataclass(frozen=True, eq=False)
class Gradient:
    """The gradient of the loss with respect to one layer's parameter, at one step.

    As backward() left it in that step: the mean over the batch, neither clipped nor scaled nor
    touched by the optimiser.

    Attributes
    ----------
    model : str
        Which training run: ``cnn`` or ``lm``.
    phase : str
        ``early`` or ``late`` in that run.
    step : int
        Optimiser step, counted from 1.
    layer : str
        The parameter, as PyTorch names it, such as ``conv2.weight``.
    shape : tuple of int
        Shape of what is here: ``values.reshape(shape)`` is right.
    layer_shape : tuple of int
        Shape of the whole parameter. Other than ``shape`` only where that was too large to ship:
        then the values are its first ``shape[0]`` rows.
    values : numpy.ndarray
        float32, 1-D, in row-major (C) order, read-only. Loss (nats per sample or token) per unit
        of the parameter.
    """

    model: str
    phase: str
    step: int
    layer: str
    shape: tuple
    layer_shape: tuple
    values: np.ndarray = field(repr=False)

    @property
    def name(self):
        """Model, phase and layer in one, such as ``cnn/early/conv2.weight``."""
        return f"{self.model}/{self.phase}/{self.layer}"

    def __len__(self):
        return self.values.size


def gradients(model=None, phase=None, layer=None, *, folder=FOLDER):
    """The captured gradients, in the order of model, phase and layer in which they were made.

    Parameters
    ----------
    model, phase, layer : str, optional
        Only those with this value; all where None.
    folder : path, optional
        Where the files are, if not in the package: what ``capture --folder`` wrote.

    Returns
    -------
    list of Gradient

    Raises
    ------
    ValueError
        For a value that no gradient has, or that none has together with the others; the text
        lists those that there are.
    MissingDataError, CorruptDataError
        The files are not there, or damaged.
    """
    chosen = list(_load(Path(folder).resolve()))
    # One after the other, so that the layers offered are those of the model asked for.
    for name, wanted in (("model", model), ("phase", phase), ("layer", layer)):
        if wanted is None:
            continue
        legal = list(dict.fromkeys(getattr(gradient, name) for gradient in chosen))
        if wanted not in legal:
            of = f" of model {model!r}" if name != "model" and model is not None else ""
            raise ValueError(f"{name}{of} must be one of {', '.join(legal)}, not {wanted!r}")
        chosen = [gradient for gradient in chosen if getattr(gradient, name) == wanted]
    return chosen


def provenance(*, folder=FOLDER):
    """Where the gradients come from: a dict, as ``capture`` wrote it.

    ``runs`` has for each model the network, data set, licence, optimiser, batch and losses;
    ``gradients`` for each gradient its step, its shape, how many elements are zero and how many
    of its blocks of 256 are (the last one filled up with zeros); ``sha256`` is that of the file
    with the values; ``versions`` those of the software.

    Raises
    ------
    MissingDataError, CorruptDataError
    """
    path = Path(folder) / PROVENANCE
    try:
        about = json.loads(_read(path))
        if not {"sha256", "runs", "gradients"} <= about.keys():
            raise ValueError("entries are missing")
        return about
    except (ValueError, AttributeError) as error:
        raise CorruptDataError(f"{path} is damaged ({error}): {_REMEDY}") from None


def _read(path):
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise MissingDataError(f"{path} is missing: {_REMEDY}") from None


@cache
def _load(folder):
    about = provenance(folder=folder)
    path = folder / ARRAYS
    content = _read(path)
    if hashlib.sha256(content).hexdigest() != about["sha256"]:
        raise CorruptDataError(f"{path} does not match {PROVENANCE}: {_REMEDY}")
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            return tuple(_gradient(entry, arrays) for entry in about["gradients"])
    except (ValueError, TypeError, LookupError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise CorruptDataError(f"{path} does not match {PROVENANCE} ({error}): {_REMEDY}"
                               ) from None


def _gradient(entry, arrays):
    keys = ("model", "phase", "step", "layer")
    shape, layer_shape = tuple(entry["shape"]), tuple(entry["layer_shape"])
    values = arrays["{model}/{phase}/{layer}".format_map(entry)]
    if values.dtype != np.float32 or values.shape != shape:
        raise ValueError(f"an array is {values.dtype} {values.shape}")
    values = values.reshape(-1)
    values.flags.writeable = False
    return Gradient(**{key: entry[key] for key in keys}, shape=shape, layer_shape=layer_shape,
                    values=values)
