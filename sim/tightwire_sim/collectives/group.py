"""All workers in one process, in step."""

from tightwire.formats import FormatError

from .worker import Worker

__all__ = ["Group"]


class Group:
    """Workers that sum vectors.

    Parameters
    ----------
    ranks : int
    scheme : Scheme
    message : int
        Number of everybody's first message.

    Attributes
    ----------
    workers : list of Worker
    """

    def __init__(self, ranks, scheme, *, message=0):
        self.workers = [Worker(scheme, rank=rank, ranks=ranks, message=message)
                        for rank in range(ranks)]

    def all_reduce(self, vectors, *, residuals=None, raw=False):
        """The sum of vectors, as each worker gets it.

        Parameters
        ----------
        vectors : list of numpy.ndarray
            float32, one dimension, one of each worker, of one length.
        residuals : list of numpy.ndarray, optional
            For error feedback: as ``vectors``, added to them, and replaced by what is lost now.
            Zeros to begin with.
        raw : bool
            Send float32 as it is.

        Returns
        -------
        list of numpy.ndarray
        """
        self._check(vectors)
        if residuals is None:
            return self._run([worker.all_reduce(vector, raw=raw)
                              for worker, vector in zip(self.workers, vectors, strict=True)])
        return self._run([
            worker.all_reduce(vector + residual, raw=raw, lost=residual)
            for worker, vector, residual in zip(self.workers, vectors, residuals, strict=True)])

    def reduce_scatter(self, vectors, *, raw=False):
        """Each worker's part of the sum; the vectors divide among them evenly."""
        self._check(vectors)
        return self._run([worker.reduce_scatter(vector, raw=raw)
                          for worker, vector in zip(self.workers, vectors, strict=True)])

    @property
    def wire_bytes(self):
        """What the workers have sent in all, headers included."""
        return sum(worker.sender.wire_bytes for worker in self.workers)

    def _check(self, vectors):
        if len(vectors) != len(self.workers) or len({len(each) for each in vectors}) != 1:
            raise FormatError(f"vectors must be {len(self.workers)} of one length, "
                              f"not of {[len(each) for each in vectors]}")

    def _run(self, parts):
        incoming = [None] * len(parts)
        while True:
            sent, results = [], []
            for part, came in zip(parts, incoming, strict=True):
                try:
                    sent.append(part.send(came))
                except StopIteration as stop:
                    results.append(stop.value)
            if results:
                return results
            incoming = [[outgoing[rank] for outgoing, _ in sent] for rank in range(len(parts))]
