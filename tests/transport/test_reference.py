"""Both ends in plain Python: every message arrives exactly once, whatever is lost on the way."""

import itertools
import random

import pytest

from tightwire.formats import WINDOW
from tightwire_sim.transport import Ack, Channel, Frame, Receiver, Sender, Status

SEED = 71
STREAM = 9
DELAY = 5
TIMEOUT = 200
FAULTS = ("loss", "doubled", "disorder", "corrupt")


def _covers(frames):
    """The buckets that were taken, by message, in the order of their places."""
    found = {}
    for frame in frames:
        found.setdefault(frame.message, []).extend(range(frame.first, frame.first + frame.span))
    return {message: sorted(buckets) for message, buckets in found.items()}


def _exchange(rng, *, data, acks, sequence, messages, tries=0, limit=2_000_000, merge=1):
    """Sends messages, lists of (buckets, span), through two channels; both ends."""
    sender = Sender(stream=STREAM, sequence=sequence, timeout=TIMEOUT, tries=tries)
    receiver = Receiver(stream=STREAM, sequence=sequence)
    for number, (buckets, span) in enumerate(messages):
        sender.post(number, buckets=buckets, span=span)
    owes = None
    for now in range(limit):
        for ack in acks.arrived(now):
            sender.take(ack, now)
            assert 0 <= sender.window <= WINDOW
        if len(sender.outcomes) == len(messages):
            return sender, receiver
        for frame in data.arrived(now):
            owes = receiver.take(frame) or owes
        if owes and rng.random() < merge:
            acks.send(owes, now)
            owes = None
        frame = sender.frame(now)
        if frame is not None:
            data.send(frame, now)
        else:
            sender.tick(now)
    raise AssertionError(f"{len(sender.outcomes)} of {len(messages)} messages done")


def _check(sender, receiver, messages):
    assert [(one.message, one.status, one.buckets) for one in sender.outcomes] == [
        (number, Status.OK, buckets) for number, (buckets, _) in enumerate(messages)]
    assert _covers(receiver.taken) == {
        number: list(range(buckets)) for number, (buckets, _) in enumerate(messages)}
    numbers = [frame.sequence for frame in receiver.taken]
    assert len(numbers) == len(set(numbers))
    assert sum(one.again for one in sender.outcomes) == sender.again
    assert sender.sent - sender.again == len(numbers)
    assert not sender.bad and not receiver.beyond


def _messages(rng, count=12):
    return [(rng.choice([1, 2, 7, 64, 65, 200]), rng.choice([1, 2, 5, 64])) for _ in range(count)]


RATES = [dict(zip(FAULTS, rates, strict=True)) for rates in itertools.product(
    (0, 0.01, 0.2), repeat=4)]


@pytest.mark.parametrize("on_acks", RATES[::8] + RATES[-1:], ids=lambda one: str([*one.values()]))
def test_exactly_once(on_acks):
    """Every combination of faults at 0, 1 and 20 % of the frames, by many on the ACKs."""
    for on_data in RATES:
        seed = f"{SEED} {on_data} {on_acks}"
        rng = random.Random(seed)
        messages = _messages(rng)
        data = Channel(rng, delay=DELAY, **on_data)
        acks = Channel(rng, delay=DELAY, **on_acks)
        sequence = rng.choice([0, 2**32 - 1, 2**32 - 100, 2**31 - 50, rng.getrandbits(32)])
        try:
            ends = _exchange(rng, data=data, acks=acks, sequence=sequence, messages=messages,
                             merge=rng.choice([1, 0.1]))
            _check(*ends, messages)
        except AssertionError as error:
            raise AssertionError(f"seed {seed!r}: {error}") from error


def test_nothing_is_sent_again_where_nothing_is_lost():
    rng = random.Random(SEED)
    messages = _messages(rng, 40)
    ends = _exchange(rng, data=Channel(rng, delay=DELAY), acks=Channel(rng, delay=DELAY),
                     sequence=2**32 - 300, messages=messages)
    _check(*ends, messages)
    sender, receiver = ends
    assert sender.again == sender.timeouts == receiver.duplicates == 0


def test_the_numbers_wrap():
    rng = random.Random(SEED)
    messages = [(500, 1)]
    _, receiver = _exchange(rng, data=Channel(rng, delay=DELAY, loss=0.05),
                            acks=Channel(rng, delay=DELAY), sequence=2**32 - 250,
                            messages=messages)
    assert receiver.expected == 250


def _full(sequence=0, tries=0, span=1, buckets=200):
    """A sender that has sent a whole window at time 0, and its frames."""
    sender = Sender(stream=STREAM, sequence=sequence, timeout=TIMEOUT, tries=tries)
    sender.post(0, buckets=buckets, span=span)
    frames = []
    while frame := sender.frame(0):
        frames.append(frame)
    return sender, frames


def _ack(sequence, *also):
    return Ack(stream=STREAM, sequence=sequence % 2**32,
               bitmap=sum(1 << (number - sequence) for number in also))


def _drain(sender, now):
    return [frame.sequence for frame in iter(lambda: sender.frame(now), None)]


@pytest.mark.parametrize("sequence", [0, 2**32 - 1, 2**32 - 32, 2**32 - 63, 2**32 - 64, 77])
def test_the_window(sequence):
    """64 frames and not one more; one more for each that is acknowledged from below."""
    sender, frames = _full(sequence)
    assert [frame.sequence for frame in frames] == [
        (sequence + n) % 2**32 for n in range(WINDOW)]
    sender.take(_ack(sequence, *range(sequence + 1, sequence + WINDOW)), 1)
    assert _drain(sender, 1) == [sequence]  # the lowest lacks: nothing new
    sender.take(_ack(sequence + WINDOW), 2)
    assert sender.window == 0
    assert len(_drain(sender, 2)) == WINDOW


def test_holes_are_sent_again_once_in_a_round():
    sender, _ = _full()
    sender.take(_ack(0, 2, 4), 1)
    assert _drain(sender, 1) == [0, 1, 3]
    sender.take(_ack(0, 2, 4, 7), 2)
    assert _drain(sender, 2) == [5, 6]     # the new ones only
    sender.take(_ack(0, 2, 4), 3)          # an old one
    assert _drain(sender, 3) == []
    sender.take(_ack(2, 4, 7), 4)
    assert _drain(sender, 4) == [64, 65]   # the window has moved on: new frames
    sender.take(_ack(3, 4, 7, 64), 5)      # sent after the holes were: 3, 5 and 6 are lost again
    assert _drain(sender, 5) == [3, 5, 6, *range(8, 64), 66]


def test_a_timeout_sends_all_that_lacks():
    sender, _ = _full(tries=3)
    sender.take(_ack(5, 7, 63), 10)
    _drain(sender, 10)
    sender.tick(9 + TIMEOUT)
    assert not sender.timeouts
    sender.tick(10 + TIMEOUT)
    assert sender.timeouts == 1
    assert _drain(sender, 300) == [5, 6, *range(8, 63), *range(64, 69)]


@pytest.mark.parametrize("tries", [1, 2, 5])
def test_gives_up_after_so_many_timeouts(tries):
    """Later messages end with it; progress begins the count anew."""
    sender, _ = _full(tries=tries)
    sender.post(1, buckets=3, span=1)
    now = 0
    for _ in range(tries - 1):
        now += TIMEOUT
        sender.tick(now)
        assert len(_drain(sender, now)) == WINDOW
    sender.take(_ack(3), now + 1)
    _drain(sender, now + 1)
    now += 1
    for n in range(tries):
        assert sender.open
        now += TIMEOUT
        sender.tick(now)
        assert len(_drain(sender, now)) == (WINDOW if n < tries - 1 else 0)
    assert not sender.open
    assert [(one.message, one.status, one.buckets) for one in sender.outcomes] == [
        (0, Status.GAVE_UP, 3), (1, Status.GAVE_UP, 0)]
    assert sender.timeouts == 2 * tries - 1


@pytest.mark.parametrize("ack", [_ack(65), _ack(64, 65), _ack(60, 64), _ack(1000)], ids=str)
def test_acks_beyond_what_was_sent_are_bad(ack):
    sender, _ = _full()
    sender.take(ack, 1)
    assert sender.bad == 1
    assert sender.una == 0 and not _drain(sender, 1)


def test_an_old_ack_beyond_what_was_sent_is_bad():
    sender, _ = _full(buckets=3)
    sender.take(_ack(-1, 3), 1)
    assert sender.bad == 1
    sender.take(_ack(-1, 2), 1)
    assert sender.bad == 1 and _drain(sender, 1) == [0, 1]


def test_old_acks_still_say_what_was_had():
    sender, _ = _full()
    sender.take(_ack(10), 1)
    _drain(sender, 1)
    sender.take(_ack(4, 8, 10, 11, 13), 2)
    assert sender.una == 10  # the lowest stands, whatever an older one says of it
    assert _drain(sender, 2) == [10, 12]
    sender.take(_ack(-60), 3)
    sender.take(_ack(-2**31 + 12), 3)
    assert not sender.bad and sender.una == 10


def test_a_frame_that_cannot_be_read_ends_its_message():
    sender, _ = _full(buckets=40)
    sender.post(1, buckets=40, span=1)
    sender.post(2, buckets=4, span=1)
    _drain(sender, 0)
    sender.take(_ack(3), 1)
    sender.fail(2)  # had since
    assert sender.open
    sender.fail(45)
    assert not sender.open
    assert [(one.message, one.status, one.buckets) for one in sender.outcomes] == [
        (0, Status.CANCELLED, 3), (1, Status.READ_ERROR, 0), (2, Status.CANCELLED, 0)]
    assert sender.frame(2) is None
    sender.take(_ack(10), 3)  # late
    assert len(sender.outcomes) == 3


def test_receiver_drops_what_it_has_no_place_for():
    places = set()
    receiver = Receiver(stream=STREAM, sequence=5, wanted=lambda frame: frame.message in places)

    def frame(sequence, message=0):
        return Frame(stream=STREAM, message=message, sequence=sequence, first=0, span=1,
                     last=True)

    assert receiver.take(frame(5)) is None
    places.add(0)
    assert receiver.take(frame(5)) == _ack(6)
    assert receiver.take(frame(5)) == _ack(6)
    assert receiver.take(frame(6 + WINDOW)) is None
    assert receiver.take(frame(5 + WINDOW)) == _ack(6, 5 + WINDOW)
    assert receiver.take(frame(4)) == _ack(6, 5 + WINDOW)
    assert (receiver.duplicates, receiver.beyond, receiver.unwanted) == (2, 1, 1)
    with pytest.raises(ValueError, match="stream"):
        receiver.take(Frame(stream=1, message=0, sequence=6, first=0, span=1, last=True))


def test_channel_faults_happen_as_often_as_asked():
    channel = Channel(random.Random(SEED), delay=2, loss=0.2, doubled=0.1, disorder=0.3,
                      corrupt=0.05)
    for n in range(10_000):
        channel.send(n, n)
    out = list(channel.arrived(20_000))
    assert len(out) == channel.put - channel.lost - channel.corrupted + channel.doubled_up
    assert 1800 < channel.lost < 2200 and 300 < channel.corrupted < 500
    assert 650 < channel.doubled_up < 850 and 2200 < channel.disordered < 2800
    assert out != sorted(out)
