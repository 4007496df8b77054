"""Batches and series made for the tests of monitoring."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection
from tests.catalog.entries import made_entry

from corporeal.catalog.episodes import EpisodeEntry, add_episodes
from corporeal.operations.monitoring import record_metrics
from corporeal.operations.monitoring.metrics import MetricSeries

DAY_NS = 86_400_000_000_000
FIRST_NS = 1_760_000_000 * 1_000_000_000


def entry(name: str, **facts: Any) -> EpisodeEntry:
    """An episode as ingest puts it in; findings and scores may be given."""
    findings, scores = facts.pop("findings", ()), facts.pop("scores", ())
    base = {"hash": "sha256:" + hashlib.sha256(name.encode()).hexdigest(), "bytes": 1,
            "file": f"{name}.h5", "recorded_ns": FIRST_NS}  # fmt: skip
    found = [
        {"check": check, "severity": severity, "message": "found", "frames": []}
        for check, severity in findings
    ]
    parts = [{"part": part, "value": value, "weight": 1.0} for part, value in scores]
    return made_entry(name, base | facts, state="checked", findings=found, scores=parts)


def put(connection: Connection, entries: Sequence[EpisodeEntry]) -> None:
    add_episodes(connection, entries, who="tester")


def made_series(name: str, values: Sequence[float] | Any, size: float = 40) -> MetricSeries:
    data = np.asarray(values, np.float64)
    count = len(data)
    return MetricSeries(
        name=name,
        scope="batch",
        subjects=tuple(f"b{number:03d}" for number in range(count)),
        times=tuple(_time(number) for number in range(count)),
        values=data,
        sizes=np.full(count, float(size)),
    )


def _time(number: int) -> str:
    return f"2026-{1 + number // 28:02d}-{1 + number % 28:02d}T08:00:00.000000Z"


def keep(connection: Connection, name: str, values: Sequence[float], *, first: int = 0) -> None:
    """Put the figures of batches b000 ... into the catalogue, with 40 judged episodes each."""
    for number, value in enumerate(values, start=first):
        figures = {name: float(value), "episodes": 40.0, "judged": 40.0, "outcomes": 40.0}
        record_metrics(connection, f"b{number:03d}", figures, who="tester", at=_time(number))
