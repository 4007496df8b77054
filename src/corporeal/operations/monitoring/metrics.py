"""The figures of batches and releases: measured, kept in the catalogue, and over time."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, and_, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from corporeal.catalog.audit import Change, record
from corporeal.catalog.database import CatalogError
from corporeal.catalog.episodes import find_documents
from corporeal.catalog.query import (
    PRESENT,
    And,
    Comparison,
    Condition,
    InRelease,
    count_findings,
    documents_behind,
    mean_score_parts,
    most_of,
    read_fields,
    sum_episodes,
)
from corporeal.catalog.tables import METRIC
from corporeal.errors import CorporealError
from corporeal.labelling.agreement import compared_pairs, summarise
from corporeal.protocol import Protocol
from corporeal.protocol.coverage import Factor, coverage
from corporeal.quality.check import SEVERITIES, present_name
from corporeal.release.reading import release_made_at
from corporeal.units import SECOND_NS

SubjectKind = Literal["batch", "session", "release"]
FINDINGS = "findings"
KAPPA, BOUNDARY_FRAMES = "label_kappa", "label_boundary_frames"
"""How far two people agree: on every type of label, `label_kappa.TYPE`, and on boundaries."""
COMPARED = {KAPPA: "label_segments", BOUNDARY_FRAMES: "label_boundaries"}
"""The figure that says of how many segments or boundaries agreement is the figure."""
GRAVE = tuple(each for each in SEVERITIES if each != "note")
_FIELDS = (
    "score", "duration_s", "verdict", "success", "operator", "environment", "task", "metadata",
)  # fmt: skip


def measure_batch(
    connection: Connection,
    batch: str,
    *,
    by: Literal["batch", "session"] = "batch",
    factors: Sequence[Factor] | None = None,
) -> dict[str, float]:
    """The figures of a batch (or of a session); what cannot be known of it is left out.

    With the `factors` of a protocol also how far its labels are from the plan; where none are
    given, those of the protocols that its episodes follow.
    """
    return _metrics(connection, members(by, batch), f"{by} {batch!r}", factors)


def measure_release(
    connection: Connection, name: str, version: str, *, factors: Sequence[Factor] | None = None
) -> dict[str, float]:
    """The figures of a release, the same as those of a batch."""
    return _metrics(
        connection, members("release", f"{name}@{version}"), f"release {name}@{version}", factors
    )


def _metrics(
    connection: Connection, inside: Condition, words: str, factors: Sequence[Factor] | None
) -> dict[str, float]:
    rows = [
        dict(zip(_FIELDS, row, strict=True))
        for row in read_fields(connection, *_FIELDS, where=inside)
    ]
    if not rows:
        raise CatalogError(f"{words} has no episodes; expected at least one. Ingest it first.")
    if factors is None:
        factors = _planned(connection, inside)
    quality = _quality(rows)
    return {
        "episodes": float(len(rows)),
        **quality,
        **{f"score.{part}": mean for part, mean in mean_score_parts(connection, inside).items()},
        **_findings(connection, inside, quality["judged"]),
        **_variety(rows, factors),
        **_agreement(connection, inside),
        **dict(_calibration([row["metadata"].get("calibration") for row in rows])),
    }


def _planned(connection: Connection, inside: Condition) -> list[Factor]:
    """The factors of the protocols that the episodes follow, each name once."""
    hashes = {document for _, kind, document in documents_behind(connection, inside)
              if kind == Protocol.kind}  # fmt: skip
    factors: dict[str, Factor] = {}
    for document in find_documents(connection, sorted(hashes)).values():
        try:
            protocol = Protocol.parse(document.text, suffix=".json")
        except CorporealError:
            continue  # Written by another version: its factors cannot be known here.
        for factor in protocol.factors:
            factors.setdefault(factor.name, factor)
    return list(factors.values())


def _stated(rows: Iterable[Mapping[str, Any]], name: str) -> list[Any]:
    """What episodes say of themselves, of those that do."""
    return [row[name] for row in rows if row[name] not in (None, "")]


def _quality(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    verdicts = Counter(_stated(rows, "verdict"))
    outcomes, scores, durations = (
        _stated(rows, name) for name in ("success", "score", "duration_s")
    )
    judged = verdicts.total()
    figures = {"judged": float(judged), "outcomes": float(len(outcomes))}
    if judged:
        figures["acceptance_rate"] = verdicts["accepted"] / judged
        figures["quarantine_rate"] = verdicts["quarantined"] / judged
    if outcomes:
        figures["failure_rate"] = sum(not each for each in outcomes) / len(outcomes)
    if scores:
        figures["score_mean"] = float(np.mean(scores))
        figures["score_median"] = float(np.median(scores))
    if durations:
        figures["duration_mean_s"] = float(np.mean(durations))
        figures["duration_median_s"] = float(np.median(durations))
        figures["hours"] = math.fsum(durations) / 3600
    return figures


def _findings(connection: Connection, inside: Condition, judged: float) -> dict[str, float]:
    """Findings (not notes) per judged episode: all of them, and those of each check."""
    if not judged:
        return {}
    counts = dict(count_findings(connection, inside, severities=GRAVE))
    return {
        f"{FINDINGS}_per_episode": sum(counts.values()) / judged,
        **{f"{FINDINGS}.{check}": count / judged for check, count in counts.items()},
    }


def _variety(rows: Sequence[Mapping[str, Any]], factors: Sequence[Factor]) -> dict[str, float]:
    operators, environments = Counter(_stated(rows, "operator")), _stated(rows, "environment")
    figures = {}
    if operators:
        figures["operators"] = float(len(operators))
        figures["largest_operator_share"] = max(operators.values()) / operators.total()
    if environments:
        figures["environments"] = float(len(set(environments)))
    facts = [
        {name: row[name] for name in ("task", "operator", "environment") if row[name] is not None}
        | dict(row["metadata"])
        for row in rows
    ] if factors else []  # fmt: skip
    stated = {
        factor.name: sum(factor.level_of(each) is not None for each in facts) for factor in factors
    }
    cells = [cell for cell in coverage(factors, facts) if stated[cell.factor]]
    if cells:
        figures["label_balance_error"] = max(
            abs(cell.count / stated[cell.factor] - cell.planned / len(rows)) for cell in cells
        )
        figures["environment_coverage"] = sum(cell.count > 0 for cell in cells) / len(cells)
    return figures


def _agreement(connection: Connection, inside: Condition) -> dict[str, float]:
    """How far two people agree on the episodes that both labelled; nothing where there are none."""
    pairs = compared_pairs(connection, inside)
    if not pairs:
        return {}
    summary = summarise([each.agreement for each in pairs])
    figures = {f"{KAPPA}.{name}"[:MAX_NAME]: value for name, value in summary.kappa.items()}
    figures[BOUNDARY_FRAMES] = summary.mean_difference_frames
    known = {name: value for name, value in figures.items() if math.isfinite(value)}
    segments = sum(len(lane.pairs) for each in pairs for lane in each.agreement.lanes)
    return {
        "label_pairs": float(len(pairs)),
        COMPARED[KAPPA]: float(segments),
        COMPARED[BOUNDARY_FRAMES]: float(summary.boundaries),
        **known,
    }


def _calibration(calibrations: Sequence[Any]) -> Iterator[tuple[str, float]]:
    """How much larger the errors were at the end than at the start, and how often it changed."""
    pairs = [
        (each["start"], each["end"])
        for each in calibrations
        if isinstance(each, Mapping)
        and isinstance(each.get("start"), Mapping)
        and isinstance(each.get("end"), Mapping)
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


def members(scope: SubjectKind, subject: str) -> Condition:
    """Which episodes belong to a batch, session or release; what is erased belongs to none."""
    if scope == "release":
        name, _, version = subject.rpartition("@")
        return And((PRESENT, InRelease(name, version, None)))
    return And((PRESENT, Comparison(scope, "=", subject)))


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
    # The column of the log holds 160 letters.
    record(connection, [Change(who, "measure", f"{scope}:{subject}"[:160], details=details)])
    return len(changed) + len(gone)


def read_series(connection: Connection, name: str, scope: SubjectKind = "batch") -> MetricSeries:
    """One figure over time. A check that found nothing in a batch that was judged counts 0."""
    if name.startswith(f"{FINDINGS}."):
        name = f"{FINDINGS}.{present_name(name.removeprefix(f'{FINDINGS}.'))}"
    size = "judged" if name.startswith(FINDINGS) else RATES.get(name, "episodes")
    size = COMPARED.get(name.partition(".")[0], size)
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
    recorded_ns, made = None, None
    if scope == "release":
        name, _, version = subject.rpartition("@")
        made = release_made_at(connection, name, version)
    else:
        last = most_of("recorded"), most_of("ingested")
        ((recorded_ns, made),) = sum_episodes(connection, members(scope, subject), *last)
    if recorded_ns is not None:
        moment = datetime.fromtimestamp(int(recorded_ns) // SECOND_NS, UTC)
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")
    if made is None:
        raise CatalogError(f"{scope} {subject!r} is not in the catalogue. Ingest or make it first.")
    return str(made)


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
