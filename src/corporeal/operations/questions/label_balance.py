"""Are labels balanced? Shares of each label against the plan."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from sqlalchemy import Connection

from corporeal.catalog.query import Comparison, Condition, Known, count_of, sum_episodes
from corporeal.operations.coverage.axis import CoverageAxis, axes
from corporeal.operations.coverage.coverage import Place, lay_out
from corporeal.operations.monitoring.limit import LIMITS
from corporeal.operations.question import Chart, Drawing, Stack, StackMarks, StackSegment
from corporeal.operations.scope import Scope
from corporeal.words import counted, percent

# People and places are compared elsewhere; a protocol plans the rest.
_NOT_LABELS = frozenset(("operator", "station", "robot", "environment", "mode", "calibration"))
MOST_LEVELS = 12
_MOST_LABELS = 8


@dataclass(frozen=True)
class LevelShare:
    """One level: how many episodes state it, and the part that was planned."""

    level: str
    episodes: int
    share: float
    planned: float | None
    condition: Condition | None


@dataclass(frozen=True)
class LabelBalance:
    """All levels of one label; `stated` episodes state any."""

    name: str
    shares: tuple[LevelShare, ...]
    stated: int
    is_planned: bool

    @property
    def error(self) -> float:
        """The farthest that a share is from its plan; nought for a label without one."""
        return max((abs(e.share - e.planned) for e in self.shares if e.planned is not None),
                   default=0.0)  # fmt: skip


def measure_labels(
    connection: Connection, scope: Scope, known: dict[str, CoverageAxis]
) -> list[LabelBalance]:
    """Success, and every axis with few levels, the one farthest from its plan first."""
    found = [_success(connection, scope)]
    chosen = [axis for name, axis in known.items() if name not in _NOT_LABELS and not axis.step]
    found += _of_axes(connection, scope, chosen[:_MOST_LABELS])
    usable = [each for each in found if 1 < len(each.shares) <= MOST_LEVELS]
    return sorted(usable, key=lambda each: (-each.error, each.name))


def _success(connection: Connection, scope: Scope) -> LabelBalance:
    inside = scope.meeting(Known("success", True))
    rows = sum_episodes(connection, inside, count_of(), by=("success",))
    counts = {bool(value): count for value, count in rows}
    stated = sum(counts.values())
    shares = tuple(
        LevelShare("success" if value else "failure", counts[value], counts[value] / stated, None,
              Comparison("success", "=", value))
        for value in (True, False) if value in counts
    )  # fmt: skip
    return LabelBalance("outcome", shares, stated, is_planned=False)


def _of_axes(
    connection: Connection, scope: Scope, chosen: list[CoverageAxis]
) -> list[LabelBalance]:
    if not chosen:
        return []
    totals: list[Counter[Place]] = [Counter() for _ in chosen]
    for (_, places), count in lay_out(connection, scope, chosen).items():
        for total, place in zip(totals, places, strict=True):
            total[place] += count
    return [_label(axis, total) for axis, total in zip(chosen, totals, strict=True)]


def _label(axis: CoverageAxis, total: Counter[Place]) -> LabelBalance:
    counts: dict[str, tuple[int, Condition | None]] = {}
    for place, count in total.items():
        words = axis.words(place)
        if words is not None:
            counts[words] = (count, axis.condition(place))
    stated = sum(count for count, _ in counts.values())
    names = list(dict.fromkeys([*axis.levels, *sorted(counts)]))
    plan = dict(zip(axis.levels, axis.shares, strict=True))
    even = 1 / len(names) if names else 0.0
    shares = tuple(
        LevelShare(
            name,
            counts[name][0] if name in counts else 0,
            counts[name][0] / stated if name in counts else 0.0,
            plan.get(name, 0.0) if plan else even,
            counts[name][1] if name in counts else axis.condition([name]),
        )
        for name in names
    )
    return LabelBalance(axis.name, shares if stated else (), stated, is_planned=bool(plan))


_LIMIT = LIMITS["label_balance_error"]


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Every label with few values as one bar, the least balanced first."""
    found = measure_labels(connection, scope, axes(connection, scope))
    if not found:
        return Drawing(
            "Cannot tell: these episodes state no label with two values or more.",
            advice="A protocol with factors, or success and variation in the metadata, gives some.",
        )
    stacks = [
        Stack(
            label=label.name,
            detail=f"{counted(label.stated, 'episode')}"
            + (f", up to {percent(label.error)} off" if label.name != "outcome" else ""),
            segments=[
                StackSegment(
                    name=each.level,
                    value=float(each.episodes),
                    detail=f"{label.name} {each.level}: {counted(each.episodes, 'episode')}, "
                    f"{percent(each.share)}"
                    + ("" if each.planned is None else f" (planned {percent(each.planned)})"),
                    query=None if each.condition is None else scope.query(each.condition),
                )
                for each in label.shares
            ],
        )
        for label in found
    ]
    return Drawing(
        _sentence(found),
        StackMarks(unit="share", name="episodes", fill=True, stacks=stacks),
        notes=("Where no protocol states shares, equal ones are the plan; for outcomes there is "
               "none.",),
    )  # fmt: skip


def _sentence(found: list[LabelBalance]) -> str:
    if all(each.planned is None for label in found for each in label.shares):
        label, most = max(((label, share) for label in found for share in label.shares),
                          key=lambda pair: pair[1].share)  # fmt: skip
        of = counted(label.stated, "episode")
        return (
            "Cannot tell: nothing here has a plan to be held against. "
            f"{label.name.capitalize()} is {most.level} in {percent(most.share)} of {of}."
        )
    worst = found[0]
    far = max(worst.shares, key=lambda each: abs(each.share - (each.planned or 0.0)))
    if worst.error <= _LIMIT or far.planned is None:
        return f"Yes: no label is more than {percent(_LIMIT)} from its plan."
    plan = "planned" if worst.is_planned else "an even share would be"
    return (
        f"No: {worst.name} is {far.level} in {percent(far.share)} of the episodes, {plan} "
        f"{percent(far.planned)}; at most {percent(_LIMIT)} off is allowed."
    )


CHART = Chart(draw, "Are labels balanced?", "Coverage and cost", place=30)
