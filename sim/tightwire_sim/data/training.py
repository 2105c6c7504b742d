"""The two training runs whose gradients are captured: small, real, seeded.

Needs PyTorch and scikit-learn, which nothing else in the package does. The data comes with
packages, so that nothing is downloaded.
"""

import re
import time
from collections import Counter, OrderedDict
from dataclasses import dataclass
from pydoc_data.topics import topics

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional

__all__ = ["LanguageModel", "Run", "convolutional_net", "train_cnn", "train_lm"]

SEED = 20
STEPS = {"cnn": {"early": 10, "late": 600}, "lm": {"early": 10, "late": 1000}}

CANVAS = 12
"""Side of the images that the net is shown, in pixels: digits of 8 by 8 somewhere in them."""

NOISE = 0.2
"""Standard deviation of the noise on every pixel, which is 0 to 1 without. It keeps the net from
knowing 1,500 images by heart, after which there would be nothing left in the gradients."""

VOCABULARY = 3072
"""Rows of the embedding: that many less one of the most frequent words, and the unknown one."""

WIDTH = 128
CONTEXT = 32
UNKNOWN = 0


@dataclass(frozen=True)
class Run:
    """What came out of a training run.

    Attributes
    ----------
    steps : dict of str to int
        Step of each phase, counted from 1.
    losses : dict of str to float
        Loss of that step's batch, before its update, in nats per sample or token.
    held_out : dict of str to float
        How the trained model does on data that it has not seen.
    gradients : dict of str to dict of str to numpy.ndarray
        For each phase, for each parameter: float32, in its shape.
    """

    steps: dict
    losses: dict
    held_out: dict
    gradients: dict


def convolutional_net():
    """The net for (N, 1, 12, 12) images: three convolutions, two dense layers, (N, 10) logits."""
    return nn.Sequential(OrderedDict(
        conv1=nn.Conv2d(1, 32, 3, padding=1, bias=False),
        norm1=nn.BatchNorm2d(32),
        relu1=nn.ReLU(),
        conv2=nn.Conv2d(32, 64, 3, padding=1, bias=False),
        norm2=nn.BatchNorm2d(64),
        relu2=nn.ReLU(),
        pool2=nn.MaxPool2d(2),
        conv3=nn.Conv2d(64, 64, 3, padding=1, bias=False),
        norm3=nn.BatchNorm2d(64),
        relu3=nn.ReLU(),
        pool3=nn.MaxPool2d(2),
        flat=nn.Flatten(),
        fc1=nn.Linear(64 * (CANVAS // 4) ** 2, 64),
        relu4=nn.ReLU(),
        fc2=nn.Linear(64, 10),
    ))


class LanguageModel(nn.Module):
    """A causal transformer of two blocks: (N, T) word numbers to (N, T, vocabulary) logits.

    Input and output embedding are not tied: so the gradient of the first has non-zero rows only
    for the words of the batch, as in a recommender or a large vocabulary.
    """

    def __init__(self, *, vocabulary=VOCABULARY, width=WIDTH, context=CONTEXT, dropout=0.1):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(width, nhead=4, dim_feedforward=2 * width, dropout=dropout,
                                       batch_first=True, norm_first=True)
            for _ in range(2))
        self.norm = nn.LayerNorm(width)
        self.output = nn.Linear(width, vocabulary)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(context))

    def forward(self, words):
        length = words.shape[1]
        state = self.embedding(words) + self.position.weight[:length]
        for block in self.blocks:
            state = block(state, src_mask=self.mask[:length, :length], is_causal=True)
        return self.output(self.norm(state))


def digits():
    """The images (1797, 8, 8), float32 from 0 to 1, and the labels (1797,), int64."""
    data = load_digits()
    return torch.tensor(data.images / 16, dtype=torch.float32), torch.tensor(data.target)


def words():
    """The text as word numbers, (tokens,) int64: 0 the unknown word, 1 the most frequent one."""
    text = " ".join(topics[name] for name in sorted(topics)).lower()
    tokens = re.findall(r"[a-z_]+|\d|[^\w\s]", text)
    ranked = sorted(Counter(tokens).items(), key=lambda item: (-item[1], item[0]))
    number = {token: i for i, (token, _) in enumerate(ranked[:VOCABULARY - 1], start=1)}
    return torch.tensor([number.get(token, UNKNOWN) for token in tokens])


def train_cnn(*, steps=None, say=print):
    """Digits, at a random place of the canvas each time, into ten classes.

    Parameters
    ----------
    steps : dict of str to int, optional
        Phases and the steps at which they are captured, in rising order.
    say : callable
        Takes a line that tells about progress.

    Returns
    -------
    Run
    """
    draw = _seeded()
    images, labels = digits()
    order = torch.randperm(len(images), generator=draw)
    held_out, train = order[:300], order[300:]
    model = convolutional_net()

    def loss():
        batch = train[torch.randint(len(train), (64,), generator=draw)]
        return functional.cross_entropy(model(_placed(images[batch], draw)), labels[batch])

    optimiser = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=5e-4)
    found = _train("cnn", model, loss, optimiser, steps or STEPS["cnn"], say)
    model.eval()
    with torch.no_grad():
        logits = model(_placed(images[held_out], draw))
    right = (logits.argmax(1) == labels[held_out]).float().mean().item()
    return Run(**found, held_out={"accuracy": right})


def train_lm(*, steps=None, say=print):
    """The next word of the text, 16 pieces of 32 words at a time.

    Parameters and result as ``train_cnn``.
    """
    draw = _seeded()
    text = words()
    train, held_out = text[:len(text) * 9 // 10], text[len(text) * 9 // 10:]
    model = LanguageModel()

    def cross_entropy(pieces):
        return functional.cross_entropy(model(pieces[:, :-1]).flatten(0, 1),
                                        pieces[:, 1:].flatten())

    def loss():
        starts = torch.randint(len(train) - CONTEXT, (16, 1), generator=draw)
        return cross_entropy(train[starts + torch.arange(CONTEXT + 1)])

    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
    found = _train("lm", model, loss, optimiser, steps or STEPS["lm"], say)
    model.eval()
    with torch.no_grad():
        apart = held_out.unfold(0, CONTEXT + 1, CONTEXT + 1)
        unseen = cross_entropy(apart).item()
    return Run(**found, held_out={"loss": unseen})


def _seeded():
    """Makes PyTorch repeat itself; returns the generator of batches."""
    torch.set_num_threads(1)  # sums in one order
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(SEED)
    return torch.Generator().manual_seed(SEED)


def _placed(images, draw):
    """Each of (N, 8, 8) images at its own place of a noisy (N, 1, CANVAS, CANVAS) one."""
    count, side = images.shape[0], images.shape[-1]
    placed = torch.zeros(count, 1, CANVAS, CANVAS)
    corners = torch.randint(CANVAS - side + 1, (count, 2), generator=draw)
    for image, canvas, (top, left) in zip(images, placed, corners.tolist(), strict=True):
        canvas[0, top:top + side, left:left + side] = image
    return placed + NOISE * torch.randn(placed.shape, generator=draw)


def _train(name, model, loss, optimiser, steps, say):
    """Steps until the last phase; returns what Run has to say about the phases, by name."""
    phases = {step: phase for phase, step in steps.items()}
    last = max(phases)
    losses, captured = {}, {}
    began = time.monotonic()
    model.train()
    for step in range(1, last + 1):
        optimiser.zero_grad()
        value = loss()
        value.backward()
        if step in phases:
            losses[phases[step]] = value.item()
            captured[phases[step]] = {
                layer: parameter.grad.numpy().copy()
                for layer, parameter in model.named_parameters()}
        optimiser.step()
        if step in phases or step % max(1, last // 10) == 0:
            say(f"{name}: step {step} of {last}, loss {value.item():.3f}, "
                f"{time.monotonic() - began:.0f} s")
    return {"steps": dict(steps), "losses": losses, "gradients": captured}
