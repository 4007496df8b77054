"""Episodes to compare with: synopses of those that are there, and what a task is scored against."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, func, insert, or_, select

from corporeal.catalog.audit import Change, now, record
from corporeal.catalog.episodes.reading import parts_of
from corporeal.catalog.episodes.rows import EpisodeRow
from corporeal.catalog.tables import EPISODE, REFERENCE, SYNOPSIS
from corporeal.errors import CorporealError
from corporeal.quality.synopsis import unpack_synopsis

MOST_PEERS = 200
"""Stored episodes that new ones are compared with: the latest of their task and robot."""
LEAST_REFERENCE, MOST_REFERENCE = 8, 60
"""Good episodes that a reference takes."""
GOOD = ("accepted", "annotated", "released")
"""States of episodes that others are compared with."""


@dataclass(frozen=True)
class Peer:
    """A stored episode to compare with: its synopsis as bytes, and what it says of itself."""

    id: str
    batch: str | None
    content: bytes
    metadata: Mapping[str, Any]
    ingested_at: str


@dataclass(frozen=True)
class Reference:
    """The episodes that a task and robot are scored against: profiles as bytes, by id."""

    task: str
    robot: str
    version: int
    profiles: Mapping[str, bytes]

    @property
    def name(self) -> str:
        """Such as `reach/g1@2`."""
        return f"{self.task or 'no task'}/{self.robot or 'no robot'}@{self.version}"


def find_peers(
    connection: Connection, task: str | None, robot: str | None, *, besides: Collection[str]
) -> list[Peer]:
    """Stored episodes of a task and robot, the latest first; failed ones are no example."""
    columns = (EPISODE.c.id, EPISODE.c.batch, SYNOPSIS.c.content, EPISODE.c.metadata,
               EPISODE.c.ingested_at)  # fmt: skip
    query = (
        select(*columns)
        .join(SYNOPSIS, SYNOPSIS.c.episode == EPISODE.c.id)
        .where(
            _same(EPISODE.c.task, task),
            _same(EPISODE.c.robot, robot),
            EPISODE.c.state != "erased",
            or_(EPISODE.c.verdict.is_(None), EPISODE.c.verdict != "failed"),
        )
        .order_by(EPISODE.c.recorded_ns.desc(), EPISODE.c.id)
        .limit(MOST_PEERS + len(besides))
    )
    peers = [Peer(*row) for row in connection.execute(query)]
    return [peer for peer in peers if peer.id not in besides][:MOST_PEERS]


def find_reference(connection: Connection, task: str | None, robot: str | None) -> Reference | None:
    """The latest reference of a task and robot. What was erased since is not in it any more."""
    where = (REFERENCE.c.task == (task or ""), REFERENCE.c.robot == (robot or ""))
    query = select(REFERENCE).where(*where).order_by(REFERENCE.c.version.desc()).limit(1)
    row = connection.execute(query).first()
    if row is None:
        return None
    profiles = dict(_profiles(connection, sorted(row.episodes)))
    return Reference(row.task, row.robot, row.version, profiles)


def measures_of(connection: Connection, ids: Sequence[str]) -> dict[str, Mapping[str, float]]:
    """What was measured of episodes for comparison, by name; those without a synopsis are left out.

    A synopsis that cannot be read any more counts as none.
    """
    measures: dict[str, Mapping[str, float]] = {}
    for part in parts_of(list(ids)):
        query = select(SYNOPSIS.c.episode, SYNOPSIS.c.content).where(SYNOPSIS.c.episode.in_(part))
        for name, content in connection.execute(query):
            with suppress(CorporealError):
                measures[name] = unpack_synopsis(content, {}, index=0).measures
    return measures


def make_reference(
    connection: Connection, task: str | None, robot: str | None, *, who: str
) -> Reference | None:
    """Make the next version of a reference of the good episodes, inside a transaction.

    It follows from which episodes are there, not from their order. None where there are too few,
    and the one before where it is of the same episodes.
    """
    query = (
        select(EPISODE.c.id)
        .join(SYNOPSIS, SYNOPSIS.c.episode == EPISODE.c.id)
        .where(
            _same(EPISODE.c.task, task),
            _same(EPISODE.c.robot, robot),
            EPISODE.c.state.in_(GOOD),
            SYNOPSIS.c.profile.is_not(None),
        )
    )
    good = sorted(connection.execute(query).scalars(), key=_by_chance)[:MOST_REFERENCE]
    before = find_reference(connection, task, robot)
    if len(good) < LEAST_REFERENCE:
        return before
    if before is not None and set(before.profiles) == set(good):
        return before
    version = 1 if before is None else before.version + 1
    made = Reference(task or "", robot or "", version, dict(_profiles(connection, sorted(good))))
    values = {"task": made.task, "robot": made.robot, "version": version, "episodes": sorted(good)}
    connection.execute(insert(REFERENCE).values(**values, made_at=now(), made_by=who))
    details = {"episodes": len(good), "version": version}
    record(connection, [Change(who, "reference", f"reference:{made.name}", details=details)])
    return made


def count_good(connection: Connection) -> list[tuple[str | None, str | None, int]]:
    """How many good episodes with a profile there are of each task and robot."""
    query = (
        select(EPISODE.c.task, EPISODE.c.robot, func.count())
        .join(SYNOPSIS, SYNOPSIS.c.episode == EPISODE.c.id)
        .where(EPISODE.c.state.in_(GOOD), SYNOPSIS.c.profile.is_not(None))
        .group_by(EPISODE.c.task, EPISODE.c.robot)
    )
    return [(task, robot, int(number)) for task, robot, number in connection.execute(query)]


def count_unreferenced(connection: Connection) -> list[tuple[str | None, str | None, int]]:
    """Tasks and robots with enough good episodes for a reference that they do not have."""
    referenced = connection.execute(select(REFERENCE.c.task, REFERENCE.c.robot).distinct())
    known = {(task, robot) for task, robot in referenced}
    return [
        (task, robot, number)
        for task, robot, number in count_good(connection)
        if number >= LEAST_REFERENCE and (task or "", robot or "") not in known
    ]


def _profiles(connection: Connection, ids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for part in parts_of(ids):
        query = select(SYNOPSIS.c.episode, SYNOPSIS.c.profile).where(
            SYNOPSIS.c.episode.in_(part), SYNOPSIS.c.profile.is_not(None)
        )
        rows = connection.execute(query.order_by(SYNOPSIS.c.episode))
        yield from ((name, profile) for name, profile in rows)


def _same(column: Any, value: str | None) -> Any:
    return column.is_(None) if value is None else column == value


def _by_chance(name: str) -> str:
    """An order that no name is favoured in, and that is the same everywhere."""
    return hashlib.sha256(name.encode()).hexdigest()


def in_chance_order(rows: Iterable[EpisodeRow], most: int) -> list[EpisodeRow]:
    """So many of the episodes, whichever order they came in."""
    return sorted(rows, key=lambda row: _by_chance(row.id))[:most]
