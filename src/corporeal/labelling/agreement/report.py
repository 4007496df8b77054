"""Pairs of annotations compared, and how far people agree: over all, per label, person and rule."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from corporeal.catalog.database import json_value
from corporeal.catalog.episodes import parts_of
from corporeal.catalog.query import Condition, episode_meets
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.agreement.comparison import (
    LEAST_KAPPA,
    Agreement,
    AgreementSummary,
    by_rule,
    compare,
    pairs_by_lane,
    summarise,
)
from corporeal.labelling.agreement.measures import (
    FEWEST_BOUNDARIES,
    MOST_FRAMES,
    BoundaryFigures,
    boundary_figures,
    cohen_kappa,
    krippendorff_alpha,
)
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.tasks.label_task import LabelTask, find_task, from_row, stamps_of
from corporeal.labelling.taxonomy import Taxonomy, kept_taxonomy

_OVER = ("submitted", "done")
_MOST = 5000
"""The newest pairs that figures rest on."""
_KEPT: OrderedDict[tuple[str, int, str, int], Agreement] = OrderedDict()
_LOCK = threading.Lock()


@dataclass(frozen=True)
class ComparedPair:
    """Two people on one episode: who they are, and how far they agree.

    Differences are the second's minus the first's.
    """

    pair: str
    episode: str
    at: str
    people: tuple[str, str]
    agreement: Agreement

    def seen_by(self, name: str) -> Agreement:
        """The same with this person as the second: positive differences mean that they are late."""
        return self.agreement if self.people[1] == name else turned(self.agreement)


def compared_pairs(
    connection: Connection,
    where: Condition | None = None,
    *,
    taxonomy: str | None = None,
    queue: str | None = None,
    most: int | None = _MOST,
) -> list[ComparedPair]:
    """Every pair that both have submitted, of episodes that `where` holds for, the oldest first.

    With the hash of a `taxonomy` or a `queue`, only pairs of it; the newest ones, `most` of them.
    """
    query = (
        select(LABEL_TASK)
        .where(LABEL_TASK.c.pair.is_not(None), LABEL_TASK.c.kind == "annotate",
               LABEL_TASK.c.state.in_(_OVER))
        .order_by(LABEL_TASK.c.changed_at.desc())
        .limit(None if most is None else 2 * most)
    )  # fmt: skip
    if where is not None:
        query = query.where(episode_meets(LABEL_TASK.c.episode, where))
    if taxonomy is not None:
        query = query.where(LABEL_TASK.c.taxonomy == taxonomy)
    if queue is not None:
        query = query.where(LABEL_TASK.c.queue == queue)
    tasks: dict[str, list[LabelTask]] = {}
    for row in connection.execute(query).mappings():
        tasks.setdefault(str(row["pair"]), []).append(from_row(row))
    pairs = [_compared(connection, pair, both) for pair, both in tasks.items() if len(both) == 2]
    return sorted(pairs, key=lambda each: (each.at, each.pair))


def _compared(connection: Connection, pair: str, both: Sequence[LabelTask]) -> ComparedPair:
    first, second = sorted(both, key=lambda task: int(task.settings.get("place", 1)))
    return ComparedPair(
        pair=pair,
        episode=first.episode,
        at=max(first.changed_at, second.changed_at),
        people=(first.assigned_to or "", second.assigned_to or ""),
        agreement=_agreement(connection, first, second),
    )


def _agreement(connection: Connection, first: LabelTask, second: LabelTask) -> Agreement:
    """Versions of tasks never change, so a comparison of two is made once."""
    key = (first.id, first.version, second.id, second.version)
    with _LOCK:
        known = _KEPT.get(key)
    if known is not None:
        return known
    taxonomy = kept_taxonomy(connection, first.taxonomy)
    made = compare(first.annotation, second.annotation, taxonomy, stamps_of(connection, first))
    with _LOCK:
        _KEPT[key] = made
        while len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    return made


def turned(agreement: Agreement) -> Agreement:
    """The same agreement with the two people the other way round."""
    lanes = tuple(
        replace(
            lane,
            pairs=tuple((two, one) for one, two in lane.pairs),
            differences=tuple((rule, -step) for rule, step in lane.differences),
        )
        for lane in agreement.lanes
    )
    attributes = tuple((name, two, one) for name, one, two in agreement.attributes)
    return replace(agreement, lanes=lanes, attributes=attributes)


def distances_to_lead(
    connection: Connection, pairs: Sequence[ComparedPair]
) -> dict[str, list[int]]:
    """Frames between what people said and what a lead decided, by rule, over adjudicated pairs."""
    wanted = {each.pair for each in pairs}
    episodes = list(dict.fromkeys(each.episode for each in pairs))
    distances: dict[str, list[int]] = {}
    for part in parts_of(episodes):
        query = select(LABEL_TASK).where(
            LABEL_TASK.c.kind == "adjudicate", LABEL_TASK.c.state == "done",
            LABEL_TASK.c.episode.in_(part),
        )  # fmt: skip
        for lead in map(from_row, connection.execute(query).mappings()):
            if lead.settings.get("of") not in wanted:
                continue
            taxonomy, stamps = kept_taxonomy(connection, lead.taxonomy), stamps_of(connection, lead)
            sides = [find_task(connection, lead.settings[side]) for side in ("first", "second")]
            made = [compare(lead.annotation, each.annotation, taxonomy, stamps) for each in sides]
            for rule, steps in by_rule(made).items():
                distances.setdefault(rule, []).extend(steps)
    return distances


FEWEST_BESIDE_PROPOSAL = 10
_TIMES, _FRAMES = 2.0, 1.0


@dataclass(frozen=True)
class ProposalBias:
    """Mean distance in frames from people's boundaries to the proposal's, shown it and not."""

    with_tasks: int
    with_boundaries: int
    with_frames: float
    without_tasks: int
    without_boundaries: int
    without_frames: float

    @property
    def is_suspicious(self) -> bool:
        """Whether those who saw no proposal end up at least twice, and a frame, further away."""
        if min(self.with_boundaries, self.without_boundaries) < FEWEST_BESIDE_PROPOSAL:
            return False
        apart = self.without_frames - self.with_frames
        return apart > _FRAMES and self.without_frames > _TIMES * self.with_frames


def measure_proposal_bias(
    connection: Connection,
    taxonomy: Taxonomy,
    *,
    since: str | None = None,
    queue: str | None = None,
) -> ProposalBias:
    """The distance to the proposal of all that was submitted, with and without it in sight."""
    query = select(LABEL_TASK).where(
        LABEL_TASK.c.taxonomy == taxonomy.hash,
        LABEL_TASK.c.kind == "annotate",
        LABEL_TASK.c.state.in_(_OVER),
    )
    if queue is not None:
        query = query.where(LABEL_TASK.c.queue == queue)
    if since is not None:
        query = query.where(LABEL_TASK.c.changed_at >= since)
    counts, steps = {True: 0, False: 0}, {True: [0] * 0, False: [0] * 0}
    for task in map(from_row, connection.execute(query).mappings()):
        if not task.settings.get("proposed"):
            continue
        proposal = task.hidden["proposal"] if task.is_blind else task.start
        agreement = compare(
            Annotation.model_validate(proposal), task.annotation, taxonomy,
            stamps_of(connection, task),
        )  # fmt: skip
        counts[task.is_blind] += 1
        steps[task.is_blind] += agreement.steps
    return ProposalBias(
        counts[False], len(steps[False]), _mean(steps[False]),
        counts[True], len(steps[True]), _mean(steps[True]),
    )  # fmt: skip


def _mean(steps: list[int]) -> float:
    return float(np.abs(steps).mean()) if steps else math.nan


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
    wide = [name for name, each in rules.items() if each.is_ambiguous]
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
        if each.boundaries >= FEWEST_BOUNDARIES and abs(each.bias_frames) > MOST_FRAMES:
            when = "later" if each.bias_frames > 0 else "earlier"
            yield f"{name} sets boundaries {abs(each.bias_frames):.1f} frames {when} than others."
    for rule in ambiguous:
        each = rules[rule]
        yield (f"the rule {rule} is ambiguous: people differ by {each.mean_frames:.1f} frames "
               f"over {each.boundaries} boundaries.")  # fmt: skip
    if anchored.is_suspicious:
        yield (f"proposals anchor: people stay {anchored.with_frames:.1f} frames from them when "
               f"shown, {anchored.without_frames:.1f} when not.")  # fmt: skip
