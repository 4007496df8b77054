"""Which rule is ambiguous? Where people who apply the same rule choose different frames."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import Connection

from corporeal.labelling.agreement import (
    FEWEST_BOUNDARIES,
    BoundaryFigures,
    ComparedPair,
    boundary_figures,
    by_rule,
    compared_pairs,
    distances_to_lead,
    rule_words,
)
from corporeal.operations.question import NO_PAIRS, Chart, Drawing, TableMarks, TableRow
from corporeal.operations.scope import Scope
from corporeal.words import counted, percent

_TOLERANCE = 2


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Every rule with how far people differ over it, the worst first."""
    pairs = compared_pairs(connection, scope.condition)
    if not pairs:
        return NO_PAIRS
    # Who of the two comes first is chance; the order of names is not.
    steps = [by_rule([pair.seen_by(max(pair.people))]) for pair in pairs]
    figures = {
        rule: boundary_figures([step for each in steps for step in each.get(rule, ())], _TOLERANCE)
        for rule in dict.fromkeys(rule for each in steps for rule in each)
    }
    if not figures:
        return Drawing(
            "Cannot tell: no boundary of two people could be compared.", advice=NO_PAIRS.advice
        )
    rules = sorted(figures, key=lambda rule: (-figures[rule].mean_frames, rule))
    decided = distances_to_lead(connection, pairs)
    rows = []
    for rule in rules:
        farthest = [max(map(abs, each.get(rule, ())), default=-1) for each in steps]
        worst = pairs[farthest.index(max(farthest))]
        rows.append(_row(rule, figures[rule], worst, decided.get(rule, ())))
    return Drawing(
        _sentence(rules, figures),
        TableMarks(
            columns=["Boundary", "Compared", "Apart", "Spread", "Within 2 frames",
                     "From what was decided"],
            rows=rows,
        ),
        notes=(
            "Apart: mean difference of two people in frames; spread: its standard deviation. A row "
            "opens the episode where people differ most.",
            "From what was decided: how far people were from the frame that a lead chose.",
        ),
    )  # fmt: skip


def _row(
    rule: str, figures: BoundaryFigures, worst: ComparedPair, decided: Sequence[int]
) -> TableRow:
    moment = next(
        (f"?t={each.start_ns}" for each in worst.agreement.disagreements
         if f"{each.lane}/{each.rule}" == rule),
        "",
    )  # fmt: skip
    return TableRow(
        cells=[
            rule_words(rule),
            f"{figures.boundaries:,}",
            f"{figures.mean_frames:.1f}",
            f"{figures.spread_frames:.1f}",
            percent(figures.hit_rate),
            f"{float(np.abs(decided).mean()):.1f} ({len(decided)})" if decided else "none",
        ],
        tone="bad" if figures.is_ambiguous else "plain",
        address=f"/episodes/{worst.episode}{moment}",
    )


def _sentence(rules: Sequence[str], figures: Mapping[str, BoundaryFigures]) -> str:
    unclear = [rule for rule in rules if figures[rule].is_ambiguous]
    rule = (unclear or rules)[0]
    mean = f"{figures[rule].mean_frames:.1f}"
    over = counted(figures[rule].boundaries, "boundary", "boundaries")
    if unclear:
        more = f" So are {len(unclear) - 1} more." if len(unclear) > 1 else ""
        return (
            f"“{rule_words(rule).capitalize()}” is: people differ by {mean} frames over {over}. "
            f"Make the rule clearer, and what it touches is labelled again.{more}"
        )
    few = "" if figures[rule].boundaries >= FEWEST_BOUNDARIES else ", of which there are few"
    return (
        f"None that can be named: the widest is “{rule_words(rule)}” with {mean} frames over "
        f"{over}{few}."
    )


CHART = Chart(draw, "Which boundary rule is ambiguous?", "Quality", place=90)
