"""The register of stations: what each is, as its own episodes say, and what was exchanged when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from corporeal.catalog.ingestion import sensor_serials
from corporeal.catalog.query import Known, read_fields
from corporeal.operations.monitoring.stations import Station, read_stations
from corporeal.operations.scope import Scope
from corporeal.units import SECOND_NS

_MOST_EPISODES = 20_000
_LATEST = 10
_WEEK = timedelta(days=7)


@dataclass(frozen=True)
class Exchange:
    """A sensor that has another serial number from some day on; None: there was none."""

    day: date
    sensor: str
    before: str | None
    after: str | None


@dataclass(frozen=True)
class RegisteredStation:
    """A station: robot, tasks and sensors of its latest episode, and its calibration's state.

    `latest` are the verdicts of the last ten episodes, the newest last; None: not judged.
    """

    name: str
    site: str | None
    robot: str | None
    tasks: tuple[str, ...]
    sensors: Mapping[str, str]
    exchanges: tuple[Exchange, ...]
    calibration: str | None
    calibration_state: str
    episodes: int
    this_week: int
    operators: int
    first_day: date
    last_day: date
    latest: tuple[str | None, ...]


def read_register(
    connection: Connection, scope: Scope, *, now: datetime | None = None
) -> list[RegisteredStation]:
    """Every station that episodes of a scope name, in the order of names."""
    inside = scope.meeting(Known("station", True), Known("recorded", True))
    fields = read_fields(
        connection, "station", "recorded", "robot", "task", "operator", "calibration", "verdict",
        "metadata", where=inside, order="-recorded", most=_MOST_EPISODES,
    )  # fmt: skip
    by_name: dict[str, list[tuple[Any, ...]]] = {}
    for name, *rest in fields:
        by_name.setdefault(name, []).append(tuple(rest))
    calibrations = {station.name: station for station in read_stations(connection, now=now)}
    today = now or datetime.now(UTC)
    return [_station(name, rows, calibrations, today) for name, rows in sorted(by_name.items())]


def _station(
    name: str, rows: list[tuple[Any, ...]], calibrations: Mapping[str, Station], now: datetime
) -> RegisteredStation:
    days = [datetime.fromtimestamp(row[0] / SECOND_NS, UTC) for row in rows]
    _, robot, _, _, calibration, _, metadata = rows[0]
    site = (metadata or {}).get("site")
    reference = calibration if calibration and "@" in calibration else None
    held = calibrations.get(reference.partition("@")[0]) if reference else None
    return RegisteredStation(
        name=name,
        site=site if isinstance(site, str) else None,
        robot=robot,
        tasks=tuple(sorted({row[2] for row in rows if row[2]})),
        sensors=sensor_serials(metadata or {}),
        exchanges=tuple(_exchanges(rows)),
        calibration=reference,
        calibration_state=_state(held),
        episodes=len(rows),
        this_week=sum(now - day < _WEEK for day in days),
        operators=len({row[3] for row in rows if row[3]}),
        first_day=days[-1].date(),
        last_day=days[0].date(),
        latest=tuple(row[5] for row in reversed(rows[:_LATEST])),
    )


def _exchanges(rows: list[tuple[Any, ...]]) -> list[Exchange]:
    """From the oldest episode on, wherever a serial differs from that of the episode before."""
    made: list[Exchange] = []
    before: Mapping[str, str] | None = None
    for row in reversed(rows):
        serials = sensor_serials(row[6] or {})
        if not serials:
            continue
        day = datetime.fromtimestamp(row[0] / SECOND_NS, UTC).date()
        for sensor in sorted({*serials, *(before or {})} if before is not None else ()):
            old, new = (before or {}).get(sensor), serials.get(sensor)
            if old != new:
                made.append(Exchange(day, sensor, old, new))
        before = serials
    return made


def _state(station: Station | None) -> str:
    if station is None:
        return "not known"
    if station.open_halt is not None:
        return "halted"
    if station.standing is None:
        return "not verified"
    return station.standing.state
