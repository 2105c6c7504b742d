"""A deep queue of anything, in block RAM."""

from amaranth.hdl import Module, Mux, Shape, Signal
from amaranth.lib import memory, stream, wiring
from amaranth.lib.wiring import In, Out

__all__ = ["RamReader", "RamQueue", "following"]


def following(pointer, depth):
    """The place behind ``pointer`` in a ring of ``depth`` places."""
    return Mux(pointer == depth - 1, 0, pointer + 1)


class RamReader(wiring.Component):
    """The memory of a queue and its read side; the owner keeps the write side.

    Between the RAM's own register and what follows stands another one, since a block RAM's
    output comes late in the clock. Latency 2 clocks from ``add``; one entry a clock.

    Parameters
    ----------
    shape : shape-like
    depth : int

    Members
    -------
    write, write_at, data : In
    add : In, how many entries more may be read from the next clock on
    taken : Out(1), an entry has been read: its place is free
    moved : Out(1), the entry ``next`` goes to the output with this clock
    o : Out, stream
    """

    def __init__(self, shape, depth):
        self.shape = shape
        self.depth = depth
        super().__init__({
            "write": In(1), "write_at": In(range(depth)), "data": In(shape),
            "add": In(range(depth + 1)), "taken": Out(1), "moved": Out(1), "next": Out(shape),
            "o": Out(stream.Signature(shape)),
        })

    def elaborate(self, platform):
        m = Module()
        m.submodules.ram = ram = memory.Memory(
            shape=Shape.cast(self.shape), depth=self.depth, init=[],
            attrs={"ram_style": "block"})
        write, read = ram.write_port(), ram.read_port()
        readable = Signal(range(self.depth + 1))
        read_at = Signal(range(self.depth))
        read_valid = Signal()
        held = Signal(self.shape, reset_less=True)
        go = Signal()
        m.d.comb += [
            write.en.eq(self.write), write.addr.eq(self.write_at), write.data.eq(self.data),
            go.eq(~self.o.valid | self.o.ready),
            self.moved.eq(go & read_valid),
            self.next.eq(read.data),
            self.taken.eq((~read_valid | go) & (readable != 0)),
            read.en.eq(self.taken), read.addr.eq(read_at),
            self.o.payload.eq(held),
        ]
        m.d.sync += readable.eq(readable + self.add - self.taken)
        with m.If(self.taken):
            m.d.sync += read_at.eq(following(read_at, self.depth))
        with m.If(~read_valid | go):
            m.d.sync += read_valid.eq(self.taken)
        with m.If(go):
            m.d.sync += self.o.valid.eq(read_valid)
        with m.If(self.moved):
            m.d.sync += held.eq(read.data)
        return m


class RamQueue(wiring.Component):
    """A FIFO of ``shape`` in block RAM. Latency 3 clocks; one entry a clock."""

    latency = 3

    def __init__(self, shape, depth):
        self.shape = shape
        self.depth = depth
        super().__init__({"i": In(stream.Signature(shape)), "o": Out(stream.Signature(shape))})

    def elaborate(self, platform):
        m = Module()
        m.submodules.reader = reader = RamReader(self.shape, self.depth)
        wiring.connect(m, reader.o, wiring.flipped(self.o))
        free = Signal(range(self.depth + 1), init=self.depth)
        m.d.comb += [
            self.i.ready.eq(free != 0),
            reader.write.eq(self.i.valid & self.i.ready),
            reader.data.eq(self.i.payload),
            reader.add.eq(reader.write),
        ]
        m.d.sync += free.eq(free - reader.write + reader.taken)
        with m.If(reader.write):
            m.d.sync += reader.write_at.eq(following(reader.write_at, self.depth))
        return m
