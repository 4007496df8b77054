"""The demonstrations that are curated: each as numbers on one grid, and what is known of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.facts import EpisodeFacts
from corporeal.errors import CorporealError
from corporeal.quality import Subject
from corporeal.quality.scoring import EpisodeScore
from corporeal.signal.grid import bridge_gaps
from corporeal.signal.track import Array, Track
from corporeal.units import SECOND_NS

RATE_HZ = 10.0
FEWEST_OF_TASK = 4
_LONGEST_S = 3600.0
_PATH_POINTS = 64
_DIGITS = 9


@dataclass(frozen=True, eq=False)
class Demonstration:
    """One episode in the pool.

    `state` (T, D) and `action` (T, A) lie on a grid of RATE_HZ; `path` (64, D) is the state evenly
    in time. `fine` is the state at its own rate, for telling copies. `digest` is a hash of the
    numbers alone: ties are broken by it, so that neither names nor ids nor clocks decide.
    """

    index: int
    id: str
    source: str
    digest: str
    state: NDArray[np.float32]
    action: NDArray[np.float32]
    fine: NDArray[np.float32]
    path: Array
    names: tuple[str, ...]
    robot: Embodiment | None
    duration_s: float
    task: str | None = None
    success: bool | None = None
    traits: Mapping[str, str] = field(default_factory=dict)
    """Operator, station, object and the like, as far as the episode says them."""
    verdict: str | None = None
    findings: tuple[str, ...] = ()
    """What checks say against it, in words."""
    score: EpisodeScore | None = None
    total: float | None = None
    """Its quality from 0 to 1, from the score or from a catalogue."""

    @property
    def name(self) -> str:
        """How reports call it."""
        return self.source or self.id


@dataclass(frozen=True, eq=False)
class DemonstrationPool:
    """The demonstrations that compete with each other, in an order that their content gives."""

    episodes: tuple[Demonstration, ...]
    rollouts: tuple[Demonstration, ...] = ()
    """Episodes that a policy trained on the pool made, with their outcomes."""
    gradients: Any = None
    """Steps as gradients, from the user's training; see `gradients.py`."""
    unreadable: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.episodes)

    @cached_property
    def tasks(self) -> NDArray[np.int64]:
        """A number per demonstration that is the same within a task.

        Tasks of fewer than four demonstrations compete with each other: where every episode words
        its own task, each would be the best of it.
        """
        every = Counter(str(each.task) for each in self.episodes)
        names = [
            str(each.task) if every[str(each.task)] >= FEWEST_OF_TASK else ""
            for each in self.episodes
        ]
        return np.unique(names, return_inverse=True)[1].astype(np.int64)

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """Steps of every demonstration."""
        return np.array([len(each.state) for each in self.episodes], np.int64)

    @cached_property
    def owner(self) -> NDArray[np.int64]:
        """The demonstration of every step, all steps one after the other."""
        return np.repeat(np.arange(len(self)), self.lengths)

    @cached_property
    def states(self) -> Array:
        """All steps' states, each column with mean 0 and spread 1 over the pool."""
        return standardise(np.concatenate([each.state for each in self.episodes]))

    @cached_property
    def actions(self) -> Array:
        """All steps' actions the same way, as differences from the state where both are joints."""
        relative = [
            each.action - each.state if each.action.shape == each.state.shape else each.action
            for each in self.episodes
        ]
        return standardise(np.concatenate(relative))

    @cached_property
    def paths(self) -> Array:
        """Every demonstration's path (N, 64 * D) in one row, scaled by the pool's spread."""
        scale = np.concatenate([each.path for each in self.episodes]).std(axis=0)
        scale = np.where(scale > 1e-6, scale, 1.0)
        return np.stack([(each.path / scale).ravel() for each in self.episodes])


def make_pool(
    episodes: Sequence[Demonstration], *, rollouts: Sequence[Demonstration] = (),
    gradients: Any = None, unreadable: Mapping[str, str] | None = None,
) -> DemonstrationPool:  # fmt: skip
    """A pool of demonstrations with the same columns; those with others are set aside with why.

    Raises CorporealError where nothing is left.
    """
    shapes = Counter((each.names, each.action.shape[1]) for each in episodes)
    aside = dict(unreadable or {})
    if not shapes:
        first = next(iter(aside.items()), None)
        why = f": {first[0]}: {first[1]}" if first else ""
        raise CorporealError(f"demonstrations, got none that can be read{why}; expected some.")
    usual = max(sorted(shapes, key=str), key=lambda shape: shapes[shape])
    kept = [each for each in episodes if (each.names, each.action.shape[1]) == usual]
    for each in episodes:
        if (each.names, each.action.shape[1]) != usual:
            aside[each.name] = (
                f"has {len(each.names)} state and {each.action.shape[1]} action columns where most "
                f"have {len(usual[0])} and {usual[1]}, or others"
            )
    kept.sort(key=lambda each: (each.digest, each.id))
    return DemonstrationPool(tuple(kept), tuple(rollouts), gradients, aside)


def read_demonstration(subject: Subject, *, digest: bytes | None = None) -> Demonstration:
    """What curation needs of one recording; raises CorporealError where it has no state."""
    recording, facts = subject.recording, subject.recording.facts
    state = subject.state
    if len(state) < 3:
        raise CorporealError(f"{recording.source}: {state.label} has {len(state)} samples; "
                             "expected 3 or more.")  # fmt: skip
    begin, end = int(state.time_ns.min()), int(state.time_ns.max())
    seconds = (end - begin) / SECOND_NS
    if seconds > _LONGEST_S:
        raise CorporealError(f"{recording.source} lasts {seconds / 60:.0f} min; expected one "
                             f"demonstration of {_LONGEST_S / 60:.0f} min or less.")  # fmt: skip
    grid = begin + np.arange(max(2, int(seconds * RATE_HZ) + 1)) * round(SECOND_NS / RATE_HZ)
    measured = _filled(state)
    command = _command(subject)
    action = _filled(command).at(grid) if command is not None else _next(measured.at(grid))
    evenly = np.linspace(begin, end, _PATH_POINTS).astype(np.int64)
    return Demonstration(
        index=recording.index,
        id=recording.id,
        source=recording.source.name,
        digest=(digest or _digest_of(measured)).hex(),
        state=measured.at(grid).astype(np.float32),
        action=np.asarray(action, np.float32),
        fine=measured.values.astype(np.float32),
        path=measured.at(evenly),
        names=state.names,
        robot=recording.embodiment,
        duration_s=seconds,
        task=subject.task,
        success=facts.outcome.success,
        traits=_traits(facts),
    )


def _filled(track: Track) -> Track:
    return replace(track, values=np.nan_to_num(bridge_gaps(track.values)))


def _command(subject: Subject) -> Track | None:
    """The action, whatever it commands; None where nothing was commanded."""
    try:
        return subject.command_and_answer[0]
    except CorporealError:
        return None


def _digest_of(track: Track) -> bytes:
    return hashlib.blake2b(np.round(track.values, _DIGITS).tobytes(), digest_size=16).digest()


def _next(state: Array) -> Array:
    """Where nothing was commanded, the next state is what the robot was to do."""
    return np.concatenate([state[1:], state[-1:]])


def _traits(facts: EpisodeFacts) -> dict[str, str]:
    named = {
        "operator": facts.operator, "station": facts.station, "environment": facts.environment,
        "mode": facts.mode, "object": facts.other.get("object"),
        "dataset": facts.other.get("dataset"),
    }  # fmt: skip
    return {key: str(value) for key, value in named.items() if value not in (None, "")}


def standardise(values: Array) -> Array:
    """Every column with mean 0 and spread 1; one that never changes is 0."""
    centred = values - values.mean(axis=0)
    spread = centred.std(axis=0)
    return np.asarray(centred / np.where(spread > 1e-6, spread, np.inf))


def reduce(values: Array, most: int) -> Array:
    """The rows on their `most` strongest principal axes, each scaled to spread 1 at most."""
    centred = values - values.mean(axis=0)
    moments, axes = np.linalg.eigh(centred.T @ centred / max(1, len(values)))
    order = np.argsort(moments)[::-1][:most]
    return np.asarray(centred @ axes[:, order])
