"""Small HTML tables, by which episodes, datasets and findings show themselves in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

_MOST_ROWS = 40
_CELL = "text-align:left;padding:2px 12px 2px 0;vertical-align:top"


def html_table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[object]], *, note: str = ""
) -> str:
    """A titled table; what is in the cells is text, never markup. Long ones are cut and say so."""
    listed = list(rows)
    head = "".join(f'<th style="{_CELL}">{escape(column)}</th>' for column in columns)
    body = "".join(
        "<tr>" + "".join(f'<td style="{_CELL}">{escape(str(cell))}</td>' for cell in row) + "</tr>"
        for row in listed[:_MOST_ROWS]
    )
    rest = len(listed) - _MOST_ROWS
    notes = [note] if note else []
    if rest > 0:
        notes.append(f"and {rest} more")
    foot = f'<div style="opacity:0.7">{escape("; ".join(notes))}</div>' if notes else ""
    return (
        f"<div><b>{escape(title)}</b>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{foot}</div>"
    )
