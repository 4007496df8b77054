"""The figures of batches and releases: measured, kept in the catalogue, and over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import ColumnElement, Connection, and_, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.tables import EPISODE, FINDING, MEMBER, METRIC, RELEASE, SCORE
from corporeal.protocol.coverage import Factor, coverage
from corporeal.quality.check import present_name
from corporeal.units import SECOND_NS

SubjectKind = Literal["batch", "session", "release"]
FINDINGS = "findings"
_ROWS = 5000


def measure_batch(
    connection: Connection,
    batch: str,
    *,
    by: Literal["batch", "session"] = "batch",
    factors: Sequence[Factor] = (),
) -> dict[str, float]:
    """The figures of a batch (or of a session); what cannot be known of it is left out.

    With the `factors` of a protocol also how far its labels are from the plan.
    """
    return _metrics(connection, members(by, batch), f"{by} {batch!r}", factors)


def measure_release(
    connection: Connection, name: str, version: str, *, factors: Sequence[Factor] = ()
) -> dict[str, float]:
    """The figures of a release, the same as those of a batch."""
    return _metrics(
        connection, members("release", f"{name}@{version}"), f"release {name}@{version}", factors
    )


@dataclass
class _Tally:
    """What is gathered from the episodes in one pass."""

    scores: list[float] = field(default_factory=list)
    durations: list[float] = field(default_factory=list)
    verdicts: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[bool] = field(default_factory=Counter)
    operators: Counter[str] = field(default_factory=Counter)
    environments: set[str] = field(default_factory=set)
    calibrations: list[Mapping[str, Any]] = field(default_factory=list)
    facts: list[Mapping[str, Any]] = field(default_factory=list)
    episodes: int = 0

    def take(self, row: Mapping[str, Any]) -> None:
        self.episodes += 1
        if row["score"] is not None:
            self.scores.append(row["score"])
        if row["duration_s"] is not None:
            self.durations.append(row["duration_s"])
        if row["verdict"] is not None:
            self.verdicts[row["verdict"]] += 1
        if row["success"] is not None:
            self.outcomes[bool(row["success"])] += 1
        if row["operator"]:
            self.operators[row["operator"]] += 1
        if row["environment"]:
            self.environments.add(row["environment"])
        if isinstance(row["calibration"], Mapping):
            self.calibrations.append(row["calibration"])
        if "metadata" in row:
            columns = {name: row[name] for name in ("task", "operator", "environment")}
            told = {name: value for name, value in columns.items() if value is not None}
            self.facts.append(told | dict(row["metadata"] or {}))


def _metrics(
    connection: Connection, members: ColumnElement[bool], words: str, factors: Sequence[Factor]
) -> dict[str, float]:
    tally = _Tally()
    columns: list[ColumnElement[Any]] = [
        EPISODE.c.score, EPISODE.c.duration_s, EPISODE.c.verdict, EPISODE.c.success,
        EPISODE.c.operator, EPISODE.c.environment, EPISODE.c.task,
        EPISODE.c.metadata["calibration"].label("calibration"),
    ]  # fmt: skip
    if factors:
        columns.append(EPISODE.c.metadata)
    query = select(*columns).where(members).execution_options(yield_per=_ROWS)
    for row in connection.execute(query).mappings():
        tally.take(dict(row))
    if not tally.episodes:
        raise CatalogError(f"{words} has no episodes; expected at least one. Ingest it first.")
    return {
        "episodes": float(tally.episodes),
        **_quality(tally),
        **_averages(connection, members, tally),
        **_variety(tally, factors),
        **dict(_calibration(tally.calibrations)),
    }


def _quality(tally: _Tally) -> dict[str, float]:
    judged, told = tally.verdicts.total(), tally.outcomes.total()
    figures = {"judged": float(judged), "outcomes": float(told)}
    if judged:
        figures["acceptance_rate"] = tally.verdicts["accepted"] / judged
        figures["quarantine_rate"] = tally.verdicts["quarantined"] / judged
    if told:
        figures["failure_rate"] = tally.outcomes[False] / told
    if tally.scores:
        figures["score_mean"] = float(np.mean(tally.scores))
        figures["score_median"] = float(np.median(tally.scores))
    if tally.durations:
        figures["duration_mean_s"] = float(np.mean(tally.durations))
        figures["duration_median_s"] = float(np.median(tally.durations))
        figures["hours"] = math.fsum(tally.durations) / 3600
    return figures


def _averages(
    connection: Connection, members: ColumnElement[bool], tally: _Tally
) -> dict[str, float]:
    """The mean of each part of the score, and findings (not notes) per judged episode."""
    inside = select(EPISODE.c.id).where(members)
    parts = (
        select(SCORE.c.part, func.avg(SCORE.c.value).label("mean"))
        .where(SCORE.c.episode.in_(inside), SCORE.c.value.is_not(None))
        .group_by(SCORE.c.part)
    )
    figures = {f"score.{row.part}": float(row.mean) for row in connection.execute(parts)}
    judged = tally.verdicts.total()
    if not judged:
        return figures
    found = (
        select(FINDING.c.check, func.count().label("count"))
        .where(FINDING.c.episode.in_(inside), FINDING.c.severity != "note")
        .group_by(FINDING.c.check)
    )
    counts = {row.check: int(row[1]) for row in connection.execute(found)}
    figures[f"{FINDINGS}_per_episode"] = sum(counts.values()) / judged
    return figures | {f"{FINDINGS}.{check}": count / judged for check, count in counts.items()}


def _variety(tally: _Tally, factors: Sequence[Factor]) -> dict[str, float]:
    figures = {}
    if tally.operators:
        figures["operators"] = float(len(tally.operators))
        most = max(tally.operators.values())
        figures["largest_operator_share"] = most / tally.operators.total()
    if tally.environments:
        figures["environments"] = float(len(tally.environments))
    stated = {
        factor.name: sum(factor.level_of(each) is not None for each in tally.facts)
        for factor in factors
    }
    cells = [cell for cell in coverage(factors, tally.facts) if stated[cell.factor]]
    if cells:
        figures["label_balance_error"] = max(
            abs(cell.count / stated[cell.factor] - cell.planned / tally.episodes) for cell in cells
        )
        figures["environment_coverage"] = sum(cell.count > 0 for cell in cells) / len(cells)
    return figures


def _calibration(calibrations: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """How much larger the errors were at the end than at the start, and how often it changed."""
    pairs = [
        (each["start"], each["end"])
        for each in calibrations
        if isinstance(each.get("start"), Mapping) and isinstance(each.get("end"), Mapping)
    ]
    for name in ("position_error_m", "rotation_error_rad"):
        moved = [
            float(end[name]) - float(start[name])
            for start, end in pairs
            if isinstance(start.get(name), int | float) and isinstance(end.get(name), int | float)
        ]
        moved = [each for each in moved if math.isfinite(each)]
        if moved:
            yield f"calibration_{name.replace('error', 'growth')}", float(np.mean(moved))
    ids = [(start["id"], end["id"]) for start, end in pairs if "id" in start and "id" in end]
    if ids:
        yield "calibration_changed_share", sum(a != b for a, b in ids) / len(ids)


def members(scope: SubjectKind, subject: str) -> ColumnElement[bool]:
    """Which episodes belong to a batch, session or release; what is erased belongs to none."""
    there = EPISODE.c.state != "erased"
    if scope == "release":
        name, _, version = subject.rpartition("@")
        inside = select(MEMBER.c.episode).where(MEMBER.c.name == name, MEMBER.c.version == version)
        return and_(there, EPISODE.c.id.in_(inside))
    column = EPISODE.c.batch if scope == "batch" else EPISODE.c.session
    return and_(there, column == subject)


MAX_NAME = 64
RATES = {"acceptance_rate": "judged", "quarantine_rate": "judged", "failure_rate": "outcomes"}
"""Shares of episodes, and the figure that says of how many."""


@dataclass(frozen=True)
class MetricSeries:
    """One figure of all batches, the oldest first; `sizes` are the episodes that it was made of."""

    name: str
    scope: str
    subjects: tuple[str, ...]
    times: tuple[str, ...]
    values: NDArray[np.float64]
    sizes: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.subjects)


def record_metrics(
    connection: Connection,
    subject: str,
    metrics: Mapping[str, float],
    *,
    who: str,
    scope: SubjectKind = "batch",
    at: str | None = None,
) -> int:
    """Keep the figures of a batch or release, inside a transaction; how many changed.

    Keeping the same again changes nothing and leaves no event. `at` is when the batch was recorded
    or the release made, taken from the catalogue unless given.
    """
    for name, value in metrics.items():
        if not 0 < len(name) <= MAX_NAME or not math.isfinite(value):
            raise CatalogError(
                f"metric {name[:80]!r}, got {value}; expected a finite number under a name of at "
                f"most {MAX_NAME} letters."
            )
    stamp = at or _when(connection, scope, subject)
    here = and_(METRIC.c.scope == scope, METRIC.c.subject == subject)
    query = select(METRIC.c.name, METRIC.c.at, METRIC.c.value).where(here)
    old = {row.name: (row.at, row.value) for row in connection.execute(query)}
    new = {name: (stamp, float(value)) for name, value in metrics.items()}
    changed = sorted(name for name in new if old.get(name) != new[name])
    gone = sorted(old.keys() - new.keys())
    if not changed and not gone:
        return 0
    if gone:
        connection.execute(delete(METRIC).where(here, METRIC.c.name.in_(gone)))
    _put(connection, [
        {"scope": scope, "subject": subject, "name": name, "at": stamp, "value": new[name][1]}
        for name in changed
    ])  # fmt: skip
    details = {"values": {name: new[name][1] for name in changed}, "gone": gone}
    record(connection, [Change(who, "measure", _subject(scope, subject), details=details)])
    return len(changed) + len(gone)


def read_series(connection: Connection, name: str, scope: SubjectKind = "batch") -> MetricSeries:
    """One figure over time. A check that found nothing in a batch that was judged counts 0."""
    if name.startswith(f"{FINDINGS}."):
        name = f"{FINDINGS}.{present_name(name.removeprefix(f'{FINDINGS}.'))}"
    size = "judged" if name.startswith(FINDINGS) else RATES.get(name, "episodes")
    query = select(METRIC.c.subject, METRIC.c.at, METRIC.c.name, METRIC.c.value).where(
        METRIC.c.scope == scope, METRIC.c.name.in_({name, size, "judged"})
    )
    rows: dict[str, dict[str, float]] = {}
    times: dict[str, str] = {}
    for row in connection.execute(query):
        rows.setdefault(row.subject, {})[row.name] = float(row.value)
        times[row.subject] = row.at
    if name.startswith(f"{FINDINGS}."):
        for figures in rows.values():
            if figures.get("judged", 0) > 0:
                figures.setdefault(name, 0.0)
    order = sorted((subject for subject in rows if name in rows[subject]),
                   key=lambda subject: (times[subject], subject))  # fmt: skip
    return MetricSeries(
        name=name,
        scope=scope,
        subjects=tuple(order),
        times=tuple(times[subject] for subject in order),
        values=np.array([rows[subject][name] for subject in order], np.float64),
        sizes=np.array([rows[subject].get(size, math.nan) for subject in order], np.float64),
    )


def metric_names(connection: Connection, scope: SubjectKind = "batch") -> tuple[str, ...]:
    """The figures that are kept of any batch."""
    query = select(METRIC.c.name).where(METRIC.c.scope == scope).distinct()
    return tuple(sorted(connection.execute(query).scalars()))


def subject_metrics(
    connection: Connection, subject: str, scope: SubjectKind = "batch"
) -> dict[str, float]:
    """The figures that are kept of one batch or release."""
    query = select(METRIC.c.name, METRIC.c.value).where(
        METRIC.c.scope == scope, METRIC.c.subject == subject
    )
    return {row.name: float(row.value) for row in connection.execute(query)}


def _when(connection: Connection, scope: SubjectKind, subject: str) -> str:
    """When a batch was last recorded, or a release made; ISO 8601 in UTC."""
    if scope == "release":
        name, _, version = subject.rpartition("@")
        query = select(RELEASE.c.created_at).where(
            RELEASE.c.name == name, RELEASE.c.version == version
        )
        made: str | None = connection.execute(query).scalar()
    else:
        last = select(func.max(EPISODE.c.recorded_ns), func.max(EPISODE.c.ingested_at))
        recorded_ns, made = connection.execute(last.where(members(scope, subject))).one()
        if recorded_ns is not None:
            moment = datetime.fromtimestamp(int(recorded_ns) // SECOND_NS, UTC)
            return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
    if made is None:
        raise CatalogError(f"{scope} {subject!r} is not in the catalogue. Ingest or make it first.")
    return made


def _put(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows that are new, or have a new value; two writers at once are no conflict."""
    if not rows:
        return
    is_sqlite = connection.dialect.name == "sqlite"
    made: Any = (sqlite if is_sqlite else postgresql).insert(METRIC)
    made = made.on_conflict_do_update(
        index_elements=["scope", "subject", "name"],
        set_={"at": made.excluded.at, "value": made.excluded.value},
    )
    connection.execute(made, [dict(row) for row in rows])


def _subject(scope: str, subject: str) -> str:
    """`kind:id` for the audit log, whose column holds 160 letters."""
    return f"{scope}:{subject}"[:160]
