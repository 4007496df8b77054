"""Makes the tasks of a queue in the background: proposals first, some episodes at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import find_episode
from corporeal.catalog.permission import Actor
from corporeal.episode import Episode
from corporeal.episode.recording import recording_of
from corporeal.errors import CorporealError
from corporeal.labelling.annotation import Annotation
from corporeal.labelling.frames import Frames, frames_in
from corporeal.labelling.proposal import propose
from corporeal.labelling.queues.queue_request import QueueRequest, plan_queue
from corporeal.labelling.tasks.creation import create_tasks
from corporeal.labelling.taxonomy.document import Taxonomy
from corporeal.labelling.taxonomy.taxonomy_store import find_taxonomy

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

    def progress(self, name: str) -> QueueBuild | None:
        """How far a queue is; None for one that nobody works on since the server started."""
        return self._builds.get(name)

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
