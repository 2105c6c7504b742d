"""Stations, headers and frames for the tests of this folder, with scapy as the second opinion."""

import struct

from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether

from tightwire.formats import MAGIC, VERSION

from ..support.layouts import join

__all__ = ["OURS", "PEERS", "ether", "frame_beats", "header", "random_side"]

OURS = {"mac": 0x02_00_00_00_00_01, "ip": 0x0A000001, "port": 0x5457}
PEERS = [{"mac": 0x02_AA_00_00_00_00 + n, "ip": 0xC0A80000 + 77 * n, "port": 1000 + n}
         for n in range(8)]


def _mac(number):
    return ":".join(f"{byte:02x}" for byte in number.to_bytes(6, "big"))


def _ip(number):
    return ".".join(str(byte) for byte in number.to_bytes(4, "big"))


def random_side(rng, **given):
    """The header's fields, at random but legal, by name."""
    side = {"kind": rng.choice([0, 1, 2, 3]), "codec": rng.getrandbits(8),
            "log2_bucket": rng.randint(6, 13), "flags": rng.getrandbits(1),
            "stream": rng.getrandbits(16), "message": rng.getrandbits(16),
            "sequence": rng.getrandbits(32), "first": rng.getrandbits(32),
            "span": rng.randint(1, 65535)}
    side["records"] = rng.randint(0, side["span"])
    return side | given


def header(side, *, magic=MAGIC, version=VERSION):
    """Our own 22 bytes."""
    return struct.pack(
        ">HBBBBHHIIHH", magic, version << 4 | side["kind"], side["codec"], side["log2_bucket"],
        side["flags"], side["stream"], side["message"], side["sequence"], side["first"],
        side["span"], side["records"])


def ether(payload, *, source, destination, checksum=0, **ip):
    """A UDP frame as scapy makes it; ``checksum`` None for one that is right."""
    udp = UDP(sport=source["port"], dport=destination["port"])
    if checksum is not None:
        udp.chksum = checksum
    ip = {"flags": "DF", "id": 0, "ttl": 64} | ip
    return bytes(Ether(src=_mac(source["mac"]), dst=_mac(destination["mac"]))
                 / IP(src=_ip(source["ip"]), dst=_ip(destination["ip"]), **ip) / udp / payload)


def frame_beats(layout, lanes, content, *, side=0, error=0):
    """The beats of one frame, as ints."""
    size = 4 * lanes
    return [join(layout, {
        "data": int.from_bytes(content[n:n + size], "little"), "first": n == 0,
        "last": n + size >= len(content), "empty": max(0, n + size - len(content)),
        "error": error and n + size >= len(content), "side": side})
        for n in range(0, len(content), size)]
