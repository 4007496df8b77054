"""The calibrations of stations: what is in force, what its checks found, what they halted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection

from corporeal.calibration.verification import (
    Creep,
    LoggedCheck,
    LoggedShift,
    StationStanding,
    find_creeps,
    standing_of,
)
from corporeal.catalog.episodes import (
    Halt,
    StationCheck,
    documents_of_kind,
    list_checks,
    list_halts,
)
from corporeal.catalog.query import (
    PRESENT,
    Comparison,
    Date,
    Known,
    OneOf,
    count_of,
    iso,
    least_of,
    most_of,
    sum_episodes,
)
from corporeal.errors import CorporealError
from corporeal.operations.scope import Scope
from corporeal.protocol import Calibration
from corporeal.units import SECOND_NS

_MOST_STATIONS = 200
_SHIFTS = TypeAdapter(LoggedShift)
_PARTS = frozenset(LoggedShift.__dataclass_fields__)
# Outside of a session nothing begins: a check is due by the one before it alone.
_NO_SESSION = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class CalibrationVersion:
    """One version of a calibration, and the episodes that were recorded with it."""

    reference: str
    episodes: int
    first_ns: int | None
    last_ns: int | None


@dataclass(frozen=True)
class Station:
    """A calibration by its name: the version in force first, checks and halts newest first.

    `standing` is None where no version that the catalogue holds says how it is verified.
    """

    name: str
    versions: tuple[CalibrationVersion, ...]
    document: Calibration | None
    standing: StationStanding | None
    checks: tuple[LoggedCheck, ...]
    halts: tuple[Halt, ...]
    creeps: tuple[Creep, ...]

    @property
    def reference(self) -> str:
        """The version in force: the one that was recorded with, or checked, last."""
        return self.versions[0].reference

    @property
    def open_halt(self) -> Halt | None:
        """The halt that nobody has lifted."""
        return next((halt for halt in self.halts if halt.lifted_at is None), None)


def read_stations(connection: Connection, *, now: datetime | None = None) -> list[Station]:
    """Every calibration that episodes or checks name; those that are halted first."""
    rows = sum_episodes(connection, PRESENT, count_of(), least_of("recorded"),
                        most_of("recorded"), by=("calibration",))  # fmt: skip
    found: dict[str, dict[str, CalibrationVersion]] = {}
    for reference, count, first, last in rows:
        if reference and "@" in reference:
            version = CalibrationVersion(reference, int(count), first, last)
            found.setdefault(reference.partition("@")[0], {})[reference] = version
    halts: dict[str, list[Halt]] = {}
    for halt in list_halts(connection):
        halts.setdefault(halt.calibration.partition("@")[0], []).append(halt)
    log = read_station_log(connection)
    for name in {*halts, *(entry.calibration.partition("@")[0] for entry in log)}:
        found.setdefault(name, {})
    documents = _documents(connection)
    stations = [
        _station(name, versions, halts.get(name, []),
                 [entry for entry in log if entry.calibration.partition("@")[0] == name],
                 documents, now or datetime.now(UTC))
        for name, versions in sorted(found.items())
    ]  # fmt: skip
    return sorted(stations, key=lambda each: (each.open_halt is None, each.name))[:_MOST_STATIONS]


def read_station_log(connection: Connection, name: str | None = None) -> list[LoggedCheck]:
    """Checks and lifts in the catalogue as a station's own log has them, the oldest first."""
    entries = [
        LoggedCheck("check", check.at, check.calibration, check.who, check.passed,
                    check.source or "", shifts=_shifts(check))
        for check in list_checks(connection, name)
    ]  # fmt: skip
    entries += [
        LoggedCheck("lift", halt.lifted_at, halt.calibration, halt.lifted_by or "", passed=True,
                    why=halt.lifted_why or "")
        for halt in list_halts(connection, lifted=True)
        if halt.lifted_at is not None and name in (None, halt.calibration.partition("@")[0])
    ]  # fmt: skip
    return sorted(entries, key=lambda entry: entry.time)


def held_query(halt: Halt, references: Sequence[str], until: str | None = None) -> str:
    """What `corporeal ls` is asked for the episodes that a halt is about."""
    scope = Scope()
    if halt.since is None:
        return scope.query(Comparison("calibration", "=", halt.calibration))
    return scope.query(*_between(references or [halt.calibration], halt.since, until))


def since_query(references: Sequence[str], since: str | None, until: str | None) -> str:
    """The same for the episodes between two checks."""
    return Scope().query(*_between(references, since, until))


def _between(references: Sequence[str], since: str | None, until: str | None) -> list[Any]:
    named = OneOf("calibration", tuple(references)) if references else Known("calibration", True)
    parts: list[Any] = [named]
    if since is not None:
        parts.append(Comparison("recorded", ">=", _moment(since)))
    if until is not None:
        parts.append(Comparison("recorded", "<", _moment(until)))
    return parts


def _moment(at: str) -> Date:
    start = round(datetime.fromisoformat(at).timestamp() * SECOND_NS)
    return Date(start, start + 1)


def _station(
    name: str, versions: dict[str, CalibrationVersion], halts: Sequence[Halt],
    log: Sequence[LoggedCheck], documents: Mapping[str, Calibration], now: datetime,
) -> Station:  # fmt: skip
    for entry in log:
        if entry.calibration not in versions:
            versions[entry.calibration] = CalibrationVersion(entry.calibration, 0, None, None)
    for halt in halts:
        versions.setdefault(halt.calibration, CalibrationVersion(halt.calibration, 0, None, None))
    checked = {entry.calibration: entry.at for entry in log if entry.what == "check"}

    def used(version: CalibrationVersion) -> tuple[str, str]:
        recorded = "" if version.last_ns is None else iso(version.last_ns)
        return max(recorded, checked.get(version.reference, "")), version.reference

    order = sorted(versions.values(), key=used, reverse=True)
    document = documents.get(order[0].reference)
    standing = None
    if document is not None and document.verification is not None:
        standing = standing_of(document, log, began=_NO_SESSION, now=now)
    creeps = find_creeps(log, order[0].reference)
    return Station(name, tuple(order), document, standing, tuple(reversed(log)), tuple(halts),
                   tuple(creeps))  # fmt: skip


def _documents(connection: Connection) -> dict[str, Calibration]:
    documents = {}
    for row in documents_of_kind(connection, Calibration.kind):
        try:
            documents[f"{row.name}@{row.version}"] = Calibration.parse(row.text)
        except (
            CorporealError
        ):  # Of a later version of Corporeal: its checks are shown all the same.
            continue
    return documents


def _shifts(check: StationCheck) -> tuple[LoggedShift, ...]:
    """The shifts that say all that a chart needs; what others noted may say less."""
    shifts = []
    for shift in check.shifts:
        try:
            shifts.append(_SHIFTS.validate_python(
                {key: value for key, value in shift.items() if key in _PARTS}
            ))  # fmt: skip
        except ValidationError:
            continue
    return tuple(shifts)
