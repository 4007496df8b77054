"""A queue as a lead asks for it, and its tasks made in the background, proposals first."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, fields, replace
from weakref import WeakKeyDictionary

from sqlalchemy import Connection, select

from corporeal.catalog.audit import Change, events_of_kind, record
from corporeal.catalog.database import CatalogError, Database
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor
from corporeal.catalog.query import count_episodes, every_episode
from corporeal.catalog.tables import LABEL_TASK
from corporeal.episode import Episode
from corporeal.episode.recording import recording_of
from corporeal.errors import CorporealError
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.frames import Frames, frames_in
from corporeal.labelling.labels.versions import labelled_under
from corporeal.labelling.proposal import propose
from corporeal.labelling.tasks.creation import (
    TaskOptions,
    busy_episodes,
    check_queue_name,
    create_tasks,
)
from corporeal.labelling.tasks.label_task import TaskKind
from corporeal.labelling.taxonomy import Taxonomy, find_taxonomy

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


AT_ONCE = 40
"""Episodes whose tasks are made together: what a server that dies has to propose again."""


@dataclass(frozen=True)
class QueueSource:
    """What a queue is made from: the catalogue, how an episode is opened by id, and for whom."""

    database: Database
    open_episode: Callable[[str], AbstractContextManager[Episode]]
    by: Actor


@dataclass
class QueueBuild:
    """How far the making of a queue is; `error` also names the last episode that was left out."""

    wanted: int
    made: int
    proposed: int
    is_running: bool
    error: str | None


class QueueBuilder:
    """The queues of a catalogue that are being made, one thread for each."""

    def __init__(self) -> None:
        self._builds: dict[str, QueueBuild] = {}
        self._lock = threading.Lock()

    def progress(self) -> dict[str, QueueBuild]:
        """How far each queue is now; those that nobody works on since the start are left out."""
        with self._lock:
            return {name: replace(build) for name, build in self._builds.items()}

    def start(self, request: QueueRequest, episodes: Sequence[str], source: QueueSource) -> None:
        """Make the tasks of these episodes, unless that goes on already."""
        with self._lock:
            build = self._builds.get(request.name)
            if build is not None and build.is_running:
                return
            build = self._builds[request.name] = _begun(len(episodes))
        work = threading.Thread(
            target=_make, args=(request, list(episodes), source, build), daemon=True,
            name=f"labels-{request.name}",
        )  # fmt: skip
        work.start()

    def resume(self, request: QueueRequest, source: QueueSource) -> None:
        """Go on with a queue that a server has died over, once after it was started again."""
        if request.name in self._builds:
            return
        with source.database.read() as connection:
            left = plan_queue(connection, request).episodes
        if left:
            self.start(request, left, source)
        else:
            self._builds[request.name] = _begun(0, is_running=False)


_BUILDERS: WeakKeyDictionary[Database, QueueBuilder] = WeakKeyDictionary()
_LOCK = threading.Lock()


def builder_for(database: Database) -> QueueBuilder:
    """The one that works for this catalogue."""
    with _LOCK:
        return _BUILDERS.setdefault(database, QueueBuilder())


def _begun(wanted: int, *, is_running: bool = True) -> QueueBuild:
    return QueueBuild(wanted, made=0, proposed=0, is_running=is_running, error=None)


def _make(
    request: QueueRequest, episodes: Sequence[str], source: QueueSource, build: QueueBuild
) -> None:
    try:
        with source.database.read() as connection:
            taxonomy = find_taxonomy(connection, request.taxonomy)
        for first in range(0, len(episodes), AT_ONCE):
            _make_some(request, episodes[first : first + AT_ONCE], taxonomy, source, build)
    except CorporealError as error:
        build.error = str(error)
    finally:
        if build.made < build.wanted and build.error is None:
            build.error = "Studio failed to make the rest of this queue; its log says why."
        build.is_running = False


def _make_some(
    request: QueueRequest,
    episodes: Sequence[str],
    taxonomy: Taxonomy,
    source: QueueSource,
    build: QueueBuild,
) -> None:
    starts: dict[str, Annotation] = {}
    frames: dict[str, Frames] = {}
    readable: list[str] = []
    for name in episodes:
        try:
            proposal, counted = _propose(request, name, taxonomy, source)
        except CorporealError as error:
            build.error = f"{name} was left out: {error}"
            continue
        finally:
            build.made += 1
        readable.append(name)
        if proposal is not None:
            starts[name] = proposal
            build.proposed += 1
        if counted is not None:
            frames[name] = counted
    with source.database.write() as connection:
        create_tasks(connection, readable, taxonomy, request.options, by=source.by, starts=starts,
                     frames=frames)  # fmt: skip


def _propose(
    request: QueueRequest, name: str, taxonomy: Taxonomy, source: QueueSource
) -> tuple[Annotation | None, Frames | None]:
    """What the signals of an episode propose, and the frames that its boundaries lie on."""
    with source.database.read() as connection:
        task = find_episode(connection, name).task
    with source.open_episode(name) as episode:
        recording = recording_of(episode)
        frames = frames_in(recording)
        if frames is None or request.kind != "annotate":
            return None, frames
        return propose(recording, taxonomy, task=task), frames
