"""Text from outside, made harmless in Markdown: it can be read and does nothing."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_MOST_LETTERS = 240
# What Markdown and HTML act on; an underscore inside a word does nothing.
_ACTIVE = re.compile(r"[\\`*\[\]<>&|~$\"'{}@]|(?<!\w)_|_(?!\w)|:(?=//)|(?<=www)\.", re.IGNORECASE)
_AT_START = re.compile(r"^(?:[#+=>!-]|\d+(?=[.)]))")


def plain(text: str, *, most: int = _MOST_LETTERS) -> str:
    """Words for a sentence or a cell: one line, no markup, no links, not too long."""
    line = _ACTIVE.sub(_entity, one_line(text, most=most))
    return _AT_START.sub(lambda found: "".join(f"&#{ord(each)};" for each in found[0]), line)


def code(text: str, *, most: int = _MOST_LETTERS) -> str:
    """A name as code. Nothing acts inside of it but a backtick, which becomes an apostrophe."""
    line = one_line(text, most=most).replace("`", "'")
    return f"`{line}`" if line else ""


def one_line(text: str, *, most: int = _MOST_LETTERS) -> str:
    """Text without line breaks, control characters and marks that turn the direction around."""
    seen = "".join(" " if unicodedata.category(letter)[0] in "CZ" else letter for letter in text)
    line = " ".join(seen.split())
    return line if len(line) <= most else line[: most - 3].rstrip() + "..."


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, right: Iterable[int] = ()) -> str:
    """A table; the cells are Markdown already. Columns with these numbers are set to the right."""
    numbers = set(right)
    rules = ["---:" if number in numbers else "---" for number in range(len(heads))]
    lines = [list(heads), rules, *(list(row) for row in rows)]
    return "\n".join("| " + " | ".join(_cell(each) for each in line) + " |" for line in lines)


def _cell(text: str) -> str:
    """A bar would end the cell, even inside code."""
    return text.replace("|", r"\|")


def _entity(found: re.Match[str]) -> str:
    return f"&#{ord(found[0])};"
