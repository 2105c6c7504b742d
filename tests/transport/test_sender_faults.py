"""Sender through a network with faults, and with a host that closes streams in the middle."""

import random

import pytest

from tightwire.dma.transfer import Status
from tightwire.formats import Codec
from tightwire_sim.transport import Ack
from tightwire_sim.transport import Sender as Reference

from .senders import CONFIG, Bench, ack_of, descriptor, outcomes

SEED = 73
FAULTS = ("loss", "doubled", "disorder", "corrupt")


def _rates(rate):
    return dict.fromkeys(FAULTS, rate)


@pytest.mark.parametrize("on_data, on_acks", [
    (0, 0), (0.01, 0.01), (0.2, 0), (0, 0.2), (0.2, 0.2)])
def test_exactly_once(on_data, on_acks):
    """Three streams whose numbers wrap, messages of all sizes, all four faults at each rate."""
    rng = random.Random(f"{SEED} {on_data} {on_acks}")
    bench = Bench(rng, timeout=900, on_data=_rates(on_data), on_acks=_rates(on_acks),
                  paces=rng.choice([(1, 1, 1), (0.3, 0.2, 0.5)]))
    for entry, stream in enumerate((0x10, 0xFFFF, 7)):
        bench.open(entry, stream, rng.choice([2**32 - 1, 2**32 - 9, 2**31 - 5, 0]))
    for tag in range(70 if on_data == 0.01 else 10):
        stream = rng.choice([0x10, 0xFFFF, 7])
        log2_bucket = rng.choice([6, 7, 9])
        span = rng.choice([1, 2, 3])
        bucket = 4 << log2_bucket
        bench.send(descriptor(
            stream, tag, tag=tag, log2_bucket=log2_bucket, span=span,
            codec=Codec.parse(rng.choice(["qsgd-4", "nuqsgd-2", "uniform-largest-8"])).byte,
            address=rng.getrandbits(62) * 4, index=rng.getrandbits(16),
            bytes=rng.choice([4, bucket - 4, bucket, bucket + 4,
                              4 * rng.randint(1, rng.choice([10, 80]) * span * bucket // 4)])))
    bench.run(bench.done(len(bench.messages)))
    bench.check_all_had()
    if not on_data and not on_acks:
        assert not bench.events["again"] and not bench.events["timeout"]
    else:
        assert bench.events["again"]
        for channel, rate in ((bench.data, on_data), (bench.acked, on_acks)):
            assert (channel.lost + channel.corrupted > 0) == (rate > 0)
    for stream in (0x10, 0xFFFF, 7):  # in order
        tags = [one["tag"] for one in bench.messages.values() if one["stream"] == stream]
        assert [one["tag"] for one in bench.completions if one["tag"] in tags] == tags


def test_like_the_reference_whatever_is_acknowledged():
    """ACKs of all kinds, also impossible ones: the same frames, outcomes and counts."""
    rng = random.Random(SEED)
    first = 2**32 - 40
    bench = Bench(rng, timeout=2**31, deaf=[1])
    reference = Reference(stream=1, sequence=first, timeout=1, tries=0)
    sizes = [rng.choice([1, 2, 30, 90]) for _ in range(12)]
    bench.open(0, 1, first)

    def post(number):
        if number < len(sizes):
            bench.send(descriptor(1, number, tag=number, buckets=sizes[number], span=1))
            reference.post(number, buckets=sizes[number], span=1)

    def script():
        for number in range(CONFIG.messages):
            post(number)
        posted = CONFIG.messages
        expected = []
        for _ in range(250):
            while frame := reference.frame(0):
                expected.append((frame.sequence, frame.message, frame.first))
            seen = -1
            while seen != len(bench.requests):  # until it is quiet
                seen = len(bench.requests)
                yield 45
            assert [one[1:2] + one[3:] for one in bench.requests] == expected
            assert outcomes(bench) == [
                (one.message, Status(one.status), one.buckets) for one in reference.outcomes]
            assert bench.events["bad_ack"] == reference.bad
            if not reference.window:
                break
            # Mostly from what is on its way; some old, some beyond.
            sequence = reference.una + rng.choice(
                [0, 0, 0, 0, 1, 2, 5, reference.window, rng.randint(-70, 70)])
            highest = rng.choice([3, 8, 20, 63])
            bits = [sequence + n for n in range(1, highest + 1) if rng.random() < 0.6]
            if rng.random() < 0.7:
                bits = [bit for bit in bits if bit < reference.una + reference.window]
            ack = ack_of(1, sequence, *bits)
            reference.take(Ack(stream=1, sequence=ack["sequence"], bitmap=ack["bitmap"]), 0)
            bench.acks.append(ack)
            while posted < len(reference.outcomes) + CONFIG.messages and posted < len(sizes):
                post(posted)
                posted += 1
            yield 20
        assert len(bench.completions) == len(sizes), len(bench.completions)
        assert bench.events["bad_ack"] > 2 and bench.events["again"] > 50
        assert [one["detail"] for one in bench.completions] == [
            one.again for one in reference.outcomes]

    bench.play(script())


def test_opening_closing_and_failing_at_random():
    """While frames get lost: each message ends once, and OK means that all of it was had."""
    rng = random.Random(SEED)
    bench = Bench(rng, timeout=200, tries=1, delay=25, paces=(0.7, 0.5, 0.6),
                  on_data={"loss": 0.1, "disorder": 0.1}, on_acks={"loss": 0.1, "doubled": 0.1})
    streams = range(5, 9)  # one more than there are entries
    posted = []

    def script():
        for entry in range(CONFIG.streams):
            bench.open(entry, streams[entry], rng.getrandbits(32))
        for _ in range(60):
            for stream in set(rng.choices(streams, k=2)):
                if len(posted) - len(bench.completions) < 20:
                    posted.append(descriptor(
                        stream, len(posted), tag=len(posted), buckets=rng.choice([1, 5, 40]),
                        span=rng.choice([1, 3])))
                    bench.send(posted[-1])
            yield rng.choice([5, 60, 200])
            draw = rng.random()
            if draw < 0.3:
                bench.open(rng.randrange(CONFIG.streams + 1), rng.choice(streams),
                           rng.getrandbits(32))
            elif draw < 0.4:
                bench.close(rng.randrange(CONFIG.streams))
            elif draw < 0.5 and bench.requests:
                _, sequence, stream, *_ = rng.choice(bench.requests[-20:])
                bench.failed.append({"stream": stream, "sequence": sequence})
            elif draw < 0.6:
                bench.deaf ^= {rng.choice(streams)}
        bench.deaf.clear()
        while len(bench.completions) < len(posted):
            yield 10
        yield 300

    bench.play(script())
    assert sorted(one["tag"] for one in bench.completions) == list(range(len(posted)))
    receivers = [*bench.receivers.values(), *bench.former]
    had = {(frame.message, frame.first + n) for receiver in receivers for frame in receiver.taken
           for n in range(frame.span)}
    for one in bench.completions:
        whole = -(-posted[one["tag"]]["bytes"] // 256)
        assert one["count"] <= whole
        assert all((one["tag"], n) in had for n in range(one["count"])), one
        assert one["count"] == whole or one["status"] != Status.OK.value
    assert len({one["status"] for one in bench.completions}) == 5  # of every kind
    assert bench.idle
