"""Everything that a card says of a release, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

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
class CardFacts:
    """Everything that a card says of a release.

    People are counted, and called by numbers that stand in no file. `stated` is what was said
    when the release was made (licence, description, report on the splits ...).
    """

    name: str
    version: str
    manifest: str
    condition: str
    created_at: str
    stated: Mapping[str, Any]
    episodes: int
    erased: int
    hours: float
    bytes: int
    first_ns: int | None
    last_ns: int | None
    sessions: int
    batches: int
    tasks: tuple[TaskFacts, ...]
    robots: tuple[CardShare, ...]
    operators: tuple[CardShare, ...]
    stations: tuple[CardShare, ...]
    environments: tuple[CardShare, ...]
    modes: tuple[CardShare, ...]
    software: tuple[CardShare, ...]
    policies: tuple[CardShare, ...]
    outcomes: tuple[CardShare, ...]
    failures: tuple[CardShare, ...]
    verdicts: tuple[CardShare, ...]
    splits: tuple[CardShare, ...]
    streams: tuple[StreamFacts, ...]
    documents: tuple[DocumentFacts, ...]
    findings: tuple[FindingFacts, ...]
    not_assessed: tuple[tuple[str, int], ...]
    """Checks that could not run, and in how many episodes."""
    unchecked: int
    """Episodes that no check has looked at."""
    holes: tuple[Hole, ...]
    columns: CardColumns = field(repr=False, compare=False)

    @property
    def reference(self) -> str:
        """`name@version`, how people speak of it."""
        return f"{self.name}@{self.version}"

    @property
    def licence(self) -> str | None:
        """The licence as it was stated, such as CC-BY-4.0."""
        return self.said("licence", "license")

    def said(self, *names: str) -> str | None:
        """The first of these that was stated when the release was made, as text."""
        for name in names:
            value = self.stated.get(name)
            if isinstance(value, str) and value.strip():
                return value.strip()
        return None

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `--json`; without the columns."""
        values = {name: value for name, value in vars(self).items() if name != "columns"}
        return {
            name: [asdict(each) for each in value] if isinstance(value, tuple) else value
            for name, value in values.items()
        }
