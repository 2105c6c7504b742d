"""Results that take minutes to compute, kept by what they were computed from."""

import hashlib
import json
import os
from pathlib import Path

__all__ = ["BUILD", "Cache", "digest"]

BUILD = Path("build")
"""Where everything that is generated goes, below the current folder."""


def digest(*texts):
    """A name for a list of texts: equal where they are."""
    joined = b"".join(b"%d:%s" % (len(raw), raw) for raw in map(str.encode, texts))
    return hashlib.sha256(joined).hexdigest()[:20]


class Cache:
    """Figures in JSON files, one for each digest.

    Parameters
    ----------
    folder : Path
        Made when the first result is kept.
    """

    def __init__(self, folder):
        self.folder = folder

    def get(self, key, compute):
        """The result kept as ``key``, or that of ``compute()``, which is kept.

        ``compute`` returns what JSON can hold. A file that cannot be read counts as absent.
        """
        path = self.folder / f"{key}.json"
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError):
            pass
        result = compute()
        self.folder.mkdir(parents=True, exist_ok=True)
        # Renamed into place, since two processes may be at it and either may be stopped.
        partial = path.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(result, indent=1))
        partial.replace(path)
        return result
