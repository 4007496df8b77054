"""The weighting document: how much each part of the score counts, and what good and bad mean."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from corporeal.errors import UnknownNameError
from corporeal.quality.scoring.score import scores
from corporeal.schema import Document, Part
from corporeal.schema.document import Library

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
