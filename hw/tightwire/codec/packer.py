"""From codes to the beats of a payload (wire-format.md, section 3)."""

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal
from amaranth.lib import data, memory, stream, wiring
from amaranth.lib.wiring import In, Out

from ..config import LANES, check_choice
from ..formats import BITS
from ..stream.beat import CODEC, beat_layout
from .choice import by_bits

__all__ = ["Packer"]


class Packer(wiring.Component):
    """Puts norms and codes one behind the other, and gives out whole beats.

    The words of an item go straight to their places in a memory that is written by words and
    read by beats; that memory is also the buffer for back-pressure. Nothing waits on the way
    in: who feeds it reserves room first.

    Latency ``Packer.latency`` clocks from the item that completes a beat; one item and one beat
    a clock.

    Parameters
    ----------
    lanes : int

    Members
    -------
    room : Out(1), an item may be reserved
    reserve, reserve_last : In(1), an item is on its way; it is the last of its frame
    i_valid, i : In, an item that was reserved:
        whole : its beat is what ``raw`` is ``raw_latency`` clocks later, ``empty`` with it
        norm_valid, norm : a norm goes before the codes
        codes, codec : lanes codes
        last, error : the item is the last of its frame, which is broken
    raw : In, lanes words
    o : Out, stream of beats without ``first`` and ``side``
    """

    depth = 32
    latency = 4
    raw_latency = 2

    def __init__(self, *, lanes):
        self.lanes = check_choice("lanes", lanes, LANES)
        beat = beat_layout(lanes)
        self.beat = data.StructLayout({
            name: beat[name].shape for name in ("data", "empty", "last", "error")})
        super().__init__({
            "room": Out(1), "reserve": In(1), "reserve_last": In(1),
            "i_valid": In(1),
            "raw": In(data.ArrayLayout(32, lanes)),
            "i": In(data.StructLayout({
                "whole": 1, "empty": beat["empty"].shape,
                "norm_valid": 1, "norm": 32, "codes": data.ArrayLayout(8, lanes),
                "codec": CODEC, "last": 1, "error": 1})),
            "o": Out(stream.Signature(self.beat)),
        })

    def elaborate(self, platform):
        m = Module()
        lanes = self.lanes
        lanes_log2 = lanes.bit_length() - 1
        item = self.i

        # 1: codes to words. Where a beat of codes is less than a word, several are gathered.
        width = max(1, lanes * max(BITS) // 32)
        gathered = Signal(32, reset_less=True)
        arranged = []  # for each number of bits: the words, and the beats that make one
        for bits in BITS:
            packed = Cat(code[:bits] for code in item.codes)
            if len(packed) < 32:
                packed = Cat(gathered[len(packed):], packed)
            count = len(packed) // 32
            # Repeated over the whole width, so that any rotation finds them.
            arranged.append((Cat(*[packed] * (width // count)), count, 32 // (lanes * bits) or 1))
        words = by_bits(item.codec, *(packed for packed, _, _ in arranged))
        phase = Signal(range(max(beats for _, _, beats in arranged)))
        complete = by_bits(item.codec, *(
            (phase | ~(beats - 1)).all() for _, _, beats in arranged))
        count = by_bits(item.codec, *(count for _, count, _ in arranged))
        valid_1 = Signal()
        words_1 = Signal(data.ArrayLayout(32, width), reset_less=True)
        count_1 = Signal(range(width + 1), reset_less=True)
        control = data.StructLayout({
            "whole": 1, "empty": item.empty.shape(), "norm_valid": 1, "norm": 32, "last": 1,
            "error": 1})
        item_1 = Signal(control, reset_less=True)
        m.d.sync += [
            valid_1.eq(self.i_valid),
            words_1.eq(words),
            count_1.eq(Mux(complete, count, 0)),
            *(item_1[name].eq(item[name]) for name in control.members),
        ]
        with m.If(self.i_valid):
            m.d.sync += [gathered.eq(words[-32:]), phase.eq(Mux(item.last, 0, phase + 1))]

        # 2: words to places. ``at`` is where the item begins in the beat being filled.
        at = Signal(lanes_log2)
        beat_at = Signal(range(self.depth))
        norm_valid = item_1.norm_valid & ~item_1.whole
        size = Signal(range(lanes + 1))
        end = Signal(range(2 * lanes))
        full = Signal()   # the beat is full,
        part = Signal()   # the frame ends within a beat
        rest = end[:lanes_log2]
        m.d.comb += [
            size.eq(Mux(item_1.whole, lanes, norm_valid + count_1)),
            end.eq(at + size),
            full.eq(end >= lanes),
            part.eq(item_1.last & ((rest != 0) | ~full)),
        ]
        codes_at = (at + norm_valid)[:max(0, width.bit_length() - 1)]
        words_2 = Signal(data.ArrayLayout(32, width), reset_less=True)
        rotated = Array(Cat(words_1[(k - shift) % width] for k in range(width))
                        for shift in range(width))
        write_2 = Signal(lanes)
        wrapped_2 = Signal(lanes, reset_less=True)
        norm_at_2 = Signal(lanes, reset_less=True)
        norm_2 = Signal(32, reset_less=True)
        whole_2 = Signal(reset_less=True)
        beat_at_2 = Signal(range(self.depth), reset_less=True)
        beat_after_2 = Signal(range(self.depth), reset_less=True)
        m.d.sync += [
            words_2.eq(rotated[codes_at] if width > 1 else words_1),
            norm_2.eq(item_1.norm), whole_2.eq(item_1.whole),
            beat_at_2.eq(beat_at), beat_after_2.eq(beat_at + 1),
        ]
        for lane in range(lanes):
            behind = (Const(lane, lanes_log2 + 1) - at)[:lanes_log2]
            m.d.sync += [
                write_2[lane].eq(valid_1 & (behind < size)),
                # A table, since a comparison would be made of carries.
                wrapped_2[lane].eq(Array(int(n > lane) for n in range(lanes))[at]),
                norm_at_2[lane].eq(norm_valid & (at == lane)),
            ]
        ends = Signal(2)
        m.d.comb += ends.eq(Mux(valid_1, full + part, 0))
        with m.If(valid_1):
            m.d.sync += [at.eq(Mux(item_1.last, 0, rest)), beat_at.eq(beat_at + ends)]

        # What is said of a beat. An item can end two of them: neighbours are in different banks.
        about = data.StructLayout({"last": 1, "error": 1, "empty": len(item.empty)})
        ends_first = item_1.last & ~(full & part)
        empty = Mux(item_1.whole, item_1.empty, (-end << 2)[:len(item.empty)])
        first_about = Cat(ends_first, ends_first & item_1.error, Mux(ends_first, empty, 0))
        second_about = Cat(Const(1), item_1.error, empty)
        abouts = []
        for bank in range(2):
            m.submodules[f"about_{bank}"] = ram = memory.Memory(
                shape=about, depth=self.depth // 2, init=[], attrs={"ram_style": "distributed"})
            port = ram.write_port()
            mine = beat_at[0] == bank
            m.d.comb += [
                port.en.eq(Mux(mine, ends != 0, ends == 2)),
                port.addr.eq(Mux(mine, beat_at, beat_at + 1)[1:]),
                port.data.eq(Mux(mine, first_about, second_about)),
            ]
            abouts.append(ram.read_port(domain="comb"))

        # The memory: a bank for each word, since an item's words go to two beats.
        read_at = Signal(range(self.depth))
        reads = []
        for lane in range(lanes):
            m.submodules[f"word_{lane}"] = ram = memory.Memory(
                shape=32, depth=self.depth, init=[], attrs={"ram_style": "distributed"})
            port = ram.write_port()
            m.d.comb += [
                port.en.eq(write_2[lane]),
                port.addr.eq(Mux(wrapped_2[lane], beat_after_2, beat_at_2)),
                port.data.eq(Mux(whole_2, self.raw[lane],
                                 Mux(norm_at_2[lane], norm_2, words_2[lane % width]))),
            ]
            read = ram.read_port(domain="comb")
            m.d.comb += read.addr.eq(read_at)
            reads.append(read)

        # Out: a beat that ended is readable when its words are, a clock after what is said of it.
        ended = Signal(2)
        level = Signal(range(self.depth + 1))
        take = Signal()
        said = Signal(about)
        m.d.comb += [
            take.eq((level != 0) & (~self.o.valid | self.o.ready)),
            *(port.addr.eq(read_at[1:]) for port in abouts),
            said.eq(Mux(read_at[0], abouts[1].data, abouts[0].data)),
        ]
        m.d.sync += [ended.eq(ends), level.eq(level + ended - take)]
        beat = Signal(self.beat, reset_less=True)
        m.d.comb += self.o.p.eq(beat)
        with m.If(~self.o.valid | self.o.ready):
            m.d.sync += self.o.valid.eq(level != 0)
        with m.If(take):
            m.d.sync += [read_at.eq(read_at + 1), beat.last.eq(said.last),
                         beat.error.eq(said.error), beat.empty.eq(said.empty)]
            for lane, read in enumerate(reads):
                m.d.sync += beat.data[lane].eq(
                    Mux((said.empty >> 2) + lane < lanes, read.data, 0))

        # Room: an item is reckoned as one beat, and one more for the end of a frame.
        free = Signal(range(self.depth + 1), init=self.depth)
        reserved = Mux(self.reserve, 1 + self.reserve_last, 0)
        returned = Mux(valid_1, 1 + item_1.last - ends, 0)
        m.d.comb += self.room.eq(free >= 2)
        m.d.sync += free.eq((free - reserved + returned + take)[:len(free)])
        return m
