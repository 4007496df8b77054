"""CSV: a line for every segment, for spreadsheets and scripts."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path

import numpy as np

from corporeal.labelling.annotation import AnnotationError
from corporeal.labelling.labels.label_file import (
    MAX_ROWS,
    EpisodeLabels,
    LabelFormat,
    Line,
    Stamps,
    annotation_of,
    attributes_of,
    bounded_text,
    lines_of,
)
from corporeal.units import SECOND_NS

HEAD = ("episode", "lane", "label", "start_s", "end_s", "start_frame", "end_frame", "attributes")
_NEEDED = HEAD[:5]
# A cell that begins so is a formula to a spreadsheet, whoever wrote it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_MOST_S = 2**53 / SECOND_NS


def read(path: Path) -> list[EpisodeLabels]:
    """The labels by episode, in the order in which they come up; times are what counts."""
    rows = csv.DictReader(io.StringIO(bounded_text(path), newline=""), strict=True)
    found: dict[str, list[Line]] = {}
    try:
        missing = [name for name in _NEEDED if name not in (rows.fieldnames or ())]
        if missing:
            raise AnnotationError(
                f"{path}: got no column {missing[0]!r}; expected {', '.join(HEAD)}."
            )
        for number, row in enumerate(rows):
            if number >= MAX_ROWS:
                raise AnnotationError(f"{path}: more than {MAX_ROWS} lines. Split it.")
            where = f"{path}:{rows.line_num}"
            found.setdefault(_text(row, "episode"), []).append(_line(row, where))
    except csv.Error as error:
        raise AnnotationError(f"{path}:{rows.line_num}: not CSV ({error}).") from None
    return [EpisodeLabels(episode, annotation_of(lines)) for episode, lines in found.items()]


def _line(row: Mapping[str, str | None], where: str) -> Line:
    return Line(
        lane=_text(row, "lane"),
        label=_text(row, "label"),
        start_ns=_ns(row.get("start_s"), f"{where}: start_s"),
        end_ns=_ns(row.get("end_s"), f"{where}: end_s"),
        attributes=attributes_of(row.get("attributes") or "", where),
        where=where,
    )


def _text(row: Mapping[str, str | None], name: str) -> str:
    value = row.get(name) or ""
    return value[1:] if value[:1] == "'" and value[1:].startswith(_FORMULA) else value


def _ns(text: str | None, where: str) -> int:
    """Seconds as nanoseconds, exact to the last digit."""
    try:
        seconds = Decimal((text or "").strip())
    except InvalidOperation:
        seconds = Decimal("nan")
    if not math.isfinite(seconds) or abs(seconds) > _MOST_S:
        raise AnnotationError(f"{where}, got {(text or '')[:40]!r}; expected seconds.")
    return int((seconds * SECOND_NS).to_integral_value())


def write(path: Path, labels: Sequence[EpisodeLabels]) -> None:
    """All lines; frames only where the stamps of the reference stream are known."""
    with path.open("x", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEAD)
        for each in labels:
            for line in lines_of(each.annotation):
                frames = [_frame(each.stamps, edge) for edge in (line.start_ns, line.end_ns)]
                said = json.dumps(line.attributes, ensure_ascii=False) if line.attributes else ""
                writer.writerow([_cell(each.episode), line.lane, _cell(line.label),
                                 _seconds(line.start_ns), _seconds(line.end_ns), *frames,
                                 said])  # fmt: skip


def _cell(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _seconds(time_ns: int) -> str:
    """All digits: a float would round, and the boundary would miss its frame."""
    sign = "-" if time_ns < 0 else ""
    whole, rest = divmod(abs(time_ns), SECOND_NS)
    return f"{sign}{whole}.{rest:09d}"


def _frame(stamps: Stamps | None, time_ns: int) -> str:
    return "" if stamps is None else str(int(np.searchsorted(stamps, time_ns)))


FORMAT = LabelFormat(
    "CSV",
    ".csv",
    read,
    write,
    loses=(
        "who or what put a segment or a pose there, and how sure it was",
        "corrections of predictions",
        "the language of an instruction",
    ),
)
