"""Two codecs back to back, each one's network side on the other's."""

from dataclasses import asdict, replace

from amaranth.hdl import ClockSignal, Instance, Module, ResetSignal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out
from tightwire.codec.check import DROPS
from tightwire.config import CodecConfig
from tightwire.stream.axis import axis_members
from tightwire.stream.buffer import Buffer
from tightwire.tools.verilog import generate
from tightwire.tops.codec import CodecTop

__all__ = ["CodecPair", "pair_design"]


def pair_design(config=CodecConfig()):
    """Verilog of a CodecPair, as ``generate`` would make it but in half the time.

    Parameters
    ----------
    config : CodecConfig

    Returns
    -------
    tightwire.tools.verilog.Design
    """
    parameters = asdict(config)
    top = CodecTop(config)
    pair = CodecPair(config, codec=lambda _: _Instance(top.signature))
    design = generate(pair, name=f"tightwire_pair_{config.lanes}", parameters=parameters)
    codec = generate(top, name=_Instance.module, parameters=parameters)
    return replace(design, text=f"{design.text}\n{codec.text}")


class _Instance(wiring.Component):
    """Stands for a CodecTop, whose Verilog is made elsewhere: once for both of a pair."""

    module = "tightwire_codec"

    def elaborate(self, platform):
        m = Module()
        m.submodules.codec = Instance(
            self.module, ("i", "clk", ClockSignal()), ("i", "rst", ResetSignal()),
            *(("i" if member.flow == In else "o", name, getattr(self, name))
              for name, member in self.signature.members.items()))
        return m


class CodecPair(wiring.Component):
    """Codecs ``a`` and ``b``, joined by a registered wire each way.

    What goes into ``a_s_axis`` comes out of ``b_m_axis``, and the other way about. The wires
    can be watched.

    Parameters
    ----------
    config : CodecConfig
        Of both.
    codec : callable
        Makes a codec of its configuration.

    Members
    -------
    a_s_axis_*, a_m_axis_*, b_s_axis_*, b_m_axis_* : AXI-Stream, float32
    a_wire_*, b_wire_* : Out, the records that the codec sends: the signals of an AXI-Stream,
        tready among them
    cut_through : In(1), of both
    a_tx_frames, ..., b_rx_dropped_long : Out(32), the counters of the codecs
    """

    def __init__(self, config=CodecConfig(), *, codec=CodecTop):
        self.config = config
        self._codec = codec
        lanes = config.lanes
        members = {"cut_through": In(1)}
        self._counters = [f"{way}_{what}" for way in ("tx", "rx")
                          for what in ("frames", *(f"dropped_{name}" for name in DROPS.members))]
        for side in ("a", "b"):
            members |= axis_members(f"{side}_s_axis", lanes, In)
            members |= axis_members(f"{side}_m_axis", lanes, Out)
            # All of them only to look at.
            members |= {name: Out(member.shape)
                        for name, member in axis_members(f"{side}_wire", lanes, Out).items()}
            members |= {f"{side}_{name}": Out(32) for name in self._counters}
        super().__init__(members)

    def elaborate(self, platform):
        m = Module()
        codecs = {"a": self._codec(self.config), "b": self._codec(self.config)}
        m.submodules.a, m.submodules.b = codecs.values()
        signals = [name.removeprefix("x_") for name in axis_members("x", self.config.lanes, In)]
        payload = [name for name in signals if name not in ("tvalid", "tready")]
        for side, other in (("a", "b"), ("b", "a")):
            codec, far = codecs[side], codecs[other]
            m.d.comb += codec.cut_through.eq(self.cut_through)
            m.d.comb += [getattr(self, f"{side}_{name}").eq(getattr(codec, name))
                         for name in self._counters]
            for name in signals:
                for outer, inner, towards in (
                        ("s_axis", "s_axis_tx", name != "tready"),
                        ("m_axis", "m_axis_rx", name == "tready")):
                    ours = getattr(self, f"{side}_{outer}_{name}")
                    theirs = getattr(codec, f"{inner}_{name}")
                    m.d.comb += theirs.eq(ours) if towards else ours.eq(theirs)

            def port(component, prefix):
                return {name: getattr(component, f"{prefix}_{name}") for name in signals}

            sends, takes = port(codec, "m_axis_tx"), port(far, "s_axis_rx")
            wire = Buffer(data.StructLayout({name: len(sends[name]) for name in payload}))
            m.submodules[f"{side}_wire"] = wire
            m.d.comb += [
                wire.i.valid.eq(sends["tvalid"]),
                sends["tready"].eq(wire.i.ready),
                *(wire.i.p[name].eq(sends[name]) for name in payload),
                takes["tvalid"].eq(wire.o.valid),
                wire.o.ready.eq(takes["tready"]),
                *(takes[name].eq(wire.o.p[name]) for name in payload),
                *(getattr(self, f"{side}_wire_{name}").eq(sends[name]) for name in signals),
            ]
        return m
