"""A mistake: how a collection team makes it, and which checks name it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.detection.field.take import Mark, Take

Rng = np.random.Generator
Takes = list[Take]
Plant = Callable[[Any, Rng], Any]


@dataclass(frozen=True)
class Mistake:
    """One kind. `plant(takes, rng)` returns other takes and the mark of what was done.

    With `in_files` it is `plant(paths, rng)`, which changes files that were written well and
    returns the mark alone. `needs` are features of the sites that it can be made at.
    """

    name: str
    topic: str
    what: str
    plant: Plant
    expected: frozenset[str]
    needs: frozenset[str]
    in_files: bool = False


def mistake(
    expected: Collection[str], needs: Collection[str], *, in_files: bool = False
) -> Callable[[Plant], Mistake]:
    """Make a mistake of a function: its name, its docstring, and the topic from its file."""

    def make(plant: Plant) -> Mistake:
        return Mistake(
            name=plant.__name__,
            topic=Path(inspect.getfile(plant)).stem,
            what=(inspect.getdoc(plant) or "").splitlines()[0],
            plant=plant,
            expected=frozenset(expected),
            needs=frozenset(needs),
            in_files=in_files,
        )

    return make


def one_take(takes: Sequence[Take], rng: Rng) -> int:
    """The number of the take in which it happens."""
    return int(rng.integers(len(takes)))


def exchange(takes: Takes, number: int, take: Take) -> Takes:
    """The takes with another one in this place."""
    return [take if place == number else each for place, each in enumerate(takes)]


def marked(number: int, *streams: str, **where: Any) -> Mark:
    """The mark of a mistake in one take."""
    return Mark((number,), streams, **where)
