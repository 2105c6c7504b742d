"""What the two cards are given to send: real gradients, cut into frames.

A message is what a training framework sends at once: the gradients of a model at one step, layer
after layer in one flat vector. The early steps go one way, the late ones the other.
"""

from dataclasses import dataclass, field
from functools import cache

import numpy as np
from tightwire.formats import Codec

from ..bench.frames import Frame
from ..data import gradients

__all__ = ["HEADER_BYTES", "MODES", "PAYLOAD_BYTES", "WAYS", "Message", "Piece", "Plan"]

HEADER_BYTES = 64
"""Ethernet, IPv4, UDP and tightwire headers of a frame (docs/wire-format.md, section 1)."""

PAYLOAD_BYTES = 9000 - HEADER_BYTES
"""The longest payload: headers and all, a frame has at most 9000 bytes."""

WAYS = ("a", "b")
"""The directions, by the card that sends."""

MODES = {"store": 0, "cut_through": 1}
"""The bursts of each codec choice, and the state of the pin ``cut_through`` in them."""

_STORED = 2  # frames of the burst that is only there to measure how storing delays

_MODELS = ("cnn", "lm")
_PHASES = {"a": "early", "b": "late"}


@dataclass(frozen=True, eq=False)
class Message:
    """A flat vector of gradients, or an even sample of its buckets.

    Attributes
    ----------
    name : str
        Model and phase, such as ``lm/late``.
    number : int
        The message number that goes with its frames.
    values : numpy.ndarray
        float32, whole buckets.
    layers : list of str
        Names of its layers.
    layer : numpy.ndarray
        For each value the index of its layer; -1 where it only fills up the last bucket.
    """

    name: str
    number: int
    values: np.ndarray = field(repr=False)
    layers: list = field(repr=False)
    layer: np.ndarray = field(repr=False)

    @property
    def elements(self):
        """Values that are gradients, and not padding."""
        return int(np.count_nonzero(self.layer >= 0))


@dataclass(frozen=True, eq=False)
class Piece:
    """What one frame carries: some buckets of a message, under a codec choice.

    Attributes
    ----------
    message : Message
    codec : Codec
    bucket : int
    stream : int
    first, span : int
        Its buckets, within the message.
    """

    message: Message
    codec: Codec
    bucket: int
    stream: int
    first: int
    span: int

    @property
    def part(self):
        """Which values of the message it carries: a slice."""
        return slice(self.first * self.bucket, (self.first + self.span) * self.bucket)

    @property
    def values(self):
        return self.message.values[self.part]

    @property
    def place(self):
        """The header fields that choose its draws, as ``golden.encode`` takes them."""
        return {"stream": self.stream, "message": self.message.number, "first": self.first}

    @property
    def frame(self):
        """The frame that goes into a card."""
        return Frame(
            payload=self.values.astype("<f4").tobytes(), codec=self.codec.byte,
            log2_bucket=self.bucket.bit_length() - 1, span=self.span, **self.place)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is sent under which codec choices.

    Parameters
    ----------
    lanes, bucket : int
    codecs : tuple of Codec
    most : int
        Buckets that a card may send under each choice. Where there are more, every message is
        thinned alike, to buckets at even distances.
    """

    lanes: int
    bucket: int
    codecs: tuple
    most: int

    def messages(self, way):
        """The messages that a card sends, in order: a tuple of Message."""
        return _messages(way, self.bucket, self.most)

    def pieces(self, way, codec, mode):
        """The frames of one burst, each as long as the network allows: a list of Piece."""
        longest = PAYLOAD_BYTES // (4 * codec.record_words(self.bucket))
        result = []
        for message in self.messages(way):
            buckets = len(message.values) // self.bucket
            result += [
                Piece(message=message, codec=codec, bucket=self.bucket, stream=WAYS.index(way),
                      first=first, span=min(longest, buckets - first))
                for first in range(0, buckets, longest)
            ]
        return result if MODES[mode] else result[:_STORED]

    def bursts(self):
        """All bursts in their order: (codec, mode)."""
        return [(codec, mode) for codec in self.codecs for mode in MODES]

    @property
    def elements(self):
        """Gradient values sent under each choice, both ways."""
        return sum(message.elements for way in WAYS for message in self.messages(way))

    @property
    def share(self):
        """Which part of all gradient values that is."""
        return self.elements / sum(map(len, gradients()))

    @property
    def beats(self):
        """Beats that go in altogether, both ways."""
        return sum(len(piece.values) // self.lanes for codec, mode in self.bursts()
                   for way in WAYS for piece in self.pieces(way, codec, mode))

    def as_parameters(self):
        """What JSON can hold, for ``from_parameters``."""
        return {**vars(self), "codecs": list(map(str, self.codecs))}

    @classmethod
    def from_parameters(cls, parameters):
        return cls(**{**parameters, "codecs": tuple(map(Codec.parse, parameters["codecs"]))})


@cache
def _messages(way, bucket, most):
    whole = [_flat(model, _PHASES[way], bucket) for model in _MODELS]
    share = min(1, most / sum(len(values) for values, *_ in whole))
    result = []
    for number, (model, (values, layers, layer)) in enumerate(zip(_MODELS, whole, strict=True)):
        kept = max(1, int(share * len(values)))
        at = np.arange(kept) * len(values) // kept
        result.append(Message(
            name=f"{model}/{_PHASES[way]}", number=number, values=values[at].reshape(-1),
            layers=layers, layer=layer[at].reshape(-1)))
    return tuple(result)


def _flat(model, phase, bucket):
    """All layers in one vector, and the layer of each value; both as rows of a bucket."""
    parts = gradients(model=model, phase=phase)
    values = np.concatenate([part.values for part in parts])
    layer = np.repeat(np.arange(len(parts), dtype=np.int32), [len(part) for part in parts])
    padding = -len(values) % bucket
    return (np.pad(values, (0, padding)).reshape(-1, bucket), [part.layer for part in parts],
            np.pad(layer, (0, padding), constant_values=-1).reshape(-1, bucket))
