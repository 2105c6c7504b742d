"""What a machine must have before anything can be installed or simulated.

Run as a script by the Makefile, before there is a virtual environment, so it needs nothing but
the standard library and reads even under an old Python 3.
"""

import ctypes.util
import importlib.util
import os
import shutil
import sys
import sysconfig

__all__ = ["OLDEST_PYTHON", "missing", "message"]

OLDEST_PYTHON = (3, 11)

# (what it is, the programs of which one will do, the Debian package that brings it)
_PROGRAMS = (
    ("a C++ compiler", ("c++", "g++", "clang++"), "g++"),
    ("perl", ("perl",), "perl"),
    ("make", ("make", "gmake"), "make"),
)


def _shared_python():
    """Whether this Python exists as a shared library, which a simulator loads to run cocotb."""
    folder, name = (sysconfig.get_config_var(key) for key in ("LIBDIR", "INSTSONAME"))
    if folder and name and ".so" in name and os.path.exists(os.path.join(folder, name)):
        return True
    # On Debian it is a package of its own, in a folder that only the linker knows.
    return ctypes.util.find_library("python{}.{}".format(*sys.version_info[:2])) is not None


def missing():
    """What is missing, as a list of (what, Debian package)."""
    lacks = [
        (what, package)
        for what, programs, package in _PROGRAMS
        if not any(map(shutil.which, programs))
    ]
    if sys.version_info < OLDEST_PYTHON:
        # The rest depends on which Python it will be.
        return [*lacks, ("python {}.{} or newer".format(*OLDEST_PYTHON), "python3")]
    if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
        lacks.append(("python's venv module", "python3-venv"))
    if not _shared_python():
        lacks.append(("python's shared library", "libpython{}.{}".format(*sys.version_info[:2])))
    return lacks


def message(lacks):
    """One line that says what is missing and how to get it."""
    names = ", ".join(what for what, _ in lacks)
    packages = " ".join(package for _, package in lacks)
    return f"missing: {names} (Debian: apt-get install {packages})"


if __name__ == "__main__":
    lacking = missing()
    if lacking:
        sys.exit(message(lacking))
