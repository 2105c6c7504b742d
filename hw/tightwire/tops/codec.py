"""The bare codec: payload streams in and out, for somebody who frames the data themselves."""

from amaranth.hdl import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from ..codec.check import DROPS
from ..codec.compressor import Compressor
from ..codec.decompressor import Decompressor
from ..config import CodecConfig
from ..stream.axis import AxisInput, AxisOutput, axis_members

__all__ = ["CodecTop"]


class CodecTop(wiring.Component):
    """A compressor and a decompressor side by side, with AXI-Stream edges.

    ``tx`` is towards the network, float32 in and records out; ``rx`` is from it, records in and
    float32 out. A frame is a payload; what is said about it comes in tuser (``stream.axis.USER``)
    with its first beat. A frame with ``bypass`` passes as it is, to the byte.

    Frames leave once they are whole, and malformed ones not at all. With ``cut_through`` high
    (steady while frames are inside) a beat leaves as soon as it can, and a frame that turns out
    to be malformed ends with the error mark.

    The uncompressed side moves a beat every clock. Latency with ``cut_through``:
    ``tx_latency(codec, bucket)`` and ``rx_latency``, in clocks, first beat in to first beat out.

    Parameters
    ----------
    config : CodecConfig

    Members
    -------
    s_axis_tx_*, m_axis_tx_*, s_axis_rx_*, m_axis_rx_* : AXI-Stream, tdata 32 bits a lane
    cut_through : In(1)
    tx_frames, rx_frames : Out(32), frames that left without an error mark
    tx_dropped_*, rx_dropped_* : Out(32), frames that did not, by reason; all of them wrap
    """

    def __init__(self, config=CodecConfig()):
        self.config = config
        lanes = config.lanes
        members = {}
        for way in ("tx", "rx"):
            members |= axis_members(f"s_axis_{way}", lanes, In)
            members |= axis_members(f"m_axis_{way}", lanes, Out)
            members[f"{way}_frames"] = Out(32)
            members |= {f"{way}_dropped_{reason}": Out(32) for reason in DROPS.members}
        super().__init__(members | {"cut_through": In(1)})

    def _coder(self, way):
        kind = {"tx": Compressor, "rx": Decompressor}[way]
        return kind(lanes=self.config.lanes, max_bucket=self.config.max_bucket,
                    store_bytes=2 * self.config.frame_bytes)

    _edges = AxisInput.latency + AxisOutput.latency

    def tx_latency(self, codec, bucket):
        return self._coder("tx").latency(codec, bucket) + self._edges

    @property
    def rx_latency(self):
        return self._coder("rx").latency + self._edges

    def elaborate(self, platform):
        m = Module()
        lanes = self.config.lanes
        for way in ("tx", "rx"):
            coder = self._coder(way)
            source = AxisInput(lanes=lanes)
            sink = AxisOutput(lanes=lanes)
            m.submodules[f"{way}_input"] = source
            m.submodules[f"{way}_coder"] = coder
            m.submodules[f"{way}_output"] = sink
            source.connect(m, self, f"s_axis_{way}")
            sink.connect(m, self, f"m_axis_{way}")
            wiring.connect(m, source.o, coder.i)
            wiring.connect(m, coder.o, sink.i)
            m.d.comb += coder.cut_through.eq(self.cut_through)

            left = sink.i.valid & sink.i.ready & sink.i.p.last & ~sink.i.p.error
            frames = getattr(self, f"{way}_frames")
            m.d.sync += frames.eq(frames + left)
            for reason in DROPS.members:
                count = getattr(self, f"{way}_dropped_{reason}")
                m.d.sync += count.eq(count + coder.drop[reason])
        return m
