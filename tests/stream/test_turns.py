"""Turns: round robin."""

import random

import pytest

from tightwire.stream.turns import Turns

from ..support.bench import simulate

SEED = 24


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_nobody_waits_longer_than_the_others_take(n):
    rng = random.Random(SEED)
    dut = Turns(n)
    waited = [0] * n

    async def process(ctx):
        for _ in range(300):
            ask = rng.getrandbits(n)
            turn = rng.getrandbits(1)
            ctx.set(dut.ask, ask)
            ctx.set(dut.next, turn and ask != 0)
            *_, any_, index = await ctx.tick().sample(dut.any, dut.index)
            assert any_ == (ask != 0)
            if ask == 0:
                continue
            assert ask >> index & 1
            if turn:
                for other in range(n):
                    asks = ask >> other & 1 and other != index
                    waited[other] = waited[other] + 1 if asks else 0
                assert max(waited) < n

    simulate(dut, process)
