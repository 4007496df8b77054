"""Rows of the catalogue as types: an episode, its states, and what is kept beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from corporeal.catalog.database import CatalogError
from corporeal.quality.check import Verdict

State = Literal[
    "recorded", "checked", "accepted", "quarantined", "failed", "annotated", "released", "erased"
]
STATES: tuple[State, ...] = get_args(State)
_JUDGED: tuple[State, ...] = ("accepted", "quarantined", "failed")
NEXT: Mapping[State, tuple[State, ...]] = {
    "recorded": ("checked", *_JUDGED, "erased"),
    "checked": (*_JUDGED, "erased"),
    # A person may overrule a verdict, with a reason.
    "accepted": ("checked", "quarantined", "failed", "annotated", "released", "erased"),
    "quarantined": ("checked", "accepted", "failed", "erased"),
    # Failures are released as negative examples.
    "failed": ("checked", "accepted", "quarantined", "annotated", "released", "erased"),
    "annotated": ("accepted", "quarantined", "failed", "released", "erased"),
    "released": ("annotated", "erased"),
    "erased": (),
}


@dataclass(frozen=True)
class EpisodeRow:
    """An episode: one field for each column of its table, in their order.

    `hash` is that of the file, and names its object in the store; `recorded_ns` is Unix time,
    `ingested_at` is ISO 8601 in UTC. The catalogue gives the `number`, whatever it was before.
    """

    id: str
    hash: str
    bytes: int
    file: str
    state: State = "recorded"
    task: str | None = None
    instruction: str | None = None
    robot: str | None = None
    operator: str | None = None
    station: str | None = None
    session: str | None = None
    batch: str | None = None
    protocol: str | None = None
    calibration: str | None = None
    environment: str | None = None
    mode: str | None = None
    software: str | None = None
    recorded_ns: int | None = None
    duration_s: float | None = None
    success: bool | None = None
    failure: str | None = None
    verdict: Verdict | None = None
    score: float | None = None
    policy: str | None = None
    ingested_at: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    number: int | None = None

    @property
    def name(self) -> str:
        """What people call it in this workspace: #4; the id, before it has a number."""
        return self.id if self.number is None else f"#{self.number}"


@dataclass(frozen=True)
class FindingRow:
    """What a check found in an episode: ranges of frames, and the evidence it is drawn from."""

    number: int
    episode: str
    check: str
    severity: str
    stream: str | None
    value: float | None
    limit: float | None
    message: str
    frames: Sequence[Sequence[int]]
    evidence: dict[str, list[float | None]] | None


@dataclass(frozen=True)
class NotAssessedRow:
    """A check that could not run on an episode, and why."""

    episode: str
    check: str
    reason: str


@dataclass(frozen=True)
class AssessmentRow:
    """One judgement of an episode; `basis` is a hash of what it follows from beside the file."""

    episode: str
    number: int
    at: str
    who: str
    verdict: Verdict
    score: float | None
    policy: str
    basis: str
    reason: str | None
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class ScoreRow:
    """A part of an episode's score; a part without a value was not assessed."""

    episode: str
    part: str
    value: float | None
    weight: float | None


@dataclass(frozen=True)
class DocumentRow:
    """A document by the hash of its text."""

    hash: str
    kind: str
    name: str
    version: str
    text: str


@dataclass(frozen=True)
class DocumentReference:
    """A document behind an episode, without its text."""

    kind: str
    name: str
    version: str
    hash: str


@dataclass(frozen=True)
class EpisodeEntry:
    """Everything the catalogue is to keep of one episode.

    `findings`, `not_assessed`, `scores` and `streams` are columns of their tables by name, and so
    is `assessment`, which a judged episode has; `documents` is the text of each by kind; `parents`
    are what it came from, such as {"session:s01": "recorded_in"}.
    """

    row: EpisodeRow
    findings: Sequence[Mapping[str, Any]] = ()
    scores: Sequence[Mapping[str, Any]] = ()
    streams: Sequence[Mapping[str, Any]] = ()
    documents: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    parents: Mapping[str, str] = field(default_factory=dict)
    not_assessed: Sequence[Mapping[str, Any]] = ()
    assessment: Mapping[str, Any] | None = None
    synopsis: bytes | None = None
    profile: bytes | None = None

    @property
    def id(self) -> str:
        """The id of the episode."""
        return self.row.id

    @property
    def hash(self) -> str:
        """The hash of its file."""
        return self.row.hash


def check_change(old: State, new: State) -> None:
    """Raise CatalogError for a change that makes no sense, such as bringing back what is erased."""
    if new not in NEXT[old]:
        allowed = ", ".join(NEXT[old]) or "nothing"
        raise CatalogError(f"state, got {new} after {old}; expected {allowed}.")
