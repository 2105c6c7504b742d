"""One process of the training runs: ``python -m tightwire_sim.experiments.worker RANK FOLDER``.

``FOLDER/plan.json`` says what to run; what comes out goes to ``FOLDER/results.jsonl``, a line for
each run, from the first process.
"""

import json
import math
import os
import sys
import time
from datetime import timedelta
from pathlib import Path

__all__ = ["main"]


def _run(task, method, *, steps, seed, rank, ranks):
    """One training run: a record, the same at all workers."""
    import torch
    from torch.nn.parallel import DistributedDataParallel

    from .methods import METHODS, register
    from .tasks import TASKS

    began = time.monotonic()
    trained = TASKS[task](rank, ranks, seed)
    ddp = DistributedDataParallel(trained.model)
    # Far apart, so that no two seeds share draws.
    sent = register(METHODS[method], ddp, message=seed * 9973 & 0xFFFF)
    losses = []
    # Down to nothing, so that the end is less of an accident.
    slower = torch.optim.lr_scheduler.LambdaLR(trained.optimiser, lambda step: 1 - step / steps)
    for _ in range(steps):
        trained.optimiser.zero_grad()
        loss = trained.loss(ddp)
        loss.backward()
        trained.optimiser.step()
        slower.step()
        losses.append(loss.item())
    trained.model.eval()
    with torch.no_grad():
        metric = trained.evaluate()
    elements = sum(parameter.numel() for parameter in trained.model.parameters())
    tail = losses[-max(1, steps // 10):]
    return {
        "task": task, "method": method, "seed": seed, "steps": steps, "elements": elements,
        "metric": metric if math.isfinite(metric) else None,
        "loss": sum(tail) / len(tail) if all(map(math.isfinite, tail)) else None,
        "wire_bytes": sent(steps), "seconds": time.monotonic() - began,
    }


def main(rank, folder):
    """The program."""
    import torch
    from torch import distributed

    plan = json.loads((folder / "plan.json").read_text())
    ranks = plan["ranks"]
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    distributed.init_process_group(
        "gloo", rank=rank, world_size=ranks, timeout=timedelta(minutes=5),
        store=distributed.FileStore(str(folder / "store"), ranks))
    for task, method, steps, seed in plan["runs"]:
        record = _run(task, method, steps=steps, seed=seed, rank=rank, ranks=ranks)
        if rank == 0:
            with (folder / "results.jsonl").open("a") as file:
                file.write(json.dumps(record) + "\n")
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
