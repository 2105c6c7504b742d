"""What the hook has counted of a layer."""

from dataclasses import dataclass

__all__ = ["LayerStatistics", "table"]


@dataclass
class LayerStatistics:
    """Sums over the steps of one layer, at this worker.

    A message is one bucket of DDP's, with many layers in it: bytes and time are a layer's share
    of them, by elements.

    Attributes
    ----------
    elements : int
        Of the layer.
    steps : int
        How often it was sent.
    coded : int
        How often it was coded, not raw.
    wire_bytes, plain_bytes : float
        Sent, headers included; and as plain float32.
    seconds : float
        From the hook's call to the sum, waiting for other workers and other buckets included.
    error, power : float
        Squared errors that this worker's coding made, and squared values, over the coded steps.
        Counted where the state was told to keep statistics, or to feed errors back.
    """

    elements: int
    steps: int = 0
    coded: int = 0
    wire_bytes: float = 0.0
    plain_bytes: float = 0.0
    seconds: float = 0.0
    error: float = 0.0
    power: float = 0.0

    @property
    def ratio(self):
        """How many times smaller than float32 it was on the wire."""
        return self.plain_bytes / self.wire_bytes if self.wire_bytes else 1.0

    @property
    def relative_error(self):
        """Root of squared errors over squared values; 0 where nothing was coded."""
        return (self.error / self.power) ** 0.5 if self.power else 0.0


def table(statistics):
    """Statistics, a dict from names to LayerStatistics, as text."""
    width = max([5, *map(len, statistics)])
    lines = [f"{'layer':{width}}  {'elements':>10}  {'steps':>6}  {'coded':>6}  {'ratio':>6}  "
             f"{'error':>8}  {'ms/step':>8}"]
    for name, one in statistics.items():
        lines.append(f"{name:{width}}  {one.elements:10,}  {one.steps:6}  {one.coded:6}  "
                     f"{one.ratio:6.2f}  {one.relative_error:8.4f}  "
                     f"{1000 * one.seconds / max(1, one.steps):8.3f}")
    return "\n".join(lines)
