"""The driver against a model of the card: what comes out, what is full, what goes wrong."""

import asyncio
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tightwire_sim.card_model import CardModel
from tightwire_sim.golden import decode, encode
from tightwire_sim.host_memory import HostMemory

from tightwire.config import NicConfig
from tightwire.dma import transfer
from tightwire.formats import NUQSGD4, QSGD4, RAW, FormatError
from tightwire.host import (
    BlockingCard,
    Card,
    CardError,
    Completed,
    DescriptorError,
    Failure,
    NoCard,
    QueueFull,
    Station,
    Status,
    TableFull,
    TimedOut,
)
from tightwire.host.layouts import COMPLETION_BYTES, DESCRIPTOR_BYTES, Completion
from tightwire.registers.nic import INTERRUPTS, OP_ADD

SEED = 40
A = Station("02:00:00:00:00:0a", "10.0.0.1")
B = Station("02:00:00:00:00:0b", "10.0.0.2", 9000)


class Bench:
    """Two hosts, each with a card; the cards on one wire."""

    def __init__(self, log2_size=3, log2_completions=4, buffers=4, config=None, **more):
        config = config or NicConfig(frame_bytes=2048, streams=2, regions=3, peers=4)
        self.memories = [HostMemory(1 << 21, seed=n) for n in (1, 2)]
        self.models = [CardModel(memory, config) for memory in self.memories]
        self.models[0].far, self.models[1].far = self.models[1], self.models[0]
        self.cards = [BlockingCard(model, memory)
                      for model, memory in zip(self.models, self.memories, strict=True)]
        for card, here, there in zip(self.cards, (A, B), (B, A), strict=True):
            card.set_up(here, log2_size=log2_size, log2_completions=log2_completions,
                        buffers=buffers, **more)
            card.set_peer(1, there)

    def close(self):
        """At the end nothing was written where it should not, and all memory is given back."""
        for card, memory in zip(self.cards, self.memories, strict=True):
            memory.check()
            card.close()
            memory.check()
        return [memory.allocated for memory in self.memories]


@pytest.fixture
def bench():
    return Bench()


def _open(bench, stream=7):
    a, b = bench.cards
    a.open_send(stream, sequence=5)
    b.open_receive(stream, peer=1, sequence=5)
    return a, b


def test_the_card_is_found_and_described(bench):
    a, _ = bench.cards
    assert a.parameters == {"lanes": 16, "max_bucket": 8192, "frame_bytes": 2048, "streams": 2,
                            "messages": 4, "regions": 3, "peers": 4}
    model = bench.models[0]
    assert model.peers[1] == {"mac": B.mac, "ip": B.ip, "port": 9000}
    assert model._wide("station_mac") == A.mac == 0x02_00_00_00_00_0A
    assert bench.close() == [0, 0]


def test_what_is_no_such_card_is_refused():
    memory = HostMemory()
    for name, value in (("identity", 0xFFFFFFFF), ("version", 0x102)):
        model = CardModel(memory)
        model._values[name] = value
        with pytest.raises(NoCard, match=f"{name} reads {value:#x}"):
            BlockingCard(model, memory).set_up(A)
    with pytest.raises(NoCard, match="has not been set up"):
        BlockingCard(CardModel(memory), memory).poll()


def test_a_card_that_does_not_end_its_reset():
    memory = HostMemory()
    model = CardModel(memory)
    model.busy_reads = 1000
    card = BlockingCard(model, memory)
    card.card.patience = 20
    with pytest.raises(TimedOut, match="does not end its reset: status is 0x1"):
        card.set_up(A)


@pytest.mark.parametrize("log2_size, log2_completions", [(1, 1), (3, 2), (2, 6)])
def test_frames_through_many_laps(log2_size, log2_completions):
    """More frames than indices of the queues: each comes once, in order, to the byte."""
    bench = Bench(log2_size, log2_completions, buffers=1 << log2_size)
    rng = random.Random(SEED)
    a, b = bench.cards
    sent, came = [], []
    for _ in range(300):
        frame = rng.randbytes(rng.choice((14, 60, 64, 1514, 2048)))
        handle = a.send_frame(frame)
        sent.append(frame)
        full = len(sent) - len(came) == 1 << log2_size
        if full or rng.random() < 0.7:
            a.wait(handle)
            assert handle.count == len(frame)
            b.poll()
            came += b.received()
    b.poll()
    a.poll()
    assert came + b.received() == sent
    counts = a.statistics()
    assert counts["tx_ordinary_frames"] == 300
    assert counts["tx_ordinary_bytes"] == sum(map(len, sent))
    assert b.statistics("rx_dropped_ring_empty") == {"rx_dropped_ring_empty": 0}
    assert bench.close() == [0, 0]


def test_indices_run_past_their_16_bits(bench):
    """70,000 frames."""
    a, b = bench.cards
    frame = bytes(14)
    for n in range(70_000):
        a.send_frame(frame)
        if n % 4 == 3:
            a.poll()
            b.poll()
            assert b.received() == [frame] * 4
    assert bench.close() == [0, 0]


def test_a_full_ring_says_so(bench):
    """Nothing is allocated then, and it goes on when a descriptor is done."""
    a, _ = bench.cards
    bench.models[0].frozen = True
    for _ in range(8):
        a.send_frame(bytes(60))
    before = bench.memories[0].allocated
    with pytest.raises(QueueFull, match="ring tx0 is full: its 8 descriptors"):
        a.send_frame(bytes(60))
    assert bench.memories[0].allocated == before
    assert a.poll() == 0
    bench.models[0].frozen = False
    bench.models[0].work()
    with pytest.raises(QueueFull):
        a.send_frame(bytes(60))  # until it polls
    a.poll()
    a.wait(a.send_frame(bytes(60)))
    assert bench.close() == [0, 0]


@pytest.mark.parametrize("codec", [RAW, QSGD4, NUQSGD4], ids=str)
@pytest.mark.parametrize("elements", [1, 64, 1000, 10_000])
def test_tensors(bench, codec, elements):
    a, b = _open(bench)
    values = np.random.default_rng(SEED).standard_normal(elements).astype(np.float32)
    posted = b.post_tensor(7, 3, elements, bucket=64)
    sent = a.send_tensor(values, stream=7, message=3, codec=codec, bucket=64, peer=1,
                         frame_limit=1514)
    a.wait(sent)
    b.wait(posted)
    span = (1514 - 64) // (4 * codec.record_words(64))
    wanted = []
    for begin in range(0, elements, 64 * span):
        piece = values[begin:begin + 64 * span]
        payload = encode(piece, codec=codec, bucket=64, stream=7, message=3, first=begin // 64)
        assert len(payload) <= 1514 - 64
        wanted.append(decode(payload, codec=codec, bucket=64, span=-(-len(piece) // 64),
                             first=begin // 64))
    np.testing.assert_array_equal(posted.region.floats, np.concatenate(wanted)[:elements])
    assert posted.count == sent.count == -(-elements // 64)
    bench.memories[1].free(posted.region)
    assert bench.close() == [0, 0]


def test_a_tensor_is_sent_from_where_it_is_and_added(bench):
    a, b = _open(bench)
    values = np.arange(200, dtype=np.float32)
    region = bench.memories[0].allocate(800)
    region.floats[:] = values
    target = bench.memories[1].allocate(800)
    target.floats[:] = 1
    for message in range(3):
        posted = b.post_tensor(7, message, target, bucket=128, op=OP_ADD)
        a.wait(a.send_tensor(region, stream=7, message=message, codec=RAW, bucket=128, peer=1))
        b.wait(posted)
    np.testing.assert_array_equal(target.floats, 3 * values + 1)
    bench.memories[0].free(region)
    bench.memories[1].free(target)
    assert bench.close() == [0, 0]


def test_a_region_may_be_posted_late(bench):
    a, b = _open(bench)
    sent = a.send_tensor(np.ones(10), stream=7, message=0, codec=RAW, bucket=64, peer=1)
    with pytest.raises(TimedOut, match="not done: message 0 of stream 7"):
        a.wait(sent, limit=5)
    posted = b.post_tensor(7, 0, 10, bucket=64)
    b.wait(posted)
    a.wait(sent)
    assert posted.region.floats.tolist() == [1] * 10


def test_messages_may_be_done_in_another_order(bench):
    """A place of the ring is free only when what stood there is done."""
    a, b = bench.cards
    for stream in (1, 2):
        a.open_send(stream)
        b.open_receive(stream, peer=1)
    late = a.send_tensor(np.ones(4), stream=1, message=0, codec=RAW, bucket=64, peer=1)
    for message in range(7):
        posted = b.post_tensor(2, message, 4, bucket=64)
        a.wait(a.send_tensor(np.ones(4), stream=2, message=message, codec=RAW, bucket=64, peer=1))
        b.wait(posted)
    with pytest.raises(QueueFull, match="tx1"):
        a.send_tensor(np.ones(4), stream=2, message=7, codec=RAW, bucket=64, peer=1)
    b.post_tensor(1, 0, 4, bucket=64)
    a.wait(late)
    a.send_tensor(np.ones(4), stream=2, message=7, codec=RAW, bucket=64, peer=1)


def test_tables_are_full(bench):
    a, b = _open(bench)
    a.open_send(8)
    with pytest.raises(TableFull, match="all 2 streams are open"):
        a.open_send(9)
    a.close_send(7)
    a.open_send(9)
    a.open_send(9, sequence=3)  # anew, in its own entry
    for message in range(3):
        b.post_tensor(7, message, 4, bucket=64)
    with pytest.raises(TableFull, match="all 3 regions are posted"):
        b.post_tensor(7, 3, 4, bucket=64)


def test_cancel(bench):
    a, b = _open(bench)
    posted = b.post_tensor(7, 0, 4, bucket=64)
    b.cancel(posted)
    with pytest.raises(Failure, match="region for message 0 of stream 7: CANCELLED"):
        b.wait(posted)
    b.cancel(posted)  # once more changes nothing
    again = b.post_tensor(7, 0, 4, bucket=64)
    a.wait(a.send_tensor(np.ones(4), stream=7, message=0, codec=RAW, bucket=64, peer=1))
    b.wait(again)
    assert posted.region.floats.tolist() == [0] * 4
    with pytest.raises(DescriptorError, match="only a region"):
        b.cancel(a.send_frame(bytes(60)))


def test_what_the_card_gives_up_is_a_failure(bench):
    a, _ = _open(bench)
    sent = a.send_tensor(np.ones(4), stream=7, message=0, codec=RAW, bucket=64, peer=1)
    a.close_send(7)
    with pytest.raises(Failure, match="message 0 of stream 7: GAVE_UP") as info:
        a.wait(sent)
    assert info.value.status == Status.GAVE_UP


def test_a_reset_cancels_all_and_gives_memory_back(bench):
    a, b = _open(bench)
    bench.models[0].frozen = True
    pending = [a.send_frame(bytes(60)), a.post_tensor(1, 0, 4, bucket=64),
               a.send_tensor(np.ones(4), stream=7, message=0, codec=RAW, bucket=64, peer=1)]
    a.reset()
    assert [handle.status for handle in pending] == [Status.CANCELLED] * 3
    bench.models[0].frozen = False
    bench.memories[0].free(pending[1].region)
    a.set_peer(1, B)
    with pytest.raises(DescriptorError, match="stream 7 is not open"):
        a.send_tensor(np.ones(4), stream=7, message=0, codec=RAW, bucket=64, peer=1)
    a.wait(a.send_frame(bytes(range(60))))
    b.poll()
    assert b.received() == [bytes(range(60))]
    assert bench.close() == [0, 0]


def test_interrupts():
    bench = Bench(interrupts=INTERRUPTS["completion"])
    a, b = bench.cards
    assert not bench.models[0].interrupt
    assert a.interrupt() == 0
    handle = a.send_frame(bytes(60))
    assert bench.models[0].interrupt and bench.models[1].interrupt
    assert a.interrupt() == INTERRUPTS["completion"]
    assert handle.ok and not bench.models[0].interrupt
    b.interrupt()
    assert len(b.received()) == 1


def test_frames_without_a_buffer_are_counted(bench):
    a, b = bench.cards
    for _ in range(6):
        a.send_frame(bytes(60))
    b.poll()
    assert len(b.received()) == 4
    assert b.statistics("rx_dropped_ring_empty", "rx_ordinary_frames") == {
        "rx_dropped_ring_empty": 2, "rx_ordinary_frames": 6}
    assert b.queue_states()["rx"] == {"busy": False, "error": False, "index": 4}


def test_a_command_queue_that_stays_full(bench):
    _, b = bench.cards
    bench.models[1].frozen = True
    b.card.patience = 10
    with pytest.raises(TimedOut, match="does not take commands of peer"):
        b.set_peer(2, A)


@pytest.mark.parametrize("call, error, text", [
    (lambda a, b: a.send_frame(bytes(13)), DescriptorError, "14 to 2048 bytes, not 13"),
    (lambda a, b: a.send_frame(bytes(2049)), DescriptorError, "not 2049"),
    (lambda a, b: a.set_peer(4, B), DescriptorError, "peer must be below 4"),
    (lambda a, b: a.close_send(3), DescriptorError, "stream 3 is not open"),
    (lambda a, b: a.open_receive(3, peer=2), DescriptorError, "peer 2 has not been set"),
    (lambda a, b: b.post_tensor(1, 0, 0, bucket=64), DescriptorError, "1 element or more"),
    (lambda a, b: b.post_tensor(1, 0, 4, bucket=65), FormatError, "bucket"),
    (lambda a, b: b.post_tensor(1, 0, 4, bucket=64, op=2), DescriptorError, "op must be"),
    (lambda a, b: [b.post_tensor(1, 0, 4, bucket=64) for _ in range(2)], DescriptorError,
     "posted already"),
    (lambda a, b: _send(a, np.zeros(0)), DescriptorError, "1 element or more"),
    (lambda a, b: _send(a, np.ones(4), peer=3), DescriptorError, "peer 3 has not been set"),
    (lambda a, b: _send(a, np.ones(4), message=1 << 16), FormatError, "message"),
    (lambda a, b: _send(a, np.ones(4), bucket=512), DescriptorError, "take a smaller bucket"),
    (lambda a, b: _send(a, np.ones(4), frame_limit=9000), DescriptorError, "at most 2048"),
])
def test_what_cannot_be_is_refused(bench, call, error, text):
    a, b = _open(bench)
    with pytest.raises(error, match=text):
        call(a, b)


def _send(card, values, **more):
    return card.send_tensor(values, **{
        "stream": 7, "message": 0, "codec": RAW, "bucket": 64, "peer": 1} | more)


class _Slow:
    """Registers for which one has to wait."""

    def __init__(self, model):
        self.model = model

    async def read32(self, address):
        await asyncio.sleep(0)
        return await self.model.read32(address)

    async def write32(self, address, value):
        await asyncio.sleep(0)
        await self.model.write32(address, value)

    async def pause(self):
        await asyncio.sleep(0)


def test_the_same_driver_waits_for_its_registers():
    memory = HostMemory()
    model = CardModel(memory)  # its wire ends where it begins

    async def work():
        card = Card(_Slow(model), memory)
        await card.set_up(A)
        await card.wait(await card.send_frame(bytes(range(100))))
        assert card.received() == [bytes(range(100))]
        await card.close()

    asyncio.run(work())
    memory.check()
    assert memory.allocated == 0
    with pytest.raises(RuntimeError, match="must not wait"):
        BlockingCard(_Slow(model), memory).set_up(A)


def test_layouts_are_those_of_the_gateware():
    for ours, theirs in ((Completed, transfer.Completed), (Status, transfer.Status)):
        assert {one.name: one.value for one in ours} == {one.name: one.value for one in theirs}
    fields = {"kind": 3, "status": 6, "index": 0x1234, "tag": 0x89ABCDEF, "count": 0xFEDCBA98,
              "detail": 0x7ABCDEF0, "phase": 1}
    number = transfer.COMPLETION.const(fields).as_value().value
    words = np.frombuffer(number.to_bytes(COMPLETION_BYTES, "little"), "<u4")
    assert Completion.of(words)._asdict() == fields


def test_descriptors_are_as_long_as_the_gateware_takes_them():
    from tightwire.dma import completions, ring
    assert (DESCRIPTOR_BYTES, COMPLETION_BYTES) == (ring.DESCRIPTOR_BYTES, completions.ENTRY_BYTES)


def test_the_driver_needs_no_amaranth():
    code = "import sys, tightwire.host; assert 'amaranth' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True,
                   env={"PYTHONPATH": str(Path(__file__).parents[2] / "hw")})


def test_guards_notice_a_stray_write():
    memory = HostMemory(1 << 14)
    region = memory.allocate(100)
    region.array[:] = 0
    memory.check()
    memory.bytes[region.address - memory.base + 100] ^= 1
    with pytest.raises(AssertionError, match=f"the first at {region.address + 100:#x}"):
        memory.check()
    with pytest.raises(CardError, match="no DMA memory is left"):
        memory.allocate(1 << 14)
