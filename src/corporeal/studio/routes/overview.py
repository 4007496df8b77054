"""The start page: how much there is, this week against the last, and what waits for the visitor."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal
from urllib.parse import quote

from fastapi import APIRouter
from pydantic import BaseModel
from sqlalchemy import Connection

from corporeal.catalog.audit import stamp_of
from corporeal.catalog.episodes import list_halts
from corporeal.catalog.people import list_certificates, list_operators
from corporeal.catalog.permission import Actor, may
from corporeal.catalog.query import Comparison, Within, count_of, sum_episodes, sum_of
from corporeal.labelling.queues import list_offers
from corporeal.labelling.tasks import TaskState, list_tasks
from corporeal.operations.review import progress_of, reviews
from corporeal.operations.scope import Scope, read_scope
from corporeal.studio.authentication import Reader
from corporeal.studio.context import StudioDep
from corporeal.studio.response_cache import ResponseCache
from corporeal.words import counted

ROUTER = APIRouter(tags=["overview"])
_WEEK = 7
# Reviews whose progress is counted; the newest are the ones at work.
_MOST_REVIEWS = 20
_SUBMITTED: tuple[TaskState, ...] = ("submitted",)
WorkKind = Literal["halt", "episodes", "review", "labels", "submitted", "certificates"]
# So long before a certificate ends there is time for the phase that renews it.
_ENDS_WITHIN = timedelta(days=14)


class EpisodeTotals(BaseModel):
    """Episodes and what was judged of them; `waiting` are quarantined or not checked."""

    episodes: int
    seconds: float
    accepted: int
    waiting: int
    failed: int


class WaitingWork(BaseModel):
    """Something that waits for the visitor: in words, and where it is done."""

    kind: WorkKind
    count: int
    words: str
    address: str


class WorkspaceOverview(BaseModel):
    """What there is, by when it was recorded, and what is to be done.

    `folder` is that of the workspace, as a command line names it, for those who may ingest.
    """

    total: EpisodeTotals
    this_week: EpisodeTotals
    last_week: EpisodeTotals
    waiting: list[WaitingWork]
    folder: str | None


_TOTALS: ResponseCache[tuple[EpisodeTotals, EpisodeTotals, EpisodeTotals]] = ResponseCache()


@ROUTER.get("/overview")
def overview(studio: StudioDep, actor: Reader) -> WorkspaceOverview:
    """Totals, this week and the week before it, and what waits for whoever asks."""
    total, this, last = _TOTALS.get(studio.workspace.database, "totals", _totals)
    with studio.workspace.database.read() as connection:
        waiting = list(_waiting(connection, actor))
    may_ingest = may(actor, "ingest") and not studio.settings.read_only
    return WorkspaceOverview(
        total=total,
        this_week=this,
        last_week=last,
        waiting=waiting,
        folder=shlex.quote(str(studio.workspace.root.resolve())) if may_ingest else None,
    )


def _totals(connection: Connection) -> tuple[EpisodeTotals, EpisodeTotals, EpisodeTotals]:
    everything = read_scope(connection)
    this = replace(everything, parts=(Within("recorded", _WEEK, "days"),))
    both = replace(everything, parts=(Within("recorded", 2 * _WEEK, "days"),))
    now, fortnight = _sum(connection, this), _sum(connection, both)
    last = EpisodeTotals(
        **{name: value - getattr(now, name) for name, value in fortnight.model_dump().items()}
    )
    return _sum(connection, everything), now, last


def _sum(connection: Connection, scope: Scope) -> EpisodeTotals:
    """Counted by verdict in one query: of 100,000 episodes that is what a page can wait for."""
    rows = sum_episodes(
        connection, scope.condition, count_of(), sum_of("duration_s"), by=("verdict",)
    )
    by_verdict = {verdict: int(count) for verdict, count, _ in rows}
    episodes = sum(by_verdict.values())
    accepted, failed = by_verdict.get("accepted", 0), by_verdict.get("failed", 0)
    return EpisodeTotals(
        episodes=episodes,
        seconds=sum(float(seconds or 0.0) for _, _, seconds in rows),
        accepted=accepted,
        waiting=episodes - accepted - failed,
        failed=failed,
    )


def _waiting(connection: Connection, actor: Actor) -> Iterator[WaitingWork]:
    """The urgent first: a halted station costs episodes while nobody looks."""
    for halt in list_halts(connection, lifted=False):
        station = f"station {halt.station}" if halt.station else f"calibration {halt.calibration}"
        held = counted(halt.held, "episode")
        words = f"{station} is halted: {halt.why} ({held} held)"
        yield _work("halt", halt.held, words, "/calibrations")
    if may(actor, "judge"):
        yield from _for_judges(connection, actor)
    if may(actor, "annotate"):
        yield from _for_annotators(connection, actor)


def _for_judges(connection: Connection, actor: Actor) -> Iterator[WaitingWork]:
    scope = replace(read_scope(connection), parts=(Comparison("verdict", "=", "quarantined"),))
    count = int(sum_episodes(connection, scope.condition, count_of())[0][0])
    if count:
        words = f"{counted(count, 'episode')} in quarantine to decide"
        yield _work("episodes", count, words, _listed(scope.query()))
    ending = _ending(connection)
    if ending:
        days = _ENDS_WITHIN.days
        words = f"{counted(ending, 'certificate')} to renew within {days} days"
        yield _work("certificates", ending, words, "/operators")
    submitted = len(list_tasks(connection, by=actor, states=_SUBMITTED))
    if submitted:
        words = f"{counted(submitted, 'labelled episode')} to look at"
        yield _work("submitted", submitted, words, "/labels/submitted")


def _ending(connection: Connection) -> int:
    """How many certificates of people who collect end soon, with none that goes on."""
    now = datetime.now(UTC)
    stamp, soon = stamp_of(now), stamp_of(now + _ENDS_WITHIN)
    here = {each.name for each in list_operators(connection)}
    given = [each for each in list_certificates(connection) if each.operator in here]
    holders = {(each.operator, each.task) for each in given if each.holds(stamp)}
    going_on = {(each.operator, each.task) for each in given if each.holds(soon)}
    return len(holders - going_on)


def _for_annotators(connection: Connection, actor: Actor) -> Iterator[WaitingWork]:
    for review in [each for each in reviews(connection) if each.closed_at is None][:_MOST_REVIEWS]:
        progress = progress_of(connection, review)
        left = progress.items - progress.decided
        if left:
            words = f"{counted(left, 'episode')} to review in {review.name}"
            yield _work("review", left, words, f"/review/{quote(review.name)}")
    for offer in list_offers(connection, by=actor):
        if offer.may_take and offer.open:
            words = f"{counted(offer.open, 'episode')} to label in {offer.queue}"
            yield _work("labels", offer.open, words, "/labels")


def _work(kind: WorkKind, count: int, words: str, address: str) -> WaitingWork:
    return WaitingWork(kind=kind, count=count, words=words, address=address)


def _listed(query: str) -> str:
    return f"/episodes?query={quote(query)}"
