"""Who sets boundaries early or late? Every annotator against the others, rule by rule."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import Connection

from corporeal.labelling.agreement import (
    FEWEST_BOUNDARIES,
    MOST_FRAMES,
    ComparedPair,
    by_rule,
    compared_pairs,
    rule_words,
)
from corporeal.operations.question import NO_PAIRS, Chart, Drawing, HeatCell, HeatMarks
from corporeal.operations.scope import Scope, only
from corporeal.words import counted

_ALL = "all boundaries"
_MOST = 12

Steps = dict[str, dict[str, list[int]]]


def draw(connection: Connection, scope: Scope) -> Drawing:
    """The signed mean difference to the others, of every person and rule."""
    pairs = compared_pairs(connection, scope.condition)
    steps = steps_by_person(pairs)
    if not steps:
        return NO_PAIRS
    people = sorted(steps, key=lambda name: (-abs(_mean(steps[name][_ALL])), name))
    counts: dict[str, int] = {}
    for by_person in steps.values():
        for rule, given in by_person.items():
            counts[rule] = counts.get(rule, 0) + len(given)
    rules = sorted((rule for rule in counts if rule != _ALL), key=lambda rule: -counts[rule])
    columns = [_ALL, *rules[:_MOST]]
    queries = {name: scope.query(only(each.episode for each in pairs if name in each.people))
               for name in people}  # fmt: skip
    return Drawing(
        _sentence(people, steps),
        HeatMarks(
            row_name="annotator",
            column_name="boundary",
            rows=people,
            columns=[_ALL, *(rule_words(rule) for rule in columns[1:])],
            cells=[[_cell(name, rule, steps[name], queries[name]) for rule in columns]
                   for name in people],
            most=2 * MOST_FRAMES,
            tone="warn",
        ),
        notes=("Frames after (late) or before (early) whoever labelled the same episode, on "
               "average. A lean of one person is a word about a rule; one of everybody is none: "
               "look at which rule is ambiguous.",),
    )  # fmt: skip


def steps_by_person(pairs: Sequence[ComparedPair]) -> Steps:
    """The differences of every person to the others, by rule and over all rules."""
    agreements = {
        name: [pair.seen_by(name) for pair in pairs if name in pair.people]
        for name in dict.fromkeys(name for pair in pairs for name in pair.people)
    }
    steps = {name: {_ALL: [step for each in seen for step in each.steps], **by_rule(seen)}
             for name, seen in agreements.items()}  # fmt: skip
    return {name: rules for name, rules in steps.items() if rules[_ALL]}


def _cell(name: str, rule: str, steps: Mapping[str, Sequence[int]], query: str) -> HeatCell:
    given = steps.get(rule, ())
    about = rule if rule == _ALL else rule_words(rule)
    if not given:
        return HeatCell(value=None, text="", detail=f"{name}, {about}: nothing compared")
    bias = _mean(given)
    return HeatCell(
        value=abs(bias),
        text=_lean(bias),
        detail=f"{name}, {about}: {bias:+.2f} frames on average over "
        f"{counted(len(given), 'boundary', 'boundaries')}",
        query=query,
    )


def _mean(steps: Sequence[int]) -> float:
    return float(np.mean(steps)) if steps else 0.0


def _lean(frames: float) -> str:
    """A signed difference as people say it."""
    if abs(frames) < 0.05:
        return "on time"
    return f"{abs(frames):.1f} {'late' if frames > 0 else 'early'}"


def _sentence(people: Sequence[str], steps: Steps) -> str:
    sure = [name for name in people if len(steps[name][_ALL]) >= FEWEST_BOUNDARIES]
    if not sure:
        return "Too early to tell: fewer than five boundaries of anybody were compared."
    worst = sure[0]
    bias = _mean(steps[worst][_ALL])
    over = counted(len(steps[worst][_ALL]), "boundary", "boundaries")
    if abs(bias) < 1:
        return f"Nobody by a frame or more: {worst} leans most, {_lean(bias)} over {over}."
    way = "late" if bias > 0 else "early"
    return f"{worst} is {abs(bias):.1f} frames {way} on average over {over}."


CHART = Chart(draw, "Who sets boundaries early or late?", "Quality", place=80, people=True)
