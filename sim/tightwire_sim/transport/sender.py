"""The sending end of a stream."""

from collections import deque
from dataclasses import dataclass, field

from tightwire.formats import WINDOW

from .frames import Frame, Outcome, Status, ahead

__all__ = ["Sender"]


@dataclass(kw_only=True)
class _Message:
    number: int
    buckets: int
    span: int
    again: int = 0
    end: int | None = None  # number behind its last frame, once that was sent


@dataclass(kw_only=True)
class _Sent:
    """A frame of the window."""

    frame: Frame
    message: _Message = field(repr=False)
    acked: bool = False
    again: bool = False  # is to be sent again


class Sender:
    """Sends messages in order, and each frame until it is acknowledged.

    Parameters
    ----------
    stream : int
    sequence : int
        Number of the first frame.
    timeout : number
        Time, in the unit of ``now``.
    tries : int
        Timeouts in a row without progress until it gives up; 0: never.

    Members
    -------
    open : bool, false once it has given up or was closed
    outcomes : Outcome of each message that is done with, in order
    sent, again, timeouts, acks, bad : counts
    """

    def __init__(self, *, stream, sequence, timeout, tries):
        self.stream = stream
        self.timeout = timeout
        self.tries = tries
        self.open = True
        self.outcomes = []
        self.sent = self.again = self.timeouts = self.acks = self.bad = 0
        self._next = sequence
        self._window = deque()    # _Sent, from the lowest number not acknowledged on
        self._messages = deque()  # those that are not done with
        self._unsent = deque()    # those with frames that were never sent
        self._first = 0           # the next bucket of the first one of them
        self._failures = 0        # timeouts in a row
        self._since = 0           # when the last frame left, or the last progress was made
        self._marked = self._recover = sequence  # of the round (docs/transport.md)

    @property
    def una(self):
        """The lowest number that is not acknowledged."""
        return self._window[0].frame.sequence if self._window else self._next

    @property
    def window(self):
        """Frames from there to the highest that was sent."""
        return len(self._window)

    def post(self, message, *, buckets, span):
        """Queues a message of so many buckets, ``span`` of them in a frame."""
        if not self.open:
            raise ValueError("the stream is closed")
        self._messages.append(_Message(number=message, buckets=buckets, span=span))
        self._unsent.append(self._messages[-1])

    def frame(self, now):
        """The frame that is to be sent, or None; what is sent again goes before what is new."""
        if not self.open:
            return None
        for one in self._window:
            if one.again:
                one.again = False
                one.message.again += 1
                self.again += 1
                break
        else:
            if not self._unsent or len(self._window) == WINDOW:
                return None
            one = self._new()
        self.sent += 1
        self._since = now
        return one.frame

    def _new(self):
        message = self._unsent[0]
        left = message.buckets - self._first
        one = _Sent(message=message, frame=Frame(
            stream=self.stream, message=message.number, sequence=self._next, first=self._first,
            span=min(left, message.span), last=left <= message.span))
        self._next = (self._next + 1) % (1 << 32)
        self._first += message.span
        if one.frame.last:
            message.end = self._next
            self._unsent.popleft()
            self._first = 0
        self._window.append(one)
        return one

    def take(self, ack, now):
        """Deals with an ACK that has come."""
        self.acks += 1
        if not self.open:
            return
        offset = ahead(ack.sequence, self.una)
        if offset <= -WINDOW:
            return  # too old to say anything new
        numbers = [offset + bit for bit in range(1, WINDOW) if ack.bitmap >> bit & 1]
        top = max([offset, *(number + 1 for number in numbers)])
        if top > len(self._window):
            self.bad += 1
            return
        progress = offset > 0
        for _ in range(offset):
            self._window.popleft()
        for number in numbers:
            # An old one cannot know of the lowest: it was not had when a later one was said.
            place = number - max(offset, 0)
            if place > 0:
                one = self._window[place]
                progress |= not one.acked
                one.acked, one.again = True, False
        highest = max([number - max(offset, 0) for number in numbers], default=-1)
        if highest > 0:
            self._holes(highest)
        if progress:
            self._failures = 0
            self._since = now
        while self._messages and self._messages[0].end is not None and (
                ahead(self.una, self._messages[0].end) >= 0):
            done = self._messages.popleft()
            self._done(done, Status.OK, done.buckets)

    def _holes(self, highest):
        """What lacks below a frame that was had is sent again, once per round."""
        una = self.una
        if ahead(una + highest, self._recover) >= 0:
            # It was sent after the round had begun, so what lacks still was lost once more.
            self._recover = self._next
            self._marked = una
        for place in range(max(ahead(self._marked, una), 0), highest):
            one = self._window[place]
            one.again |= not one.acked
        if ahead(una + highest, self._marked) > 0:
            self._marked = (una + highest) % (1 << 32)

    def tick(self, now):
        """Looks whether it has been too long. To be called when there is nothing to be sent."""
        if not self.open or not self._window or now - self._since < self.timeout:
            return
        if any(one.again for one in self._window) or (
                self._unsent and len(self._window) < WINDOW):
            return
        self.timeouts += 1
        self._failures += 1
        self._since = now
        if self._failures == self.tries:
            self.close(Status.GAVE_UP)
            return
        for one in self._window:
            one.again = not one.acked
        self._recover = self._marked = self._next

    def close(self, status=Status.CANCELLED, failed=None):
        """Ends all messages with ``status``, and the message ``failed`` with READ_ERROR."""
        for n, message in enumerate(self._messages):
            buckets = 0
            if n == 0:
                buckets = self._window[0].frame.first if self._window else self._first
            self._done(message, Status.READ_ERROR if message is failed else status, buckets)
        self._messages.clear()
        self._unsent.clear()
        self._window.clear()
        self.open = False

    def fail(self, sequence):
        """A frame could not be read: ends its message and closes, where it is still wanted."""
        for one in self._window:
            if self.open and one.frame.sequence == sequence and not one.acked:
                self.close(failed=one.message)
                return

    def _done(self, message, status, buckets):
        self.outcomes.append(Outcome(
            message=message.number, status=status, buckets=buckets, again=message.again))
