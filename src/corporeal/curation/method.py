"""What a way of choosing demonstrations is: scores with reasons, or a refusal that says why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

import numpy as np

from corporeal.curation.pool import DemonstrationPool
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.registry import plugins
from corporeal.signal.track import Array

PACKAGE = "corporeal.curation.methods"


class MethodRefusedError(CorporealError):
    """A method lacks what it needs of this pool."""


@dataclass(frozen=True, eq=False)
class MethodScores:
    """What a method says of every demonstration of a pool.

    `score` (N,): more is better, NaN where the method has no opinion. `uncertainty` (N,) is one
    sigma in the same unit, 0 where the score is a fact. `dropped` says of which the method is sure
    that they must not be trained on, and why. `figures` are what the report says of the whole pool.
    """

    score: Array
    uncertainty: Array
    reasons: tuple[str, ...]
    dropped: Mapping[int, str] = field(default_factory=dict)
    groups: tuple[tuple[int, ...], ...] = ()
    """Demonstrations that are one and the same."""
    figures: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True)
class CurationMethod:
    """A way to choose; `needs` says in words what the pool must have."""

    judge: Callable[[DemonstrationPool, int], MethodScores]
    """Takes the pool and a seed; raises MethodRefusedError where the pool lacks what is needed."""
    title: str
    needs: str = ""
    is_baseline: bool = False
    wants_verdicts: bool = False
    wants_scores: bool = False


@cache
def find_methods() -> dict[str, CurationMethod]:
    """Every method by name."""
    return plugins(PACKAGE, "METHOD", CurationMethod)


def find_method(name: str) -> CurationMethod:
    """The method of this name; raises UnknownNameError, with the list, where there is none."""
    methods = find_methods()
    if name not in methods:
        raise UnknownNameError("method", name, sorted(methods))
    return methods[name]


def certain(score: Array, reasons: tuple[str, ...]) -> MethodScores:
    """Scores that are facts."""
    return MethodScores(np.asarray(score, np.float64), np.zeros(len(score)), reasons)
