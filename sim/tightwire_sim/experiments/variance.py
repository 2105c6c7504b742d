"""How much each codec adds to real gradients: no training, only the captured ones."""

import numpy as np

from .. import fast
from ..data import gradients
from .methods import METHODS

__all__ = ["variances"]


def variances(*, bucket=512, repeats=8):
    """Variance of every codec, as a multiple of the gradient's squared norm.

    Parameters
    ----------
    bucket : int
    repeats : int
        Messages, each with its own draws, that the mean is taken over.

    Returns
    -------
    dict of str to dict of str to float
        By model and by method: the sum over layers of E|Q(v) - v|^2, over that of |v|^2.
    """
    result = {}
    for model in ("cnn", "lm"):
        layers = [each.values for each in gradients(model=model, phase="late")
                  if len(each.shape) > 1]
        power = sum(float(np.square(values, dtype=np.float64).sum()) for values in layers)
        result[model] = {}
        for name, method in METHODS.items():
            if method.codec is None:
                continue
            error = 0.0
            for message in range(repeats):
                for stream, values in enumerate(layers):
                    back = fast.round_trip(values, codec=method.codec, bucket=bucket, span=32,
                                           stream=stream, message=message)
                    error += float(np.square(back - values, dtype=np.float64).sum())
            result[model][name] = error / repeats / power
    return result
