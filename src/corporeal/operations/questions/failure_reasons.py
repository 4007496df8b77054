"""Why do episodes fail? Reasons, the commonest first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, cast, get_args

from sqlalchemy import Connection

from corporeal.catalog.query import (
    Comparison,
    Condition,
    HasFinding,
    count_findings,
    count_of,
    sum_episodes,
)
from corporeal.errors import UnknownNameError
from corporeal.operations.outcome import CONDITIONS
from corporeal.operations.question import BarMark, BarMarks, Chart, ChartChoice, Drawing
from corporeal.operations.scope import Scope, equals
from corporeal.quality.check import title_of
from corporeal.words import counted, percent

Source = Literal["checks", "outcomes"]


@dataclass(frozen=True)
class FailureReason:
    """A reason, the episodes that have it, and the conditions that find them."""

    name: str | None
    episodes: int
    conditions: tuple[Condition, ...]


_LOST = Comparison("success", "=", False)


def count_failed(connection: Connection, scope: Scope, source: Source) -> int:
    """How many episodes failed: by the gates and people, or by their own outcome."""
    test = CONDITIONS["failed"] if source == "checks" else _LOST
    ((number,),) = sum_episodes(connection, scope.meeting(test), count_of())
    return int(number)


def list_reasons(connection: Connection, scope: Scope, source: Source) -> list[FailureReason]:
    """Every reason of the failed episodes, the commonest first; one episode may have several."""
    if source == "checks":
        failed = CONDITIONS["failed"]
        found = count_findings(
            connection, scope.meeting(failed), severities=("fail",), episodes=True
        )
        reasons = [FailureReason(check, count, (failed, HasFinding(check, "fail")))
                   for check, count in found]  # fmt: skip
    else:
        stated = sum_episodes(connection, scope.meeting(_LOST), count_of(), by=("failure",))
        reasons = [FailureReason(name, count, (_LOST, equals("failure", name)))
                   for name, count in stated]  # fmt: skip
    return sorted(reasons, key=lambda each: (-each.episodes, each.name or ""))


_MOST = 20


def draw(connection: Connection, scope: Scope, *, source: str = "checks") -> Drawing:
    """What checks found in failed episodes, or what the outcomes of failed attempts say."""
    if source not in get_args(Source):
        raise UnknownNameError("source of reasons", source, get_args(Source))
    chosen = cast(Source, source)
    choices = (
        ChartChoice(name="source", label="Source", value=chosen, options=list(get_args(Source))),
    )
    total, found = count_failed(connection, scope, chosen), list_reasons(connection, scope, chosen)
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
        f"{_words(first.name)} is in {percent(first.episodes / total)} of "
        f"{counted(total, 'failed episode' if many else 'failed attempt')}.",
        BarMarks(unit="count", name="episodes", bars=bars),
        notes=tuple(notes),
        choices=choices,
    )


def _words(name: str | None) -> str:
    return "Not stated" if name is None else title_of(name)


CHART = Chart(draw, "Why do episodes fail?", "Quality", place=30)
