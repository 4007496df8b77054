"""The figures of batches and releases as the catalogue keeps them, and how they run over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, delete, func, select
from sqlalchemy.dialects import postgresql, sqlite

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.tables import EPISODE, METRIC, RELEASE
from corporeal.operations.monitoring.batch_metrics import FINDINGS, SubjectKind, members
from corporeal.quality.check import present_name
from corporeal.units import SECOND_NS

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
