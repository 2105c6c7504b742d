"""Quantizer makes the codes of the golden model."""

import numpy as np
import pytest

from tightwire.codec.quantizer import Quantizer
from tightwire_sim import golden

from ..golden.cases import QUANTISED
from ..support.bench import clocked
from .buckets import beats_of, buckets, scale_of

SEED = 11


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_codes(lanes):
    """Beats of buckets of all codecs, one in each clock."""
    rng = np.random.default_rng(SEED)
    dut = Quantizer(lanes=lanes)
    rows, draws, expected = [], [], []
    for codec in QUANTISED:
        values = buckets(rng, 64, 6 if lanes == 1 else 20)
        norms = golden.norms(values, codec.norm)
        drawn = rng.integers(0, 1 << 16, values.shape, np.uint16)
        # At the edge of what rounds up, too.
        fractions = golden.positions(values, norms, codec=codec) & 0xFFFF
        edge = rng.random(values.shape) < 0.5
        drawn[edge] = np.clip(
            fractions + rng.integers(-1, 2, values.shape), 0, 0xFFFF)[edge].astype(np.uint16)
        codes = golden.quantize(values, norms, codec=codec, draws=drawn)
        for bucket, scale, draw, code in zip(
                values, scale_of(norms, codec), drawn, codes, strict=True):
            rows += [(beat, scale, codec.byte) for beat in beats_of(bucket, lanes)]
            draws += [int.from_bytes(beat.tobytes(), "little")
                      for beat in draw.astype("<u2").reshape(-1, lanes)]
            expected += [int.from_bytes(beat.tobytes(), "little")
                         for beat in code.reshape(-1, lanes)]
    order = rng.permutation(len(rows))
    late = [0] * dut.draw_latency
    inputs = [(*rows[n], draw) for n, draw in zip(
        order, [*late, *(draws[n] for n in order)], strict=False)]
    inputs += [(*inputs[-1][:3], draws[n]) for n in order[-dut.draw_latency:]]
    seen = clocked(dut, [dut.i, dut.scale, dut.codec, dut.draws], [dut.o.as_value()], inputs,
                   extra=dut.latency)
    found = [code for code, in seen[dut.latency:][:len(order)]]
    assert found == [expected[n] for n in order], f"seed {SEED}"
