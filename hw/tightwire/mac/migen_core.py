"""The Migen module that ``liteeth.generate`` writes out; imported only there."""

from litex.build.io import DDRInput
from litex.gen import ClockDomain, ClockDomainsRenamer, LiteXModule
from litex.soc.interconnect import stream
from liteeth.common import eth_fcs_length, eth_min_frame_length, eth_phy_description
from liteeth.mac.crc import LiteEthMACCRC32Inserter
from liteeth.mac.gap import LiteEthMACGap
from liteeth.mac.padding import LiteEthMACPaddingInserter
from liteeth.mac.preamble import LiteEthMACPreambleChecker, LiteEthMACPreambleInserter
from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
from liteeth.phy.gmii import LiteEthPHYGMIIRX, LiteEthPHYGMIITX
from migen import If, Signal

__all__ = ["make"]


class _Pads:
    def __init__(self, **widths):
        for name, width in widths.items():
            setattr(self, name, Signal(width, name_override=name))

    def signals(self):
        return set(vars(self).values())


class _GmiiRx(LiteEthPHYGMIIRX):
    """LiteEth's receiver, and rx_er beside its byte."""

    def __init__(self, pads):
        super().__init__(pads)
        self.sync += self.source.error.eq(pads.rx_er)


class _Gmii(LiteXModule):
    def __init__(self, pads):
        self.tx = ClockDomainsRenamer("eth_tx")(LiteEthPHYGMIITX(pads))
        self.rx = ClockDomainsRenamer("eth_rx")(_GmiiRx(pads))
        self.sink, self.source = self.tx.sink, self.rx.source


def _rgmii_error(rx):
    """rx_er of LiteEth's RGMII receiver: the exclusive-or of both halves of rx_ctl.

    Of the five DDR registers, that of rx_ctl is the one whose halves are bits 0 and 1 of one
    signal of two bits. Two registers stand between it and the byte, as there are for valid.
    """
    found = [special for special in rx._fragment.specials
             if isinstance(special, DDRInput) and len(special.o1.value) == 2]
    assert len(found) == 1, "LiteEth's receiver has changed"
    early = Signal()
    rx.sync += [early.eq(found[0].o1 ^ found[0].o2), rx.source.error.eq(early)]


class _Core(LiteXModule):
    def __init__(self, phy, pads, clocks):
        sink = self.sink = stream.Endpoint(eth_phy_description(8))
        source = self.source = stream.Endpoint(eth_phy_description(8))
        self.no_start = Signal(name_override="no_start")
        if phy == "gmii":
            self.cd_eth_rx = ClockDomain("eth_rx")
            self.cd_eth_tx = ClockDomain("eth_tx")
            self.comb += [
                self.cd_eth_rx.clk.eq(clocks.rx_clk), self.cd_eth_rx.rst.eq(clocks.rx_rst),
                self.cd_eth_tx.clk.eq(clocks.tx_clk), self.cd_eth_tx.rst.eq(clocks.tx_rst),
            ]
            self.phy = phy = _Gmii(pads)
        else:
            clock_pads = _Pads()
            clock_pads.rx, clock_pads.tx = clocks.rx_clk, clocks.tx_clk_pad
            self.phy = phy = LiteEthPHYRGMII(
                clock_pads, pads, with_hw_init_reset=False, tx_clk=clocks.tx_clk)
            _rgmii_error(phy.rx)
            # Its reset synchronises itself with both clocks.
            self.comb += phy.crg._reset.storage.eq(clocks.tx_rst)

        tx = ClockDomainsRenamer("eth_tx")
        self.padding = padding = tx(
            LiteEthMACPaddingInserter(8, eth_min_frame_length - eth_fcs_length))
        self.crc = crc = tx(LiteEthMACCRC32Inserter(eth_phy_description(8)))
        self.preamble = preamble = tx(LiteEthMACPreambleInserter(8))
        self.gap = gap = tx(LiteEthMACGap(8))
        marked = Signal()
        self.sync.eth_tx += If(
            sink.valid & sink.ready & sink.last, marked.eq(sink.error))
        self.comb += [
            sink.connect(padding.sink, omit={"last_be"}),
            padding.sink.last_be.eq(sink.last),
            padding.source.connect(crc.sink, omit={"last_be"}),
            crc.sink.last_be.eq(padding.source.last),
            crc.source.connect(preamble.sink),
            If(crc.fsm.ongoing("CRC") & marked, preamble.sink.data.eq(~crc.source.data)),
            preamble.source.connect(gap.sink),
            gap.source.connect(phy.sink),
        ]
        self.checker = checker = ClockDomainsRenamer("eth_rx")(LiteEthMACPreambleChecker(8))
        self.comb += [
            phy.source.connect(checker.sink),
            checker.source.connect(source),
            self.no_start.eq(checker.error),
            source.ready.eq(1),
        ]


def make(phy):
    """The core of a PHY, and the set of its ports."""
    clocks = _Pads(rx_clk=1, rx_rst=1, tx_clk=1, tx_rst=1)
    if phy == "gmii":
        pads = _Pads(rx_dv=1, rx_er=1, rx_data=8, tx_en=1, tx_er=1, tx_data=8)
    else:
        clocks.tx_clk_pad = Signal(name_override="tx_clk_pad")
        pads = _Pads(rx_ctl=1, rx_data=4, tx_ctl=1, tx_data=4)
    core = _Core(phy, pads, clocks)
    ports = clocks.signals() | pads.signals() | {core.no_start}
    for way, endpoint in (("sink", core.sink), ("source", core.source)):
        for name in ("valid", "data", "last", "error"):
            signal = getattr(endpoint, name)
            signal.name_override = f"{way}_{name}"
            ports.add(signal)
    core.sink.ready.name_override = "sink_ready"
    ports.add(core.sink.ready)
    return core, ports
