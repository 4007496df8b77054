"""Figures of batches in scope, straight from the episodes, as control charts want them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
from sqlalchemy import ColumnElement, Connection, func, select

from corporeal.catalog.query import iso
from corporeal.catalog.tables import EPISODE, FINDING
from corporeal.operations.coverage.noted import Wanted, notes_of
from corporeal.operations.figures.outcome import number_of
from corporeal.operations.monitoring.metric_series import Series
from corporeal.operations.scope import Scope

Figure = Literal["acceptance_rate", "failure_rate", "score_mean", "findings_per_episode"]
FIGURES: tuple[Figure, ...] = get_args(Figure)
Grouping = Literal["batch", "session"]


def grouping(connection: Connection, scope: Scope) -> Grouping | None:
    """What episodes come in: batches, else sessions; None where they name neither."""
    names: tuple[Grouping, ...] = ("batch", "session")
    for name in names:
        known = select(EPISODE.c.id).where(scope.where, EPISODE.c[name].is_not(None)).limit(1)
        if connection.execute(known).first() is not None:
            return name
    return None


def batch_series(connection: Connection, scope: Scope, figure: Figure, by: Grouping) -> Series:
    """One figure of every batch, the oldest first; the same numbers that `watch` keeps."""
    if figure == "findings_per_episode":
        return _findings(connection, scope, by)
    value, size = {
        "acceptance_rate": (number_of(EPISODE.c.verdict == "accepted"), EPISODE.c.verdict),
        "failure_rate": (number_of(EPISODE.c.success.is_(False)), EPISODE.c.success),
        "score_mean": (func.sum(EPISODE.c.score), EPISODE.c.score),
    }[figure]
    rows = _rows(connection, scope, by, value, func.count(size))
    return _made(figure, by, [
        (name, last_ns, total / count, count) for name, last_ns, total, count in rows if count
    ])  # fmt: skip


def calibration_series(connection: Connection, scope: Scope, name: str, by: Grouping) -> Series:
    """How much an error (`position_error_m` ...) grew between start and end, mean of each batch."""
    rows = connection.execute(
        select(EPISODE.c.id, EPISODE.c[by], EPISODE.c.recorded_ns)
        .where(scope.where, EPISODE.c[by].is_not(None))
    ).all()  # fmt: skip
    wanted = [Wanted(f"calibration.{end}.{name}", "number") for end in ("start", "end")]
    starts, ends = notes_of(connection).of(connection, [row[0] for row in rows], wanted)
    sums: dict[str, tuple[int, float, int]] = {}
    for (_, subject, stamp_ns), start, end in zip(rows, starts, ends, strict=True):
        if start is not None and end is not None:
            last_ns, total, count = sums.get(subject, (0, 0.0, 0))
            sums[subject] = (max(last_ns, stamp_ns or 0), total + end - start, count + 1)
    return _made(f"calibration_{name.replace('error', 'growth')}", by, [
        (subject, last_ns, total / count, count)
        for subject, (last_ns, total, count) in sums.items()
    ])  # fmt: skip


def _findings(connection: Connection, scope: Scope, by: Grouping) -> Series:
    judged = _rows(connection, scope, by, func.count(), func.count(EPISODE.c.verdict))
    found = connection.execute(
        select(EPISODE.c[by], func.count())
        .select_from(FINDING.join(EPISODE, FINDING.c.episode == EPISODE.c.id))
        .where(scope.where, FINDING.c.severity != "note", EPISODE.c[by].is_not(None))
        .group_by(EPISODE.c[by])
    )
    counts = {name: int(number) for name, number in found}
    return _made("findings_per_episode", by, [
        (name, last_ns, counts.get(name, 0) / size, size) for name, last_ns, _, size in judged
        if size
    ])  # fmt: skip


def _rows(
    connection: Connection, scope: Scope, by: Grouping,
    value: ColumnElement[Any], size: ColumnElement[int],
) -> list[tuple[str, int, float, int]]:  # fmt: skip
    rows = connection.execute(
        select(EPISODE.c[by], func.max(EPISODE.c.recorded_ns), value, size)
        .where(scope.where, EPISODE.c[by].is_not(None))
        .group_by(EPISODE.c[by])
    )
    return [
        (str(name), int(last_ns or 0), float(total or 0.0), int(count))
        for name, last_ns, total, count in rows
    ]


def _made(name: str, by: Grouping, rows: Sequence[tuple[str, int, float, int]]) -> Series:
    order = sorted((row for row in rows if math.isfinite(row[2])), key=lambda row: (row[1], row[0]))
    return Series(
        name=name,
        scope=by,
        subjects=tuple(row[0] for row in order),
        times=tuple(iso(row[1]) for row in order),
        values=np.array([row[2] for row in order], np.float64),
        sizes=np.array([row[3] for row in order], np.float64),
    )
