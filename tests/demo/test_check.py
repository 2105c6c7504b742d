"""The comparison with the model, and the figures: they have to notice what is wrong."""

from dataclasses import replace

import numpy as np
import pytest
from tightwire.formats import BITS, Codec, Levels, Norm
from tightwire_sim.data import gradients
from tightwire_sim.demo.capture import Capture
from tightwire_sim.demo.check import check, expected
from tightwire_sim.demo.choices import CODECS, title
from tightwire_sim.demo.measure import Errors, burst, kind
from tightwire_sim.demo.traffic import MODES, PAYLOAD_BYTES, WAYS, Plan

CODEC = Codec.parse("qsgdinf-4")
PLAN = Plan(lanes=4, bucket=128, codecs=(CODEC,), most=60)


@pytest.fixture
def sent():
    return PLAN.pieces("a", CODEC, "cut_through")


@pytest.fixture
def right(sent):
    """What a gateware without faults leaves on the wire and at the far end."""
    payloads, values = zip(*map(expected, sent), strict=True)
    users = [piece.frame.user for piece in sent]
    return (Capture(frames=list(payloads), users=users[:]),
            Capture(frames=[one.tobytes() for one in values], users=users[:]))


def test_right(sent, right):
    verdict, values = check(sent, *right, where="here")
    assert verdict.faults == []
    assert verdict.frames == 2 * len(sent)
    assert verdict.bytes == sum(len(frame) for capture in right for frame in capture.frames)
    assert len(values) == sum(len(frame.values) for frame in sent)


@pytest.mark.parametrize("place, name", [(0, "on the wire"), (1, "at the far end")])
@pytest.mark.parametrize("fault", ["bit", "lost", "twice", "short", "swapped", "user", "error"])
def test_wrong(sent, right, place, name, fault):
    capture = right[place]
    frames, users = capture.frames, capture.users
    if fault == "bit":
        flipped = bytearray(frames[1])
        flipped[77] ^= 1
        frames[1] = bytes(flipped)
    elif fault == "lost":
        del frames[1], users[1]
    elif fault == "twice":
        frames.insert(1, frames[1])
        users.insert(1, users[1])
    elif fault == "short":
        frames[1] = frames[1][:-4]
    elif fault == "swapped":
        frames[:2] = frames[1::-1]
    elif fault == "user":
        users[1] += 1 << 32
    elif fault == "error":
        users[1] |= 1
    verdict, _ = check(sent, *right, where="here")
    assert verdict.faults
    assert all(text.startswith("here: ") and name in text for text in verdict.faults)


def test_frames_cover_the_messages_and_fit():
    for codec in CODECS:
        plan = Plan(lanes=16, bucket=512, codecs=(codec,), most=1200)
        assert plan.share == 1
        for way in WAYS:
            frames = plan.pieces(way, codec, "cut_through")
            for message in plan.messages(way):
                own = [frame for frame in frames if frame.message is message]
                np.testing.assert_array_equal(
                    np.concatenate([frame.values for frame in own]), message.values)
            assert max(frame.span for frame in frames) * codec.record_words(512) * 4 in range(
                PAYLOAD_BYTES - codec.record_words(512) * 4 + 1, PAYLOAD_BYTES + 1)
            assert len(plan.pieces(way, codec, "store")) == 2
    assert plan.elements == sum(map(len, gradients()))


def test_every_combination_is_named():
    assert [*MODES] == ["store", "cut_through"]
    codecs = [Codec(levels, norm, bits) for levels in (Levels.UNIFORM, Levels.EXPONENTIAL)
              for norm in Norm for bits in BITS]
    assert len(set(map(title, codecs))) == len(codecs)


def test_thinned_messages_keep_their_layers():
    for way in WAYS:
        for message in PLAN.messages(way):
            model, phase = message.name.split("/")
            for n, gradient in enumerate(gradients(model=model, phase=phase)):
                values = message.values[message.layer == n]
                assert np.isin(values, gradient.values).all()
            assert not message.values[message.layer < 0].any()
    assert sum(len(message.values) for message in PLAN.messages("a")) <= 60 * 128


def test_errors():
    frames = replace(PLAN, most=4000).pieces("a", CODEC, "cut_through")
    sent = np.concatenate([frame.values for frame in frames])
    errors = Errors()
    errors.add(frames, sent * np.float32(1.25))
    assert errors.overall == pytest.approx(0.25)
    assert all(error == pytest.approx(0.25) for error in errors.by_kind().values())
    assert errors.elements == sum(frame.message.elements for frame in frames
                                  if frame.first == 0)


def test_every_layer_has_a_kind():
    kinds = {kind(gradient.model, gradient.layer) for gradient in gradients()}
    assert {"cnn convolution", "lm embedding", "lm attention"} <= kinds
    with pytest.raises(ValueError, match="no known kind"):
        kind("cnn", "mystery.weight")


def test_burst():
    host = Capture(clocks=np.arange(10, 20))
    wire = Capture(clocks=np.arange(30, 50, 4))
    far = Capture(clocks=np.delete(np.arange(40, 51), 5))
    found = burst(host, wire, far)
    assert (found["compress"], found["decompress"], found["latency"]) == (20, 10, 30)
    assert found["in_rate"] == 1
    assert found["out_rate"] == pytest.approx(10 / 11)
    assert far.runs(41, 50) == [[41, 4], [46, 4]]


def test_capture_file(tmp_path):
    capture = Capture(clocks=[1, 2, 5], frames=[b"abcd", b"", b"xy"], users=[0, 1, 1 << 95])
    capture.save(tmp_path / "one.npz")
    loaded = Capture.load(tmp_path / "one.npz")
    assert loaded.clocks.tolist() == capture.clocks
    assert loaded.frames == capture.frames
    assert loaded.users == capture.users
