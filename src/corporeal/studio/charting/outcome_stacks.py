"""Operators, stations or tasks as stacked bars of what became of their episodes."""

from __future__ import annotations

from collections.abc import Mapping

from sqlalchemy import Connection

from corporeal.operations.figures.comparison import Column, Group, groups, stand_out
from corporeal.operations.figures.outcome import CONDITIONS, OUTCOMES, Outcome
from corporeal.operations.scope import Scope, equals
from corporeal.studio.chart import Drawing, Stack, StackMarks, StackSegment, Tone
from corporeal.words import counted, percent

TONES: Mapping[Outcome, Tone] = {
    "accepted": "good",
    "quarantined": "warn",
    "failed": "bad",
    "not judged": "quiet",
}
MOST = 30


def outcome_stacks(connection: Connection, scope: Scope, column: Column) -> Drawing:
    """The groups of a column, the one refused most often first, and who stands out."""
    found = groups(connection, scope, column)
    named = [each for each in found if each.name is not None]
    if not named:
        return Drawing(
            f"Cannot tell: no episode here states its {column}.",
            advice=f"Record with {column} in the metadata, or ask for other episodes above.",
        )
    notes = ["Refused are episodes in quarantine and failed ones, of those that were judged."]
    if len(found) > MOST:
        notes.append(f"The {MOST} refused most often of {len(found)} are shown.")
    shown = found[:MOST]
    return Drawing(
        _sentence(found, column),
        StackMarks(
            unit="share",
            name="episodes",
            fill=True,
            legend={str(name): tone for name, tone in TONES.items()},
            stacks=[_stack(each, scope, column) for each in shown],
        ),
        notes=tuple(notes),
    )


def _stack(group: Group, scope: Scope, column: Column) -> Stack:
    here = equals(column, group.name)
    label = group.name or "not stated"
    segments = [
        StackSegment(
            name=outcome,
            value=float(group.outcomes[outcome]),
            detail=f"{label}: {counted(group.outcomes[outcome], 'episode')} {outcome} "
            f"({percent(group.outcomes[outcome] / group.episodes)})",
            tone=TONES[outcome],
            query=scope.query(here, CONDITIONS[outcome]),
        )
        for outcome in OUTCOMES
        if group.outcomes[outcome]
    ]
    refused = f"{percent(group.refused_share)} refused" if group.judged else "not judged"
    return Stack(
        label=label,
        detail=f"{refused}, of {counted(group.episodes, 'episode')}",
        segments=segments,
        query=scope.query(here),
    )


def _sentence(found: list[Group], column: Column) -> str:
    judged = [each for each in found if each.judged]
    if not judged:
        return "Cannot tell: none of these episodes has been judged yet."
    if len(judged) == 1:
        only = judged[0]
        return (
            f"Only one {column} so far, {only.name or 'not stated'}: "
            f"{percent(only.refused_share)} of {counted(only.judged, 'judged episode')} refused."
        )
    out = stand_out(judged)
    if out is not None:
        return (
            f"{out.group.name or 'Episodes without one'}: {percent(out.group.refused_share)} "
            f"refused, against {percent(out.elsewhere)} elsewhere; more than chance explains."
        )
    refused = sum(each.refused for each in judged) / sum(each.judged for each in judged)
    return (
        f"None stands out: {percent(refused)} are refused overall, and the differences between "
        f"{len(judged)} {column}s are no larger than chance makes them."
    )
