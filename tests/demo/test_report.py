"""The table and the page, of recorded figures."""

import json
import re
from copy import deepcopy
from html.parser import HTMLParser
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console
from tightwire_sim.demo.page import render
from tightwire_sim.demo.table import COLUMNS, rows, table

RECORDED = json.loads((Path(__file__).parent / "figures.json").read_text())


@pytest.fixture
def figures():
    return deepcopy(RECORDED)


@pytest.fixture(scope="module")
def page():
    return render(RECORDED)


class Strict(HTMLParser):
    """Complains about tags that do not pair up."""

    def __init__(self):
        super().__init__()
        self.open = []
        self.seen = []

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag


def test_page_is_valid(page):
    assert page.startswith("<!DOCTYPE html>")
    parser = Strict()
    parser.feed(page)
    parser.close()
    assert parser.open == []
    names = [tag for tag, _ in parser.seen]
    assert names.count("svg") == 4
    identifiers = [given["id"] for _, given in parser.seen if "id" in given]
    assert len(identifiers) == len(set(identifiers)), "two figures share an id"
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        ElementTree.fromstring(svg.replace("xlink:href", "href"))


def test_page_needs_nothing_from_outside(page):
    assert "http:" not in page
    assert "https:" not in page
    parser = Strict()
    parser.feed(page)
    for tag, given in parser.seen:
        assert tag not in ("script", "link", "img", "iframe")
        for name in ("src", "href", "xlink:href"):
            assert given.get(name, "#").startswith("#")
    assert "@import" not in page
    assert all(target.startswith("#") for target in re.findall(r"url\(([^)]*)\)", page))


def test_page_has_every_codec_in_every_figure(page, figures):
    tables_and_figures = re.findall(r"<(?:svg|tbody).*?</(?:svg|tbody)>", page, re.DOTALL)
    for one in figures["codecs"]:
        shown = sum(one["title"] in part for part in tables_and_figures)
        # Two tables and four figures; what is lossless is not among the errors.
        assert shown == (6 if one["error"] else 4)


def test_colours_are_the_page_s(page):
    """No stand-in is left, and what stands in the place of one is defined for both modes."""
    assert not re.search("#0101|#01020", page)
    used = set(re.findall(r"var\(--([\w-]+)\)", page))
    light, dark = page.split("@media", 1)
    assert used <= set(re.findall(r"--([\w-]+):", light))
    assert used <= set(re.findall(r"--([\w-]+):", dark))


def test_pass_and_fail(page, figures):
    assert ">PASS<" in page and ">FAIL<" not in page
    figures["faults"] = [f"frame {n} <is> wrong" for n in range(30)]
    figures["codecs"][0]["faults"] = figures["faults"]
    page = render(figures)
    assert ">FAIL<" in page and ">PASS<" not in page
    assert "frame 3 &lt;is&gt; wrong" in page
    assert "10 more" in page


def test_one_lossless_codec_alone(figures):
    figures["codecs"] = [one for one in figures["codecs"] if not one["error"]]
    assert len(figures["codecs"]) == 1
    assert "lossless" in render(figures)


def test_rows(figures):
    period = 1000 / figures["clock_mhz"]
    for cells, one in zip(rows(figures), figures["codecs"], strict=True):
        assert len(cells) == len(COLUMNS)
        title, size, ratio, error, rate, clocks, ns, stored, _, exact = cells
        assert title == one["title"]
        assert int(size.replace(",", "")) == one["wire_bytes"]
        assert float(ratio) == pytest.approx(one["ratio"], abs=0.005)
        assert float(error) == pytest.approx(one["error"], rel=0.01)
        assert float(rate) == pytest.approx(
            min(one["cut_through"]["in_rate"], one["cut_through"]["out_rate"]), abs=0.0005)
        assert int(clocks) == one["cut_through"]["latency"]
        assert int(ns) == pytest.approx(int(clocks) * period, abs=0.5)
        assert int(stored.replace(",", "")) == one["store"]["latency"]
        assert exact == "yes"


def test_rate_is_that_of_the_slower_side(figures):
    figures["codecs"][1]["cut_through"]["out_rate"] = 0.75
    assert rows(figures)[1][4] == "0.750"


def test_pauses_are_said(figures):
    for one in figures["codecs"]:
        one["cut_through"].update(in_pauses=0, out_pauses=0)
    assert "comes out every clock, too" in render(figures)
    figures["codecs"][1]["cut_through"]["out_pauses"] = 77
    assert "pauses for 77 clocks" in render(figures)
    figures["codecs"][1]["cut_through"]["in_pauses"] = 5
    assert "Not always" in render(figures)


def test_table_fits_a_terminal(figures):
    figures["codecs"][0]["faults"] = ["something"]
    console = Console(width=80, no_color=True)
    with console.capture() as capture:
        console.print(table(figures))
    lines = capture.get().splitlines()
    assert len(lines) == 3 + len(figures["codecs"])
    assert not any("…" in line for line in lines)
    assert len({len(line) for line in lines}) == 1, "not aligned"
    assert lines[3].endswith(" no")
    assert lines[4].endswith("yes")
