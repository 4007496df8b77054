"""How far the queues are, what they offer to whom, and who did how much."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, case, func, select

from corporeal.catalog.permission import Actor, may
from corporeal.catalog.query import Condition, episode_meets
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.queues.assignment import was_returned_by
from corporeal.labelling.queues.qualification import is_qualified
from corporeal.labelling.queues.queue_builder import (
    QueueBuild,
    QueueBuilder,
    QueueRequest,
    queue_requests,
)
from corporeal.labelling.tasks.label_task import TaskKind
from corporeal.labelling.tasks.task_lists import BLIND, IS_WORK
from corporeal.labelling.taxonomy import kept_taxonomy

_NEEDS = LABEL_TASK.c.settings["needs_qualification"].as_boolean()
_IS_LABELLING = LABEL_TASK.c.kind != "adjudicate"


@dataclass(frozen=True)
class QueueProgress:
    """Tasks of a queue by their state; gold is not counted."""

    queue: str
    kinds: dict[str, int]
    states: dict[str, int]
    people: dict[str, int]
    seconds: float
    edits: int

    @property
    def total(self) -> int:
        """All tasks that were not dropped."""
        return sum(self.states.values()) - self.states.get("dropped", 0)

    @property
    def done(self) -> int:
        """Tasks that are over and have their labels."""
        return self.states.get("done", 0)


@dataclass(frozen=True)
class QueueOffer:
    """A queue as somebody sees it who could take a task of it."""

    queue: str
    kind: TaskKind
    taxonomy: str
    open: int
    mine: int
    may_take: bool
    why_not: str | None


@dataclass(frozen=True)
class QueueFacts:
    """A queue as a lead sees it."""

    name: str
    kind: TaskKind
    taxonomy: str
    taxonomy_hash: str
    counts: dict[str, int]
    total: int
    episodes: int
    pairs: int
    without_proposal: int
    seconds: float
    people: list[str]
    needs_qualification: bool
    query: str | None
    created_by: str
    created_at: str
    making: QueueBuild | None


@dataclass(frozen=True)
class PersonalWork:
    """How much somebody has labelled: tasks that are over, in work and handed in; time spent."""

    done: int = 0
    working: int = 0
    seconds: float = 0.0
    handed_in: int = 0

    @property
    def seconds_per_task(self) -> float | None:
        """How long one takes them; None while nobody can tell."""
        return self.seconds / self.handed_in if self.handed_in and self.seconds else None


def queues(connection: Connection, *, queue: str | None = None) -> list[QueueProgress]:
    """Every queue in the order of names."""
    held = LABEL_TASK.c
    query = (
        select(held.queue, held.kind, held.state, held.assigned_to, func.count().label("tasks"),
               func.sum(held.seconds).label("seconds"), func.sum(held.version).label("edits"))
        # Gold was never anybody's to do.
        .where((held.kind != "qualify") | held.assigned_to.is_not(None))
        .group_by(held.queue, held.kind, held.state, held.assigned_to)
        .order_by(held.queue)
    )  # fmt: skip
    if queue is not None:
        query = query.where(held.queue == queue)
    sums: dict[str, dict[str, Any]] = {}
    for row in connection.execute(query):
        into = sums.setdefault(
            row.queue, {"kinds": {}, "states": {}, "people": {}, "seconds": 0.0, "edits": 0}
        )
        for name, value in (("kinds", row.kind), ("states", row.state),
                            ("people", row.assigned_to)):  # fmt: skip
            if value is not None:
                into[name][value] = into[name].get(value, 0) + int(row.tasks)
        into["seconds"] += float(row.seconds or 0.0)
        into["edits"] += int(row.edits or 0)
    return [QueueProgress(queue=name, **values) for name, values in sums.items()]


def all_queues(connection: Connection, builder: QueueBuilder) -> list[QueueFacts]:
    """Every queue with how far it is, the newest first; requests without a task yet among them."""
    # Asked before anything is counted: the tasks of a queue that is done are all in the count.
    builds = builder.progress()
    counts: dict[str, dict[str, int]] = {}
    grouped = (LABEL_TASK.c.queue, LABEL_TASK.c.state)
    query = select(*grouped, func.count()).where(IS_WORK, _IS_LABELLING)
    for name, state, number in connection.execute(query.group_by(*grouped)):
        counts.setdefault(name, {})[state] = number
    sums = {row["queue"]: row for row in connection.execute(_sums()).mappings()}
    people: dict[str, list[str]] = {}
    pairs = (LABEL_TASK.c.queue, LABEL_TASK.c.assigned_to)
    named = select(*pairs).where(LABEL_TASK.c.assigned_to.is_not(None)).distinct().order_by(*pairs)
    for name, who in connection.execute(named):
        people.setdefault(name, []).append(who)
    asked = queue_requests(connection)
    made = [
        _queue(connection, name, sums.get(name), asked.get(name), counts.get(name, {}),
               people.get(name, []), builds.get(name))
        for name in dict.fromkeys([*asked, *sums])
    ]  # fmt: skip
    return sorted(made, key=lambda each: each.created_at, reverse=True)


def count_states(
    connection: Connection, where: Condition
) -> tuple[dict[str, dict[str, int]], float]:
    """Tasks to annotate of episodes that `where` holds for: by queue and state; seconds in all."""
    grouped = (LABEL_TASK.c.queue, LABEL_TASK.c.state)
    rows = connection.execute(
        select(*grouped, func.count(), func.sum(LABEL_TASK.c.seconds))
        .where(episode_meets(LABEL_TASK.c.episode, where))
        .where(LABEL_TASK.c.kind == "annotate", LABEL_TASK.c.state != "dropped")
        .group_by(*grouped)
        .order_by(LABEL_TASK.c.queue)
    ).all()
    counts: dict[str, dict[str, int]] = {}
    for queue, state, number, _ in rows:
        counts.setdefault(queue, {})[state] = int(number)
    return counts, math.fsum(float(spent or 0.0) for *_, spent in rows)


def list_offers(connection: Connection, *, by: Actor) -> list[QueueOffer]:
    """Queues that have something for somebody, tests first."""
    free = (LABEL_TASK.c.state == "open") & LABEL_TASK.c.assigned_to.is_(None)
    begun = (LABEL_TASK.c.assigned_to == by.name) & LABEL_TASK.c.state.in_(
        ("open", "working", "returned")
    )
    twin = LABEL_TASK.alias("twin")
    # The other one of a pair is not for whoever has the first, and they are not told of it.
    is_other = select(twin.c.id).where(
        twin.c.pair == LABEL_TASK.c.pair, twin.c.assigned_to == by.name
    )
    grouped = (LABEL_TASK.c.queue, LABEL_TASK.c.kind, LABEL_TASK.c.taxonomy)
    rows = connection.execute(
        select(
            *grouped,
            func.count()
            .filter(free & ~is_other.exists() & ~was_returned_by(by.name))
            .label("open"),
            func.count().filter(begun).label("mine"),
            func.max(case((_NEEDS.is_(True), 1), else_=0)).label("needs"),
        )
        .where(_IS_LABELLING)
        .group_by(*grouped)
        .order_by(LABEL_TASK.c.kind.desc(), LABEL_TASK.c.queue)
    ).all()
    offers = []
    for queue, kind, taxonomy, free_tasks, mine, needs in rows:
        passed = is_qualified(connection, by.name, taxonomy)
        is_test = kind == "qualify"
        left = 0 if is_test and passed else free_tasks + mine
        if not left and not (is_test and not passed):
            continue
        may_take = is_test or not needs or passed or may(by, "judge")
        offers.append(QueueOffer(
            queue=queue, kind=kind, taxonomy=kept_taxonomy(connection, taxonomy).reference,
            open=left, mine=mine, may_take=may_take,
            why_not=None if may_take else "Take the test for this taxonomy first.",
        ))  # fmt: skip
    return offers


def work_by_person(connection: Connection, *, name: str | None = None) -> dict[str, PersonalWork]:
    """How much everybody has labelled who ever had a task, or only the one of this name."""
    state, who = LABEL_TASK.c.state, LABEL_TASK.c.assigned_to
    query = (
        select(
            who,
            func.count().filter(state == "done"),
            func.count().filter(state.in_(("working", "returned"))),
            func.sum(LABEL_TASK.c.seconds),
            func.count().filter(state.in_(("submitted", "done"))),
        )
        .where(who.is_not(None) if name is None else who == name, _IS_LABELLING)
        .group_by(who)
        .order_by(who)
    )
    return {str(person): PersonalWork(int(done), int(working), float(seconds or 0), int(given))
            for person, done, working, seconds, given in connection.execute(query)}  # fmt: skip


def _sums() -> Select[Any]:
    return (
        select(
            LABEL_TASK.c.queue,
            func.min(LABEL_TASK.c.kind).label("kind"),
            func.max(LABEL_TASK.c.taxonomy).label("taxonomy"),
            func.count(LABEL_TASK.c.episode.distinct()).label("episodes"),
            func.count(LABEL_TASK.c.pair.distinct()).label("pairs"),
            func.count(LABEL_TASK.c.id).filter(BLIND.is_(True)).label("blind"),
            func.count(LABEL_TASK.c.id).filter(_NEEDS.is_(True)).label("needs"),
            func.sum(LABEL_TASK.c.seconds).label("seconds"),
            func.min(LABEL_TASK.c.created_by).label("created_by"),
            func.min(LABEL_TASK.c.created_at).label("created_at"),
        )
        .where(_IS_LABELLING)
        .group_by(LABEL_TASK.c.queue)
    )


def _queue(
    connection: Connection,
    name: str,
    row: Mapping[Any, Any] | None,
    request: QueueRequest | None,
    counts: dict[str, int],
    people: list[str],
    build: QueueBuild | None,
) -> QueueFacts:
    digest = str(row["taxonomy"]) if row else ""
    reference = kept_taxonomy(connection, digest).reference if row else ""
    return QueueFacts(
        name=name,
        kind=request.kind if request else row["kind"] if row else "annotate",
        taxonomy=request.taxonomy if request else reference,
        taxonomy_hash=digest,
        counts=counts,
        total=sum(counts.values()),
        episodes=int(row["episodes"]) if row else 0,
        pairs=int(row["pairs"]) if row else 0,
        without_proposal=int(row["blind"]) if row else 0,
        seconds=float(row["seconds"] or 0) if row else 0.0,
        people=people,
        needs_qualification=bool(row and row["needs"])
        or bool(request and request.needs_qualification),
        query=request.query if request else None,
        created_by=request.by if request else str(row["created_by"]) if row else "",
        created_at=request.at if request else str(row["created_at"]) if row else "",
        making=build if build is not None and build.wanted else None,
    )
