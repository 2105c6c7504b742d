"""What goes beside the frames of a card: the fields of their headers."""

from amaranth.lib import data

from ..stream.beat import SIDE

__all__ = ["ADDRESS", "FRAME", "RX_SIDE", "TX_SIDE", "WHOLE"]

ADDRESS = data.StructLayout({"mac": 48, "ip": 32, "port": 16})
"""Where a station can be reached. Numbers as one writes them: the first byte on the wire is the
highest."""

FRAME = {name: field.shape for name, field in SIDE} | {
    "kind": 4,
    "flags": 8,
    "sequence": 32,
    "records": 16,
}
"""The codec's side band, and the rest of the header (wire-format.md, section 1)."""

RX_SIDE = data.StructLayout(FRAME | {"source": ADDRESS})
"""Beside a frame from the network. With ``bypass`` it is an ordinary frame, from its first byte
on; without, it is a payload, with the header taken off, and ``source`` is who sent it."""

TX_SIDE = data.StructLayout(FRAME | {"peer": 8, "bytes": 16})
"""Beside a frame to the network. With ``bypass`` it is an ordinary frame, which leaves as it is;
without, it is a payload of ``bytes`` bytes, to be sent to the entry ``peer`` of the table of
peers."""

WHOLE = data.StructLayout({"bypass": 1})
"""Beside whole Ethernet frames, ours and others, between the card and its MAC: nothing is to be
known, and ``bypass`` is 1."""
