"""One worker of a test: ``python ranks.py RANK RANKS FOLDER`` runs all scenarios, over gloo.

What each needs to be checked goes to ``FOLDER/RANK.pkl``: the gradients that went into the hook,
in the order and the company in which it got them, and those that came out.
"""

import os
import pickle
import sys
import warnings
from datetime import timedelta
from pathlib import Path

import numpy as np
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

from tightwire.config import ConfigError
from tightwire_sim.torch import TightwireState, hook, reduce_scatter_hook

STEPS = 3

# Names of scenarios, and what their state is made with.
CHOICES = {
    "default": {},
    "uniform": {"codec": "qsgdinf-8", "bucket": 64, "frame_bytes": 500},
    "two codecs": {"codec": "qsgd-4", "result_codec": "qsgd-8", "message": 65530},
    "ring": {"codec": "exponential-largest-4", "collective": "ring"},
    "aggregator": {"codec": "nuqsgd-8", "collective": "aggregator"},
    "raw": {"codec": "raw"},
    "feedback": {"codec": "qsgdinf-2", "error_feedback": True},
    "feedback ring": {"codec": "qsgdinf-2", "collective": "ring", "error_feedback": True},
    "warm-up": {"codec": "qsgdinf-4", "warm_up": 2, "statistics": True},
    "all coded": {"codec": "nuqsgd-4", "smallest": 0, "dimensions": 0},
    "bfloat16": {"codec": "nuqsgd-4"},
    "float16": {"codec": "nuqsgd-4"},
}


def network(dtype):
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(48, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(),
                         nn.Linear(96, 8)).to(dtype)


def batch(rank, step, dtype):
    draw = torch.Generator().manual_seed(100 * step + rank)
    return torch.randn(16, 48, generator=draw).to(dtype)


def train(name, rank):
    """Some steps of a scenario: what the hook was called with, and what it left."""
    dtype = getattr(torch, name, torch.float32)
    model = network(dtype)
    plain = network(dtype)
    # Buckets of 1 kB: several in each step but the first, in which DDP has not arranged them yet.
    ddp = DistributedDataParallel(model, bucket_cap_mb=0.001)
    names = dict(zip(model.parameters(), dict(model.named_parameters()), strict=True))
    state = TightwireState(model=model, **CHOICES[name])
    calls = []

    def noted(state, bucket):
        calls.append((state.step, [names[p] for p in bucket.parameters()]))
        return hook(state, bucket)

    ddp.register_comm_hook(state, noted)
    steps = []
    for step in range(STEPS):
        data = batch(rank, step, dtype)
        for each in (ddp, plain):
            each.zero_grad()
            each(data).float().square().mean().backward()
        steps.append({
            "own": {n: p.grad.float().numpy().ravel() for n, p in plain.named_parameters()},
            "mean": {n: p.grad.float().numpy().ravel() for n, p in model.named_parameters()},
        })
        steps[-1] = {key: {n: g.copy() for n, g in found.items()}
                     for key, found in steps[-1].items()}
    return {"calls": calls, "steps": steps, "wire_bytes": state.wire_bytes,
            "statistics": {n: vars(s) for n, s in state.statistics.items()},
            "report": state.report(), "state": pickle.dumps(state.state_dict())}


def resumed(rank):
    """Three steps with one state, and two, a checkpoint and one more: both's last gradients.

    DDP is made anew in both, since it arranges its buckets only after its first step.
    """
    results = []
    for stopped in (False, True):
        model = network(torch.float32)
        state = TightwireState(model=model, codec="qsgdinf-2", error_feedback=True)
        for step in range(STEPS):
            if step in (0, 2):
                if step and stopped:
                    kept = pickle.loads(pickle.dumps(state.state_dict()))
                    state = TightwireState(model=model, codec="qsgdinf-2", error_feedback=True)
                    state.load_state_dict(kept)
                ddp = DistributedDataParallel(model)
                ddp.register_comm_hook(state, hook)
            ddp.zero_grad()
            ddp(batch(rank, step, torch.float32)).square().mean().backward()
        results.append([p.grad.numpy().copy() for p in model.parameters()])
    return results


def learns(collective):
    """The loss of a regression before and after training with 4 bits."""
    torch.manual_seed(5)
    model = nn.Sequential(nn.Linear(48, 64), nn.Tanh(), nn.Linear(64, 1))
    goal = torch.randn(48)
    ddp = DistributedDataParallel(model)
    ddp.register_comm_hook(TightwireState(codec="nuqsgd-4", collective=collective), hook)
    optimiser = torch.optim.SGD(ddp.parameters(), lr=0.1)
    losses = []
    for step in range(60):
        data = batch(distributed.get_rank(), 1000 + step, torch.float32)
        loss = (ddp(data)[:, 0] - torch.tanh(data @ goal / 7)).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses[0], float(np.mean(losses[-10:])), [p.detach().numpy() for p in model.parameters()]


def scattered(rank, ranks):
    """``reduce_scatter_hook`` as a plain function, of each type."""
    state = TightwireState(codec="nuqsgd-4", warm_up=1)
    results = []
    for step, dtype in enumerate((torch.float32, torch.float32, torch.bfloat16)):
        draw = torch.Generator().manual_seed(10 * step + rank)
        grad = torch.randn(ranks * 300, generator=draw).to(dtype)
        output = torch.empty(300, dtype=dtype)
        reduce_scatter_hook(state, grad, output)
        results.append((grad.float().numpy(), output.float().numpy()))
    try:
        reduce_scatter_hook(state, torch.ones(ranks * 300 + 1), torch.empty(300))
    except ValueError as error:
        return results, str(error)


def subgroup(rank, ranks):
    """A group of every other worker sums among its own."""
    members = [r for r in range(ranks) if r % 2 == rank % 2]
    groups = [distributed.new_group([r for r in range(ranks) if r % 2 == half])
              for half in range(min(2, ranks))]
    model = network(torch.float32)
    ddp = DistributedDataParallel(model, process_group=groups[rank % 2])
    ddp.register_comm_hook(TightwireState(groups[rank % 2], codec="raw"), hook)
    ddp(batch(rank, 0, torch.float32)).square().mean().backward()
    own = []
    for member in members:
        plain = network(torch.float32)
        plain(batch(member, 0, torch.float32)).square().mean().backward()
        own.append([p.grad.numpy() for p in plain.parameters()])
    return own, [p.grad.numpy() for p in model.parameters()]


def failure():
    """What backward() raises where a collective goes wrong."""
    model = network(torch.float32)
    ddp = DistributedDataParallel(model)
    state = TightwireState()
    state.average = lambda *_: 1 / 0
    ddp.register_comm_hook(state, hook)
    try:
        ddp(batch(0, 0, torch.float32)).square().mean().backward()
    except RuntimeError as error:
        return str(error)


def refusals():
    """What a state says of bad arguments."""
    said = {}
    for name, value in (("warm_up", -1), ("smallest", 1.5), ("dimensions", True),
                        ("error_feedback", 1), ("statistics", "yes"), ("model", "net"),
                        ("leave_alone", ["fc"]), ("collective", "tree"), ("message", 70000)):
        try:
            TightwireState(**{name: value})
        except ConfigError as error:
            said[name] = str(error)
    return said


def main(rank, ranks, folder):
    warnings.simplefilter("error")
    torch.set_num_threads(1)
    os.environ.update(GLOO_SOCKET_IFNAME="lo")
    try:
        TightwireState()
    except ConfigError as error:
        uninitialised = str(error)
    distributed.init_process_group(
        "gloo", rank=rank, world_size=ranks, timeout=timedelta(seconds=60),
        store=distributed.FileStore(str(folder / "store"), ranks))
    found = {name: train(name, rank) for name in CHOICES}
    found |= {"resumed": resumed(rank), "scattered": scattered(rank, ranks),
              "refusals": refusals(), "uninitialised": uninitialised}
    found["learns"] = {name: learns(name) for name in
                       ("scatter-reduce-allgather", "ring", "aggregator")}
    if ranks > 2:
        found["subgroup"] = subgroup(rank, ranks)
    found["failure"] = failure()
    (folder / f"{rank}.pkl").write_bytes(pickle.dumps(found))
    distributed.barrier()
    distributed.destroy_process_group()


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
