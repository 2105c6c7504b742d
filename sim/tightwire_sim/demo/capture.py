"""What was seen of the frames at one place: their bytes, and the clock of every beat."""

from dataclasses import dataclass, field

import numpy as np

__all__ = ["Capture"]

_USER_BYTES = 16


@dataclass(eq=False)
class Capture:
    """The frames that passed one place in one burst.

    Attributes
    ----------
    clocks : list of int, or array
        For each beat the clock at which it was taken.
    frames : list of bytes
        Payloads; empty where only the clocks count.
    users : list of int
        tuser of each frame, with its first beat, and the error mark of its last.
    """

    clocks: list = field(default_factory=list, repr=False)
    frames: list = field(default_factory=list, repr=False)
    users: list = field(default_factory=list, repr=False)

    def save(self, path):
        np.savez(
            path, clocks=np.asarray(self.clocks, np.int64),
            lengths=np.asarray([len(frame) for frame in self.frames], np.int64),
            data=np.frombuffer(b"".join(self.frames), np.uint8),
            users=np.frombuffer(
                b"".join(user.to_bytes(_USER_BYTES, "little") for user in self.users), np.uint8))

    @classmethod
    def load(cls, path):
        with np.load(path) as arrays:
            data, users = arrays["data"].tobytes(), arrays["users"].tobytes()
            ends = np.cumsum(arrays["lengths"]).tolist()
            return cls(
                clocks=arrays["clocks"],
                frames=[data[begin:end] for begin, end in zip([0, *ends], ends, strict=False)],
                users=[int.from_bytes(users[n:n + _USER_BYTES], "little")
                       for n in range(0, len(users), _USER_BYTES)])

    @property
    def pauses(self):
        """Clocks without a beat, from the first beat to the last."""
        return int(self.clocks[-1] - self.clocks[0]) + 1 - len(self.clocks)

    @property
    def rate(self):
        """Beats a clock, from the first to the last."""
        return len(self.clocks) / (len(self.clocks) + self.pauses)

    def runs(self, begin, end):
        """Stretches of beats without a pause, as [clock, beats], of ``begin <= clock < end``."""
        clocks = np.asarray(self.clocks)
        clocks = clocks[(clocks >= begin) & (clocks < end)]
        pieces = np.split(clocks, np.flatnonzero(np.diff(clocks) > 1) + 1)
        return [[int(piece[0]), len(piece)] for piece in pieces if len(piece)]
