"""Checks of stations' calibrations, and what a failed one does: it halts, and holds episodes.

A halt quarantines every episode that the calibration governs since its last good check, in the
transaction that records the check; episodes that come in later from that time are held as well.
Lifting it gives each back what it was.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, delete, func, insert, or_, select, update

from corporeal.catalog.audit import Change, now, record, take_turn
from corporeal.catalog.database import CatalogError, check_text, json_value
from corporeal.catalog.episodes.marks import decisions_of
from corporeal.catalog.episodes.reading import parts_of
from corporeal.catalog.episodes.rows import NEXT, State
from corporeal.catalog.permission import Actor, require
from corporeal.catalog.tables import DECISION, EPISODE, HALT, HELD, STATION_CHECK
from corporeal.units import SECOND_NS

_LONGEST_REASON = 500
# What has failed is no good demonstration anyway, and what is erased is gone.
_UNTOUCHED: tuple[State, ...] = ("failed", "erased")


@dataclass(frozen=True)
class StationCheck:
    """One look at the markers of a station.

    `calibration` is NAME@VERSION; each of `shifts` has camera, marker, distance_m, angle_rad,
    limit_m, limit_rad and cause. `at` is ISO 8601 with a time zone.
    """

    calibration: str
    at: str
    passed: bool
    shifts: Sequence[Mapping[str, Any]]
    station: str | None = None
    source: str | None = None
    who: str = ""


@dataclass(frozen=True)
class Halt:
    """A calibration that failed: since when episodes are held, how many, and who lifted it why."""

    key: str
    calibration: str
    at: str
    who: str
    why: str
    station: str | None
    since: str | None
    held: int
    lifted_at: str | None = None
    lifted_by: str | None = None
    lifted_why: str | None = None


@dataclass(frozen=True)
class LiftedHalt:
    """What lifting did; `kept` are those that somebody judged since, by id, with their state."""

    halt: Halt
    count: int
    kept: Mapping[str, State]


def take_check(
    connection: Connection, check: StationCheck, *, who: str, why: str = ""
) -> Halt | None:
    """Record a check, inside a transaction; a failed one halts and holds, with `why`."""
    take_turn(connection)
    stamp = _utc(check.at)
    shifts = [json_value(dict(shift), "shift of a marker") for shift in check.shifts]
    known = (STATION_CHECK.c.calibration == check.calibration, STATION_CHECK.c.at == stamp)
    if connection.execute(select(STATION_CHECK.c.number).where(*known)).first() is None:
        values = {"calibration": check.calibration, "at": stamp, "who": who, "shifts": shifts,
                  "station": check.station, "source": check.source,
                  "passed": check.passed}  # fmt: skip
        for name in ("calibration", "station", "source"):
            check_text(str(values[name] or ""), f"check of a station: {name}")
        connection.execute(insert(STATION_CHECK).values(**values))
        details = {"passed": check.passed, "at": stamp, "source": check.source}
        record(connection, [
            Change(who, "calibration checked", f"calibration:{check.calibration}", why or None,
                   details)
        ])  # fmt: skip
    return None if check.passed else _halt(connection, check, stamp, who=who, why=why)


def list_halts(connection: Connection, *, lifted: bool | None = None) -> list[Halt]:
    """Halts, the newest first; only open ones with `lifted` False."""
    query = select(HALT).order_by(HALT.c.at.desc(), HALT.c.key)
    if lifted is not None:
        query = query.where(HALT.c.lifted_at.isnot(None) if lifted else HALT.c.lifted_at.is_(None))
    rows = connection.execute(query).all()
    return [_halt_of(connection, row) for row in rows]


def list_checks(
    connection: Connection, calibration: str | None = None, *, most: int = 2000
) -> list[StationCheck]:
    """The last checks, the oldest first; of a calibration by its name, whatever the version."""
    query = select(STATION_CHECK).order_by(STATION_CHECK.c.at.desc()).limit(most)
    if calibration is not None:
        query = query.where(_of_calibration(STATION_CHECK.c.calibration, calibration))
    rows = connection.execute(query).all()
    return [_check_of(row) for row in reversed(rows)]


def nearest_checks(
    connection: Connection, calibration: str, begin_ns: int, end_ns: int
) -> tuple[StationCheck | None, StationCheck | None]:
    """The last check of a calibration before a span, whatever the version, and the first after."""
    mine = _of_calibration(STATION_CHECK.c.calibration, _name_of(calibration))
    at, query = STATION_CHECK.c.at, select(STATION_CHECK).where(mine).limit(1)
    before = query.where(at <= _stamp(begin_ns)).order_by(at.desc())
    after = query.where(at >= _stamp(end_ns)).order_by(at)
    first, last = (connection.execute(each).first() for each in (before, after))
    return None if first is None else _check_of(first), None if last is None else _check_of(last)


def halts_of(connection: Connection, episode: str) -> list[Halt]:
    """Every halt that held an episode, also those that were lifted, the oldest first."""
    query = select(HALT).join(HELD, HELD.c.halt == HALT.c.key).where(HELD.c.episode == episode)
    rows = connection.execute(query.order_by(HALT.c.at, HALT.c.key)).all()
    return [_halt_of(connection, row) for row in rows]


def lift_halt(connection: Connection, key: str, *, why: str, by: Actor) -> LiftedHalt:
    """End a halt, inside a transaction: its episodes are again what they were before.

    An episode that a person judged meanwhile stays as it is. Takes a judge, and a reason.
    """
    require(by, "judge")
    reason = why.strip()
    if not reason or len(reason) > _LONGEST_REASON:
        raise CatalogError(
            f"reason, got {len(reason)} letters; expected 1 to {_LONGEST_REASON}: why may these "
            "episodes be used?"
        )
    check_text(reason, "reason")
    take_turn(connection)
    row = connection.execute(select(HALT).where(HALT.c.key == key)).first()
    if row is None:
        raise CatalogError(f"halt, got {key[:40]!r}; expected the key of one that was made.")
    if row.lifted_at is not None:
        raise CatalogError(
            f"halt {key} was lifted by {row.lifted_by} at {row.lifted_at}; expected one that is "
            "open."
        )
    stamp = now()
    given_back, kept = _give_back(connection, row, who=by.name, why=reason, at=stamp)
    lifted = {"lifted_at": stamp, "lifted_by": by.name, "lifted_why": reason}
    connection.execute(update(HALT).where(HALT.c.key == key).values(**lifted))
    details = {"episodes": given_back, "kept": dict(kept)}
    record(connection, [Change(by.name, "halt lifted", f"halt:{key}", reason, details)], at=stamp)
    row = connection.execute(select(HALT).where(HALT.c.key == key)).one()
    return LiftedHalt(_halt_of(connection, row), given_back, kept)


def hold_late(connection: Connection, ids: Sequence[str], *, who: str) -> dict[str, str]:
    """Hold episodes that came in after the halt of their time, inside a transaction; why, by id."""
    reasons: dict[str, str] = {}
    if not ids:
        return reasons
    halts = connection.execute(select(HALT).where(HALT.c.lifted_at.is_(None))).all()
    for halt in halts:
        until = _next_good(connection, halt.calibration, halt.at)
        for part in parts_of(list(ids)):
            rows = _governed(connection, halt.calibration, halt.since, until,
                             EPISODE.c.id.in_(part))  # fmt: skip
            _hold(connection, halt.key, rows, who=who, why=halt.why)
            reasons |= {row.id: halt.why for row in rows}
    return reasons


def _halt(connection: Connection, check: StationCheck, at: str, *, who: str, why: str) -> Halt:
    """Open a halt, or let the open one hold what came since; each episode is held once."""
    name = _name_of(check.calibration)
    query = select(HALT).where(
        HALT.c.lifted_at.is_(None), _of_calibration(HALT.c.calibration, name)
    )
    row = connection.execute(query).first()
    if row is None:
        good = select(STATION_CHECK.c.at).where(
            _of_calibration(STATION_CHECK.c.calibration, name), STATION_CHECK.c.passed,
            STATION_CHECK.c.at < at,
        )  # fmt: skip
        since = connection.execute(good.order_by(STATION_CHECK.c.at.desc()).limit(1)).scalar()
        key = secrets.token_hex(8)
        values = {"key": key, "calibration": check.calibration, "station": check.station,
                  "since": since, "at": at, "who": who, "why": why}  # fmt: skip
        connection.execute(insert(HALT).values(**values))
        row = connection.execute(select(HALT).where(HALT.c.key == key)).one()
    until = _next_good(connection, check.calibration, at)
    rows = _governed(connection, row.calibration, row.since, until)
    count = _hold(connection, row.key, rows, who=who, why=row.why)
    details = {"since": row.since, "episodes": count, "calibration": check.calibration}
    record(connection, [Change(who, "halt", f"halt:{row.key}", why, details)])
    return _halt_of(connection, row)


def _governed(
    connection: Connection, calibration: str, since: str | None, until: str | None,
    *more: ColumnElement[bool],
) -> list[Any]:  # fmt: skip
    """Episodes of a calibration recorded in a span; without a start, those of this version.

    One that does not say when it was recorded counts by when it came in.
    """
    recorded, came = EPISODE.c.recorded_ns, EPISODE.c.ingested_at
    if since is None:
        where: list[ColumnElement[bool]] = [EPISODE.c.calibration == calibration]
    else:
        where = [
            _of_calibration(EPISODE.c.calibration, _name_of(calibration)),
            or_(recorded >= _unix_ns(since), recorded.is_(None) & (came >= since)),
        ]
    if until is not None:
        where.append(or_(recorded < _unix_ns(until), recorded.is_(None) & (came < until)))
    query = select(EPISODE.c.id, EPISODE.c.state, EPISODE.c.verdict).where(
        *where, *more, EPISODE.c.state.notin_(_UNTOUCHED)
    )
    return list(connection.execute(query).all())


def _hold(connection: Connection, key: str, rows: Sequence[Row[Any]], *, who: str, why: str) -> int:
    """Quarantine these, remembering what each was; those that are held already stay so."""
    there = set(connection.execute(select(HELD.c.episode).where(HELD.c.halt == key)).scalars())
    fresh = [row for row in rows if row.id not in there]
    decisions = decisions_of(connection, [row.id for row in fresh]) if fresh else {}
    stamp = now()
    changes = []
    for part in parts_of(fresh):
        ids = [row.id for row in part]
        connection.execute(insert(HELD), [
            {"halt": key, "episode": row.id, "state": row.state, "verdict": row.verdict,
             "decision": vars(decisions[row.id]) if row.id in decisions else None}
            for row in part
        ])  # fmt: skip
        connection.execute(delete(DECISION).where(DECISION.c.episode.in_(ids)))
        connection.execute(insert(DECISION), [
            {"episode": name, "verdict": "quarantined", "who": who, "at": stamp, "why": why}
            for name in ids
        ])  # fmt: skip
        moving = [row.id for row in part if "quarantined" in NEXT[row.state]]
        own = update(EPISODE)
        connection.execute(own.where(EPISODE.c.id.in_(ids)).values(verdict="quarantined"))
        connection.execute(own.where(EPISODE.c.id.in_(moving)).values(state="quarantined"))
        changes += [_change(row, key, who=who, why=why) for row in part]
    record(connection, changes, at=stamp)
    return len(fresh)


def _change(row: Row[Any], key: str, *, who: str, why: str) -> Change:
    """A held episode in the log; one in a release keeps its state, and the verdict holds."""
    if "quarantined" in NEXT[row.state]:
        details = {"from": row.state, "to": "quarantined", "halt": key}
        return Change(who, "state", f"episode:{row.id}", why, details)
    details = {"verdict": "quarantined", "before": row.verdict, "halt": key}
    return Change(who, "decision", f"episode:{row.id}", why, details)


def _give_back(
    connection: Connection, halt: Row[Any], *, who: str, why: str, at: str
) -> tuple[int, dict[str, State]]:
    """What every held episode was; how many, and those that were judged by a person since."""
    held = connection.execute(select(HELD).where(HELD.c.halt == halt.key)).all()
    kept: dict[str, State] = {}
    changes: list[Change] = []
    count = 0
    for part in parts_of(held):
        ids = [row.episode for row in part]
        query = select(EPISODE.c.id, EPISODE.c.state).where(EPISODE.c.id.in_(ids))
        states: dict[str, State] = {row.id: row.state for row in connection.execute(query)}
        decisions = decisions_of(connection, ids)
        back = []
        for row in part:
            decision, state = decisions.get(row.episode), states[row.episode]
            is_ours = decision is not None and decision.why == halt.why
            if state == "erased" or not is_ours:
                kept[row.episode] = state
                continue
            back.append(row)
            what = "state" if state != row.state else "decision undone"
            details = {"from": state, "to": row.state, "halt": halt.key}
            changes.append(Change(who, what, f"episode:{row.episode}", why, details))
        _restore(connection, back)
        count += len(back)
    record(connection, changes, at=at)
    return count, kept


def _restore(connection: Connection, rows: Sequence[Row[Any]]) -> None:
    ids = [row.episode for row in rows]
    connection.execute(delete(DECISION).where(DECISION.c.episode.in_(ids)))
    earlier = [row.decision for row in rows if row.decision]
    if earlier:
        connection.execute(insert(DECISION), earlier)
    kinds: dict[tuple[str, str | None], list[str]] = {}
    for row in rows:
        kinds.setdefault((row.state, row.verdict), []).append(row.episode)
    for (state, verdict), names in kinds.items():
        query = update(EPISODE).where(EPISODE.c.id.in_(names))
        connection.execute(query.values(state=state, verdict=verdict))


def _next_good(connection: Connection, calibration: str, at: str) -> str | None:
    """When a check of the same station passed next; None while none has."""
    query = select(STATION_CHECK.c.at).where(
        _of_calibration(STATION_CHECK.c.calibration, _name_of(calibration)),
        STATION_CHECK.c.passed, STATION_CHECK.c.at > at,
    )  # fmt: skip
    found = connection.execute(query.order_by(STATION_CHECK.c.at).limit(1)).scalar()
    return None if found is None else str(found)


def _check_of(row: Row[Any]) -> StationCheck:
    return StationCheck(row.calibration, row.at, row.passed, row.shifts, row.station, row.source,
                        row.who)  # fmt: skip


def _halt_of(connection: Connection, row: Row[Any]) -> Halt:
    held = select(func.count()).select_from(HELD).where(HELD.c.halt == row.key)
    count = int(connection.execute(held).scalar_one())
    return Halt(row.key, row.calibration, row.at, row.who, row.why, row.station, row.since, count,
                row.lifted_at, row.lifted_by, row.lifted_why)  # fmt: skip


def _of_calibration(column: Any, name: str) -> ColumnElement[bool]:
    """Every version of a calibration, as a range that both databases have an index for."""
    condition: ColumnElement[bool] = (column >= f"{name}@") & (column < f"{name}A")
    return condition


def _name_of(calibration: str) -> str:
    return calibration.partition("@")[0]


def _utc(at: str) -> str:
    """A moment as every table has it."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        moment = None
    if moment is None or moment.tzinfo is None:
        raise CatalogError(f"time of a check, got {at[:40]!r}; expected ISO 8601 with a time zone.")
    return _written(moment.astimezone(UTC))


def _stamp(unix_ns: int) -> str:
    """A moment of an episode as every table has it; what no calendar has is the end of time."""
    try:
        return _written(datetime.fromtimestamp(unix_ns / SECOND_NS, UTC))
    except (OverflowError, OSError, ValueError):
        return _written(datetime.max.replace(tzinfo=UTC))


def _written(moment: datetime) -> str:
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")


def _unix_ns(stamp: str) -> int:
    return round(datetime.fromisoformat(stamp).timestamp() * SECOND_NS)
