"""Frames that the top ``codec`` must refuse, each with the reason that it must give."""

from dataclasses import replace

from tightwire.formats import RAW, Codec, FormatError

from .frames import floats_and_records, to_beats
from .traffic import CODECS
from .values import ordinary

__all__ = ["KINDS", "Malformed", "is_built"]


def is_built(byte):
    """Whether a codec byte is one that the gateware takes."""
    try:
        return Codec.from_byte(byte) in CODECS
    except FormatError:
        return False


class Malformed:
    """A broken frame.

    Attributes
    ----------
    kind : str
    frame : Frame
        As it was meant; its tuser is right.
    beats : list of Beat
        As it is.
    reason : str
        By which it has to be counted.
    leaves : bool
        Whether, with ``cut_through``, what there is of it leaves, with the error mark.
    """

    def __init__(self, traffic, way, kind):
        self.kind = kind
        make, self.reason = KINDS[kind]
        self.leaves = self.reason in ("length", "marked")
        rng = traffic.rng
        codec = rng.choice(CODECS)
        bucket = rng.choice(traffic.buckets[:3])
        least = max(2, 2 * traffic.lanes // bucket + 1)  # more than one beat
        span = rng.randrange(least, least + 4)
        if way == "rx":  # here too
            span = max(span, traffic.width // (4 * codec.record_words(bucket)) + 1)
        floats, records, _ = floats_and_records(
            ordinary(traffic.np_rng, bucket * span), codec=codec, bucket=bucket,
            stream=rng.getrandbits(16), message=rng.getrandbits(16), first=rng.getrandbits(32))
        frame = floats if way == "tx" else records
        made = make(traffic, frame, len(frame.payload) // span)
        if isinstance(made, tuple):
            self.frame, self.beats = made
        else:
            self.frame, self.beats = made, to_beats(made, traffic.lanes)

    def marked(self, **changes):
        """The frame as it leaves with a mark, if it does."""
        return replace(self.frame, error=True, **changes)


def _shorter(traffic, frame, by):
    return replace(frame, payload=frame.payload[:-by])


def _longer(traffic, frame, by):
    return replace(frame, payload=frame.payload + traffic.rng.randbytes(by))


def _short_beat(traffic, frame, one):
    tail = len(frame.payload) % traffic.width or traffic.width
    return _shorter(traffic, frame, tail)


def _long_beats(beats):
    def make(traffic, frame, one):
        tail = -len(frame.payload) % traffic.width
        return _longer(traffic, frame, tail + beats * traffic.width)
    return make


def _codec(choose):
    """A codec byte that is not built, of those that ``choose`` takes."""
    bytes_ = [byte for byte in range(256) if not is_built(byte) and choose(byte)]

    def make(traffic, frame, one):
        return replace(frame, codec=traffic.rng.choice(bytes_))
    return make


def _bucket(choose):
    def make(traffic, frame, one):
        most = traffic.config.max_bucket.bit_length() - 1
        choices = [log2 for log2 in range(16) if choose(log2, most)]
        # Where the largest bucket of all is built, there is none between that and 2^14.
        return replace(frame, log2_bucket=traffic.rng.choice(choices or [15]))
    return make


def _keep(change, which):
    """tkeep of one beat changed; ``which`` draws the beat of so many."""
    def make(traffic, frame, one):
        beats = to_beats(frame, traffic.lanes)
        at = which(traffic.rng, len(beats))
        beats[at] = beats[at]._replace(keep=change(traffic.rng, beats[at].keep, traffic.width))
        return frame, beats
    return make


def _hole(rng, keep, width):
    """A zero somewhere below the highest bit that is left."""
    if keep.bit_length() < 3:
        keep = (1 << width) - 1
    return keep & ~(1 << rng.randrange(1, keep.bit_length() - 1))


def _too_large(traffic, frame, one):
    """A frame that is right in all but that its store does not hold it."""
    bucket = traffic.buckets[-1]
    span = traffic.store // (4 * bucket) + traffic.rng.choice((1, 1, 3))
    floats, _, _ = floats_and_records(
        ordinary(traffic.np_rng, bucket * span), codec=RAW, bucket=bucket, stream=frame.stream)
    return floats  # raw: float32 and records are the same


def _late(change):
    """A frame that its store does not hold, and that turns out to be broken after that."""
    def make(traffic, frame, one):
        return change(traffic, _too_large(traffic, frame, one))
    return make


def _any(rng, beats):
    return rng.randrange(beats)


def _last(rng, beats):
    return beats - 1


def _not_last(rng, beats):
    return rng.randrange(beats - 1)


KINDS = {
    "short by a byte": (lambda t, f, one: _shorter(t, f, 1), "length"),
    "short by a word": (lambda t, f, one: _shorter(t, f, 4), "length"),
    "short by a beat": (_short_beat, "length"),
    "short by a bucket": (lambda t, f, one: _shorter(t, f, one), "length"),
    "only its first byte": (lambda t, f, one: replace(f, payload=f.payload[:1]), "length"),
    "only its first beat": (
        lambda t, f, one: replace(f, payload=f.payload[:t.width]), "length"),
    "long by a byte": (lambda t, f, one: _longer(t, f, 1), "length"),
    "long by a word": (lambda t, f, one: _longer(t, f, 4), "length"),
    "long by a beat": (_long_beats(1), "length"),
    "long by a bucket": (lambda t, f, one: _longer(t, f, one), "length"),
    "long by many beats": (_long_beats(40), "length"),
    "span too large": (lambda t, f, one: replace(f, span=f.span + 1), "length"),
    "span too small": (lambda t, f, one: replace(f, span=f.span - 1), "length"),
    "span far too large": (lambda t, f, one: replace(f, span=0xFFFF), "length"),
    "other bucket size": (
        lambda t, f, one: replace(f, log2_bucket=6 + (f.log2_bucket == 6)), "length"),
    "reserved levels": (_codec(lambda byte: byte & 3 == 3), "codec"),
    "reserved bits": (_codec(lambda byte: byte & 3 in (1, 2) and byte >> 3 & 3 == 0), "codec"),
    "raw with a norm": (_codec(lambda byte: byte & 7 == 4), "codec"),
    "raw with a width": (_codec(lambda byte: byte & 3 == 0 and byte >> 3 & 3), "codec"),
    "coding not built": (_codec(lambda byte: byte >> 5 & 3), "codec"),
    "sparse": (_codec(lambda byte: byte >> 7 and is_built(byte & 0x7F)), "codec"),
    "any codec byte": (_codec(lambda byte: True), "codec"),
    "bucket too small": (_bucket(lambda log2, most: log2 < 6), "bucket"),
    "bucket not built": (_bucket(lambda log2, most: most < log2 <= 13), "bucket"),
    "bucket too large": (_bucket(lambda log2, most: log2 > 13), "bucket"),
    "span zero": (lambda t, f, one: replace(f, span=0), "span"),
    "all wrong": (lambda t, f, one: replace(f, codec=3, log2_bucket=15, span=0), "codec"),
    "bucket and span": (lambda t, f, one: replace(f, log2_bucket=0, span=0, error=True), "bucket"),
    "marked": (lambda t, f, one: replace(f, error=True), "marked"),
    "marked and short": (lambda t, f, one: replace(_shorter(t, f, 4), error=True), "marked"),
    "long and then marked": (
        lambda t, f, one: replace(_long_beats(1)(t, f, one), error=True), "length"),
    "marked and refused": (lambda t, f, one: replace(f, codec=3, error=True), "codec"),
    "tkeep zero": (_keep(lambda rng, keep, width: 0, _any), "marked"),
    "tkeep not all ones": (_keep(lambda rng, keep, width: keep >> 1, _not_last), "marked"),
    "tkeep without lane 0": (
        _keep(lambda rng, keep, width: keep & ~1, _any), "marked"),
    "tkeep with a hole": (_keep(_hole, _any), "marked"),
    "tkeep with a hole at the end": (_keep(_hole, _last), "marked"),
    "longer than the store": (_too_large, "long"),
    "longer than the store, then short": (
        _late(lambda t, f: _shorter(t, f, 4)), "length"),
    "longer than the store, then marked": (
        _late(lambda t, f: replace(f, error=True)), "marked"),
}
"""What is wrong, how it is made from a right frame (the traffic, the frame, the bytes of one of
its buckets), and the reason by which it is counted. A frame that is wrong in several ways is
counted once: by its side band first, in the order codec, bucket, span; then by the mark where it
comes with the beat at which the length is found wrong, or before; then by the length; by the
store only if all else is right."""
