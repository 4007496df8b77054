"""The episodes judged together: a synopsis of each, small enough to keep thousands in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.facts import EpisodeFacts
from corporeal.episode.recording import Defect, Statistics
from corporeal.signal.track import Array

# Points that a trajectory is reduced to, whatever its length.
PATH_POINTS = 64


@dataclass(frozen=True, eq=False)
class Moments:
    """What the numbers of one stream come to in one episode, per column."""

    count: int
    total: Array
    squares: Array
    """Sum of squared deviations from this episode's mean."""
    lowest: Array
    highest: Array
    quantiles: Mapping[str, Array] = field(default_factory=dict)
    """q01, q02, q05, q10, q25, q50, q75, q90, q95, q98, q99."""

    @property
    def mean(self) -> Array:
        """Mean of each column."""
        return self.total / max(1, self.count)


@dataclass(frozen=True, eq=False)
class Synopsis:
    """One episode in brief, for checks that compare episodes.

    `path` is the state (PATH_POINTS, D) evenly in time from start to end of the motion, `digest` a
    hash of every number in the episode, `views` a small grey picture of each camera (the median
    over the episode), `first` and `last` the state there.
    """

    index: int
    id: str
    source: Path
    task: str | None
    metadata: Mapping[str, Any]
    duration_s: float
    frames: int
    digest: bytes
    path: Array | None
    moments: Mapping[str, Moments]
    facts: EpisodeFacts = field(default_factory=EpisodeFacts)
    names: tuple[str, ...] = ()
    """Names of the columns of `path`."""
    views: Mapping[str, NDArray[np.uint8]] = field(default_factory=dict)
    instruction: str | None = None
    sketch: NDArray[np.uint64] = field(default_factory=lambda: np.zeros(0, np.uint64))
    """The smallest hashes of the distinct rows of the state: how much two episodes share."""
    measures: Mapping[str, float] = field(default_factory=dict)
    """Scalars worth charting: duration, path length, peak speed, peak force, idle share ..."""


@dataclass(frozen=True, eq=False)
class Batch:
    """What batch checks look at: the synopses, and what the source claims of the whole."""

    episodes: tuple[Synopsis, ...]
    statistics: Mapping[str, Statistics] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    defects: tuple[Defect, ...] = ()
    protocol: Any = None
    earlier: tuple[Synopsis, ...] = ()
    """Episodes of earlier batches, for drift."""
    beside: frozenset[int] = frozenset()
    """Numbers of those that are stored already, and are here to be compared with alone."""
    arrived: Mapping[int, str] = field(default_factory=dict)
    """When each came into the catalogue, as text that sorts; the others come only now."""
