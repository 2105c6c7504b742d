"""The receiving end of a stream."""

from tightwire.formats import WINDOW

from .frames import Ack, ahead

__all__ = ["Receiver"]


class Receiver:
    """Takes each frame once, and says what it has.

    Parameters
    ----------
    stream : int
    sequence : int
        Number of the first frame.
    wanted : function of a Frame, or None
        Whether there is a place for it; a frame without one is dropped and not acknowledged. None
        means that there always is.

    Members
    -------
    expected : the lowest number not had
    had : numbers beyond it that were
    taken : frames that were taken, in the order in which they came
    duplicates, beyond, unwanted : frames dropped, by reason
    """

    def __init__(self, *, stream, sequence, wanted=None):
        self.stream = stream
        self.expected = sequence
        self.wanted = wanted
        self.had = set()
        self.taken = []
        self.duplicates = self.beyond = self.unwanted = 0

    def take(self, frame):
        """Deals with a frame that has come; its ACK, or None."""
        if frame.stream != self.stream:
            raise ValueError(f"a frame of stream {frame.stream} at that of {self.stream}")
        offset = ahead(frame.sequence, self.expected)
        if offset < 0 or frame.sequence in self.had:
            self.duplicates += 1
            return self.ack()
        if offset >= WINDOW:
            self.beyond += 1
            return None
        if self.wanted is not None and not self.wanted(frame):
            self.unwanted += 1
            return None
        self.taken.append(frame)
        self.had.add(frame.sequence)
        while self.expected in self.had:
            self.had.remove(self.expected)
            self.expected = (self.expected + 1) % (1 << 32)
        return self.ack()

    def ack(self):
        """What is to be said now."""
        return Ack(stream=self.stream, sequence=self.expected,
                   bitmap=sum(1 << ahead(number, self.expected) for number in self.had))
