"""How fast the top ``codec`` is: beats per clock, bubbles, latency; and the simulation itself."""

import time
from itertools import pairwise

import cocotb
import numpy as np
from tightwire.formats import RAW, Norm

from ..data import gradients
from .context import parameters, record
from .frames import floats_and_records
from .traffic import CODECS, Traffic
from .values import ordinary

_FEWEST_BEATS = 16  # of frames that are held to the line rate


def _span(traffic, bucket, beats=_FEWEST_BEATS):
    """Buckets in a frame of at least ``beats`` beats of float32."""
    return max(1, -(-beats * traffic.lanes // bucket))


async def finish_without_bubble(traffic):
    """Let everything through, and hold the uncompressed sides to a beat every clock."""
    source, sink = traffic.ways["tx"].source, traffic.ways["rx"].sink
    sent, came, stalls = len(source.taken), len(sink.taken), len(source.stalls)
    await traffic.finish()
    sent, came = source.taken[sent:], sink.taken[came:]
    stalls = source.stalls[stalls:]
    assert not stalls, f"{len(stalls)} bubbles at s_axis_tx, the first at clock {stalls[0]}"
    assert sent[-1] - sent[0] + 1 == len(sent)
    bubbles = [clock for before, clock in pairwise(came)
               if clock != before + 1]
    assert not bubbles, f"bubbles at m_axis_rx before clocks {bubbles[:5]}, {len(bubbles)} in all"
    return len(sent)


@cocotb.test()
async def line_rate_of_each(dut):
    """No bubble under any choice: frames of the fewest beats, back to back, and longer ones."""
    traffic = await Traffic.start(dut, cut_through=True)
    for codec in CODECS:
        for bucket in traffic.buckets:
            for span in sorted({_span(traffic, bucket, _FEWEST_BEATS),
                                _span(traffic, bucket, 3 * _FEWEST_BEATS)}):
                for _ in range(8 if bucket <= 512 else 3):
                    traffic.send(ordinary(traffic.np_rng, bucket * span),
                                 codec=codec, bucket=bucket)
        await finish_without_bubble(traffic)


@cocotb.test()
async def line_rate_of_turns(dut):
    """No bubble when choice and bucket size change with every frame: every pair of some."""
    traffic = await Traffic.start(dut, cut_through=True)
    buckets = sorted({traffic.buckets[0], traffic.buckets[len(traffic.buckets) // 2],
                      traffic.buckets[-1]})
    kinds = [(codec, bucket) for bucket in buckets
             for codec in (RAW, CODECS[1], CODECS[2], CODECS[12])]
    for n, (codec, bucket) in enumerate(kinds):
        for other, other_bucket in kinds[n:]:
            for kind, size in ((codec, bucket), (other, other_bucket)):
                traffic.send(ordinary(traffic.np_rng, size * _span(traffic, size)),
                             codec=kind, bucket=size)
    await finish_without_bubble(traffic)


@cocotb.test()
async def line_rate_from_raw_to_quantised(dut):
    """A bucket's norm and its first codes, two beats at one lane, leave no bubble behind raw."""
    for codec in CODECS[1:]:
        traffic = await Traffic.start(dut, cut_through=True)
        for kind in (RAW, codec, RAW):
            bucket = traffic.buckets[0]
            traffic.send(ordinary(traffic.np_rng, bucket * _span(traffic, bucket)),
                         codec=kind, bucket=bucket)
        await finish_without_bubble(traffic)


@cocotb.test()
async def line_rate_at_random(dut):
    """No bubble over random choices, bucket sizes and frame lengths."""
    traffic = await Traffic.start(dut, cut_through=True)
    for _ in range(parameters()["frames"]):
        bucket = traffic.buckets[min(int(traffic.rng.expovariate(0.8)),
                                     len(traffic.buckets) - 1)]
        beats = traffic.rng.choice((_FEWEST_BEATS, _FEWEST_BEATS, 17, 20, 32, 45))
        traffic.send(ordinary(traffic.np_rng, bucket * _span(traffic, bucket, beats)),
                     codec=traffic.rng.choice(CODECS), bucket=bucket)
    await finish_without_bubble(traffic)


@cocotb.test()
async def line_rate_of_stored_frames(dut):
    """No bubble at the float32 that comes in, where frames leave when they are whole."""
    traffic = await Traffic.start(dut, cut_through=False)
    sent = 0
    while sent < parameters()["frames"]:
        bucket = traffic.rng.choice(traffic.buckets[:5])
        span = _span(traffic, bucket, traffic.rng.choice((_FEWEST_BEATS, 24, 40)))
        codec = traffic.rng.choice(CODECS)
        if span * codec.record_words(bucket) * 4 <= traffic.config.frame_bytes:
            traffic.send(ordinary(traffic.np_rng, bucket * span), codec=codec, bucket=bucket)
            sent += 1
    await traffic.finish()
    stalls = traffic.ways["tx"].source.stalls
    assert not stalls, f"{len(stalls)} bubbles at s_axis_tx, the first at clock {stalls[0]}"


@cocotb.test()
async def latency(dut):
    """First beat in to first beat out, of each choice: what the top says, and the targets."""
    traffic = await Traffic.start(dut, cut_through=True)
    top, lanes = traffic.top, traffic.lanes
    beyond = []
    for codec in CODECS:
        for bucket in traffic.buckets:
            record_bytes = codec.record_words(bucket) * 4
            span = max(_span(traffic, bucket), -(-traffic.width // record_bytes))
            floats, records, decoded = floats_and_records(
                ordinary(traffic.np_rng, bucket * span), codec=codec, bucket=bucket)
            begun = {}
            for way, given, wanted in (("tx", floats, records), ("rx", records, decoded)):
                begun[way] = traffic.way_in(way, given), len(traffic.ways[way].sink.taken)
                traffic.way_out(way, wanted)
            await traffic.finish(quiet=8)
            clocks = {way: traffic.ways[way].sink.taken[came] - traffic.ways[way].source.taken[sent]
                      for way, (sent, came) in begun.items()}
            record(figure="latency", lanes=lanes, codec=str(codec), bucket=bucket, **clocks)
            said = {"tx": top.tx_latency(codec, bucket), "rx": top.rx_latency}
            if clocks != said:
                beyond.append(f"{codec}, {bucket}: {clocks}, where {said} is said")
            beats = bucket // lanes
            edges_and_store = 5
            most = 2 * beats + 80 if codec.norm == Norm.EUCLIDEAN else beats + 48
            if clocks["tx"] - edges_and_store > most:
                beyond.append(f"{codec}, {bucket}: the compressor takes "
                              f"{clocks['tx'] - edges_and_store} clocks, {most} are allowed")
            if clocks["rx"] - edges_and_store > 32:
                beyond.append(f"{codec}, {bucket}: the decompressor takes "
                              f"{clocks['rx'] - edges_and_store} clocks, 32 are allowed")
    assert not beyond, "\n".join(beyond)


@cocotb.test()
async def real_gradients(dut):
    """The captured gradients, every choice in turn; how fast they go, and are simulated."""
    traffic = await Traffic.start(dut, cut_through=True)
    bucket = 512 if 512 in traffic.buckets else traffic.buckets[-1]
    span = 16
    values = np.concatenate([gradient.values for gradient in gradients()])
    elements = parameters()["gradients"]
    values = np.resize(values, -(-elements // (bucket * span)) * bucket * span)
    for n, at in enumerate(range(0, len(values), bucket * span)):
        traffic.send(values[at:at + bucket * span], codec=CODECS[n % len(CODECS)],
                     bucket=bucket, stream=n % 7, message=n, first=n * span)
    clock = traffic.stepper.clock
    began, cpu = time.perf_counter(), time.process_time()
    beats = await finish_without_bubble(traffic)
    clocks = traffic.stepper.clock - clock
    record(figure="speed", lanes=traffic.lanes, bytes=len(values) * 4, beats=beats, clocks=clocks,
           seconds=time.perf_counter() - began, cpu_seconds=time.process_time() - cpu)
