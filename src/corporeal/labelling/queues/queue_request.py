"""A request for a queue: which episodes, under which taxonomy; the audit log remembers it."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields

from sqlalchemy import Connection, select

from corporeal.catalog.audit import Change, events_of_kind, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import count_episodes, every_episode
from corporeal.catalog.tables import LABEL_TASK
from corporeal.labelling.labels.versions import labelled_under
from corporeal.labelling.tasks.creation import TaskOptions, busy_episodes, check_queue_name
from corporeal.labelling.tasks.label_task import TaskKind
from corporeal.labelling.taxonomy.taxonomy_store import find_taxonomy

LEAST_DOUBLE = 0.1
MOST_EPISODES = 50_000
_KIND = "label_queue"


@dataclass(frozen=True)
class QueueRequest:
    """What a lead asked for; `taxonomy` is name@version."""

    name: str
    query: str
    taxonomy: str
    double_share: float
    blind_share: float
    needs_qualification: bool
    skip_labelled: bool
    kind: TaskKind
    by: str
    at: str = ""

    @property
    def options(self) -> TaskOptions:
        """The options of its tasks."""
        return TaskOptions(
            self.name, self.kind, self.double_share, self.blind_share,
            again=not self.skip_labelled, needs_qualification=self.needs_qualification,
        )  # fmt: skip


@dataclass(frozen=True)
class QueuePlan:
    """What a request comes to: episodes that are found, labelled already, in work, and left."""

    found: int
    labelled: int
    busy: int
    episodes: tuple[str, ...]
    doubles: int
    blind: int
    hours: float | None

    @property
    def tasks(self) -> int:
        """How many tasks it makes."""
        return len(self.episodes) + self.doubles


def plan_queue(connection: Connection, request: QueueRequest) -> QueuePlan:
    """What a request comes to, as things stand."""
    found = count_episodes(connection, request.query or None)
    if found > MOST_EPISODES:
        raise CatalogError(
            f"query, got {found:,} episodes; expected up to {MOST_EPISODES:,}. Ask for fewer."
        )
    rows = {row.id: row for row in every_episode(connection, request.query or None)
            if row.state != "erased"}  # fmt: skip
    digest = find_taxonomy(connection, request.taxonomy).hash
    labelled = set(labelled_under(connection, digest, holding=True)) & set(rows)
    busy = busy_episodes(connection, digest, request.kind) & set(rows)
    made = _in_queue(connection, request.name)
    if request.kind == "qualify":
        left = tuple(name for name in rows if name in labelled and name not in made)
        return QueuePlan(len(rows), len(labelled), 0, left, 0, 0, None)
    out = made | busy | (labelled if request.skip_labelled else set())
    left = tuple(name for name in rows if name not in out)
    doubles = math.ceil(request.double_share * len(left) - 1e-9)
    blind = math.ceil(request.blind_share * (len(left) + doubles) - 1e-9)
    hours = _hours(connection, len(left) + doubles)
    return QueuePlan(len(rows), len(labelled), len(busy - labelled), left, doubles, blind, hours)


def record_request(connection: Connection, request: QueueRequest, *, by: Actor) -> None:
    """Write a request down, inside a transaction; raises CatalogError for a name that is taken."""
    check_queue_name(request.name)
    taken = select(LABEL_TASK.c.id).where(LABEL_TASK.c.queue == request.name).limit(1)
    if request.name in queue_requests(connection) or connection.execute(taken).first() is not None:
        raise CatalogError(f"queue {request.name!r} exists already. Choose another name.")
    details = {name: value for name, value in asdict(request).items() if name not in ("by", "at")}
    record(connection, [Change(by.name, "label queue", f"{_KIND}:{request.name}", details=details)])


def queue_requests(connection: Connection) -> dict[str, QueueRequest]:
    """Every request by its queue's name, the newest first."""
    known = {each.name for each in fields(QueueRequest)}
    requests = {}
    for event in reversed(list(events_of_kind(connection, _KIND))):
        values = {name: value for name, value in event["details"].items() if name in known}
        made = QueueRequest(**values | {"by": event["who"], "at": event["at"]})
        requests[made.name] = made
    return requests


def _in_queue(connection: Connection, name: str) -> set[str]:
    query = select(LABEL_TASK.c.episode).where(LABEL_TASK.c.queue == name)
    return set(connection.execute(query).scalars())


def _hours(connection: Connection, tasks: int) -> float | None:
    """How long it will take people, from what tasks have taken them so far."""
    query = select(LABEL_TASK.c.seconds).where(
        LABEL_TASK.c.kind == "annotate", LABEL_TASK.c.state.in_(("submitted", "done")),
        LABEL_TASK.c.seconds > 0,
    )  # fmt: skip
    spent = list(connection.execute(query.limit(2000)).scalars())
    return None if not spent else sum(spent) / len(spent) * tasks / 3600
