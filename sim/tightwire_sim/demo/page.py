"""The report: one HTML file that needs nothing else, not even a network."""

from html import escape

from .plots import BEST_PUBLISHED_NS, error_plot, latency_plot, size_plot, time_plot
from .table import COLUMNS, rows

__all__ = ["render"]

_CSS = """\
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --surface: #ffffff; --ink: #1b2330; --muted: #667085; --grid: #d9dee6;
  --good: #12734a; --good-soft: #dcf3e7; --bad: #b42318; --bad-soft: #fde3e0;
  --series-0: #7a8594; --series-1: #2a6fdb; --series-2: #0b9384; --series-3: #c8600f;
  --series-4: #8a4bc9;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #11151b; --surface: #1a2029; --ink: #e6eaf0; --muted: #93a0b2; --grid: #38414e;
    --good: #7fd8ac; --good-soft: #173527; --bad: #ff9a90; --bad-soft: #47201d;
    --series-0: #9aa5b4; --series-1: #6ba4ff; --series-2: #35c3b1; --series-3: #f0944a;
    --series-4: #bf92f5;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif;
}
main { max-width: 1060px; margin: 0 auto; padding: 36px 24px 60px; }
h1 { font-size: 28px; line-height: 1.2; margin: 0 0 8px; letter-spacing: -0.01em; }
h2 { font-size: 20px; line-height: 1.3; margin: 0 0 4px; }
p { margin: 0 0 12px; max-width: 76ch; }
.muted { color: var(--muted); }
.verdict {
  display: inline-block; font-weight: 700; padding: 2px 12px; border-radius: 6px;
  background: var(--good-soft); color: var(--good); margin-right: 8px;
}
.verdict.bad { background: var(--bad-soft); color: var(--bad); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(210px, 1fr)); gap: 14px;
  margin: 22px 0; padding: 0; }
.tile, section {
  background: var(--surface); border: 1px solid var(--grid); border-radius: 10px;
}
.tile { padding: 14px 18px; }
.tile b { display: block; font-size: 26px; line-height: 1.25; letter-spacing: -0.01em; }
.tile span { color: var(--muted); font-size: 14px; line-height: 1.35; display: block; }
section { padding: 20px 24px; margin: 0 0 18px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14px; font-variant-numeric: tabular-nums;
  }
th, td { padding: 5px 10px; text-align: right; white-space: nowrap;
  border-bottom: 1px solid var(--grid); }
th { color: var(--muted); font-weight: 600; vertical-align: bottom; white-space: normal;
  line-height: 1.25; }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
tr:last-child td { border-bottom: 0; }
tr.bad td { color: var(--bad); font-weight: 600; }
.heat td { text-align: center; border: 2px solid var(--surface); border-radius: 6px; }
.heat th { text-align: center; }
.heat td:first-child, .heat th:first-child { text-align: left; }
svg { display: block; width: 100%; height: auto; margin-top: 10px; }
svg text { font-family: inherit !important; }
code { font: 13.5px/1.4 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; }
ul { margin: 0 0 12px; padding-left: 22px; }
.note { font-size: 14px; color: var(--muted); margin: 10px 0 0; }
"""


def _tag(name, content, **attributes):
    given = "".join(f' {key.rstrip("_")}="{escape(str(value))}"'
                    for key, value in attributes.items())
    return f"<{name}{given}>{content}</{name}>"


def _section(question, answer, *content, note=None):
    parts = [_tag("h2", escape(question)), _tag("p", escape(answer)), *content]
    if note is not None:
        parts.append(_tag("p", escape(note), class_="note"))
    return _tag("section", "\n".join(parts))


def _head(name):
    """A column's head in one line."""
    return name.replace("/\n", "/").replace("-\n", "-").replace("\n", " ").strip()


def _table(figures):
    head = "".join(_tag("th", escape(_head(name))) for name in COLUMNS)
    body = "\n".join(
        _tag("tr", "".join(_tag("td", escape(cell)) for cell in cells),
             **({"class_": "bad"} if one["faults"] else {}))
        for cells, one in zip(rows(figures), figures["codecs"], strict=True))
    return _tag("div", _tag("table", f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>"),
                class_="scroll")


def _heat(figures):
    """Relative error of each kind of layer, a cell the darker the larger."""
    choices = [one for one in figures["codecs"] if one["error"] > 0]
    kinds = list(dict.fromkeys(kind for one in choices for kind in one["error_by_kind"]))
    head = "".join(_tag("th", escape(text)) for text in ("", *kinds))
    body = ""
    for one in choices:
        cells = _tag("td", escape(one["title"]))
        for kind in kinds:
            error = one["error_by_kind"].get(kind)
            if error is None:
                cells += _tag("td", "")
                continue
            # Up to 1 the shade grows with the error; what is above it stays readable.
            share = round(55 * min(1, error))
            cells += _tag(
                "td", f"{error:.3f}",
                style=f"background: color-mix(in srgb, var(--series-3) {share}%, transparent)")
        body += _tag("tr", cells) + "\n"
    return _tag("div", _tag("table", f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody>",
                            class_="heat"), class_="scroll")


def _tiles(figures):
    choices = figures["codecs"]
    smallest = max(choices, key=lambda one: one["ratio"])
    quantised = [one for one in choices if one["error"] > 0] or choices
    fastest = min(quantised, key=lambda one: one["cut_through"]["latency"])
    period = 1000 / figures["clock_mhz"]
    slowest_rate = min(one["cut_through"]["in_rate"] for one in choices)
    gigabits = 32 * figures["lanes"] * figures["clock_mhz"] / 1000
    tiles = (
        (f"{figures['compared']['bytes'] / 1e6:,.1f} MB",
         "compared with the golden model, on the wire and at the far end"),
        (f"{smallest['ratio']:.1f}x",
         f"smaller at most ({smallest['title']}), frame headers included"),
        (f"{slowest_rate:.3f}",
         f"beats a clock taken from the host, at the least: 1.000 is {gigabits:g} Gb/s of "
         f"float32 at {figures['clock_mhz']:g} MHz"),
        (f"{fastest['cut_through']['latency'] * period:,.0f} ns",
         f"to compress and decompress ({fastest['title']}, buckets of {figures['bucket']})"),
    )
    return _tag("div", "\n".join(
        _tag("div", f"{_tag('b', escape(big))}{_tag('span', escape(small))}", class_="tile")
        for big, small in tiles), class_="tiles")


def _verdict(figures):
    compared = figures["compared"]
    faults = figures["faults"]
    if not faults:
        return _tag("p", _tag("span", "PASS", class_="verdict") + escape(
            f"{compared['bytes']:,} bytes in {compared['frames']:,} frames are as the golden "
            "model says, to the bit."))
    shown = "\n".join(_tag("li", escape(fault)) for fault in faults[:20])
    more = _tag("p", f"and {len(faults) - 20:,} more") if len(faults) > 20 else ""
    return _tag("p", _tag("span", "FAIL", class_="verdict bad") + escape(
        f"{len(faults):,} faults.")) + _tag("ul", shown) + more


def _size_answer(figures):
    choices = [one for one in figures["codecs"] if one["error"] > 0]
    if not choices:
        return "Raw frames are as large as what they carry, and their headers."
    low, high = (pick(one["ratio"] for one in choices) for pick in (min, max))
    return (f"{low:.1f} to {high:.1f} times, by codec choice. The choice is made frame by frame, "
            "at run time, by a byte beside the frame.")


def _error_answer(figures):
    choices = [one for one in figures["codecs"] if one["error"] > 0]
    if not choices:
        return "Nothing: raw frames are lossless."
    best = {}
    for one in choices:
        if one["bits"] not in best or one["error"] < best[one["bits"]]["error"]:
            best[one["bits"]] = one
    text = "; ".join(f"{one['error']:.3f} with {bits} bits a code ({one['title']})"
                     for bits, one in sorted(best.items()))
    return f"Relative error ‖v' - v‖ / ‖v‖ of what came out at the far end, at best {text}."


def _rate_answer(figures):
    sides = {way: max(one["cut_through"][f"{way}_pauses"] for one in figures["codecs"])
             for way in ("in", "out")}
    if sides["in"]:
        return f"Not always: at its input a card paused for up to {sides['in']:,} clocks."
    answer = ("Yes: under every choice a beat goes in every clock, without a pause, in both "
              "directions at once. Only the wire has less to do. ")
    if not sides["out"]:
        return answer + "At the far end a beat comes out every clock, too."
    return answer + (
        f"At the far end the output pauses for {sides['out']:,} clocks at most: the first beat "
        "leaves as soon as it can, and the next one may not be there yet."
        if sides["out"] > 1 else
        "At the far end a beat comes out every clock, but for one pause of a clock: the first "
        "beat leaves as soon as it can, and then the next records are not there yet.")


def _latency_answer(figures):
    period = 1000 / figures["clock_mhz"]
    choices = figures["codecs"]
    below = [one for one in choices
             if one["cut_through"]["latency"] * period < BEST_PUBLISHED_NS]
    store = [one["store"]["latency"] * period for one in choices]
    return (f"{len(below)} of {len(choices)} choices take less than {BEST_PUBLISHED_NS} ns. A "
            "bucket has to be there before its norm is known, and a Euclidean norm takes a second "
            "pass. Where frames are stored on either side, so that a bad one leaves no trace, it "
            f"is {min(store):,.0f} to {max(store):,.0f} ns, most of that until a frame is whole.")


def render(figures):
    """The page, of what figures.json holds."""
    lanes, bucket, mhz = (figures[name] for name in ("lanes", "bucket", "clock_mhz"))
    data = figures["data"]
    seconds = figures["seconds"]
    intro = (
        f"Two codecs of {lanes} lanes ({32 * lanes} bit), back to back in register-transfer "
        f"simulation: card A sends {data['messages']['a']} to card B while B sends "
        f"{data['messages']['b']} to A. {data['elements']:,} gradient values from real training, "
        f"in buckets of {bucket} and frames of up to {figures['frame_bytes']:,} bytes; each codec "
        "choice sends them all.")
    if data["share"] < 1:
        intro += f" That is an even sample, {data['share']:.1%}, of what is shipped."
    body = [
        _tag("h1", "Gradients through tightwire"),
        _verdict(figures),
        _tag("p", escape(intro)),
        _tiles(figures),
        _section(
            "All figures", f"Latency in clocks, and in ns at a target clock of {mhz:g} MHz.",
            _table(figures),
            note="Wire bytes are the payloads as they crossed the wire, and 64 bytes of headers "
                 "for each frame. The ratio is that of float32 without any headers to them. "
                 "Latency: first beat into card A to first beat out of card B, one clock of wire "
                 "included; frames cut through, then whole frames (stored on either side). "
                 "Beats a clock: of the uncompressed sides, the slower one."),
        _section("How much smaller is the wire?", _size_answer(figures), size_plot(figures)),
        _section(
            "What does it cost?", _error_answer(figures), error_plot(figures), _heat(figures),
            note="By kind of layer. Rounding is stochastic and unbiased, so errors average out "
                 "over workers and steps; a relative error above 1 is normal with 2 bits."),
        _section("Is it line rate?", _rate_answer(figures), time_plot(figures),
                 note="Frames cut through. The first clocks of a burst from A to B; rates are "
                      "those of the whole burst, the slower direction."),
        _section(
            "Where do the nanoseconds go?", _latency_answer(figures), latency_plot(figures),
            note=f"{mhz:g} MHz is the target for a 512-bit data path, not a measurement. "
                 f"{BEST_PUBLISHED_NS} ns is the best published figure for an FPGA link with "
                 "lossy compression (TPDS 2026)."),
        _section(
            "How was this made?",
            f"By tightwire {figures['version']}, with {_command(figures)}: Verilog in "
            f"{seconds['verilog']:.0f} s, Verilator's build in {seconds['build']:.0f} s, "
            f"{figures['clocks']:,} clocks in {seconds['simulate']:.0f} s "
            f"({figures['clocks_per_second']:,.0f} clocks a second). All numbers of this page "
            "are in figures.json beside it."),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Gradients through tightwire</title>\n<style>\n{_CSS}</style>\n</head>\n"
        "<body>\n<main>\n" + "\n".join(body) + "\n</main>\n</body>\n</html>\n")


def _command(figures):
    return " ".join(["tightwire demo", *figures["arguments"]])
