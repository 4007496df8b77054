"""What is in an episode, in numbers: rates, gaps, sizes, and the shape of every signal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.episode import Episode
from corporeal.episode.facts import EpisodeOutcome
from corporeal.episode.file.streams import StreamReader
from corporeal.episode.recording import recording_of
from corporeal.units import SECOND_NS

_BUCKETS = 32
_BLOCK_ROWS = 1 << 16


@dataclass(frozen=True)
class StreamGap:
    """A stretch without samples, longer than two and a half periods."""

    start_s: float
    length_s: float


@dataclass(frozen=True)
class StreamSummary:
    """One stream in numbers.

    `activity` is a row of 0..1 over the span of the whole episode for a sparkline: movement for
    numbers, bytes for pictures, counts for points and text; None where there is no sample.
    """

    path: str
    kind: str
    shape: tuple[int, ...]
    unit: str
    samples: int
    start_s: float
    end_s: float
    nominal_hz: float | None
    measured_hz: float | None
    jitter_ms: float | None
    gaps: tuple[StreamGap, ...]
    backwards: int
    not_finite: int
    bytes: int
    activity: tuple[float | None, ...]


@dataclass(frozen=True)
class EpisodeSummary:
    """An episode in numbers."""

    path: str
    id: str
    version: int
    robot: str | None
    epoch_ns: int
    duration_s: float
    bytes: int
    content_hash: str
    recovered: str | None
    metadata: dict[str, Any]
    missing_metadata: tuple[str, ...]
    missing_streams: tuple[str, ...]
    documents: dict[str, str]
    streams: tuple[StreamSummary, ...]
    outcome: EpisodeOutcome

    def to_json(self) -> dict[str, Any]:
        """Plain values, for `--json`."""
        return asdict(self)


def summarise(episode: Episode, *, buckets: int = _BUCKETS) -> EpisodeSummary:
    """Look at every stream once; memory is bounded whatever the length."""
    begin, end = episode.span_ns
    edges = np.linspace(begin, max(end, begin + 1), buckets + 1)
    schema = episode.schema
    documents = {"schema": f"{schema.reference} {schema.hash}"}
    if "embodiment" in episode.documents:
        robot = episode.embodiment
        documents["embodiment"] = f"{robot.reference} {robot.hash}"
    for kind in episode.documents:
        documents.setdefault(kind, "embedded")
    return EpisodeSummary(
        path=str(episode.path),
        id=episode.id,
        version=episode.version,
        robot=episode.robot,
        epoch_ns=episode.epoch_ns,
        duration_s=(end - begin) / SECOND_NS,
        bytes=episode.storage.size,
        content_hash=episode.content_hash,
        recovered=episode.recovered,
        metadata=episode.metadata,
        missing_metadata=episode.missing_metadata,
        missing_streams=episode.missing_streams,
        documents=documents,
        streams=tuple(_summarise_stream(episode[path], edges) for path in episode),
        outcome=recording_of(episode).facts.outcome,
    )


def _summarise_stream(reader: StreamReader, edges: NDArray[np.float64]) -> StreamSummary:
    spec, time = reader.spec, reader.time_ns
    steps = np.diff(time)
    rising = steps[steps > 0]
    typical_ns = float(np.median(rising)) if len(rising) else None
    period_ns = SECOND_NS / spec.rate_hz if spec.rate_hz else None
    not_finite, activity = _activity(reader, edges)
    clocked = typical_ns is not None and spec.rate_hz is not None
    return StreamSummary(
        path=spec.path,
        kind=spec.kind,
        shape=tuple(int(size) for size in spec.shape),
        unit=spec.unit if isinstance(spec.unit, str) else " ".join(dict.fromkeys(spec.unit)),
        samples=len(reader),
        start_s=float(time[0]) / SECOND_NS,
        end_s=float(time[-1]) / SECOND_NS,
        nominal_hz=spec.rate_hz,
        measured_hz=_measured_hz(time) if clocked else None,
        jitter_ms=float(np.std(rising - typical_ns)) / 1e6 if clocked else None,
        gaps=tuple(_gaps(time, period_ns)) if period_ns is not None else (),
        backwards=int((steps < 0).sum()),
        not_finite=not_finite,
        bytes=reader.nbytes,
        activity=activity,
    )


def _measured_hz(time: NDArray[np.int64]) -> float | None:
    span = int(time.max()) - int(time.min())
    return (len(time) - 1) * SECOND_NS / span if span > 0 else None


def _gaps(time: NDArray[np.int64], period_ns: float) -> Iterator[StreamGap]:
    steps = np.diff(time)
    for at in np.flatnonzero(steps > 2.5 * period_ns):
        yield StreamGap(float(time[at]) / SECOND_NS, float(steps[at]) / SECOND_NS)


def _spread(count: int) -> NDArray[np.int64]:
    """Sample numbers to look at: all, or enough of them, evenly."""
    return np.unique(np.linspace(0, count - 1, min(count, 2048)).astype(np.int64))


def _activity(
    reader: StreamReader, edges: NDArray[np.float64]
) -> tuple[int, tuple[float | None, ...]]:
    """How many numbers are NaN or infinite, and the sparkline."""
    time = reader.time_ns
    bucket = np.clip(np.searchsorted(edges, time, side="right") - 1, 0, len(edges) - 2)
    total = np.zeros(len(edges) - 1)
    count = np.bincount(bucket, minlength=len(total)).astype(float)
    not_finite = 0
    if reader.spec.kind == "array":
        for first in range(0, len(reader), _BLOCK_ROWS):
            block = reader[first : first + _BLOCK_ROWS].astype(np.float64)
            block = block.reshape(len(block), -1)
            finite = np.isfinite(block)
            not_finite += int((~finite).sum())
            block = np.where(finite, block, 0.0)
            rows = bucket[first : first + len(block)]
            total += np.bincount(rows, block.mean(axis=1), minlength=len(total))
    else:
        numbers = _spread(len(reader))
        bucket = bucket[numbers]
        count = np.bincount(bucket, minlength=len(total)).astype(float)
        total = np.bincount(bucket, reader.sizes(numbers), minlength=len(total)).astype(float)
    mean = np.divide(total, count, out=np.zeros_like(total), where=count > 0)
    seen = mean[count > 0]
    low, spread = float(seen.min()), float(np.ptp(seen))
    scaled = (mean - low) / spread if spread > 0 else np.full(len(mean), 0.5)
    return not_finite, tuple(
        float(value) if there else None for value, there in zip(scaled, count > 0, strict=True)
    )
