"""From what was captured to figures: sizes, errors, rates and latencies."""

import numpy as np
from tightwire.formats import Levels, Norm

from .choices import family, title
from .traffic import HEADER_BYTES

__all__ = ["KINDS", "TIMELINE", "Errors", "burst", "choice", "kind", "timeline"]

TIMELINE = 500
"""Clocks that the picture of a timeline shows."""

KINDS = {
    "conv": "convolution",
    "fc": "dense",
    "embedding": "embedding",
    "position": "embedding",
    "self_attn": "attention",
    "linear": "dense",
    "output": "output",
    "norm": "norm",
}
"""What sort of layer it is, by a part of its name; the first that fits."""


def kind(model, layer):
    """What sort of layer this is, for people, such as ``cnn convolution``."""
    for part in layer.split("."):
        for begin, name in KINDS.items():
            if part.startswith(begin):
                return f"{model} {name}"
    raise ValueError(f"{model} layer {layer} is of no known kind")


class Errors:
    """Squared errors and squared norms, by kind of layer."""

    def __init__(self):
        self._sums = {}

    def add(self, pieces, values):
        """Count what came out for ``pieces``: ``values``, all in one vector."""
        at = 0
        for piece in pieces:
            sent = piece.values.astype(np.float64)
            wrong = sent - values[at:at + len(sent)]
            at += len(sent)
            layer = piece.message.layer[piece.part]
            # Padding has index -1: it is put behind the last layer, and left out.
            layers = piece.message.layers
            slot = np.where(layer < 0, len(layers), layer)
            per_layer = [np.bincount(slot, weights, len(layers) + 1)
                         for weights in (wrong * wrong, sent * sent)]
            counts = np.bincount(slot, minlength=len(layers) + 1)
            model = piece.message.name.partition("/")[0]
            for name, *sums in zip(layers, *per_layer, counts, strict=False):
                total = self._sums.setdefault(kind(model, name), [0.0, 0.0, 0])
                for n, one in enumerate(sums):
                    total[n] += one

    @staticmethod
    def _relative(error, norm, _):
        return float(np.sqrt(error / norm)) if norm else 0.0

    @property
    def overall(self):
        """||v' - v|| / ||v|| of everything; NaN is not hidden."""
        return self._relative(*map(sum, zip(*self._sums.values(), strict=True)))

    @property
    def elements(self):
        return int(sum(count for *_, count in self._sums.values()))

    def by_kind(self):
        """The same for each kind of layer: a dict."""
        return {name: self._relative(*sums) for name, sums in self._sums.items() if sums[2]}


def burst(host, wire, far):
    """Rates and latencies of one burst into empty cards, of one direction.

    The latency is that of its first frame, from beat to beat: first beat taken from the host,
    first beat on the wire, first beat given to the other host.
    """
    begin, middle, end = (int(capture.clocks[0]) for capture in (host, wire, far))
    return {
        "beats": len(host.clocks),
        "in_rate": host.rate,
        "out_rate": far.rate,
        "in_pauses": host.pauses,
        "out_pauses": far.pauses,
        "compress": middle - begin,
        "decompress": end - middle,
        "latency": end - begin,
    }


def timeline(host, wire, far):
    """When beats moved at the three places, in the first clocks of a burst."""
    begin = int(host.clocks[0])
    return {
        name: [[clock - begin, length]
               for clock, length in capture.runs(begin, begin + TIMELINE)]
        for name, capture in (("in", host), ("wire", wire), ("out", far))
    }


def choice(codec, *, lanes, bucket, pieces, errors, bursts, shown):
    """All figures of one codec choice, as they go into figures.json.

    Parameters
    ----------
    codec : Codec
    lanes, bucket : int
    pieces : list of Piece
        What was sent in the long burst, both ways.
    errors : Errors
        Of the same.
    bursts : dict
        From ``cut_through`` and ``store`` to a list of what ``burst`` gave, for both ways.
    shown : dict
        What ``timeline`` gave for one way.
    """
    records = sum(piece.span for piece in pieces)
    payload = records * codec.record_words(bucket) * 4
    norms = records * codec.header_words * 4
    headers = len(pieces) * HEADER_BYTES
    elements = errors.elements
    wire = payload + headers
    # The norm is known with the bucket's last beat; a Euclidean one takes a second pass.
    passes = 0 if codec.levels == Levels.RAW else 2 if codec.norm == Norm.EUCLIDEAN else 1
    return {
        "name": str(codec),
        "title": title(codec),
        "family": family(codec),
        "bits": codec.bits,
        "elements": elements,
        "frames": len(pieces),
        "wire_bytes": wire,
        "payload_bytes": payload,
        "bits_per_element": {
            "codes": 8 * (payload - norms) / elements,
            "norms": 8 * norms / elements,
            "headers": 8 * headers / elements,
            "all": 8 * wire / elements,
        },
        "ratio": 4 * elements / wire,
        "error": errors.overall,
        "error_by_kind": errors.by_kind(),
        "fill": passes * max(0, bucket // lanes - 1),
        **{mode: _worst(both) for mode, both in bursts.items()},
        "timeline": shown,
    }


def _worst(both):
    """The slower rate, the more pauses and the longer latency of the two directions."""
    slowest = max(both, key=lambda one: one["latency"])
    return {
        **slowest,
        "beats": sum(one["beats"] for one in both),
        **{f"{way}_rate": min(one[f"{way}_rate"] for one in both) for way in ("in", "out")},
        **{f"{way}_pauses": max(one[f"{way}_pauses"] for one in both) for way in ("in", "out")},
    }
