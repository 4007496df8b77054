"""What a part of the score is, and the document that weighs the parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from corporeal.errors import UnknownNameError
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
    compares episodes of one task: `measure(profiles)` gives for each a Measure, or the reason
    why not.

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
