"""Sender: each rule by itself."""

import itertools
import random

import pytest

from tightwire.config import NicConfig
from tightwire.dma.transfer import Status
from tightwire.formats import WINDOW
from tightwire.transport.sender import Sender

from .senders import CONFIG, PEERS, Bench, ack_of, descriptor, frames_of, outcomes

SEED = 73


def _numbers(bench, since=0):
    return [one[1] for one in bench.requests[since:]]


# ---- the window, timeouts, the end ----

@pytest.mark.parametrize("first", [0, 2**32 - 1, 2**32 - WINDOW, 2**32 - 30])
def test_the_window(first):
    """64 frames, through several messages, and not one more until the lowest is acknowledged."""
    bench = Bench(random.Random(SEED), timeout=10**6, deaf=[1])
    bench.open(0, 1, first)
    for tag in range(3):
        bench.send(descriptor(1, tag, tag=tag, buckets=30, span=1))

    def script():
        yield 800
        assert _numbers(bench) == [(first + n) % 2**32 for n in range(WINDOW)]
        bench.acks.append(ack_of(1, first, *range(first + 1, first + WINDOW)))
        yield 100
        assert _numbers(bench, WINDOW) == [first]
        bench.acks.append(ack_of(1, first + 3, *range(first + 4, first + WINDOW)))
        yield 100
        assert _numbers(bench, WINDOW + 1) == [(first + n) % 2**32 for n in (64, 65, 66, 3)] or (
            _numbers(bench, WINDOW + 1) == [(first + n) % 2**32 for n in (64, 65, 66)])
        assert not bench.completions
        bench.acks.append(ack_of(1, first + 67))
        yield 400
        assert outcomes(bench) == [(0, Status.OK, 30), (1, Status.OK, 30)]
        bench.acks.append(ack_of(1, first + 90))
        yield 60
        assert outcomes(bench)[2:] == [(2, Status.OK, 30)]
        assert bench.idle

    bench.play(script())


@pytest.mark.parametrize("tries", [1, 3])
def test_gives_up_after_so_many_timeouts(tries):
    """Each is as long as was asked; later messages end too; another stream goes on."""
    bench = Bench(random.Random(SEED), timeout=700, tries=tries, deaf=[1])
    bench.open(0, 1, 5)
    bench.open(2, 2, 5)
    bench.send(descriptor(1, 0, tag=0, buckets=3, span=1))
    bench.send(descriptor(1, 1, tag=1, buckets=400, span=4))
    bench.send(descriptor(2, 0, tag=2, buckets=20, span=4))
    bench.run(bench.done(3))
    assert sorted(outcomes(bench)) == [
        (0, Status.GAVE_UP, 0), (1, Status.GAVE_UP, 0), (2, Status.OK, 20)]
    assert bench.events["timeout"] == tries
    assert bench.events["gave_up"] == bench.events["failed"] == 2
    clocks = [one[0] for one in bench.requests if one[2] == 1]
    assert len(clocks) == WINDOW * tries
    late = 4 * CONFIG.streams + 40
    for n in range(1, tries):
        gap = clocks[WINDOW * n] - clocks[WINDOW * n - 1]
        assert 700 <= gap <= 700 + late
    assert 700 <= bench.clock - clocks[-1] <= 700 + late


def test_progress_begins_the_count_of_timeouts_anew():
    bench = Bench(random.Random(SEED), timeout=400, tries=2, deaf=[1])
    bench.open(0, 1, 0)
    bench.send(descriptor(1, 0, tag=0, buckets=4, span=1))

    def script():
        for n in range(3):
            while bench.events["timeout"] < n + 1:
                yield 10
            assert not bench.completions
            bench.acks.append(ack_of(1, n, n + 2) if n < 1 else ack_of(1, n))
            yield 100
        while not bench.completions:
            yield 10
        assert bench.events["timeout"] == 5
        assert outcomes(bench) == [(0, Status.GAVE_UP, 2)]

    bench.play(script())


def test_a_stream_that_gave_up_is_closed_until_it_is_opened():
    bench = Bench(random.Random(SEED), timeout=300, tries=1, deaf=[1])
    bench.open(0, 1, 0)
    bench.send(descriptor(1, 0, tag=0, buckets=1))

    def script():
        while not bench.completions:
            yield 10
        bench.send(descriptor(1, 1, tag=1, buckets=1))
        bench.acks.append(ack_of(1, 1))
        yield 60
        assert bench.events["unknown_ack"] == 1
        bench.deaf.clear()
        bench.open(0, 1, 2**32 - 3)
        yield 20
        bench.send(descriptor(1, 2, tag=2, buckets=30, span=1))
        while len(bench.completions) < 3:
            yield 10
        assert outcomes(bench) == [(0, Status.GAVE_UP, 0), (1, Status.BAD_DESCRIPTOR, 0),
                                    (2, Status.OK, 30)]
        assert _numbers(bench, 1)[:5] == [2**32 - 3, 2**32 - 2, 2**32 - 1, 0, 1]

    bench.play(script())


def test_no_timeout_while_frames_cannot_leave():
    """A memory that takes no requests is not the network's fault."""
    bench = Bench(random.Random(SEED), timeout=200, tries=1)
    bench.open(0, 1, 0)
    bench.send(descriptor(1, 0, tag=0, buckets=10, span=1))

    def script():
        while len(bench.requests) < 3:
            yield 1
        bench.paces = (0, 1, 1)
        yield 1500
        bench.paces = (1, 1, 1)
        while not bench.completions:
            yield 10
        assert not bench.events["timeout"]
        bench.check_all_had()

    bench.play(script())


# ---- ACKs that are not right ----

def test_acks_that_are_not_right_change_nothing():
    bench = Bench(random.Random(SEED), timeout=10**6, deaf=[1])
    bench.open(0, 1, 100)
    bench.send(descriptor(1, 0, tag=0, buckets=10, span=1))
    cases = [
        (ack_of(2, 105), "unknown_ack"),
        (ack_of(1, 105, source=PEERS[2]), "wrong_source"),
        (ack_of(1, 111), "bad_ack"),
        (ack_of(1, 2**31 + 90), "bad_ack"),
        (ack_of(1, 105, 110), "bad_ack"),
        (ack_of(1, 100, 102, 163), "bad_ack"),
        (ack_of(1, 90, 110), "bad_ack"),
        (ack_of(1, 40), "acked"),                # too old
        (ack_of(1, 2**31 + 110), "acked"),
        (ack_of(1, 90, 91, 100), "acked"),       # old, and knows of nothing that is on its way
    ]

    def script():
        yield 150
        assert len(bench.requests) == 10
        for ack, name in cases:
            before = bench.events.copy()
            bench.acks.append(ack)
            yield 60
            assert bench.events - before == {name: 1}, ack
        bench.acks.append(ack_of(1, 109))
        yield 60
        assert not bench.completions
        bench.acks.append(ack_of(1, 110))
        yield 60
        assert outcomes(bench) == [(0, Status.OK, 10)]

    bench.play(script())
    assert len(bench.requests) == 10


# ---- descriptors ----

WRONG = {
    "kind": {"kind": 1}, "reserved codec": {"codec": 3}, "sparse": {"codec": 0x80},
    "bitmap": {"codec": 0x31}, "no width": {"codec": 1}, "small bucket": {"log2_bucket": 5},
    "tiny bucket": {"log2_bucket": 0}, "large bucket": {"log2_bucket": 10},
    "no length": {"bytes": 0}, "odd length": {"bytes": 6}, "odd address": {"address": 2},
    "no span": {"span": 0}, "a bucket too many": {"span": 56}, "largest span": {"span": 0xFFFF},
    "raw, a bucket too many": {"codec": 0, "span": 8},
    "peer beyond the table": {"peer": 5}, "another peer": {"peer": 2},
    "unknown stream": {"stream": 2}, "unreadable": {"error": 1},
}


def test_descriptors_that_are_not_right():
    """Each is completed with its reason; the right ones between them are sent."""
    bench = Bench(random.Random(SEED))
    bench.open(0, 1, 0)
    # What just fits: 55 records of 36 bytes, 7 raw buckets of 256 bytes, in 2,048 - 64.
    bench.send(descriptor(1, 0, tag=0, buckets=3, span=55))
    bench.send(descriptor(1, 1, tag=1, buckets=8, span=7, codec=0))
    for tag, (name, wrong) in enumerate(WRONG.items(), 2):
        one = descriptor(1, tag, tag=tag) | wrong
        if name == "peer beyond the table":
            assert one["peer"] >= CONFIG.peers
        bench.descriptors.append(one)
    bench.send(descriptor(1, 99, tag=99))
    bench.run(bench.done(3 + len(WRONG)))
    expected = {0: Status.OK, 1: Status.OK, 99: Status.OK} | {
        tag: Status.READ_ERROR if "error" in wrong else Status.BAD_DESCRIPTOR
        for tag, wrong in enumerate(WRONG.values(), 2)}
    assert {one["tag"]: Status(one["status"]) for one in bench.completions} == expected
    assert all(one["index"] == one["tag"] + 1 for one in bench.completions)
    assert bench.events["bad_descriptor"] == len(WRONG) - 1
    assert bench.events["failed"] == len(WRONG)
    assert [one[3:] for one in bench.requests] == [(0, 0), (1, 0), (1, 7), (99, 0)]


def test_the_longest_message():
    """Its first frames, and places beyond 2^32."""
    bench = Bench(random.Random(SEED), timeout=10**6, deaf=[1])
    bench.open(0, 1, 0)
    bench.send(descriptor(1, 0, tag=0, bytes=2**32 - 4, span=7, codec=0, address=2**64 - 2**12))

    bench.run(lambda: len(bench.requests) == 2)
    assert [one[4] for one in bench.requests] == [0, 7]


# ---- memory that cannot be read ----

def test_a_frame_that_cannot_be_read():
    """Its message ends with READ_ERROR, the stream's others with CANCELLED; others go on."""
    bench = Bench(random.Random(SEED), timeout=10**6, deaf=[1])
    bench.open(0, 1, 0)
    bench.open(1, 2, 0)
    for tag, buckets in enumerate((10, 10, 5)):
        bench.send(descriptor(1, tag, tag=tag, buckets=buckets, span=1))

    def script():
        yield 500
        bench.acks.append(ack_of(1, 3, 12))
        yield 60
        for stream, sequence in ((1, 2), (1, 12), (1, 25), (1, 2**31), (9, 5), (2, 0)):
            bench.failed.append({"stream": stream, "sequence": sequence})
        yield 100
        assert not bench.completions and not bench.failed
        bench.failed.append({"stream": 1, "sequence": 13})
        bench.failed.append({"stream": 1, "sequence": 14})
        yield 100
        assert outcomes(bench) == [
            (0, Status.CANCELLED, 3), (1, Status.READ_ERROR, 0), (2, Status.CANCELLED, 0)]
        bench.send(descriptor(2, 0, tag=9, buckets=10))
        bench.send(descriptor(1, 7, tag=10))
        while len(bench.completions) < 5:
            yield 10
        assert sorted(outcomes(bench)[3:]) == [
            (9, Status.OK, 10), (10, Status.BAD_DESCRIPTOR, 0)]
        assert bench.events["failed"] == 4 and not bench.events["gave_up"]

    bench.play(script())


# ---- opening and closing ----

def test_closing_in_the_middle_of_a_message():
    bench = Bench(random.Random(SEED), deaf=[1])
    bench.open(0, 1, 50)
    bench.send(descriptor(1, 0, tag=0, buckets=100, span=2))
    bench.send(descriptor(1, 1, tag=1, buckets=100, span=2))

    def script():
        yield 150
        bench.acks.append(ack_of(1, 54))
        yield 60
        assert 4 < len(bench.requests) < 40
        bench.close(0)
        yield 60
        sent = len(bench.requests)
        assert outcomes(bench) == [(0, Status.CANCELLED, 8), (1, Status.CANCELLED, 0)]
        bench.acks.append(ack_of(1, 58))
        yield 3500  # longer than the timeout
        assert len(bench.requests) == sent and bench.events["unknown_ack"] == 1
        assert not bench.events["timeout"] and bench.idle

    bench.play(script())


def test_opening_again_while_open_closes_first():
    bench = Bench(random.Random(SEED))
    bench.open(1, 5, 50)
    bench.send(descriptor(5, 0, tag=0, buckets=400, span=2))

    def script():
        yield 120
        bench.data._way.clear()
        bench.acked._way.clear()
        bench.open(1, 6, 2**32 - 2)
        yield 40
        assert [one[:2] for one in outcomes(bench)] == [(0, Status.CANCELLED)]
        begin = len(bench.requests)
        bench.send(descriptor(6, 1, tag=1, buckets=10, span=2))
        bench.send(descriptor(5, 2, tag=2))
        while len(bench.completions) < 3:
            yield 10
        assert sorted(outcomes(bench)[1:]) == [
            (1, Status.OK, 10), (2, Status.BAD_DESCRIPTOR, 0)]
        assert _numbers(bench, begin) == [2**32 - 2, 2**32 - 1, 0, 1, 2]

    bench.play(script())


def test_commands_that_are_refused():
    """An entry beyond the table; a stream that is open elsewhere. Closing what is closed is not."""
    bench = Bench(random.Random(SEED))
    bench.open(0, 1, 0)

    def script():
        yield 20
        for refused, command in ((1, (1, CONFIG.streams, 4)), (1, (0, 255, 0)), (1, (1, 2, 1)),
                                 (0, (0, 1, 1)), (0, (1, 1, 2))):
            before = bench.events["refused"]
            bench.commands.append(dict(zip(("open", "entry", "stream"), command, strict=True)))
            yield 30
            assert bench.events["refused"] == before + refused, command
        bench.send(descriptor(1, 0, tag=0))
        bench.send(descriptor(4, 0, tag=1))
        while len(bench.completions) < 2:
            yield 10
        assert sorted(outcomes(bench)) == [(0, Status.OK, 1), (1, Status.BAD_DESCRIPTOR, 0)]

    bench.play(script())


# ---- taking turns, waiting, speed ----

def test_streams_take_turns_and_none_waits_for_another():
    """One that has filled its window, unanswered, holds up no other."""
    bench = Bench(random.Random(SEED), timeout=10**6, deaf=[1])
    for entry, stream in enumerate((1, 2, 3)):
        bench.open(entry, stream, 0)
        bench.send(descriptor(stream, 0, tag=stream, buckets=90, span=1))
    bench.run(lambda: len(bench.completions) == 2)
    order = [one[2] for one in bench.requests]
    assert order.count(1) == WINDOW
    middle = order[10:3 * WINDOW - 20]
    assert all(set(middle[n:n + 3]) == {1, 2, 3} for n in range(len(middle) - 2))
    assert {tag for tag, *_ in outcomes(bench)} == {2, 3}


def test_a_descriptor_waits_for_a_place_of_its_stream():
    """The fifth of a stream that has four; the other stream's messages go on meanwhile."""
    bench = Bench(random.Random(SEED), timeout=10**6, deaf=[1])
    bench.open(0, 1, 0)
    bench.open(1, 2, 0)
    for tag in range(CONFIG.messages):
        bench.send(descriptor(2, tag, tag=20 + tag, buckets=20, span=1))
    for tag in range(CONFIG.messages + 1):
        bench.send(descriptor(1, tag, tag=tag, buckets=2, span=1))
    bench.send(descriptor(2, 9, tag=30))

    def script():
        while len(bench.completions) < CONFIG.messages:
            yield 10
        yield 200
        taken = len([1 for name, _ in bench.taken if name == "message"])
        assert taken == 2 * CONFIG.messages
        bench.acks.append(ack_of(1, 2))
        yield 200
        assert [one[0] for one in outcomes(bench)] == [20, 21, 22, 23, 0, 30]
        bench.acks.append(ack_of(1, 10))
        yield 100
        assert len(bench.completions) == 2 * CONFIG.messages + 2 and bench.idle

    bench.play(script())


def test_completions_that_nobody_takes():
    """Some are held, then everything waits; it goes on afterwards, and nothing is lost."""
    bench = Bench(random.Random(SEED), paces=(1, 0, 1))
    bench.open(0, 1, 0)
    for tag in range(20):
        bench.send(descriptor(1, tag, tag=tag, buckets=3))

    def script():
        yield 4000  # longer than the timeout
        taken = len([1 for name, _ in bench.taken if name == "message"])
        assert Sender.held < taken <= Sender.held + CONFIG.messages
        assert bench.events["done"] == Sender.held
        assert not bench.idle and not bench.events["timeout"]
        bench.paces = (1, 1, 1)
        while len(bench.completions) < 20:
            yield 10
        bench.check_all_had()

    bench.play(script())


def test_clocks():
    """A frame, one sent again, an ACK without and with a bitmap, as the docstring says."""
    bench = Bench(random.Random(SEED), timeout=700, deaf=[1])
    bench.open(0, 1, 0)
    bench.send(descriptor(1, 0, tag=0, buckets=WINDOW, span=1))

    def spans(values):
        return {b - a for a, b in itertools.pairwise(values)}

    def script():
        while bench.events["sent"] < 2 * WINDOW:
            yield 1
        yield 20
        clocks = [one[0] for one in bench.requests]
        assert spans(clocks[:WINDOW]) == {Sender.frame_clocks}
        assert spans(clocks[WINDOW:]) == {Sender.again_clocks}
        for bits, clocks_each in (([], Sender.ack_clocks), ([40], Sender.bitmap_clocks)):
            begin = len(bench.taken)
            for n in range(1, 9):
                bench.acks.append(ack_of(1, n + 8 * bool(bits), *bits))
            yield 300
            taken = [clock for name, clock in bench.taken[begin:] if name == "ack"]
            assert len(taken) == 8
            between = spans(taken)
            # The first one with a bitmap makes holes, whose frames go between the others.
            assert min(between) == clocks_each
            if not bits:
                assert between == {clocks_each}
            else:
                assert max(between) <= clocks_each + Sender.again_clocks

    bench.play(script())


def test_clocks_of_messages():
    """A descriptor takes 7 clocks, and a message that an ACK completes 2 more."""
    bench = Bench(random.Random(SEED), timeout=10**6, deaf=[1])
    bench.open(0, 1, 0)
    bench.send(descriptor(1, 0, tag=0, buckets=WINDOW - 3, span=1))

    def clocks(name, since):
        taken = [clock for one, clock in bench.taken[since:] if one == name]
        return [b - a for a, b in itertools.pairwise(taken)]

    def script():
        yield 700
        begin = len(bench.taken)
        for tag in range(1, CONFIG.messages):
            bench.send(descriptor(1, tag, tag=tag, buckets=1))
        yield 200
        assert len(bench.requests) == WINDOW
        assert min(clocks("message", begin)) == 7
        begin = len(bench.taken)
        for sequence in (1, WINDOW, WINDOW):
            bench.acks.append(ack_of(1, sequence))
        yield 100
        assert clocks("ack", begin) == [
            Sender.ack_clocks + 2 * (CONFIG.messages - 1), Sender.ack_clocks]
        assert len(bench.completions) == CONFIG.messages

    bench.play(script())


@pytest.mark.parametrize("streams, messages", [(1, 2), (16, 4), (64, 16)])
def test_sizes(streams, messages):
    """Every stream and every place for a message is used."""
    rng = random.Random(SEED)
    config = NicConfig(lanes=1, streams=streams, messages=messages, max_bucket=64, peers=4)
    bench = Bench(rng, config=config, delay=20, on_data={"loss": 0.02}, timeout=1500)
    for entry in range(streams):
        bench.open(entry, 1000 + entry, rng.getrandbits(32))

    def script():
        yield 8 * streams
        for tag in range(max(streams, messages) + 3):
            bench.send(descriptor(1000 + tag % streams, tag, tag=tag, buckets=1 + tag % 2, span=1))
        while len(bench.completions) < len(bench.messages):
            yield 10
        bench.check_all_had()
        assert bench.events["sent"] >= sum(map(frames_of, bench.messages.values()))

    bench.play(script())
