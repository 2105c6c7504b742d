"""The page docs/registers.md, from the map."""

from .describe import Bank, Command
from .nic import MAP

__all__ = ["page"]

_HEAD = """\
# Registers of `nic`

Generated from `hw/tightwire/registers/nic.py` by `python -m tightwire.registers`; change it there.

32-bit little-endian words in {size} bytes of address space, behind AXI4-Lite. A write may be of
single bytes. An access where nothing is, a write of what can only be read, and a push into a full
queue change nothing and are answered with SLVERR.

| access  | meaning                                                                           |
|---------|-----------------------------------------------------------------------------------|
| rw      | reads as it was written                                                           |
| ro      | a value of the card; constant: fixed when it was built                            |
| w1c     | the card sets bits, writing 1 clears them                                         |
| pulse   | writing 1 does something once; reads as 0                                         |
| push    | writing anything hands the words above it to the card, as one entry of a queue    |
| counter | half of 64 bits: read `_lo`, which keeps `_hi`, then `_hi`                        |

What the rings and their descriptors look like is in [card.md](card.md).
"""


def _table(head, rows):
    """A table of Markdown, with its columns aligned."""
    rows = [head, *rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))
             + " |" for row in rows]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)


def _rows(words):
    for word in words:
        reset = "" if word.reset is None else f"{word.reset:#x}" if word.reset > 9 else word.reset
        yield [f"{word.offset:#05x}", f"`{word.name}`", word.access, str(reset), word.doc]
        for field in word.fields:
            high = field.at + field.bits - 1
            where = f"{high}:{field.at}" if field.bits > 1 else str(high)
            yield ["", f"&emsp;[{where}] `{field.name}`", "", "", field.doc]


def _counter_rows(bank):
    for n, counter in enumerate(bank.counters):
        yield [f"{bank.offset + 8 * n:#05x}", f"`{counter.name}`", counter.doc]


def page(map=MAP):
    """The text of the page."""
    parts = [_HEAD.format(size=1 << map.address_bits)]
    for title, text, items in map.blocks:
        parts.append(f"## {title}\n\n{text}\n")
        words = []
        for item in items:
            if isinstance(item, Bank):
                parts.append("The address is that of `_lo`; `_hi` is 4 above.\n")
                parts.append(_table(["address", "counter", "counts"], _counter_rows(item)) + "\n")
            elif isinstance(item, Command):
                parts.append(f"`{item.name}`: {item.doc}\n")
                parts.append(_table(_COLUMNS, _rows(item.words)) + "\n")
            else:
                words += item.words
        if words:
            parts.append(_table(_COLUMNS, _rows(words)) + "\n")
    return "\n".join(parts)


_COLUMNS = ["address", "name", "access", "reset", "meaning"]
