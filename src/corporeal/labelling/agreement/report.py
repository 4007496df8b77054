"""How far annotators agree: over all pairs, per label, per person, and per boundary rule."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection

from corporeal.catalog.database import json_value
from corporeal.labelling.agreement.comparison import (
    LEAST_KAPPA,
    MOST_FRAMES,
    Agreement,
    AgreementSummary,
    by_rule,
    pairs_by_lane,
    summarise,
)
from corporeal.labelling.agreement.measures import (
    BoundaryFigures,
    boundary_figures,
    cohen_kappa,
    krippendorff_alpha,
)
from corporeal.labelling.agreement.pairs import (
    ComparedPair,
    ProposalBias,
    compared_pairs,
    measure_proposal_bias,
)
from corporeal.labelling.taxonomy.document import Taxonomy

FEWEST = 5
"""Boundaries below which nothing is said of a person or a rule: chance would speak."""


@dataclass(frozen=True)
class LabelFigures:
    """How far two people agree that something is this label, and where it begins and ends."""

    segments: int
    kappa: float
    edges: BoundaryFigures


@dataclass(frozen=True)
class AgreementReport:
    """Agreement under one taxonomy. Keys of `labels` are lane/label, of `rules` lane/label.edge.

    Of `annotators`, the bias is signed: above zero when they set boundaries later than others.
    `ambiguous` are rules over which people differ by more than the gate allows, the worst first.
    """

    taxonomy: str
    summary: AgreementSummary
    alpha: Mapping[str, float]
    labels: Mapping[str, LabelFigures]
    annotators: Mapping[str, BoundaryFigures]
    rules: Mapping[str, BoundaryFigures]
    ambiguous: tuple[str, ...]
    anchoring: ProposalBias
    alerts: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values; what is not a number is null."""
        values: dict[str, Any] = json_value(asdict(self), "agreement")
        return values


def agreement_of(
    connection: Connection,
    taxonomy: Taxonomy,
    *,
    since: str | None = None,
    queue: str | None = None,
    annotator: str | None = None,
) -> AgreementReport:
    """The agreement of all pairs that both have submitted, `since` a time as the tables have it."""
    pairs = [
        each
        for each in compared_pairs(connection, taxonomy=taxonomy.hash, queue=queue, most=None)
        if (since is None or each.at >= since) and (annotator is None or annotator in each.people)
    ]
    agreements = [each.agreement for each in pairs]
    tolerance = taxonomy.tolerance_frames
    summary = summarise(agreements, tolerance_frames=tolerance)
    steps = by_rule(agreements)
    rules, people = _figures(steps, tolerance), _figures(_people(pairs), tolerance)
    anchored = measure_proposal_bias(connection, taxonomy, since=since, queue=queue)
    ambiguous = _ambiguous(rules)
    return AgreementReport(
        taxonomy=taxonomy.reference,
        summary=summary,
        alpha={lane: krippendorff_alpha(each) for lane, each in pairs_by_lane(agreements).items()},
        labels=_labels(agreements, steps, tolerance),
        annotators=people,
        rules=rules,
        ambiguous=ambiguous,
        anchoring=anchored,
        alerts=tuple(_alerts(summary, people, rules, ambiguous, anchored)),
    )


def _people(pairs: Iterable[ComparedPair]) -> dict[str, list[int]]:
    """The boundaries of each person minus those of whoever they were compared with."""
    steps: dict[str, list[int]] = {}
    for each in pairs:
        first, second = each.people
        steps.setdefault(second, []).extend(each.agreement.steps)
        steps.setdefault(first, []).extend(-step for step in each.agreement.steps)
    return steps


def _figures(groups: Mapping[str, list[int]], tolerance: int) -> dict[str, BoundaryFigures]:
    return {name: boundary_figures(steps, tolerance) for name, steps in sorted(groups.items())}


def _labels(
    agreements: Sequence[Agreement], steps: Mapping[str, list[int]], tolerance: int
) -> dict[str, LabelFigures]:
    figures = {}
    for lane, pairs in pairs_by_lane(agreements).items():
        for label in sorted({each for pair in pairs for each in pair if not each.startswith("(")}):
            edges = [
                step for edge in ("starts", "ends")
                for step in steps.get(f"{lane}/{label}.{edge}", [])
            ]  # fmt: skip
            said = [(one == label, two == label) for one, two in pairs]
            figures[f"{lane}/{label}"] = LabelFigures(
                sum(one or two for one, two in said),
                cohen_kappa(said),
                boundary_figures(edges, tolerance),
            )
    return figures


def _ambiguous(rules: Mapping[str, BoundaryFigures]) -> tuple[str, ...]:
    wide = [
        name for name, each in rules.items()
        if each.boundaries >= FEWEST and max(each.spread_frames, each.mean_frames) > MOST_FRAMES
    ]  # fmt: skip
    return tuple(sorted(wide, key=lambda name: -rules[name].spread_frames))


def _alerts(
    summary: AgreementSummary,
    people: Mapping[str, BoundaryFigures],
    rules: Mapping[str, BoundaryFigures],
    ambiguous: Sequence[str],
    anchored: ProposalBias,
) -> Iterator[str]:
    if not summary.episodes:
        return
    for name in summary.failed:
        if name.startswith("kappa of "):
            value = summary.kappa[name.removeprefix("kappa of ")]
            yield f"{name} is {value:.2f}; expected {LEAST_KAPPA} or more."
        elif name == "boundaries":
            mean = summary.mean_difference_frames
            yield f"boundaries differ by {mean:.1f} frames; expected {MOST_FRAMES:g} at most."
        elif name == "edit score":
            yield f"edit score is {summary.edit_score:.2f}; people see other sequences of labels."
    for name, each in people.items():
        if each.boundaries >= FEWEST and abs(each.bias_frames) > MOST_FRAMES:
            when = "later" if each.bias_frames > 0 else "earlier"
            yield f"{name} sets boundaries {abs(each.bias_frames):.1f} frames {when} than others."
    for rule in ambiguous:
        each = rules[rule]
        yield (f"the rule {rule} is ambiguous: people differ by {each.mean_frames:.1f} frames "
               f"over {each.boundaries} boundaries.")  # fmt: skip
    if anchored.is_suspicious:
        yield (f"proposals anchor: people stay {anchored.with_frames:.1f} frames from them when "
               f"shown, {anchored.without_frames:.1f} when not.")  # fmt: skip
