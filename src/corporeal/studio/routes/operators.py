"""Operators: certificates, training with its evidence, and drift with hours since a break."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel
from sqlalchemy import Connection

from corporeal.catalog.people import (
    Experience,
    Operator,
    TrainingPhase,
    certified_tasks,
    experience_of,
    find_operator,
    list_certificates,
    list_operators,
    read_privacy,
    trained_tasks,
)
from corporeal.catalog.permission import (
    PRIVACY_MODES,
    PrivacyMode,
    may,
    require_person,
    sees_group,
    sees_person,
    why_hidden,
)
from corporeal.catalog.query import Known, count_episodes
from corporeal.operations.operators import (
    OUTCOMES,
    certification_for,
    read_fatigue,
    read_training,
)
from corporeal.operations.scope import MOST_DAYS, read_scope
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep
from corporeal.studio.people_view import log_view

ROUTER = APIRouter(tags=["operators"])
_LONGEST_QUERY = 4000


class CertificateFacts(BaseModel):
    """A certificate: for which task, until when, and whether it holds now."""

    task: str
    valid_from: str
    ends: str
    holds: bool
    revoked_why: str | None


class OperatorFacts(BaseModel):
    """An operator; `episodes` and `hours` are null where they are not shown to whoever asks."""

    name: str
    hours_before: float | None
    left: bool
    certificates: list[CertificateFacts]
    episodes: int | None
    hours: float | None


class OperatorsPage(BaseModel):
    """Who demonstrates here; `hidden` says why figures of single people are not shown."""

    privacy: PrivacyMode
    privacy_words: str
    hidden: str | None
    certified_tasks: list[str]
    practice: int
    operators: list[OperatorFacts]


class CriterionFacts(BaseModel):
    """One thing that a phase asks for; null while it cannot be judged."""

    name: str
    passed: bool | None
    words: str


class PhaseFacts(BaseModel):
    """A phase of training: `episodes` of `wanted` are there."""

    phase: TrainingPhase
    state: str
    attempt: int
    episodes: int
    wanted: int | None
    criteria: list[CriterionFacts]


class TrainingFacts(BaseModel):
    """Where somebody stands in one task."""

    task: str
    document: str
    ready: bool
    phases: list[PhaseFacts]


class DriftFacts(BaseModel):
    """How one outcome drifts over two hours of work, in words."""

    outcome: str
    episodes: int
    seen: bool
    words: str


class FatigueFacts(BaseModel):
    """What is known of tiredness; `hidden` says why it is not shown to whoever asks."""

    people: int | None
    sessions: int | None
    breaks: int | None
    drifts: list[DriftFacts]
    hidden: str | None


@ROUTER.get("/operators")
def list_all(studio: StudioDep, actor: Reader) -> OperatorsPage:
    """Operators with their certificates: all of them for who leads, else oneself."""
    with studio.workspace.database.read() as connection:
        known = [each for each in list_operators(connection, left=True)
                 if may(actor, "judge") or each.name == actor.operator]  # fmt: skip
        shown = [each.name for each in known if sees_person(actor, each.name)]
        done = experience_of(connection, shown)
        stated = read_privacy(connection)
        page = OperatorsPage(
            privacy=stated.mode,
            privacy_words=PRIVACY_MODES[stated.mode],
            hidden=None if len(shown) == len(known) else why_hidden(actor),
            certified_tasks=list(certified_tasks(connection)),
            practice=count_episodes(connection, Known("practice", True)),
            operators=[_facts(connection, each, done.get(each.name)) for each in known],
        )
    if shown:
        one = shown[0] if len(shown) == 1 else None
        log_view(studio, actor, what="list of operators", operator=one)
    return page


@ROUTER.get("/operators/{name}/training")
def training(name: str, studio: StudioDep, actor: Reader) -> list[TrainingFacts]:
    """The training of an operator, with its evidence: for those who may see their figures."""
    require_person(actor, name, what=f"training of {name[:80]!r}")
    with studio.workspace.database.read() as connection:
        find_operator(connection, name)
        trainings = []
        for task in trained_tasks(connection, name):
            document = certification_for(connection, name, task)
            if document is None:
                continue
            found = read_training(connection, name, task, document)
            phases = [PhaseFacts.model_validate(asdict(each)) for each in found.phases]
            trainings.append(TrainingFacts(task=task, document=found.document,
                                           ready=found.is_ready, phases=phases))  # fmt: skip
    log_view(studio, actor, what="training", operator=name)
    return trainings


@ROUTER.get("/fatigue")
def fatigue(
    studio: StudioDep,
    actor: Reader,
    query: Annotated[str, Query(max_length=_LONGEST_QUERY)] = "",
    days: Annotated[int | None, Query(ge=1, le=MOST_DAYS)] = None,
) -> FatigueFacts:
    """How episodes drift with time since the last break, over people together."""
    with studio.workspace.database.read() as connection:
        report = read_fatigue(connection, read_scope(connection, query, days))
    if not sees_group(actor, report.people):
        return FatigueFacts(people=None, sessions=None, breaks=None, drifts=[],
                            hidden=why_hidden(actor))  # fmt: skip
    drifts = [
        DriftFacts(outcome=each.outcome, episodes=each.episodes, seen=each.is_seen,
                   words=each.words)
        for each in sorted(report.drifts, key=lambda each: OUTCOMES.index(each.outcome))
    ]  # fmt: skip
    return FatigueFacts(people=report.people, sessions=report.sessions, breaks=report.breaks,
                        drifts=drifts, hidden=None)  # fmt: skip


def _facts(connection: Connection, operator: Operator, done: Experience | None) -> OperatorFacts:
    stamp = datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    return OperatorFacts(
        name=operator.name,
        hours_before=operator.hours_before,
        left=operator.left_at is not None,
        certificates=[
            CertificateFacts(task=each.task, valid_from=each.valid_from, ends=each.ends,
                             holds=each.holds(stamp), revoked_why=each.revoked_why)
            for each in list_certificates(connection, operator=operator.name)
        ],
        episodes=None if done is None else done.episodes,
        hours=None if done is None else done.hours,
    )  # fmt: skip
