"""The top ``codec`` against the golden model, every byte, both ways at once."""

import cocotb
import numpy as np
from tightwire.formats import RAW

from .context import parameters
from .drivers import Pauses
from .frames import Frame, decoded
from .traffic import CODECS, Traffic
from .values import bits, hostile_records, ordinary, special_buckets

# A frame of more buckets than this is no different.
_SPANS = (1, 2, 3, 4, 7)


@cocotb.test()
@cocotb.parametrize(cut_through=[False, True])
async def each_codec(dut, cut_through):
    """Every choice, every bucket size, frames from one bucket up."""
    traffic = await Traffic.start(dut, cut_through=cut_through)
    for codec in CODECS:
        for bucket in traffic.buckets:
            for span in _SPANS if bucket <= 1024 else (1, 2):
                if traffic.fits(codec, bucket, span):
                    traffic.send(ordinary(traffic.np_rng, bucket * span),
                                 codec=codec, bucket=bucket)
    await traffic.finish()


@cocotb.test()
@cocotb.parametrize(cut_through=[False, True])
async def each_codec_in_short(dut, cut_through):
    """Every choice and a bypass frame with gaps and waits: for a simulator that takes its time."""
    traffic = await Traffic.start(dut, cut_through=cut_through)
    traffic.pause(Pauses(traffic.rng), Pauses(traffic.rng))
    bucket = traffic.buckets[0]
    for codec in CODECS:
        values = ordinary(traffic.np_rng, bucket)
        if codec.bits == 4:
            values[traffic.rng.randrange(bucket)] = traffic.rng.choice([np.nan, np.inf])
        traffic.send(values, codec=codec, bucket=bucket)
        traffic.send_bypass(traffic.rng.randbytes(traffic.rng.randrange(1, 3 * traffic.width)))
    await traffic.finish()


@cocotb.test()
async def one_bucket_frames(dut):
    """64 frames of one bucket in a row, of each choice, then the choices in turn."""
    traffic = await Traffic.start(dut)
    for codec in CODECS:
        values = ordinary(traffic.np_rng, 64)
        for _ in range(64):
            traffic.send(values, codec=codec, bucket=64, stream=1, message=2, first=3)
        await traffic.finish()
    for n in range(4 * len(CODECS)):
        traffic.send(ordinary(traffic.np_rng, 64), codec=CODECS[5 * n % len(CODECS)], bucket=64)
    await traffic.finish()


@cocotb.test()
async def special_values(dut):
    """NaN, infinities, subnormals, -0, zero buckets, the largest float32, norms that overflow."""
    traffic = await Traffic.start(dut, cut_through=True)
    for codec in CODECS:
        for bucket in traffic.buckets[:2]:
            buckets = special_buckets(traffic.np_rng, bucket)
            traffic.rng.shuffle(buckets)
            traffic.send(np.concatenate(buckets), codec=codec, bucket=bucket)
    await traffic.finish()


@cocotb.test()
async def hostile_content(dut):
    """Frames of the right length and any content: random bits, norms that no sender makes."""
    traffic = await Traffic.start(dut, cut_through=True)
    rng = traffic.np_rng
    for codec in CODECS:
        for bucket in traffic.buckets[:3]:
            span = 6
            # Mostly one bucket that is finite among many that are not, or the other way about.
            values = bits(rng, bucket * span).reshape(span, bucket)
            values[::2] = (values[::2].view(np.uint32) & 0xBFFFFFFF).view(np.float32)
            traffic.send(values.reshape(-1), codec=codec, bucket=bucket)
            frame = Frame(
                payload=hostile_records(rng, codec, bucket, span), codec=codec.byte,
                log2_bucket=bucket.bit_length() - 1, span=span)
            traffic.way_in("rx", frame)
            traffic.way_out("rx", decoded(frame))
    await traffic.finish()


@cocotb.test()
@cocotb.parametrize(cut_through=[False, True])
async def bypass_frames(dut, cut_through):
    """Bypass frames of one byte to some beats, a byte either side, alone and among others."""
    traffic = await Traffic.start(dut, cut_through=cut_through)
    width = traffic.width
    sizes = [1, 2, 3, *(beats * width + more for beats in (1, 2, 3, 4, 16) for more in (-1, 0, 1))]
    for among_others in (False, True):
        for size in sizes:
            traffic.send_bypass(traffic.rng.randbytes(size))
            if among_others:
                traffic.send(ordinary(traffic.np_rng, 64), codec=traffic.rng.choice(CODECS),
                             bucket=64)
        await traffic.finish()
    for _ in range(64):
        traffic.send_bypass(traffic.rng.randbytes(width))
    for _ in range(64):
        traffic.send_bypass(traffic.rng.randbytes(1), error=True)
    await traffic.finish()


def _send_random(traffic, frames):
    """Queue random frames; those of large buckets are rarer, since they take longer."""
    rng = traffic.rng
    for _ in range(frames):
        if rng.random() < 0.1:
            traffic.send_bypass(rng.randbytes(rng.randrange(1, 8 * traffic.width)),
                                error=rng.random() < 0.2)
            continue
        codec = rng.choice(CODECS)
        bucket = traffic.buckets[min(int(rng.expovariate(0.8)), len(traffic.buckets) - 1)]
        span = rng.randrange(1, max(2, min(24, 64 * traffic.lanes // bucket)))
        if traffic.fits(codec, bucket, span):
            traffic.send(ordinary(traffic.np_rng, bucket * span), codec=codec, bucket=bucket)


@cocotb.test()
@cocotb.parametrize(("source", [False, True]), ("sink", [False, True]),
                    ("cut_through", [False, True]))
async def random_frames(dut, source, sink, cut_through):
    """Random frames, with and without gaps in what comes and waits for what leaves."""
    traffic = await Traffic.start(dut, cut_through=cut_through)
    for _ in range(2):
        pauses = {name: Pauses(traffic.rng) for name, wanted in (
            ("source", source), ("sink", sink)) if wanted}
        traffic.pause(**pauses)
        _send_random(traffic, parameters()["frames"])
        await traffic.finish()


@cocotb.test()
@cocotb.parametrize(cut_through=[False, True])
async def long_waits(dut, cut_through):
    """The output stands still until everything inside is full, then moves beat by beat."""
    traffic = await Traffic.start(dut, cut_through=cut_through)
    traffic.pause(sink=Pauses(traffic.rng, going=(1, 2, 500), pausing=(1500,)))
    _send_random(traffic, parameters()["frames"])
    await traffic.finish()
    traffic.pause(sink=Pauses(traffic.rng, going=(1,), pausing=(1, 2, 3, 4)))
    _send_random(traffic, parameters()["frames"] // 2)
    await traffic.finish()


@cocotb.test()
async def reset_amid_frames(dut):
    """After a reset in the middle of frames, those are gone and the next ones are right."""
    traffic = await Traffic.start(dut, cut_through=True)
    for _ in range(6):
        traffic.pause(sink=Pauses(traffic.rng))
        _send_random(traffic, 12)
        await traffic.stepper.run(traffic.rng.randrange(20, 400))
        await traffic.reset()
        traffic.pause()
        _send_random(traffic, 6)
        await traffic.finish()


@cocotb.test()
async def largest_frame(dut):
    """The longest frame that a store holds, to the byte, passes it; so does one of 65 buckets."""
    traffic = await Traffic.start(dut)
    bucket = traffic.buckets[0]
    span = traffic.store // (RAW.record_words(bucket) * 4)
    for _ in range(3):
        traffic.send_bypass(traffic.rng.randbytes(traffic.store))
        traffic.send(ordinary(traffic.np_rng, bucket * span), codec=RAW, bucket=bucket)
        traffic.send(ordinary(traffic.np_rng, bucket * 65), codec=CODECS[1], bucket=bucket)
    await traffic.finish()
