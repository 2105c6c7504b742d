"""Holds every byte that the gateware made against the golden model."""

from dataclasses import dataclass, field

import numpy as np

from ..golden import decode, encode

__all__ = ["Verdict", "check", "expected"]


@dataclass
class Verdict:
    """What came of comparing.

    Attributes
    ----------
    frames, bytes : int
        How many were compared, at either place.
    faults : list of str
        What was not as the model says, in words; empty where all was.
    """

    frames: int = 0
    bytes: int = 0
    faults: list = field(default_factory=list)

    def __iadd__(self, other):
        self.frames += other.frames
        self.bytes += other.bytes
        self.faults += other.faults
        return self


def expected(piece):
    """What the model makes of a piece: the payload, and the values at the other end."""
    choice = {"codec": piece.codec, "bucket": piece.bucket}
    payload = encode(piece.values, **choice, **piece.place)
    return payload, decode(payload, **choice, span=piece.span, first=piece.first)


def check(pieces, wire, far, *, where):
    """Compare what was captured between the cards and behind the second one.

    Parameters
    ----------
    pieces : list of Piece
        What was sent.
    wire, far : Capture
    where : str
        Goes in front of what is said of faults.

    Returns
    -------
    Verdict
    values : numpy.ndarray
        All that came out at the far end, as it came out.
    """
    verdict = Verdict()
    for place, capture in (("on the wire", wire), ("at the far end", far)):
        if len(capture.frames) != len(pieces):
            verdict.faults.append(
                f"{where}: {len(capture.frames)} frames {place}, not {len(pieces)}")
    for number, piece in enumerate(pieces):
        payload, values = expected(piece)
        user = piece.frame.user
        for place, capture, right in (
                ("on the wire", wire, payload),
                ("at the far end", far, values.astype("<f4").tobytes())):
            if number >= len(capture.frames):
                continue
            verdict.frames += 1
            verdict.bytes += len(right)
            fault = _difference(capture.frames[number], right)
            if fault is None and capture.users[number] != user:
                fault = f"tuser is {capture.users[number]:#x}, not {user:#x}"
            if fault is not None:
                verdict.faults.append(f"{where}: frame {number} {place}: {fault}")
    values = b"".join(far.frames)
    return verdict, np.frombuffer(values[:len(values) // 4 * 4], "<f4")


def _difference(found, right):
    """Where two byte strings part, in words; None where they do not."""
    if found == right:
        return None
    if len(found) != len(right):
        return f"{len(found)} bytes, not {len(right)}"
    at = next(n for n, (one, other) in enumerate(zip(found, right, strict=True)) if one != other)
    return f"byte {at} is {found[at]:#04x}, not {right[at]:#04x}"
