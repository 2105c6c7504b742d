"""The documentation against what it describes: links, commands, tables, snippets.

The checks take a page's text, so that a page with a mistake can be given to them as well.
"""

import doctest
import re
import shlex
from contextlib import suppress
from pathlib import Path
from xml.etree import ElementTree

import pytest
from amaranth.lib import wiring

from tightwire import cli
from tightwire.codec.check import DROPS
from tightwire.config import LANES, CodecConfig
from tightwire.formats import BITS, BUCKETS, Codec, Coding, FormatError, Levels, Norm
from tightwire.stream.axis import USER
from tightwire.stream.beat import CODEC
from tightwire.tools import prerequisites
from tightwire.tops.codec import CodecTop
from tightwire_sim.demo import options

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", "CHANGELOG.md",
         *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))),
         "sim/tightwire_sim/data/README.md"]

def read(page):
    return (ROOT / page).read_text()


def table(text, head):
    """The cells of the one table whose first line begins with the cells ``head``."""
    lines = text.splitlines()
    found = [n for n, line in enumerate(lines) if _cells(line)[:len(head)] == head]
    assert len(found) == 1, f"{len(found)} tables begin with {head}"
    rows = []
    for line in lines[found[0] + 2:]:
        if not line.startswith("|"):
            break
        rows.append(_cells(line))
    assert rows
    return rows


def _cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def _code(text):
    """What is code in a page: blocks, and what stands in backticks."""
    fenced = re.findall(r"^```.*?\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    indented = re.findall(r"^ {4}\S.*", text, re.MULTILINE)
    spans = [" ".join(span.split()) for span in re.findall(r"`([^`]+)`", text)]
    return [line.strip() for block in fenced for line in block.splitlines()] + [
        line.strip() for line in indented] + spans


def _slug(heading):
    """The anchor that a code host makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def _anchors(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.DOTALL | re.MULTILINE)
    return {_slug(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


# ---- the checks ----


def check_links(text, page):
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", link):
            continue
        name, _, anchor = link.partition("#")
        path = ((ROOT / page).parent / name) if name else ROOT / page
        assert path.exists(), f"{page} links to {link}, and there is no {path.relative_to(ROOT)}"
        if anchor:
            assert anchor in _anchors(path), f"{page} links to {link}, which has no such heading"


def check_paths(text, page):
    """Files and folders that are named from the root of the repository."""
    for span in _code(text):
        if re.fullmatch(r"(hw|sim|tests|docs)/[\w./-]*", span):
            assert (ROOT / span).exists(), f"{page} names {span}"


def check_commands(text, page):
    targets = set(re.findall(r"^([a-z]+):", read("Makefile"), re.MULTILINE))
    for line in _code(text):
        code = line.partition("  #")[0].strip()
        if match := re.match(r"make( [a-z]+)?$", code):
            assert not match[1] or match[1].strip() in targets, f"{page}: {code}"
        match = re.match(r"(?:\.venv/bin/)?tightwire (\w.*)$", code)
        if match and "..." not in code:
            _check_tightwire(shlex.split(match[1]), f"{page}: {code}")


def _check_tightwire(words, where):
    try:
        if words[0] == "demo":
            options.parse(words[1:])
        else:
            cli._parser().parse_args(words)
    except SystemExit as stop:
        if stop.code:
            raise AssertionError(f"{where} is refused") from None


def check_prerequisites(text, page):
    found = re.search(r"apt-get install (.*)", text)
    packages = set(re.sub(r"libpython\S+", "libpython", found[1]).split())
    assert packages == {package for *_, package in prerequisites._PROGRAMS} | {
        "python3-venv", "libpython"}, page


def check_codec_byte(text, page):
    rows = table(text, ["bits", "field", "values"])
    names = {
        "levels": {kind.value: kind.name.lower() for kind in Levels},
        "norm": {kind.value: kind.name.lower() for kind in Norm},
        "bits": {0: "32"} | {Codec(Levels.UNIFORM, bits=bits).byte >> 3 & 3: str(bits)
                             for bits in BITS},
        "coding": {kind.value: kind.name.lower() for kind in Coding},
        "sparse": {0: "every", 1: "zero"},
    }
    assert [field for _, field, _ in rows] == [*CODEC.members]
    for bits, field, values in rows:
        assert bits == _range(CODEC[field]), f"{page}: {field}"
        found = {int(value): name for value, name in re.findall(r"`(\d+)` (\w+)", values)}
        assert found == names[field], f"{page}: {field}"
    for _, name, byte in table(text, ["scheme", "name here"]):
        assert Codec.parse(f"{name}-4").byte == int(byte, 16), f"{page}: {name}"
    # What the page says of raw: all other bytes with levels 0 are reserved.
    legal = set()
    for byte in range(256):
        with suppress(FormatError):
            legal.add(Codec.from_byte(byte).byte)
    assert {byte for byte in legal if not byte & 3} == {0x00, 0x80}
    assert "of the\nbytes with levels 0 only 0x00 and 0x80 are not reserved" in text, page


def _range(field):
    """The bits of a field of a layout, as the pages write them."""
    high = field.offset + field.width - 1
    return str(high) if field.width == 1 else f"{high}:{field.offset}"


def check_header(text, page):
    """The fields follow each other and make the 22 bytes that the page says."""
    at = 0
    for offset, size, *_ in table(text, ["offset", "size", "field"]):
        assert int(offset) == at, page
        at += int(size)
    assert at == 22, page
    assert 14 + 20 + 8 + at == 64


def check_user(text, page):
    rows = table(text, ["bits", "field", "what it says"])
    assert [(bits, field) for bits, field, *_ in rows] == [
        (_range(USER[name]), f"`{name}`") for name in USER.members], page
    assert f"`tuser` has {USER.size} bits" in text, page


def check_drops(text, page):
    rows = table(text, ["reason", "the frame"])
    assert [reason for reason, *_ in rows] == [f"`{name}`" for name in DROPS.members], page


def check_ports(text, page):
    """Every port is in the table, with its direction and width, and nothing else is."""
    lanes = 4
    top = CodecTop(CodecConfig(lanes=lanes))
    ports = {"clk": ("in", "1"), "rst": ("in", "1")}
    for path, member, _ in top.signature.flatten(top):
        way = "in" if member.flow == wiring.In else "out"
        ports["__".join(map(str, path))] = (way, str(member.shape))
    for names, width, way, *_ in table(text, ["ports", "width"]):
        for name in re.findall(r"`(\w+\*?)`", names):
            beginning = name.removesuffix("*")
            here = [port for port in ports if port.startswith(beginning) and
                    (name.endswith("*") or port == name)]
            assert here, f"{page}: no port {name}"
            if "axis" in name:
                # A stream has the direction and the width of its tdata.
                assert width.startswith("32 ") and width.endswith(" lanes")
                assert ports[f"{beginning}tdata"] == (way, str(32 * lanes)), f"{page}: {name}"
                assert {port.removeprefix(beginning) for port in here} == {
                    "tdata", "tkeep", "tlast", "tuser", "tvalid", "tready"}
            else:
                assert {ports[port] for port in here} == {(way, width)}, f"{page}: {name}"
            for port in here:
                del ports[port]
    assert not ports, f"{page} does not have {[*ports]}"


def check_options(text, page):
    config = CodecConfig()
    rows = {name: (default, legal)
            for name, default, legal, *_ in table(text, ["option", "default"])}
    assert rows == {
        "`--lanes`": (str(config.lanes), ", ".join(map(str, LANES))),
        "`--max-bucket`": (str(config.max_bucket), f"powers of two, {BUCKETS[0]} to {BUCKETS[-1]}"),
        "`--frame-bytes`": (str(config.frame_bytes), "1024 to 65536"),
    }, page


def check_snippets(text, page):
    test = doctest.DocTestParser().get_doctest(text, {}, page, page, 0)
    said = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append)
    assert not said, "".join(said)
    return len(test.examples)


# ---- the pages ----

EVERYWHERE = [check_links, check_paths, check_commands, check_snippets]
WHERE = {
    check_prerequisites: "README.md",
    check_codec_byte: "docs/wire-format.md",
    check_header: "docs/wire-format.md",
    check_user: "docs/codec.md",
    check_drops: "docs/codec.md",
    check_ports: "docs/codec.md",
    check_options: "docs/codec.md",
}
CHECKS = [*((check, page) for check in EVERYWHERE for page in PAGES), *WHERE.items()]


@pytest.mark.parametrize("check, page", CHECKS, ids=lambda x: getattr(x, "__name__", x))
def test_page(check, page):
    check(read(page), page)


def test_there_are_snippets():
    for page in ("README.md", "docs/wire-format.md", "docs/codec.md"):
        assert check_snippets(read(page), page) >= 5


def test_all_commands_are_in_the_readme():
    text = read("README.md")
    for command in ("demo", "verilog", "report"):
        assert f"`make {command}`" in text
    assert "`make test`" in text


def test_pictures_need_nothing():
    """A picture is whole, says what it shows, and loads nothing."""
    pictures = sorted((ROOT / "docs").glob("*.svg"))
    assert pictures
    for picture in pictures:
        root = ElementTree.parse(picture).getroot()
        assert root.find("{http://www.w3.org/2000/svg}title").text
        text = picture.read_text().replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"https?:|href|<script", text), picture.name


MISTAKES = [
    (check_links, "README.md", "(docs/codec.md)", "(docs/codek.md)"),
    (check_links, "docs/codec.md", "#2-codec-byte", "#3-codec-byte"),
    (check_paths, "docs/architecture.md", "`tests/`", "`tests/none/`"),
    (check_paths, "docs/architecture.md", "`hw/tightwire/arith/`", "`hw/tightwire/arit/`"),
    (check_commands, "README.md", "    make demo", "    make demos"),
    (check_commands, "README.md", "--lanes 16", "--lanes 17"),
    (check_commands, "docs/codec.md", "tightwire verilog codec", "tightwire verilog kodec"),
    (check_prerequisites, "README.md", "install make", "install cmake"),
    (check_codec_byte, "docs/wire-format.md", "`2` exponential", "`3` exponential"),
    (check_codec_byte, "docs/wire-format.md", "| 4:3  |", "| 5:4  |"),
    (check_codec_byte, "docs/wire-format.md", "0x15", "0x16"),
    (check_header, "docs/wire-format.md", "|     14 |    4 |", "|     14 |    2 |"),
    (check_user, "docs/codec.md", "| 13:10 |", "| 14:10 |"),
    (check_user, "docs/codec.md", "`bypass`      |", "`pass`        |"),
    (check_drops, "docs/codec.md", "| `span` ", "| `spin` "),
    (check_ports, "docs/codec.md", "`tx_frames`, ", ""),
    (check_ports, "docs/codec.md", "`m_axis_rx_*`", "`m_axis_xx_*`"),
    (check_ports, "docs/codec.md", "| in  | see", "| out | see"),
    (check_options, "docs/codec.md", "9216", "9000"),
    (check_snippets, "README.md", "7.88  0.24", "7.88  0.25"),
    (check_snippets, "docs/wire-format.md", "0x667e9073", "0x667e9074"),
]


@pytest.mark.parametrize("check, page, right, wrong", MISTAKES,
                         ids=lambda x: getattr(x, "__name__", None))
def test_mistakes_are_noticed(check, page, right, wrong):
    text = read(page)
    assert right in text
    check(text, page)
    with pytest.raises(AssertionError):
        check(text.replace(right, wrong), page)
