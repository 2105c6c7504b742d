"""A side band that says more than the codec needs goes through it as it is."""

import random

import numpy as np
import pytest
from amaranth.lib import data

from tightwire.codec.compressor import Compressor
from tightwire.codec.decompressor import Decompressor
from tightwire.formats import QSGDINF4, RAW, Codec, Levels
from tightwire.stream.beat import SIDE, beat_layout
from tightwire_sim import golden

from ..support.bench import PACES, pump
from ..support.layouts import join, split
from .buckets import beats_of, side_of

SEED = 31
LANES = 4
WIDE = data.StructLayout({"before": 3, **{name: SIDE[name].shape for name in SIDE.members},
                          "tag": 40})
LAYOUT = beat_layout(LANES, WIDE)


def _frame(words, side):
    """The beats of a frame as dicts, from 32-bit words."""
    empty = -len(words) % LANES
    rows = beats_of(np.pad(words, (0, empty)).astype("<u4"), LANES)
    return [{"data": row, "empty": 4 * empty * (n == len(rows) - 1), "first": n == 0,
             "last": n == len(rows) - 1, "error": 0, "side": side} for n, row in enumerate(rows)]


def _frames():
    """Frames of float32 and the same as records: (floats, records, decoded floats), as beats."""
    rng = np.random.default_rng(SEED)
    dice = random.Random(SEED)
    codecs = [QSGDINF4, Codec(Levels.EXPONENTIAL, bits=2), RAW, None, None, QSGDINF4]
    for n, codec in enumerate(codecs):
        more = {"before": dice.getrandbits(3), "tag": dice.getrandbits(40)}
        values = rng.standard_normal(64).astype(np.float32)
        if codec is None:
            words = values.view("<u4")[:dice.choice([1, 4, 11])]
            side = {"bypass": 1, "span": dice.getrandbits(16), **more}
            yield (_frame(words, side),) * 3
        else:
            side = side_of(codec, 64, 1, stream=n, message=7, first=n) | more
            payload = golden.encode(values, codec=codec, bucket=64, stream=n, message=7, first=n)
            decoded = golden.decode(payload, codec=codec, bucket=64, span=1, first=n)
            yield (_frame(values.view("<u4"), side), _frame(np.frombuffer(payload, "<u4"), side),
                   _frame(decoded.view("<u4"), side))


def _beats(which):
    return [join(LAYOUT, beat) for frame in _frames() for beat in frame[which]]


@pytest.mark.parametrize("store_bytes", [None, 4096])
@pytest.mark.parametrize("kind, i, o, options", [
    (Compressor, 0, 1, {}), (Decompressor, 1, 2, {}), (Decompressor, 1, 2, {"check": False})])
def test_side_band_on_every_beat(kind, i, o, options, store_bytes):
    dut = kind(lanes=LANES, max_bucket=64, store_bytes=store_bytes, side=WIDE, **options)
    expected = _beats(o)
    paces = PACES[0] if store_bytes else PACES[3]
    _, sink = pump(dut, _beats(i), len(expected), seed=SEED, paces=paces)
    for n, (item, wanted) in enumerate(zip(sink.items, expected, strict=True)):
        assert item == wanted, f"beat {n}: {split(LAYOUT, item)} and not {split(LAYOUT, wanted)}"


def test_latency_without_check():
    """A frame that was checked elsewhere is decoded that much sooner."""
    beats = [join(LAYOUT, beat) for beat in next(_frames())[1]]
    for check in (True, False):
        dut = Decompressor(lanes=LANES, max_bucket=64, side=WIDE, check=check)
        source, sink = pump(dut, beats, 16, seed=SEED)
        assert sink.clocks[0] - source.clocks[0] == dut.latency
