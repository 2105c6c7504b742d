"""The register file that a map describes, behind AXI4-Lite."""

from amaranth.hdl import C, Cat, Module, Mux, Shape, Signal, Value
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import ConfigError
from ..dma.axi import Response
from ..stream.queue import Queue
from .axi_lite import AxiLite
from .counter_bank import CounterBank
from .describe import COMMAND_DEPTH, WORD_BITS, Access

__all__ = ["RegisterFile", "bank_layout", "command_layout", "register_shape"]


def register_shape(register):
    """The shape of a register's value: its bits, or a layout where they have names."""
    if not register.fields:
        return Shape(register.bits)
    return data.FlexibleLayout(register.bits, {
        field.name: data.Field(field.bits, field.at) for field in register.fields})


def command_layout(command):
    """An entry that a command window pushes: its arguments by name."""
    return data.StructLayout({one.name: register_shape(one) for one in command.arguments})


def bank_layout(bank):
    """What may be added to the counters of a bank in a clock, by name."""
    return data.StructLayout({counter.name: counter.amount for counter in bank.counters})


class RegisterFile(wiring.Component):
    """Registers, command windows and counters, as a ``describe.Map`` has them.

    One write and one read at a time, apart from each other. AW and W may come in any order.
    Strobes say which bytes are written; the two lowest address bits make no difference. A read
    or write where nothing is, a write of what can only be read, and a push into a full queue
    change nothing and are answered with SLVERR. Every access is answered, after at most
    ``read_latency`` or ``write_latency`` clocks. All outputs of the bus come from registers.

    Parameters
    ----------
    map : describe.Map
    constants : dict of str to int
        Values of the map's constant registers, all of them.

    Members
    -------
    bus : In, AxiLite
    <register> : In if it is RO (and not constant), else Out; of ``register_shape``. RW: its
        value; PULSE: high for one clock; W1C: its value, whose bits are set by
    <register>_set : In, of the same shape
    <register>_cleared : Out, of the same shape: the bits that the host clears, for one clock
    <command> : Out, stream of ``command_layout``
    <bank> : In, of ``bank_layout``: what is added to each counter in this clock

    Raises
    ------
    ConfigError
        A constant is missing, or not known, or does not fit.
    """

    write_latency = 2
    read_latency = 2 + CounterBank.read_latency

    def __init__(self, map, constants=None):
        self.map = map
        self.constants = dict(constants or {})
        wanted = {name: one for name, one in map.registers.items() if one.constant}
        if wanted.keys() != self.constants.keys():
            raise ConfigError(f"constants must be {', '.join(wanted) or 'none'}, "
                              f"not {', '.join(self.constants) or 'none'}")
        for name, value in self.constants.items():
            if not 0 <= value < 1 << wanted[name].bits:
                raise ConfigError(f"{name} must fit {wanted[name].bits} bits, not {value!r}")
        members = {"bus": In(AxiLite(map.address_bits))}
        for name, one in map.registers.items():
            shape = register_shape(one)
            if one.access == Access.RO:
                members |= {} if one.constant else {name: In(shape)}
            elif one.access == Access.RW:
                members[name] = Out(shape, init=_init(shape, one.reset))
            else:
                members[name] = Out(shape)
            if one.access == Access.W1C:
                members |= {f"{name}_set": In(shape), f"{name}_cleared": Out(shape)}
        for name, command in map.commands.items():
            members[name] = Out(stream.Signature(command_layout(command)))
        for name, bank in map.banks.items():
            members[name] = In(bank_layout(bank))
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        bus = self.bus

        # ---- Writes: both channels are held, then one clock does it. ----
        aw, aw_valid = Signal(self.map.address_bits, reset_less=True), Signal()
        w, w_valid = Signal(bus.w.p.shape(), reset_less=True), Signal()
        do = Signal()
        done = Signal()  # there is such a register, and it can be written
        m.d.comb += [
            bus.aw.ready.eq(~aw_valid), bus.w.ready.eq(~w_valid),
            do.eq(aw_valid & w_valid & ~bus.b.valid),
        ]
        with m.If(bus.aw.ready):
            m.d.sync += [aw.eq(bus.aw.p), aw_valid.eq(bus.aw.valid)]
        with m.If(bus.w.ready):
            m.d.sync += [w.eq(bus.w.p), w_valid.eq(bus.w.valid)]
        with m.If(bus.b.ready):
            m.d.sync += bus.b.valid.eq(0)
        with m.If(do):
            m.d.sync += [
                aw_valid.eq(0), w_valid.eq(0), bus.b.valid.eq(1),
                bus.b.p.eq(Mux(done, Response.OKAY, Response.SLVERR)),
            ]
        strobes = Cat(bit.replicate(8) for bit in w.strobes)
        written = w.data & strobes

        def writes(offset):
            """Whether this clock writes the word at ``offset``; to be called inside an If of do."""
            return aw[2:] == offset >> 2

        reads = {}  # a value of up to 32 bits, by offset

        def storage(signal, offset):
            """The bits of a signal, as words that are read and written at ``offset``."""
            value = Value.cast(signal)
            for begin in range(0, len(value), WORD_BITS):
                word = value[begin:begin + WORD_BITS]
                at = offset + begin // 8
                reads[at] = word
                with m.If(do & writes(at)):
                    m.d.comb += done.eq(1)
                    mask = strobes[:len(word)]
                    m.d.sync += word.eq(word & ~mask | w.data[:len(word)] & mask)

        for name, one in self.map.registers.items():
            if one.constant:
                reads[one.offset] = C(self.constants[name], one.bits)
                continue
            value = Value.cast(getattr(self, name))
            if one.access == Access.RO:
                reads[one.offset] = value
            elif one.access == Access.RW:
                storage(value, one.offset)
            elif one.access == Access.PULSE:
                reads[one.offset] = C(0)
                m.d.sync += value.eq(0)
                with m.If(do & writes(one.offset)):
                    m.d.comb += done.eq(1)
                    m.d.sync += value.eq(written)
            else:
                reads[one.offset] = value
                clear = Signal(len(value), name=f"{name}_clear")
                with m.If(do & writes(one.offset)):
                    m.d.comb += [done.eq(1), clear.eq(written)]
                m.d.sync += [
                    value.eq(value & ~clear | Value.cast(getattr(self, f"{name}_set"))),
                    Value.cast(getattr(self, f"{name}_cleared")).eq(clear),
                ]

        for name, command in self.map.commands.items():
            layout = command_layout(command)
            staged = Signal(layout, name=f"{name}_staged",
                            init={one.name: _init(layout[one.name].shape, one.reset)
                                  for one in command.arguments})
            m.submodules[f"{name}_queue"] = queue = Queue(layout, COMMAND_DEPTH)
            wiring.connect(m, queue.o, wiring.flipped(getattr(self, name)))
            m.d.comb += queue.i.p.eq(staged)
            for one in command.arguments:
                storage(staged[one.name], command.offset + one.offset)
            push = command.offset + command.push
            reads[push] = Cat(~queue.i.ready, ~queue.o.valid)
            with m.If(do & writes(push)):
                m.d.comb += [done.eq(queue.i.ready | ~w.strobes.any()),
                             queue.i.valid.eq(w.strobes.any())]

        # ---- Reads: a fixed way, as long as that to a counter. ----
        steps = Signal(1 + CounterBank.read_latency)  # bit n: n clocks after it was asked
        ar = Signal(self.map.address_bits, reset_less=True)
        begin = Signal()
        m.d.comb += begin.eq(bus.ar.valid & bus.ar.ready)
        m.d.sync += steps.eq(Cat(begin, steps))
        with m.If(begin):
            m.d.sync += [ar.eq(bus.ar.p), bus.ar.ready.eq(0)]
        with m.Elif(~steps.any() & (~bus.r.valid | bus.r.ready)):
            m.d.sync += bus.ar.ready.eq(1)

        # Of each sixteen words one, then of these one, with a bit above that says it is there.
        pages = {}
        for offset, value in sorted(reads.items()):
            pages.setdefault(offset >> 6, {})[offset >> 2 & 15] = value
        chosen = []
        for number, values in pages.items():
            page = Signal(WORD_BITS + 1, reset_less=True, name=f"page_{number}")
            with m.Switch(ar[2:6]):
                for place, value in values.items():
                    with m.Case(place):
                        m.d.sync += page.eq(Cat(value, C(0, WORD_BITS - len(value)), C(1, 1)))
                with m.Default():
                    m.d.sync += page.eq(0)
            chosen.append((number, page))
        word = Signal(WORD_BITS + 1, reset_less=True)
        with m.Switch(ar[6:]):
            for number, page in chosen:
                with m.Case(number):
                    m.d.sync += word.eq(page)
            with m.Default():
                m.d.sync += word.eq(0)

        answer, there = Signal(WORD_BITS), Signal()
        m.d.comb += [answer.eq(word), there.eq(word[-1])]
        for name, described in self.map.banks.items():
            m.submodules[name] = bank = CounterBank(
                {counter.name: counter.amount for counter in described.counters})
            upper = Signal(WORD_BITS, reset_less=True, name=f"{name}_upper")
            here = Signal(name=f"{name}_here")
            low = described.offset
            high = low + 8 * len(described.counters)
            m.d.comb += [
                here.eq((ar >= low) & (ar < high)),
                bank.add.eq(getattr(self, name)),
                bank.read.eq(steps[0]),
                bank.index.eq((ar - low)[3:]),
            ]
            with m.If(here):
                m.d.comb += [there.eq(1), answer.eq(Mux(ar[2], upper, bank.value[:WORD_BITS]))]
            with m.If(steps[-1] & here & ~ar[2]):
                m.d.sync += upper.eq(bank.value[WORD_BITS:])

        with m.If(bus.r.ready):
            m.d.sync += bus.r.valid.eq(0)
        with m.If(steps[-1]):
            m.d.sync += [
                bus.r.valid.eq(1),
                bus.r.p.data.eq(Mux(there, answer, 0)),
                bus.r.p.response.eq(Mux(there, Response.OKAY, Response.SLVERR)),
            ]
        return m


def _init(shape, number):
    """An initial value of a shape, of its bits as a number."""
    if not isinstance(shape, data.Layout):
        return number
    return {name: number >> field.offset & (1 << Shape.cast(field.shape).width) - 1
            for name, field in shape}
