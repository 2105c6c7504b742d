"""Maps are checked; the page and the map of the card agree; the host needs no gateware tools."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tightwire.codec.check import DROPS as CHECKED
from tightwire.frame.parser import DROPS as PARSED
from tightwire.registers.describe import Access, Bank, Command, Counter, Field, Map, MapError
from tightwire.registers.describe import Register as Any
from tightwire.registers.nic import MAP
from tightwire.registers.page import page
from tightwire.transport.receiver import DROPS as RECEIVED
from tightwire.transport.receiver import OPEN, POST

ROOT = Path(__file__).parents[2]


def _register(name="one", offset=0, access=Access.RW, **more):
    return Any(name=name, offset=offset, access=access, doc="", **more)


@pytest.mark.parametrize("items, text", [
    ([_register(), _register("two")], "two at 0x0 is where another one is"),
    ([_register(), _register(offset=4)], "there twice"),
    ([_register(bits=64), _register("two", 4)], "where another one is"),
    ([_register(offset=2)], "cannot be at 0x2"),
    ([_register(offset=64)], "cannot be at 0x40"),
    ([_register(bits=65)], "has 65 bits"),
    ([_register(bits=40, access=Access.RO)], "only rw"),
    ([_register(bits=4, reset=16)], "beyond its 4 bits"),
    ([_register(constant=True)], "constant and not ro"),
    ([_register(fields=(Field("a", 0, 2, ""), Field("b", 1, 1, "")))], r"one\.b overlaps"),
    ([_register(bits=4, fields=(Field("a", 4, 1, ""),))], "does not fit"),
    ([Bank(name="bank", offset=4, doc="", counters=(Counter("n", ""),))], "not a multiple of 8"),
    ([Command(name="put", offset=0, doc="", arguments=(_register(access=Access.RO),))],
     "must be rw"),
])
def test_a_map_that_cannot_be(items, text):
    with pytest.raises(MapError, match=text):
        Map(name="bad", address_bits=6, blocks=(("", "", tuple(items)),))


def test_the_page_is_up_to_date():
    assert (ROOT / "docs/registers.md").read_text() == page(), (
        "python -m tightwire.registers > docs/registers.md")


def test_the_command_prints_the_page():
    done = subprocess.run([sys.executable, "-m", "tightwire.registers"], capture_output=True,
                          text=True, check=True, env={"PYTHONPATH": str(ROOT / "hw")})
    assert done.stdout == page()


def test_the_page_has_all_words():
    text = page()
    for word in MAP.words:
        name = re.sub("_(lo|hi)$", "", word.name) if word.access == "counter" else word.name
        assert f"`{name}`" in text


def test_the_map_needs_no_amaranth():
    code = ("import sys, tightwire.registers.nic, tightwire.registers.page\n"
            "assert 'amaranth' not in sys.modules and 'numpy' not in sys.modules")
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(ROOT / "hw")})


def test_every_drop_has_a_counter():
    """But for what is marked on the way to the decoder: that was counted by who marked it."""
    reasons = {"tx": [*CHECKED.members],
               "rx": [*({*CHECKED.members} - {"marked"}), *PARSED.members,
                      *({*RECEIVED.members} - {"bucket"}), "other_bucket"]}
    for way, names in reasons.items():
        for reason in names:
            assert f"{way}_dropped_{reason}_lo" in MAP.word


@pytest.mark.parametrize("command, layout, others", [
    ("open_rx", OPEN, {}), ("open_tx", ["open", "entry", "stream", "sequence"], {}),
    ("region", POST, {"add": "how", "log2_bucket": "how"})])
def test_commands_have_the_fields_of_what_they_drive(command, layout, others):
    names = getattr(layout, "members", layout)
    assert {others.get(name, name) for name in names} == {
        one.name for one in MAP.commands[command].arguments}
