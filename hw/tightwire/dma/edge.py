"""AXI4 at the edge of a top: standard signals outside, streams inside."""

from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from .axi import ADDRESS_BITS

__all__ = ["CACHE_ALLOCATE", "axi_members", "connect_axi"]

CACHE_ALLOCATE = 0b1111
"""Write-back, read and write allocate (AXI4, A4.4): what is written may be put into a cache, which
on a platform with direct cache access is where the host will look for it."""

_INCR = 0b01

_EDGE_LANES = [lanes for lanes in LANES if 4 * lanes <= 128]  # AXI4, A3.4.1: a beat's size


def axi_members(prefix, lanes, id_bits):
    """Flat members ``{prefix}_awaddr`` and so on of a master, for the signature of a top.

    ConfigError for more than 32 lanes, which AXI4 does not have.
    """
    check_choice("lanes", lanes, _EDGE_LANES)
    members = {}
    for channel in ("aw", "ar"):
        members |= {
            f"{channel}id": Out(id_bits), f"{channel}addr": Out(ADDRESS_BITS),
            f"{channel}len": Out(8), f"{channel}size": Out(3), f"{channel}burst": Out(2),
            f"{channel}cache": Out(4), f"{channel}prot": Out(3), f"{channel}valid": Out(1),
            f"{channel}ready": In(1)}
    members |= {
        "wdata": Out(32 * lanes), "wstrb": Out(4 * lanes), "wlast": Out(1), "wvalid": Out(1),
        "wready": In(1),
        "bid": In(id_bits), "bresp": In(2), "bvalid": In(1), "bready": Out(1),
        "rid": In(id_bits), "rdata": In(32 * lanes), "rresp": In(2), "rlast": In(1),
        "rvalid": In(1), "rready": Out(1),
    }
    return {f"{prefix}_{name}": member for name, member in members.items()}


def connect_axi(m, top, prefix, lanes, read, write, *, cache=CACHE_ALLOCATE):
    """Connects the flat members of ``top`` to an AxiRead and an AxiWrite, both with ids.

    All bursts are INCR, of whole beats, unprivileged, with ``cache`` (AXI4, A4.4). There is no
    register here: ReadJoin and WriteJoin have one in each channel.
    """
    def port(name):
        return getattr(top, f"{prefix}_{name}")

    for channel, bursts in (("aw", write.aw), ("ar", read.ar)):
        m.d.comb += [
            port(f"{channel}id").eq(bursts.p.id),
            port(f"{channel}addr").eq(bursts.p.address),
            port(f"{channel}len").eq(bursts.p.beats),
            port(f"{channel}size").eq((4 * lanes).bit_length() - 1),
            port(f"{channel}burst").eq(_INCR),
            port(f"{channel}cache").eq(cache),
            port(f"{channel}prot").eq(0),
            port(f"{channel}valid").eq(bursts.valid),
            bursts.ready.eq(port(f"{channel}ready")),
        ]
    w, b, r = write.w, write.b, read.r
    m.d.comb += [
        port("wdata").eq(w.p.data), port("wstrb").eq(w.p.strobes), port("wlast").eq(w.p.last),
        port("wvalid").eq(w.valid), w.ready.eq(port("wready")),
        b.p.id.eq(port("bid")), b.p.response.eq(port("bresp")), b.valid.eq(port("bvalid")),
        port("bready").eq(b.ready),
        r.p.id.eq(port("rid")), r.p.data.eq(port("rdata")), r.p.response.eq(port("rresp")),
        r.p.last.eq(port("rlast")), r.valid.eq(port("rvalid")), port("rready").eq(r.ready),
    ]
