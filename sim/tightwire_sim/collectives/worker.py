"""One worker's part of a sum, without the network.

A part is a generator. It yields what to send, a list with the bytes for each worker, and how many
bytes will come from each; it is sent back what came, in a list; and it returns its result. So the
same code runs over torch.distributed and, all workers in step, within one process.
"""

import numpy as np

from tightwire.config import ConfigError
from tightwire.formats import RAW, FormatError

from .. import fast
from .scheme import Scheme

__all__ = ["Sender", "Worker"]

_NOTHING = np.empty(0, np.uint8)


class Sender:
    """What codes messages: it has a stream, and numbers its messages.

    Parameters
    ----------
    scheme : Scheme
    stream : int
        16 bits. No two senders of a sum share one, or they would share their draws.
    message : int
        Number of the next message, 16 bits; it wraps.

    Attributes
    ----------
    wire_bytes : int
        What it has sent, headers included.
    plain_bytes : int
        What the same elements are as float32, without headers.
    """

    def __init__(self, scheme, *, stream, message=0):
        self.scheme = scheme
        self.stream = stream
        self.message = message
        self.wire_bytes = self.plain_bytes = 0

    def encode(self, values, codec, *, lost=None, copies=1):
        """The payload of a message, which is counted as sent ``copies`` times.

        ``lost`` is written, where it is given: the values less what the payload stands for, 0
        where that is not finite, so that an overflow is over when it is over.
        """
        bucket = self.scheme.bucket_of(codec)
        payload = fast.encode(values, codec=codec, bucket=bucket, span=self.scheme.span(codec),
                              stream=self.stream, message=self.message)
        if len(values):
            self.message = (self.message + 1) & 0xFFFF
        self.sent(len(values), codec, copies)
        if lost is not None:
            np.subtract(values, self.decode(payload, codec, len(values)), out=lost,
                        where=np.isfinite(values))
            lost[~np.isfinite(lost)] = 0
        return payload

    def sent(self, size, codec, copies):
        """Counts a message of ``size`` elements, sent so many times."""
        self.wire_bytes += copies * self.scheme.wire_bytes(size, codec)
        self.plain_bytes += copies * 4 * size

    def decode(self, payload, codec, size):
        """The elements of a message, anybody's."""
        return fast.decode(payload, codec=codec, bucket=self.scheme.bucket_of(codec), size=size)


class Worker:
    """One of the workers that sum vectors.

    Sums are float32, and made in one order, so all workers get the same bits, run after run.

    Parameters
    ----------
    scheme : Scheme
    rank, ranks : int
        Which worker, of how many: 1 to 65535. Its stream is its rank; an aggregator's stream is
        ``ranks``.
    message : int
        Number of its first message.

    Attributes
    ----------
    sender : Sender
        The worker's own: it has counted the bytes. What an aggregator sends is not among them.
    """

    def __init__(self, scheme, *, rank, ranks, message=0):
        if not isinstance(scheme, Scheme):
            raise ConfigError(f"scheme must be a Scheme, not {scheme!r}")
        if not 1 <= ranks <= 0xFFFF or not 0 <= rank < ranks:
            raise ConfigError("ranks must be from 1 to 65535 and rank below that, "
                              f"not {ranks} and {rank}")
        if not isinstance(message, int) or not 0 <= message <= 0xFFFF:
            raise ConfigError(f"message must be an int from 0 to 65535, not {message!r}")
        self.scheme = scheme
        self.rank, self.ranks = rank, ranks
        self.sender = Sender(scheme, stream=rank, message=message)
        # Every worker works out what the aggregator does, and numbers its messages.
        self.aggregator = Sender(scheme, stream=ranks, message=message)

    def all_reduce(self, values, *, raw=False, lost=None):
        """The sum of all workers' ``values``, at every worker.

        Parameters
        ----------
        values : numpy.ndarray
            float32, one dimension, as long as the others'. Not written.
        raw : bool
            Send float32 as it is, whatever the scheme's codecs; the collective is the same.
        lost : numpy.ndarray, optional
            float32, as long as ``values``, written: what this worker's own coding took away from
            each element of what it sent. Every element is coded once by each worker, so adding
            this to the next values is error feedback.

        Returns
        -------
        numpy.ndarray of float32
        """
        values = _check(values)
        if lost is not None:
            lost[:] = 0
        first, second = (RAW, RAW) if raw else (self.scheme.codec, self.scheme.result_codec)
        if self.scheme.collective == "aggregator":
            return (yield from self._through_aggregator(values, first, second, lost))
        # Parts are whole buckets, so that no bucket is padded but the last one.
        bucket = self.scheme.bucket
        buckets = -(-len(values) // bucket)
        cuts = [min(buckets * rank // self.ranks * bucket, len(values))
                for rank in range(self.ranks + 1)]
        if self.scheme.collective == "ring":
            return (yield from self._ring(values, cuts, first, second, lost))
        part = yield from self.reduce_scatter(values, cuts, raw=raw, lost=lost)
        return (yield from self._all_gather(part, cuts, second, lost))

    def reduce_scatter(self, values, cuts=None, *, raw=False, lost=None):
        """The sum of this worker's part of all workers' ``values``.

        Each worker sends the others their parts and adds up its own in the order of ranks, its
        own contribution as it is. ``cuts`` are where the parts begin and, last, where they end;
        parts of one length if None. Others as ``all_reduce``.
        """
        values = _check(values)
        if cuts is None:
            if len(values) % self.ranks:
                raise FormatError(f"values must divide among {self.ranks} workers, "
                                  f"not {len(values)} elements")
            cuts = [len(values) // self.ranks * rank for rank in range(self.ranks + 1)]
        codec = RAW if raw else self.scheme.codec
        outgoing = []
        for rank in range(self.ranks):
            part = slice(cuts[rank], cuts[rank + 1])
            outgoing.append(_NOTHING if rank == self.rank else self.sender.encode(
                values[part], codec, lost=None if lost is None else lost[part]))
        own = values[cuts[self.rank]:cuts[self.rank + 1]]
        size = self.scheme.payload_bytes(len(own), codec)
        incoming = yield outgoing, [0 if rank == self.rank else size for rank in range(self.ranks)]
        total = None
        for rank, payload in enumerate(incoming):
            part = own if rank == self.rank else self.sender.decode(payload, codec, len(own))
            total = part.copy() if total is None else _add(total, part)
        return total

    def _all_gather(self, part, cuts, codec, lost):
        """All workers' parts, each as it is after coding, at its owner too."""
        own = slice(cuts[self.rank], cuts[self.rank + 1])
        payload = self.sender.encode(part, codec, lost=None if lost is None else lost[own],
                                     copies=self.ranks - 1)
        sizes = [cuts[rank + 1] - cuts[rank] for rank in range(self.ranks)]
        incoming = yield (
            [_NOTHING if rank == self.rank else payload for rank in range(self.ranks)],
            [0 if rank == self.rank else self.scheme.payload_bytes(size, codec)
             for rank, size in enumerate(sizes)])
        incoming[self.rank] = payload
        return np.concatenate([self.sender.decode(each, codec, size)
                               for each, size in zip(incoming, sizes, strict=True)])

    def _ring(self, values, cuts, first, second, lost):
        after, before = (self.rank + 1) % self.ranks, (self.rank - 1) % self.ranks

        def span(rank):
            return slice(cuts[rank % self.ranks], cuts[rank % self.ranks + 1])

        def length(rank):
            return span(rank).stop - span(rank).start

        def passed(payload, rank, codec):
            """Sends a payload on, and takes that of part ``rank``."""
            outgoing, sizes = [_NOTHING] * self.ranks, [0] * self.ranks
            outgoing[after] = payload
            sizes[before] = self.scheme.payload_bytes(length(rank), codec)
            return (yield outgoing, sizes)[before]

        part = values[span(self.rank)]
        for step in range(self.ranks - 1):
            mine, next_ = self.rank - step, self.rank - step - 1
            payload = self.sender.encode(part, first,
                                         lost=None if lost is None else lost[span(mine)])
            came = yield from passed(payload, next_, first)
            part = _add(self.sender.decode(came, first, length(next_)), values[span(next_)])
        result = np.empty_like(values)
        last = self.rank + 1 if self.ranks > 1 else self.rank
        payload = self.sender.encode(part, second, lost=None if lost is None else lost[span(last)],
                                     copies=int(self.ranks > 1))
        result[span(last)] = self.sender.decode(payload, second, length(last))
        for step in range(self.ranks - 1):
            part = last - step - 1
            payload = yield from passed(payload, part, second)
            result[span(part)] = self.sender.decode(payload, second, length(part))
            if step < self.ranks - 2:
                self.sender.sent(length(part), second, 1)
        return result

    def _through_aggregator(self, values, first, second, lost):
        """What the aggregator is sent, everybody is: so each can do what it does."""
        payload = self.sender.encode(values, first, lost=lost)
        incoming = yield (
            [_NOTHING if rank == self.rank else payload for rank in range(self.ranks)],
            [0 if rank == self.rank else len(payload) for rank in range(self.ranks)])
        incoming[self.rank] = payload
        total = None
        for each in incoming:
            part = self.sender.decode(each, first, len(values))
            total = part if total is None else _add(total, part)
        result = self.aggregator.encode(total, second)
        return self.aggregator.decode(result, second, len(values))


def _add(total, part):
    """``total += part``; infinities of both signs make a NaN, as in the card, and no warning."""
    with np.errstate(invalid="ignore", over="ignore"):
        total += part
    return total


def _check(values):
    if not isinstance(values, np.ndarray) or values.dtype != np.float32 or values.ndim != 1:
        raise FormatError("values must be a numpy array of float32 with 1 dimension, not "
                          + (f"{values.dtype} of shape {values.shape}"
                             if isinstance(values, np.ndarray) else type(values).__name__))
    return values
