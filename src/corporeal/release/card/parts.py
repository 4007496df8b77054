"""The parts that a card's facts consist of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

UNKNOWN = "not stated"


@dataclass(frozen=True)
class CardShare:
    """One value of something that episodes state, and how much of the release has it."""

    name: str
    episodes: int
    hours: float


@dataclass(frozen=True)
class TaskFacts:
    """One task: how much of it there is, how it ended, what people were told."""

    name: str
    episodes: int
    hours: float
    successes: int
    failures: int
    median_score: float | None
    instructions: tuple[str, ...]


@dataclass(frozen=True)
class StreamFacts:
    """One stream, over all episodes that have it. What no document states is None."""

    path: str
    kind: str
    unit: str | None
    shape: tuple[int | str, ...] | None
    frame: str | None
    lowest_hz: float | None
    highest_hz: float | None
    samples: int
    episodes: int


@dataclass(frozen=True)
class DocumentFacts:
    """A document that stands behind episodes of the release."""

    kind: str
    name: str
    version: str
    hash: str
    episodes: int


@dataclass(frozen=True)
class FindingFacts:
    """What one check found and what is still in the release."""

    check: str
    severity: str
    findings: int
    episodes: int


@dataclass(frozen=True)
class Hole:
    """A field of the metadata that some episodes leave empty."""

    field: str
    episodes: int


@dataclass(frozen=True)
class CardColumns:
    """One value for each episode, in the order of their ids; for pictures.

    Times and scores are NaN, `recorded_ns` 0 and `success` -1 where nothing is known. `operator`
    is the number of the pseudonym, from 1; 0 where nobody is named.
    """

    task: NDArray[np.str_]
    split: NDArray[np.str_]
    operator: NDArray[np.int64]
    recorded_ns: NDArray[np.int64]
    duration_s: NDArray[np.float64]
    score: NDArray[np.float64]
    success: NDArray[np.int8]


@dataclass(frozen=True)
class ReleaseFile:
    """A file that is published with a release: where it lies in the folder, and its hash."""

    path: str
    hash: str
    bytes: int
