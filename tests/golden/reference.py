"""docs/wire-format.md once more, one element at a time, in Python's integers.

A transliteration, sentence by sentence, that shares nothing with the model it checks: not its
arrays, not its floating point, not its reading of the codec byte. Names are the document's.
Elements and norms are 32-bit words as ints.
"""

from math import isqrt

NAN = 0x7FC00000
ONES = 0xFFFFFFFF


def scaled(x, k):
    """floor(x * 2^k)"""
    return x << k if k >= 0 else x >> -k


# Section 2


def fields(byte):
    """levels, norm, bits of a dense codec byte of fixed width."""
    assert byte >> 5 == 0
    return byte & 3, byte >> 2 & 1, (32, 2, 4, 8)[byte >> 3 & 3]


# Section 4


def read(word):
    """sign, exponent field e, m; m is 0 where e is."""
    e = word >> 23 & 0xFF
    return word >> 31, e, 0 if e == 0 else 2**23 + (word & 0x7FFFFF)


def word_of(integer, exponent):
    """integer * 2^exponent as a word, cut to 24 significant bits; its exponent field besides."""
    excess = integer.bit_length() - 24
    m = scaled(integer, -excess)
    field = exponent + excess + 150
    return field, field * 2**23 + (m - 2**23)


# Section 5


def norm_of(words, norm):
    """The norm of a bucket."""
    if any(read(word)[1] == 255 for word in words):
        return NAN
    if all(read(word)[1] == 0 for word in words):
        return 0
    largest = max(word & 0x7FFFFFFF for word in words)
    if norm == 0:
        return largest
    E = max(read(word)[1] for word in words)
    S = 0
    for word in words:
        _, e, m = read(word)
        a = m >> (6 + E - e) if 6 + E - e < 24 else 0
        S += a * a
    field, word = word_of(isqrt(S), E - 144)
    return NAN if field >= 255 else max(word, largest)


# Section 6


def reciprocal(n, c):
    """K, t"""
    t = 0
    while (c << t + 1) // n < 2**18:
        t += 1
    return (c << t) // n, t


# Section 7


def level_and_fraction(word, norm, levels, bits):
    """level, fraction of an element under a norm that is neither 0 nor a NaN."""
    top = 2 ** (bits - 1) - 1
    _, q, n = read(norm)
    _, e, m = read(word)
    if e == 0:
        return 0, 0
    K, t = reciprocal(n, top if levels == 1 else 1)
    P = (m >> 6) * K
    h = t + q - e - 6
    if levels == 1:
        Y = scaled(P, 16 - h)
        level, fraction = Y >> 16, Y % 2**16
    else:
        s = top - 1
        w = P.bit_length() - 1
        d = h - w
        if d > s:
            level, fraction = 0, scaled(P, 16 + s - h)
        else:
            level, fraction = top - d, scaled(P, 16 - w) - 2**16
    return (top, 0) if level >= top else (level, fraction)


# Section 8


def mix(x):
    """MurmurHash3's fmix32."""
    x ^= x >> 16
    x = x * 0x85EBCA6B & ONES
    x ^= x >> 13
    x = x * 0xC2B2AE35 & ONES
    x ^= x >> 16
    return x


def xorshift(state):
    """One step."""
    state ^= state << 13 & ONES
    state ^= state >> 17
    state ^= state << 5 & ONES
    return state


def draws(count, stream, message, first):
    """U of the first elements of a frame."""
    seed = stream * 2**16 + message
    base = mix(seed ^ mix((first + 0x9E3779B9) & ONES))
    state = [mix((base + (g + 1) * 0x9E3779B9) & ONES) or 0x6D2B79F5 for g in range(16)]
    result = []
    for i in range(count):
        g = i % 16
        state[g] = xorshift(state[g])
        result.append(state[g] >> 16)
    return result


# Section 3


def encode(words, byte, bucket, stream=0, message=0, first=0):
    """The payload of a frame that covers all of ``words``."""
    levels, norm, bits = fields(byte)
    words = words + [0] * (-len(words) % bucket)
    if levels == 0:
        return b"".join(word.to_bytes(4, "little") for word in words)
    U = draws(len(words), stream, message, first)
    payload = b""
    for begin in range(0, len(words), bucket):
        elements = words[begin:begin + bucket]
        N = norm_of(elements, norm)
        body = 0
        if N not in (0, NAN):
            for i, word in enumerate(elements):
                level, fraction = level_and_fraction(word, N, levels, bits)
                if U[begin + i] < fraction:
                    level += 1
                sign = word >> 31 if level else 0
                body |= (sign * 2 ** (bits - 1) + level) << i * bits
        payload += N.to_bytes(4, "little") + body.to_bytes(bucket * bits // 8, "little")
    return payload


# Section 9


def element(code, norm, levels, bits):
    """The word that a code stands for under a norm."""
    top = 2 ** (bits - 1) - 1
    sign, level = code >> bits - 1, code % 2 ** (bits - 1)
    q = norm >> 23 & 0xFF
    n = 2**23 + (norm & 0x7FFFFF)
    if q == 255:
        return NAN
    if q == 0 or level == 0:
        return 0
    if levels == 2:
        field = q - (top - level)
        return 0 if field < 1 else sign << 31 | field << 23 | n - 2**23
    j = -6
    while scaled(n, j + 1 + 6) // (top << 6) < 2**18:
        j += 1
    W = scaled(n, j + 6) // (top << 6)
    field, word = word_of(level * W, q - 150 - j)
    return 0 if field < 1 else sign << 31 | word


def decode(payload, byte, bucket):
    """The words of a dense payload."""
    levels, _, bits = fields(byte)
    if levels == 0:
        return [int.from_bytes(payload[i:i + 4], "little") for i in range(0, len(payload), 4)]
    words = []
    size = 4 + bucket * bits // 8
    for begin in range(0, len(payload), size):
        norm = int.from_bytes(payload[begin:begin + 4], "little")
        body = int.from_bytes(payload[begin + 4:begin + size], "little")
        of_code = [element(code, norm, levels, bits) for code in range(2**bits)]
        for i in range(bucket):
            words.append(of_code[(body >> i * bits) % 2**bits])
    return words
