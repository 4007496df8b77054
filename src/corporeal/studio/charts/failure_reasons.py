"""Why do episodes fail? Reasons, the commonest first."""

from __future__ import annotations

from typing import cast, get_args

from sqlalchemy import Connection

from corporeal.errors import UnknownNameError
from corporeal.operations.figures.failure_reasons import Source, failed, reasons
from corporeal.operations.scope import Scope
from corporeal.studio.chart import BarMark, BarMarks, Chart, ChartChoice, Drawing
from corporeal.words import counted, percent

_MOST = 20


def draw(connection: Connection, scope: Scope, *, source: str = "checks") -> Drawing:
    """What checks found in failed episodes, or what the outcomes of failed attempts say."""
    if source not in get_args(Source):
        raise UnknownNameError("source of reasons", source, get_args(Source))
    chosen = cast(Source, source)
    choices = (
        ChartChoice(name="source", label="Said by", value=chosen, options=list(get_args(Source))),
    )
    total, found = failed(connection, scope, chosen), reasons(connection, scope, chosen)
    if not total:
        said = "No episode here has failed." if chosen == "checks" else "No attempt here failed."
        return Drawing(said, advice="Nothing to do.", choices=choices)
    if not found:
        return Drawing(
            f"{counted(total, 'episode')} failed without a finding: a person must have decided so.",
            advice="Open one and read its history.",
            choices=choices,
        )
    first = found[0]
    bars = [
        BarMark(
            label=_words(each.name),
            value=float(each.episodes),
            detail=f"{_words(each.name)}: {counted(each.episodes, 'episode')} "
            f"({percent(each.episodes / total)} of the failed)",
            tone="bad",
            query=scope.query(*each.conditions),
        )
        for each in found[:_MOST]
    ]
    many = chosen == "checks"
    notes = ["One episode may fail for several reasons."] if many else []
    if len(found) > _MOST:
        notes.append(f"The first {_MOST} of {len(found)} reasons.")
    return Drawing(
        f"{_words(first.name).capitalize()} is in {percent(first.episodes / total)} of "
        f"{counted(total, 'failed episode' if many else 'failed attempt')}.",
        BarMarks(unit="count", name="episodes", bars=bars),
        notes=tuple(notes),
        choices=choices,
    )


def _words(name: str | None) -> str:
    return "not stated" if name is None else name.replace("_", " ")


CHART = Chart(draw, "Why do episodes fail?", "Failures", place=10)
