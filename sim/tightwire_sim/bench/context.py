"""What a bench is told by the process that started it, and what it tells back.

Both travel as JSON, through files whose names are in the environment: see ``runner.run``.
"""

import json
import os
from functools import cache
from pathlib import Path

__all__ = ["PARAMETERS", "RECORDS", "parameters", "record"]

PARAMETERS = "TIGHTWIRE_BENCH_PARAMETERS"
RECORDS = "TIGHTWIRE_BENCH_RECORDS"
"""Environment variables with the name of the file for either direction."""


@cache
def parameters():
    """The parameters given to ``runner.run``: a dict."""
    return json.loads(Path(os.environ[PARAMETERS]).read_text())


def record(**fields):
    """Hand a record, of what JSON can hold, to whoever called ``runner.run``, at once."""
    with open(os.environ[RECORDS], "a") as file:
        file.write(json.dumps(fields) + "\n")
