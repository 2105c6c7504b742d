"""The model against the papers' formulas (see papers.py), on captured gradients."""

import numpy as np
import pytest

from tightwire_sim.data import gradients

from .cases import QUANTISED
from .papers import BUCKET, SMALLEST_NORMAL, check_drawn, check_expectation, check_variance

ELEMENTS = 1 << 15  # of each, at most
DRAWN = 4096
DRAWN_LAYERS = ("conv2.weight", "embedding.weight")  # one of each network

ALL = gradients()


def _rows(values, bucket):
    """Buckets of a vector, the last one padded, without those that have nothing in them."""
    values = np.pad(values[:ELEMENTS], (0, -min(len(values), ELEMENTS) % bucket))
    values = values.reshape(-1, bucket)
    return values[(np.abs(values) >= SMALLEST_NORMAL).any(axis=1)]


@pytest.mark.parametrize("gradient", ALL, ids=lambda gradient: gradient.name)
@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_expectation_and_variance(codec, gradient):
    values = _rows(gradient.values, BUCKET[codec.bits])
    assert len(values), "nothing but zeros"
    check_expectation(values, codec, gradient.name)
    check_variance(values, codec, gradient.name)


@pytest.mark.parametrize("gradient", [g for g in ALL if g.layer in DRAWN_LAYERS],
                         ids=lambda gradient: gradient.name)
@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_drawn(codec, gradient):
    bucket = BUCKET[codec.bits]
    values = _rows(gradient.values, bucket)[:DRAWN // bucket]
    assert values.size == DRAWN
    check_drawn(values, codec, bucket, 60, gradient.name)
