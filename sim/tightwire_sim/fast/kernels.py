"""The arithmetic of docs/wire-format.md, sections 4 to 9, compiled by numba.

The rules are those of the golden model, which says why each is exact. What differs is the order of
work: a thread takes a piece of a message, and in it a block of elements at a time, which stays in
the first-level cache through all passes. Kernels release Python's lock; what they are handed has
been checked.
"""

import numpy as np
from numba import njit

__all__ = ["GENERATORS", "PIECE", "decode", "encode", "round_trip", "starts"]

PIECE = 1 << 14
"""Elements of a piece: whole buckets of any size. Draws run on within a frame, so a piece has to
know the states that it starts from; that is what limits how many pieces there may be."""

GENERATORS = 16

_BLOCK = 512  # elements; a bucket is a part of one, or some whole ones

# numba makes int64 of a uint32 beside a signed number: so all constants are uint32.
_MAGNITUDE = np.uint32(0x7FFFFFFF)
_KEPT = np.uint32(0x7FFFFFC0)  # of a magnitude, what m' keeps
_SMALLEST_NORMAL = np.uint32(1 << 23)
_INFINITY = np.uint32(0x7F800000)
_NAN = np.uint32(0x7FC00000)
_FRACTION = np.uint32(0x7FFFFF)
_GOLDEN_RATIO = np.uint32(0x9E3779B9)
_NOT_ZERO = np.uint32(0x6D2B79F5)
_BYTE = np.uint32(0xFF)
_5, _6, _8, _13, _16, _17, _23, _24, _31 = map(np.uint32, (5, 6, 8, 13, 16, 17, 23, 24, 31))

_compiled = njit(nogil=True, cache=True)


@_compiled
def _mix(x):
    """The ``mix`` of section 8."""
    x = np.uint32((x ^ x >> _16) * np.uint32(0x85EBCA6B))
    x = np.uint32((x ^ x >> _13) * np.uint32(0xC2B2AE35))
    return np.uint32(x ^ x >> _16)


@_compiled
def starts(seed, first, span, bucket, buckets, jumps, states):
    """The states that the generators start from, in each piece of a message in order.

    Parameters
    ----------
    seed : numpy.uint32
        stream * 2^16 + message.
    first : numpy.uint32
        Of the first frame.
    span : int
        Buckets in a frame; the last may have less.
    bucket, buckets : int
        Elements in a bucket, buckets in the message.
    jumps : numpy.ndarray
        uint32, shape (4, 256): the exclusive or of what stands there for each byte of a state is
        the state PIECE / 16 steps later.
    states : numpy.ndarray
        uint32, shape (pieces, 16), written. No piece reaches over the end of a frame.
    """
    piece = 0
    for frame in range(0, buckets, span):
        place = np.uint32(first + np.uint32(frame))
        base = _mix(np.uint32(seed ^ _mix(np.uint32(place + _GOLDEN_RATIO))))
        elements = min(span, buckets - frame) * bucket
        count = -(-elements // PIECE)
        for g in range(GENERATORS):
            state = _mix(np.uint32(base + np.uint32(g + 1) * _GOLDEN_RATIO))
            if state == 0:
                state = _NOT_ZERO
            for n in range(piece, piece + count):
                states[n, g] = state
                state = np.uint32(jumps[0, state & _BYTE] ^ jumps[1, state >> _8 & _BYTE]
                                  ^ jumps[2, state >> _16 & _BYTE] ^ jumps[3, state >> _24])
        piece += count


@_compiled
def _norm(words, euclidean):
    """Section 5."""
    largest = np.uint32(0)
    for i in range(len(words)):
        largest = max(largest, np.uint32(words[i] & _MAGNITUDE))
    if largest >= _INFINITY:
        return _NAN
    if largest < _SMALLEST_NORMAL:
        return np.uint32(0)
    if not euclidean:
        return largest
    exponent = np.uint32(largest >> _23)
    squares = np.uint64(0)
    for i in range(len(words)):
        word = np.uint32(words[i] & _MAGNITUDE)
        # A significand has 24 bits, so a shift by 31 leaves no more of it than a longer one.
        shift = min(np.uint32(_6 + exponent - (word >> _23)), _31)
        a = np.uint32((word & _FRACTION | _SMALLEST_NORMAL) >> shift)
        if word < _SMALLEST_NORMAL:
            a = np.uint32(0)
        squares += np.uint64(a) * np.uint64(a)
    # Below 2^49: float64 has the square root right, rounded down.
    root = np.int64(np.sqrt(np.float64(squares)))
    bits = 18
    while root >> bits:
        bits += 1
    significand = root << 24 - bits if bits <= 24 else root >> bits - 24
    # R * 2^(E-144) with R of 24 bits has the exponent field E + 6.
    field = np.int64(exponent) + bits - 18
    if field >= 255:
        return _NAN
    return max(np.uint32((field << 23) + significand - (1 << 23)), largest)


@_compiled
def _scale(norm, exponential, top):
    """Section 6: what takes an element's magnitude to its position, where level 1 is 2^16."""
    q = np.int64(norm >> _23)
    n = np.int64(norm & _FRACTION | _SMALLEST_NORMAL)
    c, s = (1, top - 1) if exponential else (top, 0)
    k = 0
    while c >> k + 1:
        k += 1
    t = 41 - k - (n <= c << 23 - k)
    return np.ldexp(np.float64((c << t) // n), np.int32(150 - q - t + 16 + s))


@_compiled
def _draw(states, draws):
    """Steps the generators, a row at a time, and writes down their states."""
    for k in range(len(draws)):
        for g in range(GENERATORS):
            x = states[g]
            x = np.uint32(x ^ x << _13)
            x = np.uint32(x ^ x >> _17)
            x = np.uint32(x ^ x << _5)
            states[g] = x
            draws[k, g] = x


@_compiled
def _quantize(words, scale, exponential, top, draws, kept, positions, codes):
    """Section 7: the codes of a block whose bucket has a norm. The last four are scratch."""
    count = len(words)
    for i in range(count):
        word = np.uint32(words[i] & _KEPT)
        kept[i] = word if word >= _SMALLEST_NORMAL else np.uint32(0)
    magnitudes = kept.view(np.float32)
    half = np.uint32(top + 1)
    if exponential:
        limit = np.ldexp(1.0, np.int32(16 + top - 1))
        for i in range(count):
            positions[i] = min(np.float64(magnitudes[i]) * scale, limit)
        bits = positions.view(np.int64)
        for i in range(count):
            above = max(np.int32(bits[i] >> 36) - np.int32(1023 + 16 << 16), np.int32(0))
            below = np.int32(min(positions[i], 65536.0))
            # Adding 2^16 - 1 - U carries into the level exactly where U < fraction.
            level = np.uint32(above + below + np.int32(0xFFFF - (draws[i] >> _16))) >> _16
            sign = half if words[i] >> _31 and level else np.uint32(0)
            codes[i] = np.uint32(level + sign)
        return
    limit = np.float64(top << 16)
    for i in range(count):
        below = np.int32(min(np.float64(magnitudes[i]) * scale, limit))
        level = np.uint32(below + np.int32(0xFFFF - (draws[i] >> _16))) >> _16
        sign = half if words[i] >> _31 and level else np.uint32(0)
        codes[i] = np.uint32(level + sign)


@_compiled
def _pack(codes, bits, body):
    """Section 3, fixed width."""
    if bits == 8:
        for i in range(len(body)):
            body[i] = np.uint8(codes[i])
    elif bits == 4:
        for i in range(len(body)):
            body[i] = np.uint8(codes[2 * i] | codes[2 * i + 1] << np.uint32(4))
    else:
        for i in range(len(body)):
            body[i] = np.uint8(codes[4 * i] | codes[4 * i + 1] << np.uint32(2)
                               | codes[4 * i + 2] << np.uint32(4)
                               | codes[4 * i + 3] << np.uint32(6))


@_compiled
def _unpack(body, bits, codes):
    """The opposite of ``_pack``."""
    if bits == 8:
        for i in range(len(body)):
            codes[i] = body[i]
    elif bits == 4:
        for i in range(len(body)):
            codes[2 * i] = body[i] & 15
            codes[2 * i + 1] = body[i] >> 4
    else:
        for i in range(len(body)):
            codes[4 * i] = body[i] & 3
            codes[4 * i + 1] = body[i] >> 2 & 3
            codes[4 * i + 2] = body[i] >> 4 & 3
            codes[4 * i + 3] = body[i] >> 6


@_compiled
def _step(norm, top):
    """Section 9: W and the power of two that goes with it."""
    q = np.int64(norm >> _23)
    n = np.int64(norm & _FRACTION | _SMALLEST_NORMAL)
    k = 0
    while top >> k + 1:
        k += 1
    j = k - 5 - (n >= top << 23 - k)
    return np.int32((n << j + 6) // (top << 6)), np.ldexp(1.0, np.int32(q - 150 - j))


@_compiled
def _dequantize(codes, norm, step, power, exponential, top, words):
    """Section 9: the elements of a block as words. ``norm`` without its sign."""
    if norm >= _INFINITY:
        for i in range(len(words)):
            words[i] = _NAN
    elif norm < _SMALLEST_NORMAL:
        for i in range(len(words)):
            words[i] = 0
    elif exponential:
        for i in range(len(words)):
            level = np.int32(codes[i] & np.uint32(top))
            word = np.int32(norm) - np.int32(np.int32(top - level) << 23)
            sign = np.uint32(codes[i] > top) << _31
            words[i] = np.uint32(word) | sign if level and word >= 1 << 23 else np.uint32(0)
    else:
        values = words.view(np.float32)
        for i in range(len(words)):
            product = np.int32(np.int32(codes[i] & np.uint32(top)) * step)
            # It has 25 bits at most, of which 24 are kept.
            product &= ~(product >> 24)
            value = np.float64(-product if codes[i] > top else product) * power
            values[i] = np.float32(value) if abs(value) >= 2.0**-126 else np.float32(0)


@_compiled
def _span(piece, span, bucket, buckets):
    """The buckets of a piece: the first one, and the one behind the last one."""
    per_piece = PIECE // bucket
    per_frame = -(-span // per_piece)
    frame = piece // per_frame * span
    begin = frame + piece % per_frame * per_piece
    return begin, min(begin + per_piece, frame + span, buckets)


@_compiled
def _code(words, size, states, begin, end, span, bucket, exponential, euclidean, bits, records,
          values, packing):
    """Pieces ``begin`` to ``end`` - 1 of a message, into records or straight into values."""
    block = min(_BLOCK, bucket)
    top = (1 << bits - 1) - 1
    buckets = -(-size // bucket)
    padded = np.zeros(bucket, np.uint32)
    state = np.empty(GENERATORS, np.uint32)
    draws = np.empty((block // GENERATORS, GENERATORS), np.uint32)
    drawn = draws.reshape(-1)
    kept, codes = np.empty(block, np.uint32), np.empty(block, np.uint32)
    positions = np.empty(block, np.float64)
    decoded = np.empty(block, np.uint32)
    for piece in range(begin, end):
        state[:] = states[piece]
        low, high = _span(piece, span, bucket, buckets)
        for row in range(low, high):
            source = words[row * bucket:min(size, (row + 1) * bucket)]
            if len(source) < bucket:
                padded[:len(source)] = source
                source = padded
            norm = _norm(source, euclidean)
            some = _SMALLEST_NORMAL <= norm < _INFINITY
            scale, step, power = 0.0, np.int32(0), 0.0
            if some:
                scale = _scale(norm, exponential, top)
                if not packing and not exponential:
                    step, power = _step(norm, top)
            else:
                codes[:] = 0
            if packing:
                for n in range(4):
                    records[row, n] = np.uint8(norm >> np.uint32(8 * n))
            for at in range(0, bucket, block):
                # Every element draws, whatever its bucket.
                _draw(state, draws)
                if some:
                    _quantize(source[at:at + block], scale, exponential, top, drawn, kept,
                              positions, codes)
                if packing:
                    _pack(codes, bits, records[row, 4 + at * bits // 8:
                                               4 + (at + block) * bits // 8])
                    continue
                place = row * bucket + at
                if place + block <= size:
                    _dequantize(codes, norm, step, power, exponential, top,
                                values[place:place + block])
                elif place < size:
                    _dequantize(codes, norm, step, power, exponential, top, decoded)
                    values[place:size] = decoded[:size - place]


@_compiled
def encode(words, size, states, begin, end, span, bucket, exponential, euclidean, bits, records):
    """Codes pieces ``begin`` to ``end`` - 1 of ``words`` into ``records``.

    ``words`` are the elements, uint32, ``size`` of them; ``states`` is what ``starts`` wrote;
    ``records``, uint8, has a row for each bucket.
    """
    _code(words, size, states, begin, end, span, bucket, exponential, euclidean, bits, records,
          words, True)


@_compiled
def round_trip(words, size, states, begin, end, span, bucket, exponential, euclidean, bits, none,
               values):
    """As ``encode``, and ``decode`` right behind it, into the uint32 ``values``.

    ``none`` is an array of the kind of ``records``, and not used.
    """
    _code(words, size, states, begin, end, span, bucket, exponential, euclidean, bits, none,
          values, False)


@_compiled
def decode(records, begin, end, bucket, exponential, bits, values, size):
    """Decodes rows ``begin`` to ``end`` - 1 of ``records`` into ``size`` uint32 ``values``."""
    block = min(_BLOCK, bucket)
    top = (1 << bits - 1) - 1
    codes, decoded = np.empty(block, np.uint32), np.empty(block, np.uint32)
    for row in range(begin, end):
        norm = np.uint32(0)
        for n in range(4):
            norm |= np.uint32(records[row, n]) << np.uint32(8 * n)
        norm &= _MAGNITUDE
        step, power = np.int32(0), 0.0
        if not exponential and _SMALLEST_NORMAL <= norm < _INFINITY:
            step, power = _step(norm, top)
        for at in range(0, bucket, block):
            place = row * bucket + at
            if place >= size:
                break
            _unpack(records[row, 4 + at * bits // 8:4 + (at + block) * bits // 8], bits, codes)
            if place + block <= size:
                _dequantize(codes, norm, step, power, exponential, top,
                            values[place:place + block])
            else:
                _dequantize(codes, norm, step, power, exponential, top, decoded)
                values[place:size] = decoded[:size - place]
