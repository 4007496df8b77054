"""Do annotators agree? The three gates week by week, of episodes that two people labelled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Literal

from sqlalchemy import Connection

from corporeal.errors import UnknownNameError
from corporeal.labelling.agreement import (
    LEAST_EDIT_SCORE,
    LEAST_KAPPA,
    MOST_FRAMES,
    AgreementSummary,
    ComparedPair,
    compared_pairs,
    summarise,
)
from corporeal.operations.question import (
    NO_PAIRS,
    Chart,
    ChartChoice,
    Drawing,
    LineMarks,
    LinePoint,
    Unit,
)
from corporeal.operations.scope import Scope, only
from corporeal.words import counted, listed, percent

_MOST_WEEKS = 104
_FIGURES: dict[str, tuple[str, Unit, float | None]] = {
    "boundaries": ("mean difference of boundaries, in frames", "number", MOST_FRAMES),
    "hit rate": ("share of boundaries within the tolerance", "share", None),
    "kappa": ("lowest kappa of a label type", "number", LEAST_KAPPA),
    "edit score": ("edit score of the sequence of labels", "share", LEAST_EDIT_SCORE),
}
"""What each is called, its unit, and what is asked of it."""


def draw(connection: Connection, scope: Scope, *, figure: str = "boundaries") -> Drawing:
    """The chosen gate of every week, and all three in the sentence."""
    if figure not in _FIGURES:
        raise UnknownNameError("figure", figure, list(_FIGURES))
    choices = (ChartChoice(name="figure", label="Gate", value=figure, options=list(_FIGURES)),)
    pairs = compared_pairs(connection, scope.condition)
    if not pairs:
        return replace(NO_PAIRS, choices=choices)
    name, unit, target = _FIGURES[figure]
    points = [_point(week, inside, figure, scope) for week, inside in _weeks(pairs).items()]
    known = [each for each in points if each is not None][-_MOST_WEEKS:]
    return Drawing(
        _sentence(summarise([each.agreement for each in pairs])),
        LineMarks(unit=unit, name=name, points=known, target=target) if known else None,
        notes=(
            f"Asked for: edit score {LEAST_EDIT_SCORE:g} and kappa {LEAST_KAPPA:g} or more, "
            f"boundaries {MOST_FRAMES:g} frames apart or fewer on average.",
            "The band is where the figure should stay; of the hit rate it is the 95 % confidence "
            "interval.",
        ),
        choices=choices,
    )


def value_of(summary: AgreementSummary, figure: str) -> float:
    """One figure of a summary; of kappas the lowest, since the others do not mend it."""
    if figure == "kappa":
        known = [each for each in summary.kappa.values() if math.isfinite(each)]
        return min(known, default=math.nan)
    return {"boundaries": summary.mean_difference_frames, "hit rate": summary.hit_rate,
            "edit score": summary.edit_score}[figure]  # fmt: skip


def _weeks(pairs: Sequence[ComparedPair]) -> dict[date, list[ComparedPair]]:
    """Pairs by the Monday of the week in which the second of them was submitted or changed."""
    weeks: dict[date, list[ComparedPair]] = {}
    for pair in pairs:
        day = date.fromisoformat(pair.at[:10])
        weeks.setdefault(day - timedelta(days=day.weekday()), []).append(pair)
    return dict(sorted(weeks.items()))


def _point(
    week: date, pairs: Sequence[ComparedPair], figure: str, scope: Scope
) -> LinePoint | None:
    summary = summarise([each.agreement for each in pairs])
    value = value_of(summary, figure)
    if not math.isfinite(value):
        return None
    _, unit, target = _FIGURES[figure]
    state: Literal["within", "out", "unknown"] = "unknown"
    low, high = summary.hit_rate_bounds
    if target is not None:
        low, high = (0.0, target) if figure == "boundaries" else (target, 1.0)
        is_good = value <= target if figure == "boundaries" else value >= target
        state = "within" if is_good else "out"
    shown = percent(value) if unit == "share" else f"{value:.2f}"
    return LinePoint(
        label=week.isoformat(),
        at=week.isoformat(),
        value=value,
        size=len(pairs),
        lower=low,
        upper=high,
        state=state,
        detail=f"week of {week.isoformat()}: {shown} over {counted(len(pairs), 'episode')} and "
        f"{counted(summary.boundaries, 'boundary', 'boundaries')}",
        query=scope.query(only(each.episode for each in pairs)),
    )


def _sentence(summary: AgreementSummary) -> str:
    near = (
        f"{percent(summary.hit_rate)} of "
        f"{counted(summary.boundaries, 'boundary', 'boundaries')} lie within the tolerance "
        f"(at least {percent(summary.hit_rate_bounds[0])}, with 95 % confidence)"
        if summary.boundaries
        else "no boundary could be compared"
    )
    over = f"over {counted(summary.episodes, 'episode')} that two people labelled, {near}"
    if summary.is_good:
        return f"Yes, all three gates are passed: {over}."
    missed = []
    for name in summary.failed:
        if name.startswith("kappa of "):
            label = name.removeprefix("kappa of ")
            value = summary.kappa[label]
            missed.append(f"kappa of {label.replace('_', ' ')} is {value:.2f}")
        elif name == "boundaries" and summary.boundaries:
            missed.append(f"boundaries differ by {summary.mean_difference_frames:.1f} frames")
        elif name == "edit score":
            missed.append(f"the edit score is {summary.edit_score:.2f}")
    return f"Not yet: {listed(missed) if missed else 'too little to compare'}; {over}."


CHART = Chart(draw, "Do annotators agree well enough to release?", "Quality", place=70)
