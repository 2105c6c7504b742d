"""Streams that go wrong, to see that a proof notices."""

from amaranth.hdl import Const, Mux, Value
from amaranth.lib import stream

__all__ = ["spoil"]

def spoil(proof, o, fault, bit=0):
    """The stream ``o`` with a fault that strikes whenever it likes.

    ``alter`` turns a bit of the payload over, ``hide`` says that there is nothing, ``lose``
    takes an item and keeps it, ``repeat`` gives one and keeps it.
    """
    now = proof.free("now")
    strikes = {name: now if name == fault else Const(0)
               for name in ("alter", "hide", "lose", "repeat")}
    worse = stream.Signature(o.payload.shape()).create(path=("worse",))
    payload = Value.cast(worse.payload)
    proof.m.d.comb += [
        worse.valid.eq(o.valid & ~strikes["hide"] & ~strikes["lose"]),
        payload.eq(Value.cast(o.payload) ^ (strikes["alter"] << bit)),
        o.ready.eq(Mux(strikes["hide"] | strikes["repeat"], 0, worse.ready | strikes["lose"])),
    ]
    return worse
