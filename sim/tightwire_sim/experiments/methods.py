"""The ways to sum gradients that are compared: baselines, and the card's codecs."""

from dataclasses import dataclass

from tightwire.formats import BITS, Codec

from ..collectives import Scheme

__all__ = ["METHODS", "Method", "register"]

_POWER_RANK, _POWER_START = 2, 10

_FAMILIES = {"QSGD": "qsgd", "QSGDinf": "qsgdinf", "NUQSGD": "nuqsgd",
             "exp. largest": "exponential-largest"}


@dataclass(frozen=True, kw_only=True)
class Method:
    """One way to sum gradients.

    Attributes
    ----------
    name : str
        For people.
    family : str
        What it shares a colour with.
    bits : int, optional
        Of a code; None where there is no such thing.
    codec : Codec, optional
        None for the baselines.
    """

    name: str
    family: str
    bits: int | None = None
    codec: Codec | None = None


METHODS = {each.name: each for each in (
    Method(name="float32", family="baseline"),
    Method(name="fp16", family="baseline"),
    Method(name="bf16", family="baseline"),
    Method(name=f"PowerSGD rank {_POWER_RANK}", family="PowerSGD"),
    *(Method(name=f"{family} {bits} bit", family=family, bits=bits,
             codec=Codec.parse(f"{codec}-{bits}"))
      for family, codec in _FAMILIES.items() for bits in BITS),
)}
"""All, by name."""


def register(method, ddp, *, message):
    """Has a DistributedDataParallel sum that way.

    Parameters
    ----------
    method : Method
    ddp : DistributedDataParallel
    message : int
        Of the first message: it chooses the draws.

    Returns
    -------
    callable
        Takes the number of steps done; returns the bytes that one worker has sent in them, with
        the headers of tightwire frames, whatever the method: so figures compare.
    """
    import torch
    from torch import distributed
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

    from ..torch import TightwireState, hook

    ranks = distributed.get_world_size()
    elements = sum(parameter.numel() for parameter in ddp.parameters())
    framing = Scheme(codec="raw").wire_bytes(1 << 24, Scheme(codec="raw").codec) / (1 << 26)

    def moved(bytes_):
        """What a worker sends of so many bytes, scattered and gathered."""
        return bytes_ * 2 * (ranks - 1) / ranks * framing

    if method.codec is not None:
        state = TightwireState(codec=method.codec, message=message)
        ddp.register_comm_hook(state, hook)
        return lambda steps: state.wire_bytes
    if method.name in ("fp16", "bf16"):
        halved = getattr(default_hooks, f"{method.name}_compress_hook")

        # DDP refuses PyTorch's bf16 hook by its name where there is no NCCL; gloo can do it.
        def halves(state, bucket: distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
            return halved(state, bucket)

        ddp.register_comm_hook(None, halves)
        return lambda steps: moved(2 * elements) * steps
    if method.family == "PowerSGD":
        state = powerSGD_hook.PowerSGDState(
            None, matrix_approximation_rank=_POWER_RANK, start_powerSGD_iter=_POWER_START,
            random_seed=message)
        ddp.register_comm_hook(state, powerSGD_hook.powerSGD_hook)
        return lambda steps: moved(4 * (
            state.total_numel_after_compression + elements * min(steps, _POWER_START)))
    return lambda steps: moved(4 * elements) * steps
