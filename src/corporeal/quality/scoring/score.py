"""The score of an episode: what its parts are, the document that weighs them, and the total."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from corporeal.errors import CorporealError, UnknownNameError
from corporeal.quality.evidence.stray_stamps import settle_subject
from corporeal.quality.scoring.motion import Profile, profile_of
from corporeal.quality.subject import Subject
from corporeal.registry import plugins
from corporeal.schema import Document, Part
from corporeal.schema.document import Library

PACKAGE = "corporeal.quality.scores"


@dataclass(frozen=True)
class Measure:
    """One part of one episode: the number, its unit, and a sentence that says how it came about."""

    value: float
    unit: str
    sentence: str


@dataclass(frozen=True)
class Score:
    """One part of the score.

    An `episode` part is `measure(subject) -> Measure`, or raises NotAssessed. A `batch` part
    compares episodes of one task: `measure(profiles, count)` gives for the first `count` of them a
    Measure each, or the reason why not.

    `better` says which way is better. `good` and `bad` are the values in `unit` that map to 1 and 0
    when neither the weighting nor the task has a reference of its own; `scales` gives the same for
    the other units that the part can come in. With `logarithmic` equal factors are equal steps, for
    values that span decades.
    """

    measure: Callable[..., Any]
    unit: str
    better: Literal["lower", "higher"]
    good: float
    bad: float
    reference: str
    """Where the formula comes from."""
    scope: Literal["episode", "batch"] = "episode"
    scales: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    logarithmic: bool = False

    def scale(self, unit: str) -> tuple[float, float]:
        """The good and the bad value in a unit."""
        return (self.good, self.bad) if unit == self.unit else self.scales[unit]


@cache
def scores() -> dict[str, Score]:
    """Every part of the score by name."""
    return plugins(PACKAGE, "SCORE", Score)


def to_unit(value: float, *, good: float, bad: float, logarithmic: bool = False) -> float:
    """The value on a scale from 0 (`bad`) to 1 (`good`), clipped; either may be the larger."""
    if logarithmic:
        value, good, bad = (math.log(max(each, 1e-12)) for each in (value, good, bad))
    return float(min(1.0, max(0.0, (value - bad) / (good - bad))))


Weight = Annotated[float, Field(ge=0)]


class ScoreReference(Part):
    """The values of a part that map to 1 and to 0."""

    good: float
    bad: float
    unit: str | None = Field(default=None, description="only where the part is in this unit")

    @model_validator(mode="after")
    def _has_a_direction(self) -> Self:
        if self.good == self.bad:
            raise ValueError(f"good and bad are both {self.good}; expected two values")
        return self


class TaskWeighting(Part):
    """What is different for one task."""

    weights: dict[str, Weight] = Field(default={}, description="part: weight")
    references: dict[str, ScoreReference] = Field(default={}, description="part: good and bad")


class Weighting(Document):
    """Weights and references of the parts; a part that is not named weighs nothing.

    The total is the weighted power mean of the parts: (sum w u^p / sum w)^(1/p), with u the parts
    on a scale of 0 to 1 and p the `exponent`. At 1 it is the plain weighted mean; the smaller,
    the more one bad part costs. It rises when any part with a weight rises.
    """

    kind: ClassVar[str] = "weighting"

    exponent: float = Field(default=1.0, gt=0, le=4)
    weights: dict[str, Weight]
    references: dict[str, ScoreReference] = Field(default={}, description="part: good and bad")
    tasks: dict[str, TaskWeighting] = Field(default={}, description="task: what differs")

    @model_validator(mode="after")
    def _names_what_exists(self) -> Self:
        for name in self._names():
            if name not in scores():
                raise ValueError(str(UnknownNameError("part", name, scores())).rstrip("."))
        if not any(self.weights.values()):
            raise ValueError("every weight is 0; expected at least one part that counts")
        return self

    def _names(self) -> Iterator[str]:
        yield from (*self.weights, *self.references)
        for task in self.tasks.values():
            yield from (*task.weights, *task.references)

    def weight(self, part: str, task: str | None) -> float:
        """What a part weighs in a task, before what was not assessed is left out."""
        own = self.tasks.get(task or "", TaskWeighting())
        return own.weights.get(part, self.weights.get(part, 0.0))

    def scale(self, part: str, unit: str, task: str | None) -> tuple[float, float]:
        """The good and the bad value of a part in a unit: the task's, else ours, else its own."""
        own = self.tasks.get(task or "", TaskWeighting())
        for references in (own.references, self.references):
            reference = references.get(part)
            if reference is not None and reference.unit in (None, unit):
                return reference.good, reference.bad
        return scores()[part].scale(unit)


def mean(weights: list[float], units: list[float], *, exponent: float) -> float:
    """The weighted power mean of values in 0..1."""
    total = math.fsum(weights)
    powers = math.fsum(w * u**exponent for w, u in zip(weights, units, strict=True))
    return float((powers / total) ** (1.0 / exponent))


READY = Library(Weighting, "corporeal.quality.scoring", "weightings")


def open_weighting(name_or_path: str | Path = "default") -> Weighting:
    """A ready weighting by name, or a weighting file by path."""
    return READY.open(name_or_path)


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
    subject = settle_subject(subject)
    for name, part in scores().items():
        if part.scope != "episode":
            continue
        try:
            result: Measure = part.measure(subject)
        except CorporealError as reason:
            reasons[name] = str(reason)
            continue
        if np.isfinite(result.value):
            measures[name] = result
        else:
            reasons[name] = "the measure is not a number"
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


def score_against(
    one: Measured, reference: Mapping[str, Profile] | None, weighting: Weighting | None = None
) -> EpisodeScore:
    """The score of one episode against a reference of its task: profiles by id.

    It depends on the episode and the reference alone. Without a reference the parts that compare
    are not assessed.
    """
    measures, reasons = dict(one.measures), dict(one.reasons)
    for name, part in scores().items():
        if part.scope != "batch" or one.profile is None:
            continue
        if reference is None:
            reasons[name] = (
                "the task has no reference yet; corporeal rejudge makes one of 8 episodes"
            )
            continue
        others = [profile for peer, profile in sorted(reference.items()) if peer != one.id]
        (result,) = part.measure([one.profile, *others], 1)
        if isinstance(result, str):
            reasons[name] = result
        else:
            measures[name] = result
    return _score(replace(one, measures=measures, reasons=reasons), weighting or open_weighting())


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


def _with_batch_parts(measured: list[Measured]) -> list[Measured]:
    """The same episodes with the parts that compare those of one task."""
    measures = [dict(one.measures) for one in measured]
    reasons = [dict(one.reasons) for one in measured]
    for task in dict.fromkeys(one.task for one in measured):
        own = {
            number: one.profile
            for number, one in enumerate(measured)
            if one.task == task and one.profile is not None
        }
        for name, part in scores().items():
            if part.scope != "batch" or not own:
                continue
            for number, result in zip(own, part.measure(list(own.values()), len(own)), strict=True):
                if isinstance(result, str):
                    reasons[number][name] = result
                else:
                    measures[number][name] = result
    return [
        replace(one, measures=measures[number], reasons=reasons[number])
        for number, one in enumerate(measured)
    ]


def _score(one: Measured, weighting: Weighting) -> EpisodeScore:
    parts = [_part(one, name, weighting) for name in scores() if name in one.measures]
    weights = [part.weight for part in parts]
    whole, powers = sum(weights), sum(part.contribution for part in parts)
    total = None
    if whole > 0:
        total = mean(weights, [part.score for part in parts], exponent=weighting.exponent)
    share = (total or 0.0) / powers if powers > 0 else 0.0
    parts = [
        replace(
            part,
            weight=part.weight / whole if whole > 0 else 0.0,
            contribution=part.contribution * share,
        )
        for part in parts
    ]
    sentence = _sentence(one, weighting, total, parts)
    return EpisodeScore(
        one.id, one.index, one.source, one.task, total, tuple(parts), dict(one.reasons), sentence
    )


def _part(one: Measured, name: str, weighting: Weighting) -> PartScore:
    """One part with its weight, and its power of the mean as its contribution, before shares."""
    measure = one.measures[name]
    good, bad = weighting.scale(name, measure.unit, one.task)
    score = to_unit(measure.value, good=good, bad=bad, logarithmic=scores()[name].logarithmic)
    weight = weighting.weight(name, one.task)
    power = weight * score**weighting.exponent
    return PartScore(
        name, measure.value, measure.unit, good, bad, score, weight, power, measure.sentence
    )


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
