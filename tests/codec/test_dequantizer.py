"""Dequantizer makes the elements of the golden model."""

import numpy as np
import pytest

from tightwire.codec.dequantizer import Dequantizer
from tightwire_sim import golden

from ..golden.cases import QUANTISED
from ..support.bench import clocked
from .buckets import beats_of

SEED = 13

NORMS = [0, 1, 0x007FFFFF, 0x00800000, 0x80800001, 0x01000000, 0x03800000, 0x3F800000, 0xBF800000,
         0x3FE00000, 0x3FDFFFFF, 0x3FFE0000, 0x3FFDFFFF, 0x7F7FFFFF, 0x7F800000, 0xFF800000,
         0x7FC00000, 0x7FFFFFFF, 0xFFFFFFFF]


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_elements(lanes):
    """Any codes under any norms, buckets of 64 back to back, each of another codec."""
    rng = np.random.default_rng(SEED)
    dut = Dequantizer(lanes=lanes)
    rows, expected = [], []
    picks = [(codec, norm) for codec in QUANTISED[::2] for norm in NORMS]
    picks += [(codec, int(rng.integers(0, 1 << 32))) for codec in QUANTISED for _ in range(6)]
    for n in rng.permutation(len(picks))[:60 if lanes == 1 else None]:
        codec, norm = picks[n]
        codes = rng.integers(0, 1 << codec.bits, (1, 64), np.uint8)
        elements = golden.dequantize(codes, np.array([norm], np.uint32), codec=codec)
        expected += beats_of(elements, lanes)
        # In 8 bits: sign, then level.
        wide = (codes >> codec.bits - 1 << 7) | codes & codec.top
        rows += [(at == 0, norm if at == 0 else int(rng.integers(0, 1 << 32)), codec.byte,
                  int.from_bytes(beat.tobytes(), "little"))
                 for at, beat in enumerate(wide.astype(np.uint8).reshape(-1, lanes))]
    seen = clocked(dut, [dut.norm_valid, dut.norm, dut.codec, dut.codes], [dut.o.as_value()],
                   rows, extra=dut.latency)
    assert [beat for beat, in seen[dut.latency:]] == expected, f"seed {SEED}"
