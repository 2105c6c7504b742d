"""A second opinion: the papers' quantisers in real arithmetic, float64 near enough.

QSGD (Alistarh et al. 2017, section 3.1), its variant scaled by the largest magnitude (QSGDinf)
and NUQSGD (Ramezani-Kebrya et al. 2021, section 3) are unbiased and have a bounded variance. The
model has to follow them to within what docs/wire-format.md, sections 9 and 10, allows.

``check_expectation`` and ``check_variance`` know the probability that the model rounds up with,
so they are exact; ``check_drawn`` runs the whole way over many messages, and says at how many
standard deviations it fails.
"""

from math import sqrt

import numpy as np

from tightwire.formats import Levels, Norm
from tightwire_sim import golden

SMALLEST_NORMAL = 2.0**-126

BUCKET = {2: 64, 4: 512, 8: 4096}
"""Bucket size for what is drawn, by bits: each width gets another one."""


def paper_levels(codec):
    """The levels on [0, 1]: l/s of QSGD; 0 and powers of 1/2 of NUQSGD."""
    top = 2 ** (codec.bits - 1) - 1
    if codec.levels == Levels.UNIFORM:
        return np.arange(top + 1) / top
    return np.append(0, 2.0 ** np.arange(1 - top, 1))


def paper_norms(values, codec):
    """Norms of the rows."""
    order = np.inf if codec.norm == Norm.LARGEST else 2
    return np.linalg.norm(values.astype(np.float64), order, axis=1, keepdims=True)


def paper_quantiser(values, codec):
    """Of |v|: the level below, the level above, and the probability of the one above."""
    norms = paper_norms(values, codec)
    r = np.abs(values.astype(np.float64)) / norms
    levels = paper_levels(codec)
    upper = np.clip(np.searchsorted(levels, r, "right"), 1, len(levels) - 1)
    low, high = levels[upper - 1], levels[upper]
    return norms * low, norms * high, np.clip((r - low) / (high - low), 0, 1)


def model_quantiser(values, codec):
    """The same of the model: what it decodes to either way, and the probability it rounds up."""
    norms = golden.norms(values, codec.norm)
    level, fraction = np.divmod(golden.positions(values, norms, codec=codec), 1 << 16)
    table = golden.magnitudes(norms, codec=codec).view(np.float32).astype(np.float64)
    low = np.take_along_axis(table, level, axis=1)
    high = np.take_along_axis(table, np.minimum(level + 1, codec.top), axis=1)
    return low, high, fraction / 2.0**16


def variance_bound(codec, bucket):
    """Section 10: the most that E|Q(v)-v|^2 is of |v|^2."""
    top = 2 ** (codec.bits - 1) - 1
    if codec.levels == Levels.UNIFORM:
        return min(bucket / top**2, sqrt(bucket) / top)
    s = top - 1
    r = bucket * 2.0 ** (-2 * s - 2) if bucket <= 2 ** (2 * s + 2) else 2.0**-s * sqrt(bucket) - 1
    return 1 / 8 + r


def tolerance(values, codec):
    """Section 9: how far the expectation may be from the element."""
    norms = golden.norms(values, codec.norm).view(np.float32).astype(np.float64)
    lowest = norms[:, None] * paper_levels(codec)[1]
    magnitude = np.abs(values.astype(np.float64))
    # What underflows on the way back is less than the smallest normal number.
    return 2.0**-14 * magnitude + 2.0**-16 * lowest * (magnitude < lowest) + SMALLEST_NORMAL


def check_expectation(values, codec, where):
    low, high, p = model_quantiser(values, codec)
    short = np.abs(values.astype(np.float64)) - (low + p * (high - low))
    assert (short >= 0).all(), f"{where}: the expectation is too large by {-short.min():g}"
    excess = short - tolerance(values, codec)
    assert (excess < 0).all(), f"{where}: the expectation falls short by {excess.max():g} too much"


def check_variance(values, codec, where):
    low, high, p = model_quantiser(values, codec)
    magnitude = np.abs(values.astype(np.float64))
    error = ((1 - p) * (low - magnitude) ** 2 + p * (high - magnitude) ** 2).sum(axis=1)
    energy = (magnitude**2).sum(axis=1)
    # The bound is of exact arithmetic; 2^-14 of an element is 2^-13 of its square.
    bound = variance_bound(codec, values.shape[1]) * (1 + 2.0**-13) * energy
    assert (error <= bound).all(), f"{where}: {(error / bound).max():g} times the bound"
    low, high, p = paper_quantiser(values, codec)
    gaps = high - low
    paper = (p * (1 - p) * gaps**2).sum(axis=1)
    # The model's probabilities are multiples of 2^-16; what it loses of an element and of the
    # norm (see test_norm) shifts them as well.
    lost = 2.0**-14 + 2.0**-18 * sqrt(values.shape[1])
    excess = (np.abs(error - paper) - 2.0**-10 * paper
              - (gaps * (2.0**-16 * gaps + lost * magnitude)).sum(axis=1))
    assert (excess <= 0).all(), (
        f"{where}: variance differs from the paper's quantiser's by {excess.max():g} too much")


def check_drawn(values, codec, bucket, messages, where):
    """Mean, variance and independence over many messages against the paper's quantiser."""
    size = values.size
    magnitude = np.abs(values.astype(np.float64)).ravel()
    low, high, p = (x.ravel() for x in paper_quantiser(values, codec))
    gap = high - low
    drawn = np.empty((messages, size), np.float32)
    for message in range(messages):
        payload = golden.encode(values.ravel(), codec=codec, bucket=bucket, message=message)
        drawn[message] = golden.decode(payload, codec=codec, bucket=bucket, span=len(values))
    signs = np.sign(values).ravel()
    assert (drawn * signs >= 0).all(), f"{where}: a sign is wrong"
    error = drawn * signs - magnitude  # positive: away from zero
    # Each element's mean. The share of messages in which it went up is off by more than
    # sqrt(2 p (1-p) L / messages) + 2 L / (3 messages) with a probability below 2 e^-L
    # (Bernstein), so with L = 24 any of 4096 is with one below 4e-7: for the normal
    # approximation, 6.9 standard deviations.
    L = 24
    p = np.minimum(1, p + tolerance(values, codec).ravel() / gap)
    margin = gap * (np.sqrt(2 * p * (1 - p) * L / messages) + 2 * L / (3 * messages))
    # Levels of the model's norm, a little smaller, round what lies between them and the paper's.
    margin += gap * 2.0**-10
    excess = np.abs(error.mean(axis=0)) - margin - tolerance(values, codec).ravel()
    assert (excess < 0).all(), f"{where}: element {excess.argmax()} has mean error {excess.max():g}"
    # All elements' mean, each in units of its gap, so that none outweighs the others; five
    # standard deviations. This is where a probability wrong by a percent shows.
    units = error / gap
    deviation = np.sqrt((p * (1 - p)).sum() / messages)
    bias = (tolerance(values, codec).ravel() / gap).sum()
    assert abs(units.mean(axis=0).sum()) < 5 * deviation + bias, (
        f"{where}: off by {units.mean(axis=0).sum() / deviation:.1f} standard deviations")
    # The spread of that sum from message to message is that of independent elements: a variance
    # over n messages has a relative deviation of sqrt(2/n).
    ratio = units.sum(axis=1).var() / (p * (1 - p)).sum()
    assert abs(ratio - 1) < 5 * sqrt(2 / messages) + 0.01, f"{where}: variance of sums {ratio:.3f}"
    # The mean squared error is below the bound, and the paper's own to within
    # five standard deviations of a two-valued error and what the norm is smaller by.
    ratio = (error**2).sum() / messages / (magnitude**2).sum()
    assert ratio <= variance_bound(codec, bucket), f"{where}: variance {ratio:g}"
    mean = (p * (1 - p) * gap**2).sum()
    deviation = np.sqrt((p * (1 - p) * (1 - 2 * p) ** 2 * gap**4).sum() / messages)
    found = (error**2).sum() / messages
    assert abs(found - mean) < 5 * deviation + 2.0**-8 * mean, (
        f"{where}: squared error {found:g}, not {mean:g}")
