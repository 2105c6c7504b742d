"""What benches are made of: memory behind AXI4, registers behind AXI4-Lite, a wire with faults."""

import os
from pathlib import Path

import pytest
from tightwire_sim.bench import runner

from .parts import Copier


@pytest.fixture(scope="module")
def simulation():
    return runner.build(Copier(lanes=16), name="copier_16")


@pytest.fixture(autouse=True)
def bench_path(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)


@pytest.mark.parametrize("test", [
    "registers", "an_access_that_is_not_answered", "errors", "what_a_master_must_not_do",
    "a_good_wire"])
def test_parts(simulation, test):
    runner.run(simulation, module="tb_parts", tests=[test])


def test_memory_at_full_speed(simulation):
    """A beat each way in every clock, but for the first answer."""
    one, = runner.run(simulation, module="tb_parts", tests=["full_speed"])
    assert one["clocks"] <= one["beats"] + 80, one
    assert one["outstanding"] > 1
    assert one["rate"] > 1000, "clocks a second"


def test_random_copies(simulation):
    for one in runner.run(simulation, module="tb_parts", tests=["random_copies"]):
        assert one["outstanding"] > 2


def test_a_bad_wire_is_the_same_with_the_same_seed(simulation):
    def run(seed):
        return runner.run(simulation, module="tb_parts", tests=["a_bad_wire"], seed=seed,
                          parameters={"delay": 300})

    assert run(3) == run(3) != run(4)


def test_narrow(tmp_path):
    """One lane: a beat is a word."""
    simulation = runner.build(Copier(lanes=1), name="copier_1")
    runner.run(simulation, module="tb_parts",
               tests=["random_copies", "errors", "a_good_wire"])
