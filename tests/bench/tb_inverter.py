"""For the tests of the runner."""

import os
import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge
from tightwire_sim.bench.context import parameters, record


@cocotb.test()
async def inverts(dut):
    Clock(dut.clk, 4, "ns").start(start_high=False)
    dut.rst.value = 0
    await FallingEdge(dut.clk)
    for value in parameters()["values"]:
        dut.i.value = value
        await FallingEdge(dut.clk)
        record(i=value, o=int(dut.o.value))


@cocotb.test()
async def draws(dut):
    record(drawn=random.random())


@cocotb.test()
async def fails(dut):
    raise AssertionError("this cannot be")


@cocotb.test()
async def dies(dut):
    os._exit(3)


@cocotb.test()
async def looks(dut):
    Clock(dut.clk, 4, "ns").start(start_high=False)
    dut.rst.value = 0
    await FallingEdge(dut.clk)
    before = str(dut.o.value)
    dut.rst.value = 1
    await FallingEdge(dut.clk)
    record(before=before, after=str(dut.o.value))
