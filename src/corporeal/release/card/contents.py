"""Reads what a release consists of from the catalogue, and from nowhere else."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection, Select, select

from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import count_unchecked, find_documents
from corporeal.catalog.query import (
    Known,
    count_documents,
    count_findings,
    count_not_assessed,
    read_fields,
    sum_episodes,
    sum_streams,
)
from corporeal.catalog.tables import RELEASE
from corporeal.errors import DocumentError
from corporeal.release.card.facts import (
    UNKNOWN,
    CardColumns,
    CardFacts,
    CardShare,
    DocumentFacts,
    FindingFacts,
    Hole,
    StreamFacts,
    TaskFacts,
)
from corporeal.release.reading import Release, member_ids, splits_of
from corporeal.schema import Schema

_EXPECTED = (
    "task", "robot", "operator", "station", "session", "batch", "protocol", "calibration",
    "environment", "mode", "software", "recorded_ns", "duration_s", "success", "score",
)  # fmt: skip
_ALSO = ("instruction", "failure", "verdict", "policy")
_COLUMNS = ("id", "bytes", "state", *_ALSO, *_EXPECTED)
_FIELDS = [name.removesuffix("_ns") for name in _COLUMNS]
_MOST_INSTRUCTIONS = 3
_HOUR_S = 3600.0


_Row = Mapping[str, Any]


def card_facts(connection: Connection, name: str, version: str) -> CardFacts:
    """Read the facts of a release; raises CatalogError when there is none of that name."""
    release = _release(connection, name, version)
    here = member_ids(name, version)
    splits = splits_of(connection, name, version)
    rows = [
        dict(zip(_COLUMNS, row, strict=True), split=splits[row[0]])
        for row in read_fields(connection, *_FIELDS, where=here, order="id")
    ]
    people = pseudonyms(row["operator"] for row in rows)
    recorded = [int(row["recorded_ns"]) for row in rows if row["recorded_ns"]]

    def shares(value: Callable[[_Row], Any]) -> tuple[CardShare, ...]:
        return _shares(rows, value)

    return CardFacts(
        name=name,
        version=version,
        manifest=release.manifest,
        condition=without_people(connection, release.condition),
        created_at=release.created_at,
        stated=dict(release.facts or {}),
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
        streams=_streams(connection, here),
        documents=tuple(
            DocumentFacts(**vars(document), episodes=count)
            for document, count in count_documents(connection, here)
        ),
        findings=_findings(connection, here),
        not_assessed=tuple(count_not_assessed(connection, here)),
        unchecked=count_unchecked(connection, here),
        holes=_holes(rows),
        columns=_columns(rows, people),
    )


_OUTCOMES: Mapping[bool | None, str | None] = {True: "success", False: "failure", None: None}


def _release(connection: Connection, name: str, version: str) -> Release:
    query = select(RELEASE).where(RELEASE.c.name == name, RELEASE.c.version == version)
    row = connection.execute(query).mappings().first()
    if row is None:
        raise CatalogError(
            f"release {name}@{version} is not in the catalogue. "
            "List what is there with: corporeal release list."
        )
    return Release(**row)


def _hours(rows: Iterable[_Row]) -> float:
    return sum(float(row["duration_s"] or 0.0) for row in rows) / _HOUR_S


def _shares(rows: Sequence[_Row], value: Callable[[_Row], Any]) -> tuple[CardShare, ...]:
    """How many episodes have each value, the most frequent first."""
    groups: dict[str, list[_Row]] = {}
    for row in rows:
        said = value(row)
        groups.setdefault(UNKNOWN if said in (None, "") else str(said), []).append(row)
    made = [CardShare(name, len(members), _hours(members)) for name, members in groups.items()]
    return tuple(sorted(made, key=lambda share: (-share.episodes, share.name)))


def _tasks(rows: Sequence[_Row]) -> tuple[TaskFacts, ...]:
    groups: dict[str, list[_Row]] = {}
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


def _holes(rows: Sequence[_Row]) -> tuple[Hole, ...]:
    counted = [Hole(name, sum(row[name] in (None, "") for row in rows)) for name in _EXPECTED]
    found = [hole for hole in counted if hole.episodes]
    return tuple(sorted(found, key=lambda hole: (-hole.episodes, hole.field)))


def _columns(rows: Sequence[_Row], people: Mapping[str, int]) -> CardColumns:
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


def _streams(connection: Connection, here: Select[Any]) -> tuple[StreamFacts, ...]:
    """Every stream, with what the schemas behind it say."""
    specs = _specifications(connection, here)
    return tuple(
        StreamFacts(
            path=each.path,
            kind=each.kind,
            unit=_joined(specs, each.path, "unit"),
            shape=_first(specs, each.path, "shape"),
            frame=_joined(specs, each.path, "frame"),
            lowest_hz=each.lowest_hz,
            highest_hz=each.highest_hz,
            samples=int(each.samples),
            episodes=each.episodes,
        )
        for each in sum_streams(connection, here)
    )


def _specifications(connection: Connection, here: Select[Any]) -> dict[str, list[Any]]:
    """What the schemas behind the release say of each stream."""
    behind = [each.hash for each, _ in count_documents(connection, here) if each.kind == "schema"]
    specs: dict[str, list[Any]] = {}
    for _, document in sorted(find_documents(connection, behind).items()):
        try:
            schema = Schema.parse(document.text, source="schema", suffix=".json")
        except DocumentError:
            continue  # A document of another time: its streams stay without a unit.
        for stream in schema.streams:
            specs.setdefault(stream.path, []).append(stream)
    return specs


def _joined(specs: Mapping[str, list[Any]], path: str, name: str) -> str | None:
    """All that the schemas say, in few words: mostly one."""
    said: dict[str, None] = {}
    for spec in specs.get(path, []):
        value = getattr(spec, name)
        for each in value if isinstance(value, tuple) else (value,):
            if each is not None:
                said.setdefault(str(each))
    return ", ".join(said) or None


def _first(specs: Mapping[str, list[Any]], path: str, name: str) -> Any:
    """What the schemas say, if they agree."""
    values = {getattr(spec, name) for spec in specs.get(path, [])}
    return values.pop() if len(values) == 1 else None


def _findings(connection: Connection, here: Select[Any]) -> tuple[FindingFacts, ...]:
    """What checks found and is still there, the most frequent first."""
    by = ("check", "severity")
    findings = {tuple(keys): count for *keys, count in count_findings(connection, here, by=by)}
    counts = count_findings(connection, here, by=by, episodes=True)
    facts = [
        FindingFacts(check, severity, findings[check, severity], count)
        for check, severity, count in counts
    ]
    return tuple(sorted(facts, key=lambda each: (-each.episodes, each.check)))


_SOMEBODY = "..."
_AFTER_OPERATOR = re.compile(
    r"""(\boperator\s*(?:!=|<>|==?|!?~|\bnot\s+in\b|\bin\b|\b(?:i?like|contains)\b)\s*)
        (\([^)]*\)|'(?:[^']|'')*'|"(?:[^"\\]|\\.)*"|[^\s()]+)""",
    re.IGNORECASE | re.VERBOSE,
)


def pseudonyms(names: Iterable[str | None]) -> dict[str, int]:
    """A number for each operator: the one with the most episodes is 1."""
    counted = Counter(name for name in names if name)
    ranked = sorted(counted, key=lambda name: (-counted[name], name))
    return {name: number for number, name in enumerate(ranked, start=1)}


def called(number: int | None) -> str | None:
    """What a card calls the operator with this number."""
    return None if number is None else f"operator {number}"


def without_people(connection: Connection, condition: str) -> str:
    """The condition with the names of people left out: a card goes where the catalogue does not."""
    text = _AFTER_OPERATOR.sub(lambda found: found[1] + _SOMEBODY, condition)
    people = sum_episodes(connection, Known("operator", True), by=("operator",))
    for (name,) in sorted(people, key=lambda row: len(row[0]), reverse=True):
        if len(name) > 2 and name in text:
            text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", _SOMEBODY, text)
    return text
