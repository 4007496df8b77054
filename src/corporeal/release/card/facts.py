"""What a release consists of, read from the catalogue and from nowhere else."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from sqlalchemy import ColumnElement, Connection, RowMapping, and_, select

from corporeal.catalog.database import CatalogError
from corporeal.catalog.tables import EPISODE, MEMBER, RELEASE
from corporeal.release.card.contents import (
    called,
    documents_of,
    findings_of,
    pseudonyms,
    streams_of,
    without_people,
)
from corporeal.release.card.parts import (
    UNKNOWN,
    CardColumns,
    CardShare,
    DocumentFacts,
    FindingFacts,
    Hole,
    StreamFacts,
    TaskFacts,
)

_EXPECTED = (
    "task", "robot", "operator", "station", "session", "batch", "protocol", "calibration",
    "environment", "mode", "software", "recorded_ns", "duration_s", "success", "score",
)  # fmt: skip
_ALSO = ("instruction", "failure", "verdict", "policy")
_MOST_INSTRUCTIONS = 3
_HOUR_S = 3600.0


@dataclass(frozen=True)
class CardFacts:
    """Everything that a card says of a release.

    People are counted, and called by numbers that stand in no file. `stated` is what was said
    when the release was made (licence, description, report on the splits ...).
    """

    name: str
    version: str
    manifest: str
    condition: str
    created_at: str
    stated: Mapping[str, Any]
    episodes: int
    erased: int
    hours: float
    bytes: int
    first_ns: int | None
    last_ns: int | None
    sessions: int
    batches: int
    tasks: tuple[TaskFacts, ...]
    robots: tuple[CardShare, ...]
    operators: tuple[CardShare, ...]
    stations: tuple[CardShare, ...]
    environments: tuple[CardShare, ...]
    modes: tuple[CardShare, ...]
    software: tuple[CardShare, ...]
    policies: tuple[CardShare, ...]
    outcomes: tuple[CardShare, ...]
    failures: tuple[CardShare, ...]
    verdicts: tuple[CardShare, ...]
    splits: tuple[CardShare, ...]
    streams: tuple[StreamFacts, ...]
    documents: tuple[DocumentFacts, ...]
    findings: tuple[FindingFacts, ...]
    holes: tuple[Hole, ...]
    columns: CardColumns = field(repr=False, compare=False)

    @property
    def reference(self) -> str:
        """`name@version`, how people speak of it."""
        return f"{self.name}@{self.version}"

    @property
    def licence(self) -> str | None:
        """The licence as it was stated, such as CC-BY-4.0."""
        return self.said("licence", "license")

    def said(self, *names: str) -> str | None:
        """The first of these that was stated when the release was made, as text."""
        for name in names:
            value = self.stated.get(name)
            if isinstance(value, str) and value.strip():
                return value.strip()
        return None

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `--json`; without the columns."""
        values = {name: value for name, value in vars(self).items() if name != "columns"}
        return {
            name: [asdict(each) for each in value] if isinstance(value, tuple) else value
            for name, value in values.items()
        }


def card_facts(connection: Connection, name: str, version: str) -> CardFacts:
    """Read the facts of a release; raises CatalogError when there is none of that name."""
    release = _release(connection, name, version)
    here = and_(MEMBER.c.name == name, MEMBER.c.version == version)
    rows = _rows(connection, here)
    people = pseudonyms(row["operator"] for row in rows)
    recorded = [int(row["recorded_ns"]) for row in rows if row["recorded_ns"]]

    def shares(value: Callable[[RowMapping], Any]) -> tuple[CardShare, ...]:
        return _shares(rows, value)

    return CardFacts(
        name=name,
        version=version,
        manifest=str(release["manifest"]),
        condition=without_people(connection, str(release["condition"])),
        created_at=str(release["created_at"]),
        stated=dict(release["facts"] or {}),
        episodes=len(rows),
        erased=sum(row["state"] == "erased" for row in rows),
        hours=_hours(rows),
        bytes=sum(int(row["bytes"]) for row in rows),
        first_ns=min(recorded, default=None),
        last_ns=max(recorded, default=None),
        sessions=len({row["session"] for row in rows if row["session"]}),
        batches=len({row["batch"] for row in rows if row["batch"]}),
        tasks=_tasks(rows),
        robots=shares(lambda row: row["robot"]),
        operators=shares(lambda row: called(people.get(row["operator"]))),
        stations=shares(lambda row: row["station"]),
        environments=shares(lambda row: row["environment"]),
        modes=shares(lambda row: row["mode"]),
        software=shares(lambda row: row["software"]),
        policies=shares(lambda row: row["policy"]),
        outcomes=shares(lambda row: _OUTCOMES[row["success"]]),
        failures=_shares([row for row in rows if row["failure"]], lambda row: row["failure"]),
        verdicts=shares(lambda row: row["verdict"]),
        splits=shares(lambda row: row["split"]),
        streams=streams_of(connection, here),
        documents=documents_of(connection, here),
        findings=findings_of(connection, here),
        holes=_holes(rows),
        columns=_columns(rows, people),
    )


_OUTCOMES: Mapping[bool | None, str | None] = {True: "success", False: "failure", None: None}


def _release(connection: Connection, name: str, version: str) -> RowMapping:
    query = select(RELEASE).where(RELEASE.c.name == name, RELEASE.c.version == version)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise CatalogError(
            f"release {name}@{version} is not in the catalogue. "
            "List what is there with: corporeal release list."
        )
    return row


def _rows(connection: Connection, here: ColumnElement[bool]) -> Sequence[RowMapping]:
    columns = [EPISODE.c[name] for name in ("id", "bytes", "state", *_ALSO)]
    columns += [EPISODE.c[name] for name in _EXPECTED]
    query = select(*columns, MEMBER.c.split).join(MEMBER, MEMBER.c.episode == EPISODE.c.id)
    return connection.execute(query.where(here).order_by(EPISODE.c.id)).mappings().all()


def _hours(rows: Iterable[RowMapping]) -> float:
    return sum(float(row["duration_s"] or 0.0) for row in rows) / _HOUR_S


def _shares(
    rows: Sequence[RowMapping], value: Callable[[RowMapping], Any]
) -> tuple[CardShare, ...]:
    """How many episodes have each value, the most frequent first."""
    groups: dict[str, list[RowMapping]] = {}
    for row in rows:
        said = value(row)
        groups.setdefault(UNKNOWN if said in (None, "") else str(said), []).append(row)
    made = [CardShare(name, len(members), _hours(members)) for name, members in groups.items()]
    return tuple(sorted(made, key=lambda share: (-share.episodes, share.name)))


def _tasks(rows: Sequence[RowMapping]) -> tuple[TaskFacts, ...]:
    groups: dict[str, list[RowMapping]] = {}
    for row in rows:
        groups.setdefault(row["task"] or UNKNOWN, []).append(row)
    made = []
    for name, members in groups.items():
        scores = [row["score"] for row in members if row["score"] is not None]
        told = _shares([row for row in members if row["instruction"]],
                       lambda row: row["instruction"])  # fmt: skip
        made.append(TaskFacts(
            name=name,
            episodes=len(members),
            hours=_hours(members),
            successes=sum(row["success"] is True for row in members),
            failures=sum(row["success"] is False for row in members),
            median_score=float(np.median(scores)) if scores else None,
            instructions=tuple(share.name for share in told[:_MOST_INSTRUCTIONS]),
        ))  # fmt: skip
    return tuple(sorted(made, key=lambda task: (-task.episodes, task.name)))


def _holes(rows: Sequence[RowMapping]) -> tuple[Hole, ...]:
    counted = [Hole(name, sum(row[name] in (None, "") for row in rows)) for name in _EXPECTED]
    found = [hole for hole in counted if hole.episodes]
    return tuple(sorted(found, key=lambda hole: (-hole.episodes, hole.field)))


def _columns(rows: Sequence[RowMapping], people: Mapping[str, int]) -> CardColumns:
    def numbers(name: str) -> Any:
        return np.array([np.nan if row[name] is None else row[name] for row in rows], np.float64)

    return CardColumns(
        task=np.array([row["task"] or UNKNOWN for row in rows], np.str_),
        split=np.array([row["split"] for row in rows], np.str_),
        operator=np.array([people.get(row["operator"], 0) for row in rows], np.int64),
        recorded_ns=np.array([row["recorded_ns"] or 0 for row in rows], np.int64),
        duration_s=numbers("duration_s"),
        score=numbers("score"),
        success=np.array([-1 if row["success"] is None else int(row["success"]) for row in rows],
                         np.int8),
    )  # fmt: skip
