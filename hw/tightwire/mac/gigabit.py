"""The MAC of 1 Gb/s: LiteEth's PHY and transmitter, and the receive side around it."""

from amaranth.hdl import (
    ClockDomain, ClockSignal, DomainRenamer, Instance, Module, ResetSignal, Signal)
from amaranth.lib import cdc, fifo, wiring
from amaranth.lib.wiring import In, Out

from ..config import check_choice
from ..stream.beat import BeatStream
from ..stream.width import WORD, Gather, Scatter
from .liteeth import PHYS, generate
from .receive import DROPS, ETHERNET, ReceiveCheck, ReceiveQueue

__all__ = ["GigabitMac"]

_PADS = {
    "gmii": {"rx_dv": In(1), "rx_er": In(1), "rx_data": In(8),
             "tx_en": Out(1), "tx_er": Out(1), "tx_data": Out(8)},
    "ecp5_rgmii": {"rx_ctl": In(1), "rx_data": In(4),
                   "tx_clk_pad": Out(1), "tx_ctl": Out(1), "tx_data": Out(4)},
}


class GigabitMac(wiring.Component):
    """Beats of one lane to and from a PHY of 1 Gb/s.

    Both ways at line rate. ``sync`` must be faster than 31.25 MHz, a word of each 4 bytes of the
    wire, and ``tx`` must not pause within a frame: it is to be stored whole before. Else
    ``underrun`` pulses and the frame leaves in two broken halves.

    Receiving: frames leave without FCS; what is wrong with one is a mark on its last beat and a
    pulse of ``drop``. Sending: frames are padded to 60 bytes, the FCS is appended; one that is
    marked leaves with an inverted FCS.

    Parameters
    ----------
    phy : str
        One of ``liteeth.PHYS``.
    max_frame : int
        The longest frame that is received, in bytes, without FCS.
    side : data.StructLayout
        Side band of ``tx``, where it is not looked at, and ``rx``.
    fields : dict
        What ``rx`` says in it. A FrameStore lets marked frames pass that have ``bypass``: set it
        to 0 before one.

    Members
    -------
    tx : In, rx : Out, streams of beats
    drop : Out, of layout ``receive.DROPS``: a clock high for each frame that is not good
    underrun : Out(1), the same for frames that were sent with a pause
    rx_clk, tx_clk : In(1), 125 MHz each; the domains ``mac_rx`` and ``mac_tx``
    the pads of the PHY : see docs/mac.md
    """

    lanes = 1

    def __init__(self, *, phy, max_frame=9216, side=ETHERNET, fields=None):
        self.phy = check_choice("phy", phy, PHYS)
        self.max_frame = max_frame
        self.side = side
        self.fields = {"bypass": 1} if fields is None else fields
        self._check = ReceiveCheck(lanes=1, max_frame=max_frame)
        super().__init__({
            "tx": In(BeatStream(1, side)), "rx": Out(BeatStream(1, side)),
            "drop": Out(DROPS), "underrun": Out(1),
            "rx_clk": In(1), "tx_clk": In(1), **_PADS[phy]})

    def sources(self):
        """The Verilog that has to go with this component's: a dict of file name and text."""
        name, text = generate(self.phy)
        return {f"{name}.v": text}

    def elaborate(self, platform):
        m = Module()
        name, text = generate(self.phy)
        if platform is not None:
            platform.add_file(f"{name}.v", text)
        for domain, clock in (("mac_rx", self.rx_clk), ("mac_tx", self.tx_clk)):
            m.domains += ClockDomain(domain, local=True)
            m.d.comb += ClockSignal(domain).eq(clock)
            m.submodules[f"{domain}_reset"] = cdc.ResetSynchronizer(
                ResetSignal("sync"), domain=domain)

        m.submodules.tx_fifo = queue = fifo.AsyncFIFO(
            width=WORD.size, depth=64, w_domain="sync", r_domain="mac_tx")
        given = Signal(WORD)
        m.submodules.scatter = scatter = DomainRenamer("mac_tx")(Scatter())
        m.d.comb += [
            given.data.eq(self.tx.p.data.as_value()), given.empty.eq(self.tx.p.empty),
            given.last.eq(self.tx.p.last), given.error.eq(self.tx.p.error),
            queue.w_data.eq(given), queue.w_en.eq(self.tx.valid),
            self.tx.ready.eq(queue.w_rdy),
            scatter.i.p.eq(queue.r_data), scatter.i.valid.eq(queue.r_rdy),
            queue.r_en.eq(scatter.i.ready),
        ]
        m.submodules.gather = gather = DomainRenamer("mac_rx")(Gather())
        m.submodules.check = check = DomainRenamer("mac_rx")(self._check)
        m.submodules.rx_queue = rx = ReceiveQueue(
            lanes=1, depth=64, domain="mac_rx", side=self.side, fields=self.fields)
        wiring.connect(m, rx.o, wiring.flipped(self.rx))
        no_start = Signal()
        m.d.comb += [
            check.i_valid.eq(gather.o_valid), check.i.eq(gather.o),
            rx.i_valid.eq(check.o_valid), rx.i.eq(check.o), rx.no_start.eq(no_start),
            self.drop.eq(rx.drop),
        ]
        m.submodules.liteeth = Instance(
            name,
            ("i", "rx_clk", ClockSignal("mac_rx")), ("i", "rx_rst", ResetSignal("mac_rx")),
            ("i", "tx_clk", ClockSignal("mac_tx")), ("i", "tx_rst", ResetSignal("mac_tx")),
            ("i", "sink_valid", scatter.o.valid), ("o", "sink_ready", scatter.o.ready),
            ("i", "sink_data", scatter.o.p.data), ("i", "sink_last", scatter.o.p.last),
            ("i", "sink_error", scatter.o.p.error),
            ("o", "source_valid", gather.i_valid), ("o", "source_data", gather.i.data),
            ("o", "source_last", gather.i.last), ("o", "source_error", gather.i.error),
            ("o", "no_start", no_start),
            *(("i" if member.flow == In else "o", pad, getattr(self, pad))
              for pad, member in self.signature.members.items() if pad in _PADS[self.phy]),
        )
        within = Signal()
        paused = Signal()
        m.d.comb += paused.eq(within & ~scatter.o.valid & scatter.o.ready)
        with m.If(scatter.o.valid & scatter.o.ready):
            m.d.mac_tx += within.eq(~scatter.o.p.last)
        with m.Elif(paused):
            m.d.mac_tx += within.eq(0)
        m.submodules.underrun = pulse = cdc.PulseSynchronizer("mac_tx", "sync")
        m.d.comb += [pulse.i.eq(paused), self.underrun.eq(pulse.o)]
        return m
