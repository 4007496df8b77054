"""A planted fault: how it is put into a clean recording, and which checks name it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from corporeal.episode.recording import Defect, Recording, Statistics
from corporeal.errors import CorporealError

Scope = Literal["episode", "set", "folder"]
Spans = tuple[tuple[int, int], ...]


class NotApplicable(CorporealError):  # noqa: N818 - not an error: this recording has no such thing
    """The fault cannot be put into this recording; the message says what it lacks."""


@dataclass(frozen=True)
class Truth:
    """Where the fault is: the streams that a finding may rightly name, and the frames of the first.

    No frames means the whole stream. No streams means the episode as a whole. `episodes` are
    numbers in the set, for faults of a set.
    """

    streams: tuple[str, ...] = ()
    frames: Spans = ()
    episodes: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class EpisodeSet:
    """Recordings of one set, and what their source claims of the whole."""

    recordings: tuple[Recording, ...]
    statistics: dict[str, Statistics] = field(default_factory=dict)
    facts: dict[str, Any] = field(default_factory=dict)
    defects: tuple[Defect, ...] = ()

    def with_recording(self, place: int, recording: Recording) -> EpisodeSet:
        """The same set with another recording at this place."""
        changed = list(self.recordings)
        changed[place] = recording
        return replace(self, recordings=tuple(changed))


Inject = Callable[[Any, np.random.Generator, float], tuple[Any, Truth]]


@dataclass(frozen=True)
class Fault:
    """One kind. `strengths` grow worse from left to right; from `tolerance` on it must be found.

    `inject(subject, rng, strength)` takes a Recording, an EpisodeSet or the folder of a dataset,
    by `scope`, and returns the faulty one and the truth. `expected` are the checks whose
    findings count as naming the fault. `pictures` says that video must be looked at.
    """

    name: str
    topic: str
    what: str
    inject: Inject
    expected: frozenset[str]
    strengths: tuple[float, ...] = (1.0,)
    tolerance: float = 1.0
    unit: str = ""
    scope: Scope = "episode"
    pictures: bool = False
    data: frozenset[str] = frozenset()
    """The kinds of data it makes sense for; empty for all that have the streams."""
    among: int = 1
    """Episodes that a set must have for it to show: one alone may look as it likes."""

    @property
    def counted(self) -> tuple[float, ...]:
        """The strengths at which it must be found."""
        return tuple(each for each in self.strengths if each >= self.tolerance)


def fault(
    expected: Collection[str],
    *,
    strengths: tuple[float, ...] = (1.0,),
    tolerance: float | None = None,
    unit: str = "",
    scope: Scope = "episode",
    pictures: bool = False,
    data: Collection[str] = (),
    among: int = 1,
) -> Callable[[Inject], Fault]:
    """Make a fault of a function: its name, its docstring, and the topic from its file."""

    def make(inject: Inject) -> Fault:
        return Fault(
            name=inject.__name__,
            topic=Path(inspect.getfile(inject)).stem,
            what=inspect.getdoc(inject) or "",
            inject=inject,
            expected=frozenset(expected),
            strengths=strengths,
            tolerance=strengths[0] if tolerance is None else tolerance,
            unit=unit,
            scope=scope,
            pictures=pictures,
            data=frozenset(data),
            among=among,
        )

    return make
