"""What a part of the score is: a measure with a unit, a direction and a reference."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

from corporeal.registry import plugins

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
