"""What became of episodes once gates and people have looked at them, and of whose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from sqlalchemy import Connection

from corporeal.catalog.query import Condition, count_of, parse, sum_episodes, sum_of
from corporeal.operations.question import (
    Chart,
    Drawing,
    Section,
    Stack,
    StackMarks,
    StackSegment,
    Tone,
)
from corporeal.operations.scope import Scope, equals
from corporeal.words import counted, percent

Outcome = Literal["accepted", "quarantined", "failed", "unchecked"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)

# A person may overrule a verdict: where the state is a judgement, it decides.
CONDITIONS: Mapping[Outcome, Condition] = {
    "accepted": parse(
        "state = accepted or (verdict = accepted and not state in (quarantined, failed))"
    ),
    "quarantined": parse(
        "state = quarantined or (verdict = quarantined and not state in (accepted, failed))"
    ),
    "failed": parse(
        "state = failed or (verdict = failed and not state in (accepted, quarantined))"
    ),
    "unchecked": parse("verdict is unknown and not state in (accepted, quarantined, failed)"),
}
"""Each episode that is not erased has exactly one outcome."""


Column = Literal["operator", "station", "task", "session", "robot", "environment"]
# As rare as this by chance, over all groups together, stands out.
_RARE = 0.01


@dataclass(frozen=True)
class OutcomeGroup:
    """One operator, station or task; `name` is None for episodes that state none."""

    name: str | None
    outcomes: dict[Outcome, int]
    hours: float

    @property
    def episodes(self) -> int:
        """All of its episodes."""
        return sum(self.outcomes.values())

    @property
    def judged(self) -> int:
        """Those that gates or people have judged."""
        return self.episodes - self.outcomes["unchecked"]

    @property
    def rejected(self) -> int:
        """Those that were judged and not accepted."""
        return self.judged - self.outcomes["accepted"]

    @property
    def rejected_share(self) -> float:
        """Rejected episodes of those judged; 0 where none was."""
        return self.rejected / self.judged if self.judged else 0.0


@dataclass(frozen=True)
class StandOut:
    """A group that is rejected more often than the others, and their share."""

    group: OutcomeGroup
    elsewhere: float
    chance: float


def compare_groups(connection: Connection, scope: Scope, column: Column) -> list[OutcomeGroup]:
    """Every value of a column with its outcomes, the one rejected most often first."""
    counts = [count_of(CONDITIONS[outcome]) for outcome in OUTCOMES]
    rows = sum_episodes(connection, scope.condition, sum_of("duration_s"), *counts, by=(column,))
    groups = [
        OutcomeGroup(name, dict(zip(OUTCOMES, numbers, strict=True)), float(seconds) / 3600)
        for name, seconds, *numbers in rows
    ]
    return sorted(groups, key=lambda each: (-each.rejected_share, -each.episodes, each.name or ""))


def stand_out(groups: Sequence[OutcomeGroup]) -> StandOut | None:
    """The group whose refusals chance explains worst, if it explains them badly enough."""
    from scipy import stats

    judged, rejected = sum(each.judged for each in groups), sum(each.rejected for each in groups)
    best: StandOut | None = None
    for each in groups:
        others = judged - each.judged
        if not others or not each.rejected:
            continue
        share = (rejected - each.rejected) / others
        # Exact, given how many were rejected in all: small groups need no approximation.
        chance = float(stats.hypergeom.sf(each.rejected - 1, judged, rejected, each.judged))
        chance = min(1.0, chance * len(groups))
        if each.rejected_share > share and (best is None or chance < best.chance):
            best = StandOut(each, share, chance)
    return best if best is not None and best.chance < _RARE else None


TONES: Mapping[Outcome, Tone] = {
    "accepted": "good",
    "quarantined": "warn",
    "failed": "bad",
    "unchecked": "quiet",
}
MOST = 30


def outcome_stacks(connection: Connection, scope: Scope, column: Column) -> Drawing:
    """The groups of a column, the one rejected most often first, and who stands out."""
    found = compare_groups(connection, scope, column)
    named = [each for each in found if each.name is not None]
    if not named:
        return Drawing(
            f"Cannot tell: no episode here states its {column}.",
            advice=f"Record with {column} in the metadata, or ask for other episodes above.",
        )
    notes = ["Rejected are episodes in quarantine and failed ones, of those that were judged."]
    if len(found) > MOST:
        notes.append(f"The {MOST} rejected most often of {len(found)} are shown.")
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


def chart_outcomes(
    column: Column, title: str, section: Section, *, place: int, wide: bool = False
) -> Chart:
    """The chart of what became of the episodes of each operator, station or task."""

    def draw(connection: Connection, scope: Scope) -> Drawing:
        return outcome_stacks(connection, scope, column)

    return Chart(draw, title, section, place, wide, people=column == "operator")


def _stack(group: OutcomeGroup, scope: Scope, column: Column) -> Stack:
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
    rejected = f"{percent(group.rejected_share)} rejected" if group.judged else "unchecked"
    return Stack(
        label=label,
        detail=f"{rejected}, of {counted(group.episodes, 'episode')}",
        segments=segments,
        query=scope.query(here),
    )


def _sentence(found: list[OutcomeGroup], column: Column) -> str:
    judged = [each for each in found if each.judged]
    if not judged:
        return "Cannot tell: none of these episodes has been judged yet."
    if len(judged) == 1:
        only = judged[0]
        return (
            f"Only one {column} so far, {only.name or 'not stated'}: "
            f"{percent(only.rejected_share)} of {counted(only.judged, 'judged episode')} rejected."
        )
    out = stand_out(judged)
    if out is not None:
        return (
            f"{out.group.name or 'Episodes without one'}: {percent(out.group.rejected_share)} "
            f"rejected, against {percent(out.elsewhere)} elsewhere; more than chance explains."
        )
    rejected = sum(each.rejected for each in judged) / sum(each.judged for each in judged)
    return (
        f"None stands out: {percent(rejected)} are rejected overall, and the differences between "
        f"{len(judged)} {column}s are no larger than chance makes them."
    )
