"""What a part of the score is: a measure with a unit, a direction and a reference."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Literal

from corporeal.registry import plugins

PACKAGE = "corporeal.quality.scores"


@dataclass(frozen=True)
class Score:
    """One part. `measure(subject, *, keywords...)` gives a number in `unit`, or raises NotAssessed.

    `better` says which way is better. `good` and `bad` are the values that map to 1 and 0 when the
    task has no reference of its own. A `batch` part compares an episode with the others of its
    task: `measure(synopsis, peers, *, ...)`.
    """

    measure: Callable[..., float]
    unit: str
    better: Literal["lower", "higher"]
    good: float
    bad: float
    reference: str
    """Where the formula comes from."""
    scope: Literal["episode", "batch"] = "episode"


@cache
def scores() -> dict[str, Score]:
    """Every part of the score by name."""
    return plugins(PACKAGE, "SCORE", Score)


def to_unit(value: float, *, good: float, bad: float) -> float:
    """The value on a scale from 0 (`bad`) to 1 (`good`), clipped; either may be the larger."""
    return float(min(1.0, max(0.0, (value - bad) / (good - bad))))
