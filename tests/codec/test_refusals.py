"""Components refuse parameters that cannot be built, and say which can."""

import pytest

from tightwire.codec.bucket import BucketCounter
from tightwire.codec.check import FrameCheck
from tightwire.codec.dequantizer import Dequantizer
from tightwire.codec.norm import EuclideanPass, LargestPass
from tightwire.codec.packer import Packer
from tightwire.codec.quantizer import Quantizer
from tightwire.codec.unpacker import Unpacker
from tightwire.config import ConfigError

LANES = [BucketCounter, FrameCheck, Dequantizer, EuclideanPass, LargestPass, Packer, Quantizer,
         Unpacker]
MAX_BUCKET = [BucketCounter, FrameCheck, EuclideanPass, Unpacker]


def _others(kind):
    others = {"max_bucket": 512} if kind in MAX_BUCKET else {}
    return others | ({"records": True} if kind is FrameCheck else {})


@pytest.mark.parametrize("lanes", [0, 3, 128, -1, True, "4", None])
@pytest.mark.parametrize("kind", LANES)
def test_lanes(kind, lanes):
    with pytest.raises(ConfigError, match="lanes must be one of 1, 2, 4, 8, 16, 32, 64, not"):
        kind(lanes=lanes, **_others(kind))


@pytest.mark.parametrize("max_bucket", [0, 32, 96, 16384, None])
@pytest.mark.parametrize("kind", MAX_BUCKET)
def test_max_bucket(kind, max_bucket):
    with pytest.raises(ConfigError, match=r"max_bucket must be one of 64, 128, .*8192, not"):
        kind(lanes=4, **_others(kind) | {"max_bucket": max_bucket})
