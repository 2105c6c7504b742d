"""How gradients are summed: the choices, validated."""

from dataclasses import dataclass

from tightwire.config import ConfigError, check_choice
from tightwire.formats import BUCKETS, NUQSGD4, SPAN_MAX, Codec, Coding, FormatError, Levels

__all__ = ["COLLECTIVES", "FRAME_BYTES", "HEADER_BYTES", "Scheme"]

COLLECTIVES = ("scatter-reduce-allgather", "ring", "aggregator")

HEADER_BYTES = 64
"""Of a frame, before its payload (docs/wire-format.md, section 1)."""

FRAME_BYTES = 8950
"""Payload of the largest frame that common jumbo frames allow: 9014 bytes, less the headers."""


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """How workers sum a vector.

    Parameters
    ----------
    codec : Codec or str
        How contributions and partial sums are coded.
    result_codec : Codec or str, optional
        How the sum is coded on its way back; as ``codec`` if None.
    collective : str
        ``scatter-reduce-allgather``: each worker is sent its part of the vector by all others,
        adds up, and sends the sum to all; coded twice. ``ring``: partial sums go from worker to
        worker, decoded, added to and coded again at each; the sums then go round as they are.
        ``aggregator``: a card in the network is sent everything by all, and sends back the sum.
    bucket : int
        Elements in a bucket. Raw messages have buckets of 64, which changes their padding only.
    frame_bytes : int
        The largest payload of a frame. Draws start anew with each frame, so it is part of what
        decides the result.

    Raises
    ------
    ConfigError, FormatError
    """

    codec: Codec = NUQSGD4
    result_codec: Codec | None = None
    collective: str = COLLECTIVES[0]
    bucket: int = 512
    frame_bytes: int = FRAME_BYTES

    def __post_init__(self):
        codec = _codec("codec", self.codec)
        object.__setattr__(self, "codec", codec)
        result = codec if self.result_codec is None else _codec("result_codec", self.result_codec)
        object.__setattr__(self, "result_codec", result)
        check_choice("collective", self.collective, COLLECTIVES)
        check_choice("bucket", self.bucket, BUCKETS)
        least = max(self.record_bytes(each) for each in (codec, result))
        if (not isinstance(self.frame_bytes, int) or isinstance(self.frame_bytes, bool)
                or not least <= self.frame_bytes <= 65536):
            raise ConfigError(f"frame_bytes must be an int from {least}, a record of {codec} with "
                              f"buckets of {self.bucket}, to 65536, not {self.frame_bytes!r}")

    def bucket_of(self, codec):
        """Elements in a bucket of a message of that codec."""
        return BUCKETS[0] if codec.levels == Levels.RAW else self.bucket

    def record_bytes(self, codec):
        """Bytes of a record of that codec."""
        return 4 * codec.record_words(self.bucket_of(codec))

    def span(self, codec):
        """Buckets in a frame of that codec."""
        return min(self.frame_bytes // self.record_bytes(codec), SPAN_MAX)

    def payload_bytes(self, size, codec):
        """Bytes of a message of ``size`` elements, without headers."""
        return -(-size // self.bucket_of(codec)) * self.record_bytes(codec)

    def wire_bytes(self, size, codec):
        """Bytes of its frames, headers included."""
        frames = -(-size // (self.bucket_of(codec) * self.span(codec)))
        return self.payload_bytes(size, codec) + frames * HEADER_BYTES


def _codec(name, codec):
    if isinstance(codec, str):
        codec = Codec.parse(codec)
    if not isinstance(codec, Codec):
        raise ConfigError(f"{name} must be a Codec or the name of one, not {codec!r}")
    if codec.coding != Coding.FIXED or codec.sparse:
        raise FormatError(f"{name} {codec} is not built yet: coding must be fixed, and not sparse")
    return codec
