"""One episode: what it is, what its streams are, what was found and how it scored."""

from __future__ import annotations

from typing import Any

import numpy as np
from fastapi import APIRouter
from numpy.typing import NDArray
from pydantic import BaseModel

from corporeal.catalog.audit import events_of
from corporeal.catalog.episodes import (
    DocumentReference,
    FindingRow,
    NotAssessedRow,
    assessments_of,
    decisions_of,
    documents_of,
    findings_of,
    not_assessed_of,
    scores_of,
    tags_of,
    unchecked_among,
)
from corporeal.episode import Episode
from corporeal.episode.file import StreamReader
from corporeal.errors import CorporealError
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.taxonomy import kept_taxonomy
from corporeal.protocol import Protocol
from corporeal.quality.assessment import Assessment, adherence
from corporeal.quality.check import Finding, count_checks
from corporeal.quality.reports import finding_unit
from corporeal.release.reading import releases_of
from corporeal.schema.stream import Group, Kind
from corporeal.studio.access.guest_view import shown_columns, shown_metadata
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep
from corporeal.studio.episode_row import EpisodeRowFacts, ListedDecision, shown_decision
from corporeal.studio.lanes import LaneFacts, label_lanes, lanes_of, seen_labels
from corporeal.units import SECOND_NS

ROUTER = APIRouter(tags=["episode"])
_MOST_EVENTS = 200


class EpisodeStream(BaseModel):
    """One stream; stamps are nanoseconds since the episode's epoch."""

    path: str
    group: Group
    name: str
    kind: Kind
    dtype: str
    shape: list[int]
    rate_hz: float | None
    unit: str | list[str]
    frame: str | None
    components: list[str] | None
    placement: str
    description: str | None
    samples: int
    first_ns: int | None
    last_ns: int | None
    measured_hz: float | None
    gaps: int | None
    longest_gap_ns: int | None


class FindingSpan(BaseModel):
    """Samples `first` to `stop` (not included) of a stream, and when they are."""

    first: int
    stop: int
    start_ns: int
    end_ns: int


class EpisodeFinding(BaseModel):
    """A finding, with the moments it concerns; `value` and `limit` are in `unit`."""

    number: int
    check: str
    severity: str
    stream: str | None
    value: float | None
    limit: float | None
    unit: str
    message: str
    spans: list[FindingSpan]
    evidence: dict[str, list[float | None]] | None


class NotAssessedCheck(BaseModel):
    """A check that could not run, and why."""

    check: str
    reason: str


class EpisodeAssessment(BaseModel):
    """One judgement of an episode; the last one is in force."""

    number: int
    at: str
    who: str
    verdict: str
    score: float | None
    policy: str
    reason: str | None


class RuleAdherence(BaseModel):
    """One rule of the protocol: kept, broken, or None where it could not be judged."""

    name: str
    check: str
    kept: bool | None
    message: str


class ScorePart(BaseModel):
    """A part of the score, 0 to 1, and its share of all weights."""

    part: str
    value: float | None
    weight: float | None


class EpisodeDetail(BaseModel):
    """All that the page needs before it asks for samples.

    `checks` is how many there are for an episode; an episode that was judged before judgements were
    kept has no `assessments`, and one that no check has looked at is not `checked`, though a person
    may have accepted it. `adherence` goes rule by rule through the protocol it follows.
    """

    id: str
    epoch_ns: str
    start_ns: int
    end_ns: int
    row: EpisodeRowFacts
    metadata: dict[str, Any]
    streams: list[EpisodeStream]
    findings: list[EpisodeFinding]
    not_assessed: list[NotAssessedCheck]
    checks: int
    checked: bool
    assessments: list[EpisodeAssessment]
    protocol: str | None
    adherence: list[RuleAdherence]
    scores: list[ScorePart]
    lanes: list[LaneFacts]
    releases: list[str]
    decision: ListedDecision | None
    tags: list[str]


class StateChange(BaseModel):
    """A step in the life of an episode, from the audit log."""

    at: str
    who: str
    what: str
    state: str | None
    why: str | None


class EpisodeHistory(BaseModel):
    """What stands behind an episode, and what happened to it, the oldest first."""

    documents: list[DocumentReference]
    changes: list[StateChange]


@ROUTER.get("/episodes/{episode_id}")
def episode_facts(episode_id: str, studio: StudioDep, actor: Reader) -> EpisodeDetail:
    """Everything about one episode but its samples; guests are shown nothing of the staff."""
    row = studio.shelf.row(episode_id)
    with studio.workspace.database.read() as connection:
        findings = findings_of(connection, episode_id)
        missing = not_assessed_of(connection, [episode_id]).get(episode_id, [])
        assessments = assessments_of(connection, episode_id)
        scores = scores_of(connection, episode_id)
        unchecked = unchecked_among(connection, [episode_id])
        releases = releases_of(connection, episode_id)
        decided = decisions_of(connection, [episode_id]).get(episode_id)
        tags = tags_of(connection, [episode_id]).get(episode_id, [])
        labels = seen_labels(connection, episode_id, actor)
        annotation = labels.annotation if labels is not None else Annotation()
        taxonomy = kept_taxonomy(connection, labels.taxonomy) if labels is not None else None
    with studio.shelf.episode(episode_id) as episode:
        start_ns, end_ns = episode.span_ns
        protocol = _protocol(episode) if assessments else None
        detail = EpisodeDetail(
            id=episode_id,
            epoch_ns=str(episode.epoch_ns),
            start_ns=start_ns,
            end_ns=end_ns,
            row=EpisodeRowFacts.model_validate(vars(row)),
            metadata=episode.metadata,
            streams=[_stream(episode[path]) for path in episode],
            findings=[_finding(each, episode) for each in findings],
            not_assessed=[
                NotAssessedCheck(check=each.check, reason=each.reason) for each in missing
            ],
            checks=count_checks(),
            checked=not unchecked,
            assessments=[EpisodeAssessment.model_validate(vars(each)) for each in assessments],
            protocol=None if protocol is None else protocol.reference,
            adherence=[] if protocol is None else _adherence(protocol, findings, missing),
            scores=[ScorePart(**vars(part)) for part in scores],
            lanes=[*label_lanes(annotation, taxonomy), *lanes_of(episode)],
            releases=releases,
            decision=shown_decision(decided),
            tags=tags,
        )
    return _without_staff(detail) if actor.guest else detail


def _without_staff(detail: EpisodeDetail) -> EpisodeDetail:
    """The same for those who came by a link."""
    return detail.model_copy(
        update={
            "row": EpisodeRowFacts.model_validate(shown_columns(detail.row.model_dump())),
            "metadata": shown_metadata(detail.metadata),
            "streams": [
                stream.model_copy(update={"description": None}) for stream in detail.streams
            ],
            "assessments": [
                judged.model_copy(update={"who": "", "policy": "", "reason": None})
                for judged in detail.assessments
            ],
            "protocol": None,
            "adherence": [],
            "releases": [],
            "decision": None,
            "tags": [],
        }
    )


@ROUTER.get("/episodes/{episode_id}/history")
def history(episode_id: str, studio: StudioDep, actor: Reader) -> EpisodeHistory:
    """The documents of an episode and its way from state to state; for guests nothing of it."""
    studio.shelf.row(episode_id)
    if actor.guest:
        return EpisodeHistory(documents=[], changes=[])
    with studio.workspace.database.read() as connection:
        documents = documents_of(connection, episode_id)
        events = list(events_of(connection, f"episode:{episode_id}"))[-_MOST_EVENTS:]
    return EpisodeHistory(
        documents=documents,
        changes=[
            StateChange(at=each["at"], who=each["who"], what=each["what"], why=each["why"],
                        state=each["details"].get("to") or each["details"].get("state"))
            for each in events
        ],
    )  # fmt: skip


def _protocol(episode: Episode) -> Protocol | None:
    """The protocol that the episode carries; none where it cannot be read any more."""
    text = episode.documents.get("protocol")
    if text is None:
        return None
    try:
        return Protocol.parse(text, source=f"{episode.path}:protocol", suffix=".json")
    except CorporealError:
        return None


def _adherence(
    protocol: Protocol, findings: list[FindingRow], missing: list[NotAssessedRow]
) -> list[RuleAdherence]:
    """Every rule of the protocol, by what the catalogue holds of its checks."""
    judged = Assessment(
        tuple(Finding(each.message, check=each.check) for each in findings),
        {each.check: each.reason for each in missing},
    )
    return [RuleAdherence(**vars(rule)) for rule in adherence(judged, protocol)]


def _stream(reader: StreamReader) -> EpisodeStream:
    spec, stamps = reader.spec, reader.time_ns
    return EpisodeStream(
        **dict(spec) | {"components": spec.names or None},
        path=spec.path,
        samples=len(reader),
        first_ns=int(stamps[0]) if len(stamps) else None,
        last_ns=int(stamps[-1]) if len(stamps) else None,
        **_rhythm(stamps, spec.rate_hz),
    )


def _rhythm(stamps: NDArray[np.int64], rate_hz: float | None) -> dict[str, Any]:
    """The rate that a stream really has, and how often a sample or more is missing."""
    if len(stamps) < 2:
        return {"measured_hz": None, "gaps": None, "longest_gap_ns": None}
    steps = np.diff(stamps)
    span = int(stamps[-1] - stamps[0])
    return {
        "measured_hz": (len(stamps) - 1) * SECOND_NS / span if span > 0 else None,
        "gaps": int(np.count_nonzero(steps > 1.5 * SECOND_NS / rate_hz)) if rate_hz else None,
        "longest_gap_ns": int(steps.max()),
    }


def _finding(row: FindingRow, episode: Episode) -> EpisodeFinding:
    spans = []
    path = row.stream
    if path is not None and path in episode and len(episode[path]):
        stamps = episode[path].time_ns
        for first, stop in row.frames or []:
            low, high = (min(max(int(each), 0), len(stamps) - 1) for each in (first, stop - 1))
            spans.append(FindingSpan(first=low, stop=high + 1, start_ns=int(stamps[low]),
                              end_ns=int(stamps[high])))  # fmt: skip
    unit = finding_unit(row.check, row.limit, value=row.value, message=row.message)
    return EpisodeFinding(**vars(row), unit=unit, spans=spans)
