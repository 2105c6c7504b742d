"""Every refusal, by its text: it names the argument and says what is legal."""

import re

import numpy as np
import pytest

from tightwire.formats import NUQSGD4, RAW, Codec, Coding, FormatError, Levels, Norm
from tightwire_sim import golden

VALUES = np.ones(128, np.float32)
ROWS = VALUES.reshape(2, 64)
NORMS = np.full(2, 0x3F800000, np.uint32)
CODES = np.zeros((2, 64), np.uint8)
DRAWS = np.zeros((2, 64), np.uint16)
PAYLOAD = bytes(72)
BITMAP = Codec(Levels.UNIFORM, Norm.LARGEST, 4, Coding.BITMAP)
SPARSE = Codec(Levels.RAW, sparse=True)

FLOAT32 = "values must be a numpy array of float32 in this machine's byte order, not "

ENCODE = [
    ({"values": [1.0]}, FLOAT32 + "list"),
    ({"values": np.float32(1)}, FLOAT32 + "float32"),
    ({"values": VALUES.tobytes()}, FLOAT32 + "bytes"),
    ({"values": VALUES.astype(np.float64)}, FLOAT32 + "of float64"),
    ({"values": VALUES.astype(np.float16)}, FLOAT32 + "of float16"),
    ({"values": VALUES.view(np.uint32)}, FLOAT32 + "of uint32"),
    ({"values": VALUES.astype(np.dtype(np.float32).newbyteorder())}, FLOAT32 + "of >f4"),
    ({"values": ROWS}, "values must have 1 dimension and at least one element, not shape (2, 64)"),
    ({"values": VALUES[:0]}, "values must have 1 dimension and at least one element, not shape (0"),
    ({"values": np.float32([1]).reshape(())}, "values must have 1 dimension"),
    ({"values": np.broadcast_to(np.float32(0), 65535 * 64 + 1)},
     "values must fit 65535 buckets of 64, 4194240 elements, not 4194241"),
    ({"codec": RAW, "values": np.broadcast_to(np.float32(0), 65535 * 64 + 1)},
     "values must fit 65535 buckets of 64"),
    ({"stream": -1}, "stream must be from 0 to 65535, not -1"),
    ({"stream": 1 << 16}, "stream must be from 0 to 65535, not 65536"),
    ({"message": 1 << 16}, "message must be from 0 to 65535, not 65536"),
    ({"message": 1.0}, "message must be an int, not 1.0"),
    ({"first": 1 << 32}, "first must be from 0 to 4294967295, not 4294967296"),
    ({"first": None}, "first must be an int, not None"),
    # Raw draws nothing, but its header has the fields all the same.
    ({"codec": RAW, "stream": 1 << 16}, "stream must be from 0 to 65535"),
]

BOTH = [
    ({"codec": 256}, "codec must be from 0 to 255, not 256"),
    ({"codec": True}, "codec must be an int, not True"),
    ({"codec": "nuqsgd-4"}, "codec must be an int, not 'nuqsgd-4'"),
    ({"codec": None}, "codec must be an int, not None"),
    ({"codec": 0x03}, "codec byte 0x03 is reserved"),
    ({"codec": BITMAP},
     "codec uniform-largest-4-bitmap is not built yet: coding must be FIXED, sparse False"),
    ({"codec": BITMAP.byte}, "codec uniform-largest-4-bitmap is not built yet"),
    ({"codec": SPARSE}, "codec raw-sparse is not built yet"),
    ({"bucket": 32}, "bucket must be a power of two from 64 to 8192, not 32"),
    ({"bucket": 16384}, "bucket must be a power of two from 64 to 8192, not 16384"),
    ({"bucket": 100}, "bucket must be a power of two from 64 to 8192, not 100"),
    ({"bucket": 64.0}, "bucket must be an int, not 64.0"),
    ({"bucket": "64"}, "bucket must be an int, not '64'"),
]

DECODE = [
    ({"span": 0}, "span must be from 1 to 65535, not 0"),
    ({"span": 65536}, "span must be from 0 to 65535, not 65536"),
    ({"span": 2.0}, "span must be an int, not 2.0"),
    ({"records": 1}, "records must equal span, 2, for a codec that is not sparse, not 1"),
    ({"records": 3}, "records must equal span, 2, for a codec that is not sparse, not 3"),
    ({"records": "2"}, "records must be an int, not '2'"),
    ({"first": -1}, "first must be from 0 to 4294967295, not -1"),
    ({"payload": PAYLOAD[:-1]}, "payload must have 2 records of 36 bytes, 72 bytes, not 71"),
    ({"payload": PAYLOAD + b"\0"}, "payload must have 2 records of 36 bytes, 72 bytes, not 73"),
    ({"payload": b""}, "payload must have 2 records of 36 bytes, 72 bytes, not 0"),
    ({"payload": PAYLOAD, "codec": RAW},
     "payload must have 2 records of 256 bytes, 512 bytes, not 72"),
    ({"payload": np.zeros(72, np.uint8)},
     "payload must be bytes, a bytearray or a memoryview, not ndarray"),
    ({"payload": "0" * 72}, "payload must be bytes, a bytearray or a memoryview, not str"),
    ({"payload": memoryview(bytes(144))[::2]},
     "payload must be contiguous in memory, not a view with steps"),
]

KINDS = "must have uniform or exponential levels, not raw"
STAGES = [
    (lambda: golden.norms(VALUES, Norm.LARGEST), "values must have 2 dimensions and at least one"),
    (lambda: golden.norms(VALUES.reshape(4, 32), Norm.LARGEST),
     "bucket must be a power of two from 64 to 8192, not 32"),
    (lambda: golden.norms(ROWS, 2), "norm must be Norm.LARGEST or Norm.EUCLIDEAN, not 2"),
    (lambda: golden.positions(ROWS, NORMS, codec=RAW), KINDS),
    (lambda: golden.positions(VALUES, NORMS, codec=NUQSGD4), "values must have 2 dimensions"),
    (lambda: golden.positions(ROWS, NORMS[:1], codec=NUQSGD4),
     "norms must be a numpy array of 2 uint32, one for each bucket"),
    (lambda: golden.positions(ROWS, NORMS.view(np.float32), codec=NUQSGD4),
     "norms must be a numpy array of 2 uint32"),
    (lambda: golden.quantize(ROWS, NORMS, codec=NUQSGD4, draws=DRAWS[:1]),
     "draws must be a numpy array of 128 uint16, one for each element"),
    (lambda: golden.quantize(ROWS, NORMS, codec=NUQSGD4, draws=DRAWS.astype(int)),
     "draws must be a numpy array of 128 uint16, one for each element"),
    (lambda: golden.dequantize(CODES, NORMS, codec=RAW), KINDS),
    (lambda: golden.dequantize(CODES.astype(int), NORMS, codec=NUQSGD4),
     "codes must be a numpy array of uint8 with 2 dimensions"),
    (lambda: golden.dequantize(CODES[0], NORMS, codec=NUQSGD4),
     "codes must be a numpy array of uint8 with 2 dimensions"),
    (lambda: golden.dequantize(CODES, NORMS[:1], codec=NUQSGD4), "norms must be a numpy array of"),
    (lambda: golden.dequantize(CODES + np.uint8(16), NORMS, codec=NUQSGD4),
     "codes must be below 16, not 16"),
    (lambda: golden.magnitudes(NORMS, codec=RAW), KINDS),
    (lambda: golden.draws(0), "count must be at least 1, not 0"),
    (lambda: golden.draws(1.5), "count must be an int, not 1.5"),
    (lambda: golden.draws(1, stream=-1), "stream must be from 0 to 65535, not -1"),
    (lambda: golden.states(first=1 << 32), "first must be from 0 to 4294967295"),
]


def _refuses(text):
    return pytest.raises(FormatError, match=re.escape(text))


def _texts(cases):
    """Names of the cases that are the same in every run: none with an object's address."""
    return [text[:40] for _, text in cases]


@pytest.mark.parametrize("wrong, text", ENCODE + BOTH, ids=_texts(ENCODE + BOTH))
def test_encode(wrong, text):
    arguments = {"values": VALUES, "codec": NUQSGD4, "bucket": 64, **wrong}
    with _refuses(text):
        golden.encode(arguments.pop("values"), **arguments)


@pytest.mark.parametrize("wrong, text", DECODE + BOTH, ids=_texts(DECODE + BOTH))
def test_decode(wrong, text):
    arguments = {"payload": PAYLOAD, "codec": NUQSGD4, "bucket": 64, "span": 2, **wrong}
    with _refuses(text):
        golden.decode(arguments.pop("payload"), **arguments)


@pytest.mark.parametrize("call, text", STAGES, ids=_texts(STAGES))
def test_stages(call, text):
    with _refuses(text):
        call()


def test_nothing_wrong_is_not_refused():
    """The calls that the tests above spoil are right as they are."""
    assert len(golden.encode(VALUES, codec=NUQSGD4, bucket=64)) == len(PAYLOAD)
    assert golden.decode(PAYLOAD, codec=NUQSGD4, bucket=64, span=2).size == 128
    assert issubclass(FormatError, ValueError)
