"""What a stream promises, and what a FIFO does, put as properties of a ``Proof``.

Names of properties go with the tests that break each of them.
"""

from amaranth.hdl import Mux, Signal, Value

__all__ = ["drive", "feed_frames", "feed_still", "keep_order", "keep_still"]


def drive(proof, i, o):
    """Anything at all at the input ``i``, and any waiting at the output ``o``."""
    payload = proof.free("i_payload", Value.cast(i.payload).shape())
    proof.m.d.comb += [
        i.valid.eq(proof.free("i_valid")),
        Value.cast(i.payload).eq(payload),
        o.ready.eq(proof.free("o_ready")),
    ]


def feed_frames(proof, i, steady=None):
    """Only whole frames at the input ``i``, a stream of beats.

    ``steady`` is what must be the same in all beats of a frame. Returns a signal that is set
    where the next beat begins a frame.
    """
    beat = i.p
    begin = Signal(init=1)
    with proof.m.If(i.valid & i.ready):
        proof.m.d.sync += begin.eq(beat.last)
    proof.assume(~i.valid | (beat.first == begin))
    proof.assume(~i.valid | beat.last | (beat.empty == 0))
    if steady is not None:
        before = Signal.like(steady)
        with proof.m.If(i.valid & i.ready):
            proof.m.d.sync += before.eq(steady)
        proof.assume(~i.valid | begin | (steady == before))
    return begin


def feed_still(proof, i):
    """Nothing changes at the input ``i`` while it waits."""
    waits = Signal()
    before = Signal.like(Value.cast(i.payload))
    proof.m.d.sync += [waits.eq(i.valid & ~i.ready), before.eq(i.payload)]
    proof.assume(~waits | i.valid & (Value.cast(i.payload) == before))


def keep_still(proof, o, seen):
    """Nothing changes at ``o`` while it waits; ``seen`` is what is looked at of its payload."""
    waits = Signal()
    before = Signal.like(seen)
    proof.m.d.sync += [waits.eq(o.valid & ~o.ready), before.eq(seen)]
    proof.must["valid stays"] = ~waits | o.valid
    proof.must["payload stays"] = ~waits | (seen == before)
    proof.may["it waits and goes on"] = waits & o.valid & o.ready


def keep_order(proof, o, *, come, value, seen, capacity, latency):
    """What comes in leaves, once, in order and in time.

    One item is followed, any one: how many are ahead of it, and what it was.

    Parameters
    ----------
    come : Value
        An item goes in, or in time will have to be as if it had.
    value, seen : Value
        What is looked at of the payload at both ends.
    capacity, latency : int
    """
    m = proof.m
    inside = Signal(range(2 * capacity))
    left = Signal()
    m.d.comb += left.eq(o.valid & o.ready)
    m.d.sync += inside.eq(inside + come - left)

    pick = proof.free("pick")
    followed = Signal()
    ahead = Signal.like(inside)
    wanted = Signal.like(value)
    with m.If(~followed & pick & come):
        m.d.sync += [followed.eq(1), wanted.eq(value), ahead.eq(inside - left)]
    with m.Elif(left):
        m.d.sync += [followed.eq(followed & (ahead != 0)), ahead.eq(ahead - 1)]

    late = Signal(range(latency + 1))
    m.d.sync += late.eq(Mux((inside != 0) & ~o.valid, late + 1, 0))
    proof.must["nothing is made up"] = ~left | (inside != 0)
    proof.must["in order"] = ~(left & followed & (ahead == 0)) | (seen == wanted)
    proof.must["in time"] = late < latency
    proof.must["no more than fits"] = inside <= capacity
    proof.may["it is full"] = inside == capacity
    proof.may["a full one empties"] = left & followed & (ahead == 0) & (wanted == 1)
    return inside
