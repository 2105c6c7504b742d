"""Pinned vectors: a change to the model and to the reference at once is seen here.

The bytes are what the reference made of VALUES. Those of the 32-bit finaliser of MurmurHash3 and
of xorshift from state 1 are also known from elsewhere.
"""

import numpy as np
import pytest

from tightwire.formats import Codec
from tightwire_sim import golden

from . import reference
from .cases import words

# Integers from -64 to 63 over powers of two, so that nobody needs a random generator for them.
VALUES = np.array([(37 * i % 128 - 64) * 2.0 ** -(i % 8) for i in range(64)], np.float32)
PLACE = {"stream": 0x1234, "message": 0x5678, "first": 0x9ABCDEF0}

MIX = {0: 0, 1: 0x514E28B7, 0x9E3779B9: 0x92CA2F0E, 0xFFFFFFFF: 0x81F16F39}

XORSHIFT = [1, 0x00042021, 0x04080601, 0x9DCCA8C5, 0x1255994F, 0x8EF917D1]

STATES = [
    0x667E9073, 0x3DFD092C, 0x1CCB15D7, 0x23C83787, 0xCB83C01D, 0x31EDBB4A, 0xB30E27F5, 0x6BC72F53,
    0x53C9E2DF, 0x086CF5ED, 0x7DD908A9, 0xB175E96E, 0x0EF0BCF4, 0xCDCC4707, 0x8DFE20E4, 0x36177CDF,
]

# Of the frame (0, 0, 0) and of the one at PLACE: two steps of the first generators.
DRAWS = {
    (0, 0, 0): [
        0x1533, 0x377C, 0x40B4, 0x6116, 0x1A21, 0x2E23, 0xC36F, 0x0047, 0xB1E8, 0x3C11,
        0x0827, 0x9C5C, 0x7548, 0xE71D, 0xBCAC, 0xF664, 0x7159, 0x32B2, 0x25EB, 0xA505,
    ],
    tuple(PLACE.values()): [
        0x3A65, 0x07C0, 0xB048, 0x8220, 0xC387, 0x5613, 0x89E7, 0x4B8C, 0x9DD4, 0x4CF2,
        0xC54C, 0x875D, 0x34A8, 0xE0BC, 0x75B2, 0xE812, 0x4618, 0x472D, 0xF78D, 0x5307,
    ],
}

# Codec byte: the payload of VALUES in one bucket of 64 at PLACE.
PAYLOADS = {
    0x09: (  # uniform-largest-2
        "000080420f00000004000000100000000d000300"
    ),
    0x11: (  # uniform-largest-4
        "00008042af1000001b91000032099000a60009000b92000031990000b50000000c910000"
    ),
    0x19: (  # uniform-largest-8
        "00008042ff9b050c85810181b00d198a8102820020359200058400006fa3010987810101bf05158c81020281"
        "102d9683038481005fab830787820001cf83108e82010200"
    ),
    0x0d: (  # uniform-euclidean-2
        "409ffd420f000000000000001000000000000000"
    ),
    0x15: (  # uniform-euclidean-4
        "409ffd429c0000001900000021009000930000000a01000011000000930000000a000000"
    ),
    0x1d: (  # uniform-euclidean-8
        "409ffd42c08e02068200008198070c8581018100101b8900028200003891000583000000a0020b8600010181"
        "08178b82018281003096810484810000a881088781000100"
    ),
    0x0a: (  # exponential-largest-2
        "000080420f00000004000000100000000d000300"
    ),
    0x12: (  # exponential-largest-4
        "00008042df320a904db41909650ca200d6300b002ec5109164aca109e6399b009ec40901"
    ),
    0x1a: (  # exponential-largest-8
        "00008042fffd7a7bfaf778f8fd7c7cfbf779f9f67d7efcf67afaf7767efd787bfbf87778fe7a7dfcf87979f7"
        "7c7efcfa79faf8757efef97bfbf97777fef97cfcf97879f7"
    ),
    0x0e: (  # exponential-euclidean-2
        "409ffd420f000000000000001000000000000000"
    ),
    0x16: (  # exponential-euclidean-4
        "409ffd42ce2109003ca30000540b9100c5200a001db40091539b9009d5299a000db30001"
    ),
    0x1e: (  # exponential-euclidean-8
        "409ffd42fefc797af9f677f7fc7b7bfaf678f8f57c7dfbf579f9f6757dfc777afaf77677fd797cfbf77878f6"
        "7b7dfbf978f9f7747dfdf87afaf87676fdf87bfbf87778f6"
    ),
}

# Codec byte: the words that the first four codes of those payloads stand for, and the last.
DECODED = {
    0x09: [0xC2800000, 0xC2800000, 0x00000000, 0x00000000, 0x00000000],
    0x11: [0xC27FFFC0, 0xC1924900, 0x00000000, 0x41124900, 0x00000000],
    0x19: [0xC27FFFF8, 0xC159B360, 0x40214280, 0x40C18300, 0x00000000],
    0x0d: [0xC2FD9F40, 0xC2FD9F40, 0x00000000, 0x00000000, 0x00000000],
    0x15: [0xC290ED40, 0xC190ED40, 0x00000000, 0x00000000, 0x00000000],
    0x1d: [0xC27F9E40, 0xC15FAA78, 0x3FFF9E40, 0x40BFB6B0, 0x00000000],
    0x0a: [0xC2800000, 0xC2800000, 0x00000000, 0x00000000, 0x00000000],
    0x12: [0xC2800000, 0xC1800000, 0x40000000, 0x40800000, 0x00000000],
    0x1a: [0xC2800000, 0xC1800000, 0x40000000, 0x40800000, 0xBE800000],
    0x0e: [0xC2FD9F40, 0xC2FD9F40, 0x00000000, 0x00000000, 0x00000000],
    0x16: [0xC27D9F40, 0xC17D9F40, 0x3FFD9F40, 0x407D9F40, 0x00000000],
    0x1e: [0xC27D9F40, 0xC17D9F40, 0x3FFD9F40, 0x407D9F40, 0xBE7D9F40],
}


@pytest.mark.parametrize("side", [golden, reference], ids=["golden", "reference"])
def test_mix(side):
    assert {x: side.mix(x) for x in MIX} == MIX


def test_xorshift():
    """The reference's step; the model's never stands alone."""
    assert [reference.xorshift(state) for state in XORSHIFT[:-1]] == XORSHIFT[1:]


def test_states():
    assert golden.states(**PLACE).tolist() == STATES


@pytest.mark.parametrize("place", DRAWS, ids=str)
def test_draws(place):
    stream, message, first = place
    assert golden.draws(20, stream=stream, message=message, first=first).tolist() == DRAWS[place]
    assert reference.draws(20, stream, message, first) == DRAWS[place]


@pytest.mark.parametrize("byte", PAYLOADS, ids=lambda byte: str(Codec.from_byte(byte)))
def test_payload(byte):
    expected = bytes.fromhex(PAYLOADS[byte])
    assert golden.encode(VALUES, codec=byte, bucket=64, **PLACE) == expected
    assert reference.encode(words(VALUES), byte, 64, **PLACE) == expected
    decoded = words(golden.decode(expected, codec=byte, bucket=64, span=1))
    assert [*decoded[:4], decoded[-1]] == DECODED[byte]
    assert reference.decode(expected, byte, 64) == decoded
