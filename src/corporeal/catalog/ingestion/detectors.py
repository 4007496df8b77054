"""Detectors of unusual seconds: learnt from the good episodes of a task, kept in the catalogue."""

from __future__ import annotations

import base64
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from sqlalchemy import Connection

from corporeal.catalog.audit import Change, record
from corporeal.catalog.episodes.peers import GOOD, count_good, in_chance_order
from corporeal.catalog.episodes.reading import documents_of_kind
from corporeal.catalog.episodes.rows import DocumentRow, EpisodeRow
from corporeal.catalog.episodes.writing import keep_document
from corporeal.catalog.query.listing import every_episode
from corporeal.catalog.query.tree import Condition
from corporeal.catalog.store.remote_episode import open_remote
from corporeal.catalog.store.store import Store
from corporeal.catalog.workspace.workspace import Workspace
from corporeal.episode.recording import recording_of
from corporeal.errors import CorporealError, NotAssessed
from corporeal.quality import Subject
from corporeal.quality.anomaly import (
    AnomalyDetector,
    Channels,
    channels_of,
    envelope,
    network,
    pack_detector,
    unpack_detector,
)
from corporeal.runner import run

KIND = "detector"
MOST_EXAMPLES = 60
"""Good episodes that a detector learns from; of more, some by chance."""
ANY_TASK = "any task"
LearnStatus = Literal["learnt", "current", "not learnt"]


@dataclass(frozen=True)
class LearnOptions:
    """How to learn: a network or robust statistics, with pictures or without, on which runner.

    `together` makes one detector of all tasks of a robot that have too few episodes of their own.
    """

    network: bool = False
    pictures: bool = True
    together: bool = False
    on: str = "processes"
    jobs: int = 1


@dataclass(frozen=True)
class LearntTask:
    """What became of one task and robot.

    `current` has a detector of the same episodes already, `not learnt` says why in `reason`.
    `alarms` are the good `episodes` that what the others teach would flag, where that was tried.
    """

    task: str | None
    robot: str | None
    status: LearnStatus
    episodes: int
    detector: str | None = None
    sees: tuple[str, ...] = ()
    alarms: int | None = None
    reason: str | None = None


@dataclass(frozen=True, eq=False)
class KeptDetector:
    """A detector of the catalogue, and the document that it is kept as."""

    document: DocumentRow
    detector: AnomalyDetector
    facts: Mapping[str, Any]
    """What it learnt from: `episodes` (ids), `pictures`, `kind`."""


def find_detector(
    connection: Connection, task: str | None, robot: str | None
) -> KeptDetector | None:
    """The latest detector of a task and robot; of any task of the robot, where it has none."""
    name = _name_of(task, robot)
    own = documents_of_kind(connection, KIND, name=name)
    if not own and task != ANY_TASK:
        return find_detector(connection, ANY_TASK, robot)
    if not own:
        return None
    latest = max(own, key=lambda row: int(row.version))
    facts = json.loads(latest.text)
    packed = base64.b64decode(facts.pop("detector"))
    detector = unpack_detector(packed, f"detector {name}@{latest.version}")
    if isinstance(detector, envelope.Envelope):
        tried = envelope.CrossCheck(len(facts["episodes"]), facts.get("alarms"))
        detector = replace(detector, cross_check=tried)
    return KeptDetector(latest, detector, facts)


def learn_detectors(
    workspace: Workspace,
    query: str | Condition | None,
    options: LearnOptions,
    *,
    who: str,
    on_start: Callable[[int], None] = lambda _: None,
    on_episode: Callable[[str], None] = lambda _: None,
) -> list[LearntTask]:
    """Learn a detector for every task and robot that a query finds good episodes of.

    Good are those that are accepted, annotated or released and no failed demonstration. Where the
    latest detector learnt from the same episodes nothing is learnt; each other one is the next
    version, and an event. What was judged before is judged by it with `rejudge`.
    """
    groups: dict[tuple[str | None, str | None], list[EpisodeRow]] = defaultdict(list)
    with workspace.database.read() as connection:
        for row in every_episode(connection, query):
            if row.state in GOOD and row.success is not False:
                groups[row.task, row.robot].append(row)
    if options.together:
        least = network.LEAST if options.network else envelope.LEAST
        for task, robot in [kind for kind, rows in groups.items() if len(rows) < least]:
            groups[ANY_TASK, robot] += groups.pop((task, robot))
    chosen = {kind: in_chance_order(rows, MOST_EXAMPLES) for kind, rows in groups.items()}
    on_start(sum(map(len, chosen.values())))
    told = []
    for (task, robot), rows in chosen.items():
        with workspace.database.read() as connection:
            before = _own_detector(connection, task, robot)
        if before is not None and _same(before.facts, rows, options):
            named = f"{before.document.name}@{before.document.version}"
            told.append(LearntTask(task, robot, "current", len(rows), named))
            for row in rows:
                on_episode(row.file)
        else:
            told.append(_learn(workspace, task, robot, rows, options, who, on_episode))
    return told


def count_unlearnt(connection: Connection) -> list[tuple[str | None, str | None, int]]:
    """Tasks and robots with enough good episodes for a detector that they do not have."""
    good = count_good(connection)
    kinds = [(task, robot, count) for task, robot, count in good if count >= envelope.LEAST]
    return [kind for kind in kinds if find_detector(connection, *kind[:2]) is None]


def _own_detector(
    connection: Connection, task: str | None, robot: str | None
) -> KeptDetector | None:
    kept = find_detector(connection, task, robot)
    return kept if kept is not None and kept.document.name == _name_of(task, robot) else None


def _same(facts: Mapping[str, Any], rows: Sequence[EpisodeRow], options: LearnOptions) -> bool:
    wanted = {
        "kind": _kind(options),
        "pictures": options.pictures,
        "episodes": sorted(row.id for row in rows),
    }
    return all(facts.get(name) == value for name, value in wanted.items())


def _learn(
    workspace: Workspace,
    task: str | None,
    robot: str | None,
    rows: Sequence[EpisodeRow],
    options: LearnOptions,
    who: str,
    on_episode: Callable[[str], None],
) -> LearntTask:
    examples, unread = _look_at(workspace.store, rows, options, on_episode)
    alarms: int | None = None
    try:
        if options.network:
            pairs = [(channels, task) for channels in examples]
            learnt: AnomalyDetector = network.trained(pairs)
            sees = examples[0].names
        else:
            usual = envelope.envelope(examples)
            learnt, sees, alarms = usual, usual.names, envelope.count_alarms(examples)
    except NotAssessed as reason:
        why = f"{reason}; {unread}" if unread else str(reason)
        return LearntTask(task, robot, "not learnt", len(rows), reason=why)
    facts = {
        "document": KIND, "kind": _kind(options), "task": task, "robot": robot, "sees": sees,
        "pictures": options.pictures, "alarms": alarms,
        "episodes": sorted(row.id for row in rows),
    }  # fmt: skip
    named = _keep(workspace, task, robot, facts, pack_detector(learnt), who=who)
    return LearntTask(task, robot, "learnt", len(examples), named, sees, alarms, unread)


def _look_at(
    store: Store,
    rows: Sequence[EpisodeRow],
    options: LearnOptions,
    on_episode: Callable[[str], None],
) -> tuple[list[Channels], str | None]:
    """The channels of episodes, and why those without are left out."""
    found: dict[int, Channels] = {}
    reasons: list[str] = []
    work = partial(_channels, store, options.pictures)
    with closing(run(work, rows, on=options.on, jobs=options.jobs)) as results:
        for done in results:
            row = rows[done.place]
            on_episode(row.file)
            if isinstance(done.value, Channels):
                found[done.place] = done.value
            else:
                reasons.append(f"{row.file}: {done.value or done.error}")
    more = f", and {len(reasons) - 1} more" if len(reasons) > 1 else ""
    why = f"{reasons[0]}{more}" if reasons else None
    return [found[place] for place in sorted(found)], why


def _channels(store: Store, pictures: bool, _: None, row: EpisodeRow) -> Channels | str:
    try:
        with open_remote(store, row.hash) as episode:
            return channels_of(Subject(recording_of(episode)), pictures=pictures)
    except (CorporealError, OSError) as error:
        return str(error)


def _keep(
    workspace: Workspace,
    task: str | None,
    robot: str | None,
    facts: Mapping[str, Any],
    packed: bytes,
    *,
    who: str,
) -> str:
    """Store it as the next version; its name and version."""
    name = _name_of(task, robot)
    with workspace.database.write() as connection:
        before = _own_detector(connection, task, robot)
        version = 1 if before is None else int(before.document.version) + 1
        told = {"name": name, "version": str(version), **facts}
        text = json.dumps(told | {"detector": base64.b64encode(packed).decode()}, sort_keys=True)
        digest = "sha256:" + hashlib.sha256(text.encode()).hexdigest()
        keep_document(connection, DocumentRow(digest, KIND, name, str(version), text))
        details = {"episodes": len(facts["episodes"]), "kind": facts["kind"]}
        subject = f"{KIND}:{name}@{version}"
        record(connection, [Change(who, "learn", subject, details=details)])
    return f"{name}@{version}"


def _kind(options: LearnOptions) -> str:
    return "network" if options.network else "envelope"


def _name_of(task: str | None, robot: str | None) -> str:
    return f"{task or 'no task'}/{robot or 'no robot'}"
