"""Sums over workers, against the golden model put together by hand."""

import re
from itertools import pairwise

import numpy as np
import pytest

from tightwire.config import ConfigError
from tightwire.formats import NUQSGD4, QSGDINF4, RAW, Codec, FormatError, Levels
from tightwire_sim import golden
from tightwire_sim.collectives import COLLECTIVES, Group, Scheme, Worker

SEED = 20241202
CODECS = [RAW, NUQSGD4, *map(Codec.parse, ("qsgd-8", "qsgdinf-2", "exponential-largest-4"))]


def vectors(ranks, size, seed=SEED):
    rng = np.random.default_rng([seed, ranks, size])
    return [(rng.standard_normal(size) * 2.0 ** rng.integers(-4, 4)).astype(np.float32)
            for _ in range(ranks)]


def coded(values, codec, scheme, stream, message):
    """What a message arrives as: frame by frame through the golden model."""
    bucket = 64 if codec == RAW else scheme.bucket
    span = scheme.frame_bytes // (4 * codec.record_words(bucket))
    back = []
    for first in range(0, -(-len(values) // bucket), span):
        part = values[first * bucket:(first + span) * bucket]
        payload = golden.encode(part, codec=codec, bucket=bucket, stream=stream, message=message,
                                first=first)
        assert len(payload) <= scheme.frame_bytes
        back.append(golden.decode(payload, codec=codec, bucket=bucket,
                                  span=-(-len(part) // bucket))[:len(part)])
    return np.concatenate(back) if back else values


def parts(size, ranks, bucket):
    buckets = -(-size // bucket)
    cuts = [min(buckets * rank // ranks * bucket, size) for rank in range(ranks + 1)]
    return [slice(a, b) for a, b in pairwise(cuts)]


def expected(inputs, scheme):
    """The sum that every worker must get from the first call."""
    ranks, size = len(inputs), len(inputs[0])
    spans = parts(size, ranks, scheme.bucket)
    sent = [0] * ranks

    def message(rank, values, codec):
        back = coded(values, codec, scheme, rank, sent[rank])
        sent[rank] += len(values) > 0
        return back

    if scheme.collective == "aggregator":
        total = np.zeros(size, np.float32)
        for rank, values in enumerate(inputs):
            total += message(rank, values, scheme.codec)
        return coded(total, scheme.result_codec, scheme, ranks, 0)
    result = np.empty(size, np.float32)
    if scheme.collective == "ring":
        carried = [inputs[rank][spans[rank]] for rank in range(ranks)]
        for step in range(ranks - 1):
            came = [message(rank, carried[rank], scheme.codec) for rank in range(ranks)]
            carried = [came[rank - 1] + inputs[rank][spans[(rank - step - 1) % ranks]]
                       for rank in range(ranks)]
        for rank in range(ranks):
            result[spans[(rank + 1) % ranks]] = message(rank, carried[rank], scheme.result_codec)
        return result
    arrived = {}
    for rank, values in enumerate(inputs):
        for owner in range(ranks):
            part = values[spans[owner]]
            arrived[rank, owner] = part if rank == owner else message(rank, part, scheme.codec)
    for owner in range(ranks):
        total = arrived[0, owner].copy()
        for rank in range(1, ranks):
            total += arrived[rank, owner]
        result[spans[owner]] = message(owner, total, scheme.result_codec)
    return result


def same(found, wanted):
    return np.array_equal(found.view(np.uint32), wanted.view(np.uint32))


@pytest.mark.parametrize("size", [1, 64, 1000, 5000])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_is_what_the_golden_model_says(collective, ranks, size):
    for codec in CODECS:
        scheme = Scheme(codec=codec, collective=collective, bucket=64, frame_bytes=300)
        inputs = vectors(ranks, size)
        copies = [each.copy() for each in inputs]
        results = Group(ranks, scheme).all_reduce(inputs)
        for result in results:
            assert same(result, expected(inputs, scheme)), f"seed {SEED}, {codec}"
        assert all(map(same, inputs, copies)), "an input was written"


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_another_codec_on_the_way_back(collective):
    scheme = Scheme(codec="qsgdinf-4", result_codec="raw", collective=collective, bucket=128)
    inputs = vectors(3, 2000)
    for result in Group(3, scheme).all_reduce(inputs):
        assert same(result, expected(inputs, scheme)), f"seed {SEED}"


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_raw_is_the_float32_sum(collective):
    """Integers add up exactly in any order."""
    rng = np.random.default_rng(SEED)
    inputs = [rng.integers(-1000, 1000, 777).astype(np.float32) for _ in range(4)]
    for group, raw in ((Group(4, Scheme(collective=collective)), True),
                       (Group(4, Scheme(codec="raw", collective=collective)), False)):
        for result in group.all_reduce(inputs, raw=raw):
            assert same(result, sum(inputs)), f"seed {SEED}"


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_messages_count_up(collective):
    """The second sum of the same vectors has other draws; a group that begins there, the same."""
    scheme = Scheme(codec=QSGDINF4, collective=collective, bucket=64)
    inputs = vectors(2, 1000)
    group = Group(2, scheme)
    first, second = (group.all_reduce(inputs)[0] for _ in range(2))
    assert not same(first, second)
    assert same(first, Group(2, scheme).all_reduce(inputs)[0])
    message = group.workers[0].sender.message
    assert message == {"aggregator": 2}.get(collective, 4)
    if collective != "aggregator":
        assert same(second, Group(2, scheme, message=2).all_reduce(inputs)[0])


def test_message_numbers_wrap():
    group = Group(2, Scheme(codec=QSGDINF4), message=0xFFFF)
    group.all_reduce(vectors(2, 4096))
    assert group.workers[0].sender.message == 1


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_errors_are_fed_back(collective):
    """What has come out so far is what went in, but for the residuals of the moment."""
    scheme = Scheme(codec="qsgdinf-2", result_codec="raw" if collective == "aggregator" else None,
                    collective=collective, bucket=64)
    group, size = Group(3, scheme), 3000
    residuals = [np.zeros(size, np.float32) for _ in range(3)]
    went_in, came_out = np.zeros(size), np.zeros(size)
    for step in range(20):
        inputs = vectors(3, size, seed=step)
        went_in += sum(inputs)
        came_out += group.all_reduce(inputs, residuals=residuals)[0]
    missing = went_in - came_out
    assert np.abs(missing).max() > 0.1  # there is something to feed back
    np.testing.assert_allclose(sum(residuals), missing, atol=1e-3)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_mean_over_messages_is_the_sum(collective):
    scheme = Scheme(codec="nuqsgd-4", collective=collective, bucket=64)
    group, inputs = Group(2, scheme), vectors(2, 256)
    total, count = np.zeros(256), 1500
    squares = np.zeros(256)
    for _ in range(count):
        result = group.all_reduce(inputs)[0]
        total += result
        squares += np.square(result, dtype=np.float64)
    mean = total / count
    spread = np.sqrt((squares / count - mean**2) / count)
    # 256 elements: five standard errors, and what section 9 allows.
    assert (np.abs(mean - sum(inputs)) < 5 * spread + 2e-4 * np.abs(sum(inputs)) + 1e-6).all()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_overflow_is_seen_by_all_and_over_afterwards(collective, value):
    """So that loss scaling sees it; the residuals forget it."""
    scheme = Scheme(codec="qsgdinf-4", collective=collective, bucket=64)
    group = Group(2, scheme)
    inputs = vectors(2, 640)
    for each in inputs:
        each[100] = value
    residuals = [np.zeros(640, np.float32) for _ in range(2)]
    for result in group.all_reduce(inputs, residuals=residuals):
        assert np.isnan(result[64:128]).all()
        assert np.isfinite(result[128:]).all()
    assert all(np.isfinite(residual).all() for residual in residuals)
    for result in group.all_reduce(vectors(2, 640), residuals=residuals):
        assert np.isfinite(result).all()


def test_reduce_scatter():
    scheme = Scheme(codec="nuqsgd-4", bucket=64)
    inputs = vectors(4, 400)
    results = Group(4, scheme).reduce_scatter(inputs)
    for owner, result in enumerate(results):
        part = slice(100 * owner, 100 * (owner + 1))
        total = None
        for rank, values in enumerate(inputs):
            # A worker numbers its messages in the order of those they go to.
            each = (values[part] if rank == owner else
                    coded(values[part], NUQSGD4, scheme, rank, owner - (owner > rank)))
            total = each.copy() if total is None else total + each
        assert same(result, total), f"seed {SEED}"


def test_bytes():
    """Two codings of all but the own part, to each other worker: headers, norms, codes."""
    scheme = Scheme(codec="qsgdinf-4", bucket=512, frame_bytes=2600)  # ten records of 260
    group = Group(4, scheme)
    group.all_reduce(vectors(4, 4 * 12 * 512))
    message = 12 * 260 + 2 * 64
    assert group.wire_bytes == 4 * 6 * message
    assert group.workers[0].sender.plain_bytes == 6 * 12 * 512 * 4
    ring = Group(4, Scheme(codec="qsgdinf-4", bucket=512, frame_bytes=2600, collective="ring"))
    ring.all_reduce(vectors(4, 4 * 12 * 512))
    assert ring.wire_bytes == group.wire_bytes
    aggregated = Group(4, Scheme(codec="qsgdinf-4", frame_bytes=2600, collective="aggregator"))
    aggregated.all_reduce(vectors(4, 4 * 12 * 512))
    assert aggregated.wire_bytes == 4 * (48 * 260 + 5 * 64)


@pytest.mark.parametrize("wrong, error, text", [
    ({"codec": "qsgd-3"}, FormatError, "bits must be 2, 4 or 8"),
    ({"codec": 0x11}, ConfigError, "codec must be a Codec or the name of one, not 17"),
    ({"codec": Codec(Levels.RAW, sparse=True)}, FormatError, "codec raw-sparse is not built yet"),
    ({"result_codec": "qsgd-4-bitmap"}, FormatError, "result_codec uniform-euclidean-4-bitmap"),
    ({"collective": "tree"}, ConfigError,
     "collective must be one of scatter-reduce-allgather, ring, aggregator, not 'tree'"),
    ({"bucket": 100}, ConfigError, "bucket must be one of 64, 128"),
    ({"frame_bytes": 100}, ConfigError, "frame_bytes must be an int from 260"),
    ({"frame_bytes": 1 << 20}, ConfigError, "to 65536, not 1048576"),
    ({"frame_bytes": 9000.0}, ConfigError, "not 9000.0"),
])
def test_refused_schemes(wrong, error, text):
    with pytest.raises(error, match=re.escape(text)):
        Scheme(**wrong)


@pytest.mark.parametrize("arguments, text", [
    ({"rank": 2, "ranks": 2}, "ranks must be from 1 to 65535 and rank below that, not 2 and 2"),
    ({"rank": 0, "ranks": 0}, "not 0 and 0"),
    ({"rank": 0, "ranks": 1, "message": 65536}, "message must be an int from 0 to 65535"),
])
def test_refused_workers(arguments, text):
    with pytest.raises(ConfigError, match=re.escape(text)):
        Worker(Scheme(), **arguments)
    with pytest.raises(ConfigError, match="scheme must be a Scheme"):
        Worker("nuqsgd-4", rank=0, ranks=1)


def test_refused_vectors():
    group = Group(2, Scheme())
    with pytest.raises(FormatError, match=re.escape("vectors must be 2 of one length, not of [1")):
        group.all_reduce([np.ones(1, np.float32), np.ones(2, np.float32)])
    with pytest.raises(FormatError, match="vectors must be 2 of one length"):
        group.all_reduce([np.ones(1, np.float32)])
    with pytest.raises(FormatError, match=re.escape("not float64 of shape (1,)")):
        group.all_reduce([np.ones(1)] * 2)
    with pytest.raises(FormatError, match="values must divide among 2 workers, not 3 elements"):
        group.reduce_scatter([np.ones(3, np.float32)] * 2)
