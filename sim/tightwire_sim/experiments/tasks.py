"""What is trained: a convolutional net and a small language model, on data that packages ship."""

from types import MappingProxyType

import torch
from torch.nn import functional

from ..data import training

__all__ = ["TASKS", "Cnn", "Lm"]

VOCABULARY, WIDTH, CONTEXT = 512, 64, 32


class Cnn:
    """Digits at a random place of a noisy image, into ten classes (``data.training``).

    ``rank`` of ``ranks`` workers, which share a batch of 64; ``seed`` decides weights, split of
    the data, order and noise.
    """

    metric = "held-out accuracy, %"
    steps = MappingProxyType({"quick": 150, "long": 600})

    def __init__(self, rank, ranks, seed):
        images, labels = training.digits()
        order = torch.randperm(len(images), generator=torch.Generator().manual_seed(seed))
        self._held_out, self._train = order[:300], order[300:]
        self._images, self._labels = images, labels
        self._batch = 64 // ranks
        self._draw = torch.Generator().manual_seed(1000 * seed + rank)
        self._last = torch.Generator().manual_seed(seed)
        torch.manual_seed(seed)
        self.model = training.convolutional_net()
        self.optimiser = torch.optim.SGD(self.model.parameters(), lr=0.05, momentum=0.9,
                                         weight_decay=5e-4)

    def loss(self, model):
        """Of the next batch."""
        batch = self._train[torch.randint(len(self._train), (self._batch,), generator=self._draw)]
        return functional.cross_entropy(
            model(training._placed(self._images[batch], self._draw)), self._labels[batch])

    def evaluate(self):
        """The metric of the model as it is."""
        images = self._images[self._held_out].repeat(4, 1, 1)
        logits = self.model(training._placed(images, self._last))
        return 100 * (logits.argmax(1) == self._labels[self._held_out].repeat(4)
                      ).float().mean().item()


class Lm:
    """The next word of the Python documentation: a causal transformer of two blocks."""

    metric = "held-out loss, nats per word"
    steps = MappingProxyType({"quick": 150, "long": 800})

    def __init__(self, rank, ranks, seed):
        text = training.words()
        text[text >= VOCABULARY] = training.UNKNOWN
        cut = len(text) * 9 // 10
        self._train, self._held_out = text[:cut], text[cut:]
        self._batch = 16 // ranks
        self._draw = torch.Generator().manual_seed(1000 * seed + rank)
        torch.manual_seed(seed)
        self.model = training.LanguageModel(vocabulary=VOCABULARY, width=WIDTH, context=CONTEXT,
                                            dropout=0.0)
        self.optimiser = torch.optim.AdamW(self.model.parameters(), lr=2e-3)

    @staticmethod
    def _cross_entropy(model, pieces):
        return functional.cross_entropy(model(pieces[:, :-1]).flatten(0, 1),
                                        pieces[:, 1:].flatten())

    def loss(self, model):
        """Of the next batch."""
        starts = torch.randint(len(self._train) - CONTEXT, (self._batch, 1), generator=self._draw)
        return self._cross_entropy(model, self._train[starts + torch.arange(CONTEXT + 1)])

    def evaluate(self):
        """The metric of the model as it is."""
        pieces = self._held_out.unfold(0, CONTEXT + 1, CONTEXT + 1)
        return self._cross_entropy(self.model, pieces).item()


TASKS = {"cnn": Cnn, "lm": Lm}
"""By name."""
