"""The parameters of every top, validated: one dataclass each."""

from dataclasses import dataclass

from .formats import BUCKETS

__all__ = ["ConfigError", "LANES", "CodecConfig", "NicConfig", "check_choice"]

LANES = (1, 2, 4, 8, 16, 32, 64)
"""Legal numbers of 32-bit words in a beat."""


class ConfigError(ValueError):
    """A parameter has a value that cannot be built; the text names it and the legal values."""


def check_choice(name, value, choices):
    """``value`` where it is one of ``choices``, else ConfigError."""
    if isinstance(value, bool) or value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(map(str, choices))}, not {value!r}")
    return value


def _check_range(name, value, least, most):
    """ConfigError unless ``value`` is an int from ``least`` to ``most``."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ConfigError(f"{name} must be an int from {least} to {most}, not {value!r}")


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
        _check_range("frame_bytes", self.frame_bytes, 1024, 65536)


@dataclass(frozen=True, kw_only=True)
class NicConfig:
    """Parameters of the ``nic`` top.

    Parameters
    ----------
    lanes : int
        32-bit words in a beat, of the host's memory and of the network, one of ``LANES`` up
        to 16.
    max_bucket : int
        As for ``CodecConfig``.
    frame_bytes : int
        The longest Ethernet frame, without FCS, in bytes, 1,536 to 16,384.
    streams : int
        Streams that may be open in each direction, 1 to 64.
    messages : int
        Messages of each stream that may be under way, 2 to 16.
    regions : int
        Regions that may be posted at a time, 1 to 64.
    peers : int
        Entries of the table of peers, 1 to 256.

    Raises
    ------
    ConfigError
    """

    lanes: int = 16
    max_bucket: int = 8192
    frame_bytes: int = 9216
    streams: int = 16
    messages: int = 4
    regions: int = 16
    peers: int = 16

    def __post_init__(self):
        check_choice("lanes", self.lanes, [lanes for lanes in LANES if lanes <= 16])
        check_choice("max_bucket", self.max_bucket, BUCKETS)
        _check_range("frame_bytes", self.frame_bytes, 1536, 16384)
        _check_range("streams", self.streams, 1, 64)
        _check_range("messages", self.messages, 2, 16)
        _check_range("regions", self.regions, 1, 64)
        _check_range("peers", self.peers, 1, 256)
