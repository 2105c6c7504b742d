"""AXI4-Lite as streams, and its flat signals for the edge of a top."""

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..dma.axi import Response

__all__ = ["AxiLite", "axi_lite_members", "connect_axi_lite"]

_STROBES = 4


def AxiLite(address_bits):
    """The five channels of a master, with data of 32 bits.

    Members
    -------
    aw, ar : Out, stream of a byte address
    w : Out, stream of data, strobes
    b : In, stream of a Response
    r : In, stream of data, response
    """
    return wiring.Signature({
        "aw": Out(stream.Signature(address_bits)),
        "w": Out(stream.Signature(data.StructLayout({"data": 32, "strobes": _STROBES}))),
        "b": In(stream.Signature(Response)),
        "ar": Out(stream.Signature(address_bits)),
        "r": In(stream.Signature(data.StructLayout({"data": 32, "response": Response}))),
    })


def _payloads(bus):
    """For each channel: its stream, and its signals by their standard names."""
    return {
        "aw": (bus.aw, {"awaddr": bus.aw.p}),
        "w": (bus.w, {"wdata": bus.w.p.data, "wstrb": bus.w.p.strobes}),
        "b": (bus.b, {"bresp": bus.b.p}),
        "ar": (bus.ar, {"araddr": bus.ar.p}),
        "r": (bus.r, {"rdata": bus.r.p.data, "rresp": bus.r.p.response}),
    }


_WIDTHS = {"wdata": 32, "wstrb": _STROBES, "bresp": 2, "rdata": 32, "rresp": 2}


def axi_lite_members(prefix, address_bits):
    """Flat members of a slave, ``{prefix}_awaddr`` and so on, for the signature of a top.

    Without awprot and arprot: who asks makes no difference.
    """
    widths = _WIDTHS | {"awaddr": address_bits, "araddr": address_bits}
    members = {}
    for channel, flow in (("aw", In), ("w", In), ("b", Out), ("ar", In), ("r", Out)):
        for name in [name for name in ("awaddr", "araddr", *_WIDTHS)
                     if name.removeprefix(channel) in ("addr", "data", "strb", "resp")]:
            members[f"{prefix}_{name}"] = flow(widths[name])
        members[f"{prefix}_{channel}valid"] = flow(1)
        members[f"{prefix}_{channel}ready"] = flow.flip()(1)
    return members


def connect_axi_lite(m, top, prefix, bus):
    """Connect the flat members of ``top`` with ``bus``, the port of a slave below it."""
    def outer(name):
        return getattr(top, f"{prefix}_{name}")

    for channel, (port, signals) in _payloads(bus).items():
        inward = channel in ("aw", "w", "ar")
        if inward:
            m.d.comb += [port.valid.eq(outer(f"{channel}valid")),
                         outer(f"{channel}ready").eq(port.ready)]
            m.d.comb += [inner.eq(outer(name)) for name, inner in signals.items()]
        else:
            m.d.comb += [outer(f"{channel}valid").eq(port.valid),
                         port.ready.eq(outer(f"{channel}ready"))]
            m.d.comb += [outer(name).eq(inner) for name, inner in signals.items()]
