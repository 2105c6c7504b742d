"""The parameters of every top, validated: one dataclass each."""

from dataclasses import dataclass

from .formats import BUCKETS

__all__ = ["ConfigError", "LANES", "CodecConfig", "check_choice"]

LANES = (1, 2, 4, 8, 16, 32, 64)
"""Legal numbers of 32-bit words in a beat."""


class ConfigError(ValueError):
    """A parameter has a value that cannot be built; the text names it and the legal values."""


def check_choice(name, value, choices):
    """``value`` where it is one of ``choices``, else ConfigError."""
    if isinstance(value, bool) or value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(map(str, choices))}, not {value!r}")
    return value


@dataclass(frozen=True, kw_only=True)
class CodecConfig:
    """Parameters of the ``codec`` top.

    Parameters
    ----------
    lanes : int
        32-bit words in a beat, one of ``LANES``.
    max_bucket : int
        The largest bucket that is built, in elements, one of ``formats.BUCKETS``. It sets the
        block RAM: the compressor keeps two such buckets. Frames with larger buckets are dropped
        and counted.
    frame_bytes : int
        The largest coded payload of one frame, in bytes, 1,024 to 65,536. Each direction has
        memory for two of them. Where frames are stored, one that does not fit that memory is
        dropped and counted.

    Raises
    ------
    ConfigError
    """

    lanes: int = 16
    max_bucket: int = 8192
    frame_bytes: int = 9216

    def __post_init__(self):
        check_choice("lanes", self.lanes, LANES)
        check_choice("max_bucket", self.max_bucket, BUCKETS)
        if not isinstance(self.frame_bytes, int) or not 1024 <= self.frame_bytes <= 65536:
            raise ConfigError(
                f"frame_bytes must be an int from 1024 to 65536, not {self.frame_bytes!r}")
