"""What is said of an episode outside of its file: labels and findings, for who takes it along."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sqlalchemy import Connection, select

from corporeal.catalog.permission import Actor
from corporeal.catalog.tables import FINDING
from corporeal.episode.label_track import LabelTrack
from corporeal.episode.recording import ArraySignal, Recording
from corporeal.labelling.labels import label_track
from corporeal.labelling.taxonomy import kept_taxonomy
from corporeal.schema import Stream
from corporeal.studio.seen_labels import seen_labels
from corporeal.units import SECOND_NS

FINDINGS = Stream(
    name="findings",
    group="debug",
    kind="text",
    description="What the checks found, as the catalogue had it when this file was made.",
)
_MOST = 10_000
_TAG = 16


@dataclass(frozen=True)
class Found:
    """A finding: `frames` are samples of its stream, the first and the one after the last."""

    check: str
    severity: str
    stream: str | None
    message: str
    frames: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Remarks:
    """All that is said of an episode, as far as one may see it."""

    labels: LabelTrack | None = None
    findings: tuple[Found, ...] = ()

    @property
    def tag(self) -> str:
        """Tells these remarks from others; empty where nothing is said."""
        if self.labels is None and not self.findings:
            return ""
        said = [self.labels and self.labels.to_json(), [each.__dict__ for each in self.findings]]
        text = json.dumps(said, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:_TAG]

    def added_to(self, recording: Recording) -> Recording:
        """The recording with its labels, and with findings as a stream of text."""
        labels = self.labels or recording.labels
        signals = dict(recording.signals)
        said = sorted(self._dated(recording), key=lambda each: each[0])[:_MOST]
        if said:
            stamps = np.array([time_ns for time_ns, _ in said], np.int64)
            texts = [json.dumps(values, ensure_ascii=False) for _, values in said]
            signals[FINDINGS.path] = ArraySignal(FINDINGS, stamps, texts)
        return replace(recording, signals=signals, labels=labels)

    def _dated(self, recording: Recording) -> Iterator[tuple[int, dict[str, Any]]]:
        """Every finding at the time at which it begins; at the very beginning where none is."""
        stamps_of = {
            each.spec.path: each.time_ns for each in recording.signals.values() if len(each)
        }
        begin_ns = min((int(each[0]) for each in stamps_of.values()), default=0)
        for found in self.findings:
            said = {"event": found.check, "detail": found.message, "severity": found.severity,
                    "stream": found.stream}  # fmt: skip
            stamps = stamps_of.get(found.stream or "")
            if stamps is None or not found.frames:
                yield begin_ns, said
                continue
            for first, stop in found.frames:
                start, end = (int(stamps[min(max(each, 0), len(stamps) - 1)])
                              for each in (first, stop - 1))  # fmt: skip
                yield start, said | {"start_s": start / SECOND_NS, "end_s": end / SECOND_NS}


def remarks_of(connection: Connection, episode: str, actor: Actor) -> Remarks:
    """What this one may see of the labels in force and of the findings.

    Labels that do not hold any more are left out, as they are of releases.
    """
    held = seen_labels(connection, episode, actor)
    track = None
    if held is not None and held.stale is None:
        track = label_track(held.annotation, kept_taxonomy(connection, held.taxonomy))
    columns = (FINDING.c.check, FINDING.c.severity, FINDING.c.stream, FINDING.c.message)
    query = select(*columns, FINDING.c.frames).where(FINDING.c.episode == episode)
    rows = connection.execute(query.order_by(FINDING.c.number).limit(_MOST)).mappings()
    return Remarks(track, tuple(_found(dict(row)) for row in rows))


def _found(row: dict[str, Any]) -> Found:
    frames = tuple((int(first), int(stop)) for first, stop in row.pop("frames") or ())
    return Found(**row, frames=frames)
