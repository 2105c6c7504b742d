"""The first 64 bytes of a frame: Ethernet, IPv4, UDP and our own header."""

from amaranth.hdl import Cat

from ..config import LANES, check_choice
from ..formats import HEADER_BYTES

__all__ = ["FIELDS", "HEADER_WORDS", "IP_AT", "OWN_AT", "UDP_AT", "check_lanes", "field_of"]

HEADER_WORDS = HEADER_BYTES // 4

IP_AT, UDP_AT, OWN_AT = 14, 34, 42
"""Where the parts begin: IPv4 without options, UDP, our header."""

FIELDS = {
    "destination_mac": (0, 6), "source_mac": (6, 6), "ethertype": (12, 2),
    "ip_version": (14, 1), "ip_service": (15, 1), "ip_length": (16, 2), "ip_id": (18, 2),
    "ip_fragment": (20, 2), "ip_ttl": (22, 1), "ip_protocol": (23, 1), "ip_checksum": (24, 2),
    "source_ip": (26, 4), "destination_ip": (30, 4),
    "source_port": (34, 2), "destination_port": (36, 2), "udp_length": (38, 2),
    "udp_checksum": (40, 2),
    "magic": (42, 2), "version_kind": (44, 1), "codec": (45, 1), "log2_bucket": (46, 1),
    "flags": (47, 1), "stream": (48, 2), "message": (50, 2), "sequence": (52, 4),
    "first": (56, 4), "span": (60, 2), "records": (62, 2),
}
"""Offset and size, in bytes, of each field (RFC 894, 791, 768; wire-format.md, section 1)."""


def check_lanes(lanes):
    """``lanes`` where the header is whole beats, else ConfigError."""
    return check_choice("lanes", lanes, [n for n in LANES if n <= HEADER_WORDS])


def field_of(header, name):
    """A field of the 64 bytes as a number: the bytes of the wire are big-endian."""
    offset, size = FIELDS[name]
    return Cat(header.word_select(offset + n, 8) for n in reversed(range(size)))
