"""Training with the card, before there is one: communication hooks for PyTorch.

    from tightwire_sim.torch import TightwireState, hook

    model = DistributedDataParallel(network)
    model.register_comm_hook(TightwireState(codec="nuqsgd-4", error_feedback=True), hook)

Gradients are coded, summed and decoded to the bit as the card does it (``tightwire_sim.fast``,
``tightwire_sim.collectives``), on the CPU; torch.distributed carries the bytes. For FSDP there is
``reduce_scatter_hook``, with the same state.
"""

from .hooks import hook, reduce_scatter_hook
from .state import TightwireState
from .statistics import LayerStatistics

__all__ = ["LayerStatistics", "TightwireState", "hook", "reduce_scatter_hook"]
