"""Which rule is ambiguous? Where people who apply the same rule choose different frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection

from corporeal.labelling.agreement import (
    MOST_FRAMES,
    ComparedPair,
    compared_pairs,
    distances_to_lead,
)
from corporeal.operations.charting.agreement_wording import ADVICE, NO_PAIRS, rule_words
from corporeal.operations.question import Chart, Drawing, TableMarks, TableRow
from corporeal.operations.scope import Scope
from corporeal.words import counted, percent

FEWEST = 5
"""Boundaries below which a rule is not called ambiguous: chance would speak."""
_TOLERANCE = 2


@dataclass(frozen=True)
class RuleSpread:
    """How far apart two people set one kind of boundary; `worst` is where to look."""

    rule: str
    steps: tuple[int, ...]
    worst: ComparedPair

    @property
    def mean(self) -> float:
        """Mean absolute difference in frames."""
        return float(np.abs(self.steps).mean())

    @property
    def spread(self) -> float:
        """Standard deviation in frames: what is left without a steady lean of one person."""
        return float(np.std(self.steps))

    @property
    def near(self) -> float:
        """The share within the tolerance."""
        return float((np.abs(self.steps) <= _TOLERANCE).mean())

    @property
    def is_ambiguous(self) -> bool:
        """Whether people differ more than the gate allows, and often enough to say so."""
        return len(self.steps) >= FEWEST and max(self.mean, self.spread) > MOST_FRAMES


def draw(connection: Connection, scope: Scope) -> Drawing:
    """Every rule with how far people differ over it, the worst first."""
    pairs = compared_pairs(connection, scope.where)
    if not pairs:
        return Drawing(NO_PAIRS, advice=ADVICE)
    found = sorted(spreads(pairs), key=lambda each: (-each.mean, each.rule))
    if not found:
        return Drawing("Cannot tell: no boundary of two people could be compared.", advice=ADVICE)
    decided = distances_to_lead(connection, pairs)
    return Drawing(
        _sentence(found),
        TableMarks(
            columns=["Boundary", "Compared", "Apart", "Spread", "Within 2 frames",
                     "From what was decided"],
            rows=[_row(each, decided) for each in found],
        ),
        notes=(
            "Apart: mean difference of two people in frames; spread: its standard deviation. A row "
            "opens the episode where people differ most.",
            "From what was decided: how far people were from the frame that a lead chose.",
        ),
    )  # fmt: skip


def spreads(pairs: Sequence[ComparedPair]) -> Iterator[RuleSpread]:
    """The differences of all pairs, by the rule that should have decided them."""
    steps: dict[str, list[tuple[int, ComparedPair]]] = {}
    for pair in pairs:
        # Who of the two comes first is chance; the order of names is not.
        for lane in pair.seen_by(max(pair.people)).lanes:
            for rule, step in lane.differences:
                steps.setdefault(f"{lane.lane}/{rule}", []).append((step, pair))
    for rule, held in steps.items():
        worst = max(held, key=lambda each: abs(each[0]))[1]
        yield RuleSpread(rule, tuple(step for step, _ in held), worst)


def _row(each: RuleSpread, decided: Mapping[str, Sequence[int]]) -> TableRow:
    chosen = decided.get(each.rule, ())
    moment = next(
        (f"?t={found.start_ns}" for found in each.worst.agreement.disagreements
         if f"{found.lane}/{found.rule}" == each.rule),
        "",
    )  # fmt: skip
    return TableRow(
        cells=[
            rule_words(each.rule),
            f"{len(each.steps):,}",
            f"{each.mean:.1f}",
            f"{each.spread:.1f}",
            percent(each.near),
            f"{float(np.abs(chosen).mean()):.1f} ({len(chosen)})" if chosen else "none",
        ],
        tone="bad" if each.is_ambiguous else "plain",
        address=f"/episodes/{each.worst.episode}{moment}",
    )


def _sentence(found: Sequence[RuleSpread]) -> str:
    unclear = [each for each in found if each.is_ambiguous]
    if unclear:
        worst = unclear[0]
        more = f" So are {len(unclear) - 1} more." if len(unclear) > 1 else ""
        return (
            f"“{rule_words(worst.rule).capitalize()}” is: people differ by {worst.mean:.1f} frames "
            f"over {counted(len(worst.steps), 'boundary', 'boundaries')}. Make the rule clearer, "
            f"and what it touches is labelled again.{more}"
        )
    worst = found[0]
    few = "" if len(worst.steps) >= FEWEST else ", of which there are few"
    return (
        f"None that can be named: the widest is “{rule_words(worst.rule)}” with {worst.mean:.1f} "
        f"frames over {counted(len(worst.steps), 'boundary', 'boundaries')}{few}."
    )


CHART = Chart(draw, "Which boundary rule is ambiguous?", "Annotation", place=20, wide=True)
