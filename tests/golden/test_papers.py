"""The model against the papers' formulas (see papers.py), on data made up here."""

from math import sqrt

import numpy as np
import pytest

from tightwire.formats import BUCKETS, Norm
from tightwire_sim import golden

from .cases import DISTRIBUTIONS, QUANTISED, adversarial
from .papers import (
    BUCKET, check_drawn, check_expectation, check_variance, model_quantiser, paper_levels,
    paper_norms, variance_bound,
)

SEED = 20240602


@pytest.mark.parametrize("bucket", BUCKETS)
@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_expectation_and_variance(codec, bucket):
    rng = np.random.default_rng([SEED, codec.byte, bucket])
    for name, draw in DISTRIBUTIONS.items():
        values = draw(rng, (max(2, 4096 // bucket), bucket)).astype(np.float32)
        where = f"seed {SEED}, {name}, buckets of {bucket}"
        check_expectation(values, codec, where)
        check_variance(values, codec, where)


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_expectation_of_adversarial_data(codec):
    """Ranges so wide that float64 has no say on the variance."""
    rng = np.random.default_rng([SEED, codec.byte])
    for name, values in adversarial(rng, 64).items():
        if np.isfinite(golden.norms(values[None], codec.norm).view(np.float32)).all():
            check_expectation(values[None], codec, f"seed {SEED}, {name!r}")


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_variance_of_the_worst(codec):
    """Elements where rounding is at its noisiest come close to the bound, and not over it.

    Otherwise the bounds could be so loose that nothing would ever show.
    """
    share = 0.0
    for bucket in BUCKETS:
        # One element of 1 and the others all smaller; or some that are equal and the rest 0.
        values = np.empty((40, bucket), np.float32)
        values[:, 0] = 1
        values[:, 1:] = np.geomspace(2.0**-10, 1, 40)[:, None]
        if codec.norm == Norm.EUCLIDEAN:
            counts = np.geomspace(1, bucket, 40).astype(int)
            values[:] = np.arange(bucket) < counts[:, None]
        check_variance(values, codec, f"buckets of {bucket}")
        low, high, p = model_quantiser(values, codec)
        error = (p * (1 - p) * (high - low) ** 2).sum(axis=1)
        relative = error / (values.astype(np.float64) ** 2).sum(axis=1)
        share = max(share, relative.max() / variance_bound(codec, bucket))
    assert share > 0.2, share


def _norm_floor(bucket):
    """What is left of the real norm at the least: the cuts take 2^-17 and (sqrt(B) + 1) * 2^-18."""
    return 1 - 2.0**-17 - (sqrt(bucket) + 1) * 2.0**-18


@pytest.mark.parametrize("bucket", BUCKETS)
def test_norm_where_the_cuts_take_most(bucket):
    """All elements are a hair below what the cut leaves whole, and R has its fewest bits.

    In the smallest buckets that loses more than 2^-17 + sqrt(B) * 2^-18, once taken for the bound.
    """
    below = np.nextafter(np.float32(round(2**17 / (sqrt(bucket) + 1))), np.float32(0))
    values = np.full((1, bucket), below)
    values[0, 0] = 2**17 + 63 / 64
    found = golden.norms(values, Norm.EUCLIDEAN).view(np.float32)[0]
    real = sqrt(sum(float(value) ** 2 for value in values[0]))
    assert real * _norm_floor(bucket) <= found < real


@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_norm(codec):
    """Never above the real norm, and below it by little: see _norm_floor."""
    rng = np.random.default_rng([SEED, codec.byte])
    for bucket in BUCKETS:
        for name, draw in DISTRIBUTIONS.items():
            values = draw(rng, (2, bucket)).astype(np.float32)
            found = golden.norms(values, codec.norm).view(np.float32)[:, None]
            real = paper_norms(values, codec)
            where = f"seed {SEED}, {name}, buckets of {bucket}"
            assert (found <= real * (1 + 2.0**-50)).all(), where
            assert (found >= real * _norm_floor(bucket)).all(), where


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("codec", QUANTISED, ids=str)
def test_drawn(codec, name):
    rng = np.random.default_rng([SEED, codec.byte])
    bucket = BUCKET[codec.bits]
    values = DISTRIBUTIONS[name](rng, (4096 // bucket, bucket)).astype(np.float32)
    check_drawn(values, codec, bucket, 200, f"seed {SEED}, {name}")


def test_papers_share_a_quantiser_at_two_bits():
    """One level besides zero: uniform and exponential are the same codes."""
    rng = np.random.default_rng(SEED)
    values = rng.standard_normal(4096).astype(np.float32)
    for norm in Norm:
        uniform, exponential = (codec for codec in QUANTISED
                                if codec.norm == norm and codec.bits == 2)
        assert (golden.encode(values, codec=uniform, bucket=64)
                == golden.encode(values, codec=exponential, bucket=64)), f"seed {SEED}"


def test_below_the_lowest_level():
    """What is less than 2^-16 of the lowest level is always 0: short by all of itself.

    It is why section 9 measures what is lost there by the level, not by the element.
    """
    for codec in QUANTISED:
        lowest = paper_levels(codec)[1]
        values = np.zeros((1, 64), np.float32)
        # The norm is 2^20, so that nothing here is subnormal.
        values[0, :3] = 2.0**20, lowest * 2.0**4 * 0.99, lowest * 2.0**4 * 1.01
        codes = golden.quantize(values, golden.norms(values, Norm.LARGEST), codec=codec,
                                draws=np.zeros((1, 64), np.uint16))
        assert codes[0, :3].tolist() == [codec.top, 0, 1], str(codec)
