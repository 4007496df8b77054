"""The score of an episode: every part measured, put on a scale of 0 to 1, and weighed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from corporeal.errors import CorporealError, NotAssessed
from corporeal.quality.scoring.motion import Profile, profile_of
from corporeal.quality.scoring.score import (
    Measure,
    ScoreReference,
    TaskWeighting,
    Weighting,
    mean,
    open_weighting,
    scores,
    to_unit,
)
from corporeal.quality.subject import Subject

# Episodes of a task from which its own good and bad can be learnt.
LEAST = 8


@dataclass(frozen=True, eq=False)
class Measured:
    """What one episode measures on its own, and what is needed to compare it with others.

    Small (some 30 kB) and without reference to the recording: it can be sent between processes.
    """

    id: str
    index: int
    source: str
    task: str | None
    measures: Mapping[str, Measure]
    reasons: Mapping[str, str]
    """Why a part could not be measured, by part."""
    profile: Profile | None


@dataclass(frozen=True)
class PartScore:
    """One part opened: its value against its reference, and what it adds to the total."""

    name: str
    value: float
    unit: str
    good: float
    bad: float
    score: float
    """The value on a scale of 0 (bad) to 1 (good)."""
    weight: float
    """Its share of all weights of the parts that were assessed."""
    contribution: float
    """What it adds: the contributions of all parts make up the total."""
    sentence: str

    def to_json(self) -> dict[str, Any]:
        """The part as plain values."""
        reference = {"good": self.good, "bad": self.bad, "from": scores()[self.name].reference}
        plain = {"part": self.name, "value": self.value, "unit": self.unit, "score": self.score}
        return plain | {
            "weight": self.weight,
            "contribution": self.contribution,
            "reference": reference,
            "explanation": self.sentence,
        }


@dataclass(frozen=True)
class EpisodeScore:
    """The total of an episode, 0 to 1, with every part; None where nothing could be assessed."""

    id: str
    index: int
    source: str
    task: str | None
    total: float | None
    parts: tuple[PartScore, ...]
    not_assessed: Mapping[str, str] = field(default_factory=dict)
    sentence: str = ""

    def to_json(self) -> dict[str, Any]:
        """The score as `corporeal score --json` prints it."""
        return {
            "id": self.id,
            "index": self.index,
            "source": self.source,
            "task": self.task,
            "total": self.total,
            "explanation": self.sentence,
            "parts": [part.to_json() for part in self.parts],
            "not_assessed": dict(self.not_assessed),
        }


def measure(subject: Subject) -> Measured:
    """Measure one episode: every part that needs no other, and the profile for those that do."""
    measures: dict[str, Measure] = {}
    reasons: dict[str, str] = {}
    for name, part in scores().items():
        if part.scope != "episode":
            continue
        try:
            measures[name] = _finite(part.measure(subject))
        except CorporealError as reason:
            reasons[name] = str(reason)
    profile = None
    try:
        profile = profile_of(subject)
    except CorporealError as reason:
        names = [name for name, part in scores().items() if part.scope == "batch"]
        reasons |= dict.fromkeys(names, str(reason))
    recording = subject.recording
    where = str(recording.source)
    return Measured(recording.id, recording.index, where, subject.task, measures, reasons, profile)


def score_batch(
    measured: Sequence[Measured],
    weighting: Weighting | None = None,
    *,
    earlier: Sequence[Measured] = (),
) -> list[EpisodeScore]:
    """Score episodes against their references and against the others of their task.

    `earlier` are episodes to compare with that are not scored themselves.
    """
    chosen = weighting or open_weighting()
    together = _with_batch_parts([*measured, *earlier])[: len(measured)]
    return [_score(one, chosen) for one in together]


def learned(weighting: Weighting, measured: Sequence[Measured]) -> Weighting:
    """The weighting with references of each task's own: good is its best tenth, bad its worst.

    Tasks with fewer than eight episodes keep what they have, and so do parts that do not vary.
    """
    tasks = dict(weighting.tasks)
    together = _with_batch_parts(list(measured))
    for task in {one.task for one in measured if one.task is not None}:
        own = [one for one in together if one.task == task]
        if len(own) >= LEAST:
            given = tasks.get(task, TaskWeighting())
            references = {**_references(own), **given.references}
            tasks[task] = TaskWeighting(weights=given.weights, references=references)
    return weighting.model_copy(update={"tasks": tasks})


def _references(own: Sequence[Measured]) -> dict[str, ScoreReference]:
    found: dict[str, ScoreReference] = {}
    for name, part in scores().items():
        measures = [one.measures[name] for one in own if name in one.measures]
        units = {each.unit for each in measures}
        if len(measures) < LEAST or len(units) != 1:
            continue
        low, high = np.quantile([each.value for each in measures], [0.1, 0.9]).tolist()
        if high - low > 1e-9:
            good, bad = (low, high) if part.better == "lower" else (high, low)
            found[name] = ScoreReference(good=good, bad=bad, unit=units.pop())
    return found


def _finite(found: Measure) -> Measure:
    if not np.isfinite(found.value):
        raise NotAssessed("the measure is not a number")
    return found


def _with_batch_parts(measured: list[Measured]) -> list[Measured]:
    """The same episodes with the parts that compare those of one task."""
    measures = [dict(one.measures) for one in measured]
    reasons = [dict(one.reasons) for one in measured]
    for task in dict.fromkeys(one.task for one in measured):
        own = [
            number
            for number, one in enumerate(measured)
            if one.task == task and one.profile is not None
        ]
        profiles = [profile for number in own if (profile := measured[number].profile) is not None]
        for name, part in scores().items():
            if part.scope != "batch" or not profiles:
                continue
            for number, found in zip(own, part.measure(profiles), strict=True):
                if isinstance(found, str):
                    reasons[number][name] = found
                else:
                    measures[number][name] = found
    return [
        Measured(one.id, one.index, one.source, one.task, measures[n], reasons[n], one.profile)
        for n, one in enumerate(measured)
    ]


def _score(one: Measured, weighting: Weighting) -> EpisodeScore:
    names = [name for name in scores() if name in one.measures]
    weights = [weighting.weight(name, one.task) for name in names]
    scales = [weighting.scale(name, one.measures[name].unit, one.task) for name in names]
    units = [
        to_unit(
            one.measures[name].value, good=good, bad=bad, logarithmic=scores()[name].logarithmic
        )
        for name, (good, bad) in zip(names, scales, strict=True)
    ]
    whole = sum(weights)
    total = mean(weights, units, exponent=weighting.exponent) if whole > 0 else None
    powers = [w * u**weighting.exponent for w, u in zip(weights, units, strict=True)]
    share = (total or 0.0) / sum(powers) if sum(powers) > 0 else 0.0
    parts = tuple(
        PartScore(
            name=name,
            value=one.measures[name].value,
            unit=one.measures[name].unit,
            good=good,
            bad=bad,
            score=unit,
            weight=weight / whole if whole > 0 else 0.0,
            contribution=power * share,
            sentence=one.measures[name].sentence,
        )
        for name, weight, (good, bad), unit, power in zip(
            names, weights, scales, units, powers, strict=True
        )
    )
    return EpisodeScore(
        one.id, one.index, one.source, one.task, total, parts, dict(one.reasons),
        _sentence(one, weighting, total, parts),
    )  # fmt: skip


def _sentence(
    one: Measured, weighting: Weighting, total: float | None, parts: Sequence[PartScore]
) -> str:
    if total is None:
        return "No part with a weight could be assessed: there is no score."
    costly = max(parts, key=lambda part: part.weight * (1 - part.score))
    text = f"{total:.2f} from {len(parts)} parts; {costly.name} costs most"
    absent = [name for name in one.reasons if weighting.weight(name, one.task) > 0]
    if absent:
        text += f"; {', '.join(sorted(absent))} could not be assessed and the others weigh more"
    return text + "."
