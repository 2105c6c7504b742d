"""Frames as the edges of the codec carry them, and the beats they are made of."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from tightwire.formats import Codec, check_bucket
from tightwire.stream.axis import USER

from ..golden import decode, encode

__all__ = ["Beat", "Frame", "decoded", "floats_and_records", "from_beats", "to_beats"]

_AT = {name: USER[name].offset for name in USER.members}
_ERROR = 1 << _AT["error"]


@dataclass(frozen=True, kw_only=True)
class Frame:
    """A frame: what it carries, and what is said about it in tuser.

    Parameters
    ----------
    payload : bytes
    bypass : bool
    codec : int
        The codec byte, legal or not.
    log2_bucket, stream, message, first, span : int
    error : bool
        Marked as broken, at tlast.
    """

    payload: bytes
    bypass: bool = False
    codec: int = 0
    log2_bucket: int = 0
    stream: int = 0
    message: int = 0
    first: int = 0
    span: int = 0
    error: bool = False

    @property
    def user(self):
        """tuser of every beat, without the error mark."""
        return sum(int(getattr(self, name)) << _AT[name] for name in (
            "bypass", "codec", "log2_bucket", "stream", "message", "first", "span"))

    def __str__(self):
        what = "bypass" if self.bypass else (
            f"codec {self.codec:#04x} bucket 2^{self.log2_bucket} span {self.span} stream "
            f"{self.stream} message {self.message} first {self.first}")
        return f"{len(self.payload)} bytes, {what}{', marked' if self.error else ''}"


class Beat(NamedTuple):
    """What one beat carries, as the integers on the wires."""

    data: int
    keep: int
    last: int
    user: int


def to_beats(frame, lanes):
    """The beats of a frame.

    tuser without the error mark counts only on the first one; later ones have it inverted, so
    that nothing can come to depend on it.
    """
    width = 4 * lanes
    payload = frame.payload
    user = frame.user
    other = user ^ (1 << USER.size) - 1 & ~_ERROR
    beats = []
    for at in range(0, len(payload), width):
        piece = payload[at:at + width]
        last = at + width >= len(payload)
        beats.append(Beat(
            data=int.from_bytes(piece, "little"), keep=(1 << len(piece)) - 1, last=int(last),
            user=(other if at else user) | _ERROR * (last and frame.error)))
    return beats


def from_beats(beats, lanes):
    """The frames that some beats are, as (payload, tuser without the mark, error).

    They are whole beats, as ``protocol`` has checked; tuser is that of the first beat.
    """
    width = 4 * lanes
    frames, payload, user = [], [], None
    for beat in beats:
        user = beat.user if user is None else user
        payload.append(beat.data.to_bytes(width, "little"))
        if beat.last:
            whole = b"".join(payload)
            frames.append((whole[:len(whole) - width + beat.keep.bit_count()],
                           user & ~_ERROR, bool(beat.user & _ERROR)))
            payload, user = [], None
    if payload:
        raise AssertionError(f"{len(payload)} beats without tlast at the end")
    return frames


def floats_and_records(values, *, codec, bucket, stream=0, message=0, first=0):
    """One frame on either side of the codec: that with float32, and that with its records.

    Parameters
    ----------
    values : float32 array
        Whole buckets.
    codec : Codec
    bucket : int

    Returns
    -------
    floats, records, decoded : Frame
        ``decoded`` is what the far end makes of ``records``.
    """
    span = len(values) // check_bucket(bucket)
    payload = encode(values, codec=codec, bucket=bucket, stream=stream, message=message,
                     first=first)
    floats = Frame(
        payload=values.astype("<f4").tobytes(), codec=codec.byte,
        log2_bucket=bucket.bit_length() - 1, stream=stream, message=message, first=first,
        span=span)
    records = replace(floats, payload=payload)
    return floats, records, decoded(records)


def decoded(records):
    """What the golden model makes of a frame of records, as a frame."""
    values = decode(records.payload, codec=Codec.from_byte(records.codec),
                    bucket=1 << records.log2_bucket, span=records.span)
    return replace(records, payload=values.astype("<f4").tobytes())
