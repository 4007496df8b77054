"""Episodes in the formats of other tools: converted once, kept in a folder of bounded size."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from sqlalchemy import Connection

from corporeal import __version__
from corporeal.catalog.episodes import FindingRow, findings_of
from corporeal.catalog.permission import Actor
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.episode.label_track import LabelTrack
from corporeal.episode.recording import ArraySignal, Dataset, Recording, recording_of
from corporeal.errors import CorporealError, WriteError
from corporeal.exchange import ExportOptions, export
from corporeal.labelling.labels import label_track
from corporeal.labelling.review import LabelComment, comments_about
from corporeal.labelling.taxonomy import kept_taxonomy
from corporeal.release.reading import local_copies
from corporeal.schema import Stream
from corporeal.studio.lanes import seen_labels
from corporeal.units import SECOND_NS

FINDINGS = Stream(
    name="findings",
    group="debug",
    kind="text",
    description="What the checks found, as the catalogue had it when this file was made.",
)
NOTES = Stream(
    name="notes",
    group="debug",
    kind="text",
    description="What people pinned to moments, as it stood when this file was made.",
)
_MOST = 10_000
_TAG = 16


@dataclass(frozen=True)
class Remarks:
    """All that is said of an episode, as far as one may see it."""

    labels: LabelTrack | None = None
    findings: tuple[FindingRow, ...] = ()
    notes: tuple[LabelComment, ...] = ()

    @property
    def tag(self) -> str:
        """Tells these remarks from others; empty where nothing is said."""
        if self.labels is None and not self.findings and not self.notes:
            return ""
        findings = [
            [row.check, row.severity, row.stream, row.message, row.frames] for row in self.findings
        ]
        notes = [[note.time_ns, note.who, note.text] for note in self.notes]
        parts = [self.labels and self.labels.to_json(), findings, *([notes] if notes else [])]
        text = json.dumps(parts)
        return hashlib.sha256(text.encode()).hexdigest()[:_TAG]

    def added_to(self, recording: Recording) -> Recording:
        """The recording with its labels, and with findings and notes as streams of text."""
        labels = self.labels or recording.labels
        signals = dict(recording.signals)
        said = sorted(self._dated(recording), key=lambda each: each[0])[:_MOST]
        if said:
            stamps = np.array([time_ns for time_ns, _ in said], np.int64)
            texts = [json.dumps(values, ensure_ascii=False) for _, values in said]
            signals[FINDINGS.path] = ArraySignal(FINDINGS, stamps, texts)
        if self.notes:
            pinned = sorted(self.notes, key=lambda note: note.time_ns or 0)
            stamps = np.array([note.time_ns or 0 for note in pinned], np.int64)
            texts = [
                json.dumps({"event": note.text, "detail": note.who}, ensure_ascii=False)
                for note in pinned
            ]
            signals[NOTES.path] = ArraySignal(NOTES, stamps, texts)
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
    labels = seen_labels(connection, episode, actor)
    track = None
    if labels is not None and labels.stale is None:
        track = label_track(labels.annotation, kept_taxonomy(connection, labels.taxonomy))
    comments = comments_about(connection, episode, by=actor)
    notes = [
        each for each in comments
        if each.task is None and each.time_ns is not None and each.resolved_at is None
    ]  # fmt: skip
    return Remarks(track, tuple(findings_of(connection, episode)[:_MOST]), tuple(notes[:_MOST]))


Format = Literal["rrd", "mcap"]
FORMATS: tuple[Format, ...] = get_args(Format)
FOLDER = "cache/studio/downloads"
"""Below the workspace; all of it may be removed at any time."""
MOST_BYTES = 8 << 30
MOST_AT_ONCE = 2
"""Conversions that run side by side; others wait, so that pages stay quick."""
NONE = Remarks()

State = Literal["missing", "working", "ready", "failed"]


@dataclass(frozen=True)
class DownloadState:
    """How far a conversion is; `reason` says why it failed."""

    state: State
    bytes: int | None = None
    reason: str | None = None


class DownloadCache:
    """Converted episodes of one workspace; safe for many threads."""

    def __init__(self, workspace: Workspace, *, most_bytes: int = MOST_BYTES) -> None:
        self._workspace, self._most_bytes = workspace, most_bytes
        self._folder = workspace.root / FOLDER
        self._lock = threading.Lock()
        self._turns: dict[str, threading.Lock] = {}
        self._failed: dict[str, str] = {}
        self._room = threading.Semaphore(MOST_AT_ONCE)

    def path(self, digest: str, format_name: Format, remarks: Remarks = NONE) -> Path:
        """Where the converted file of this object with these remarks is, or will be."""
        # What another release of the writer has made, or with other remarks, is another file.
        parts = (digest.removeprefix("sha256:"), __version__, remarks.tag)
        return self._folder / f"{'-'.join(filter(None, parts))}.{format_name}"

    def standing(self, digest: str, format_name: Format, remarks: Remarks = NONE) -> DownloadState:
        """How far the conversion is."""
        path = self.path(digest, format_name, remarks)
        if (size := _size(path)) is not None:
            return DownloadState("ready", size)
        with self._lock:
            turn, reason = self._turns.get(path.name), self._failed.get(path.name)
        if turn is not None and turn.locked():
            return DownloadState("working")
        return DownloadState("missing" if reason is None else "failed", reason=reason)

    def start(self, digest: str, format_name: Format, remarks: Remarks = NONE) -> DownloadState:
        """Convert in the background, unless that is done or under way."""
        now = self.standing(digest, format_name, remarks)
        if now.state in ("ready", "working"):
            return now
        begun = threading.Event()
        threading.Thread(
            target=self._quietly, args=(digest, format_name, remarks, begun), daemon=True
        ).start()
        begun.wait(1.0)
        return self.standing(digest, format_name, remarks)

    def file(self, digest: str, format_name: Format, remarks: Remarks = NONE) -> Path:
        """The converted file; waits for whoever converts it already. Raises CorporealError."""
        return self._converted(digest, format_name, remarks, threading.Event())

    def _quietly(
        self, digest: str, format_name: Format, remarks: Remarks, begun: threading.Event
    ) -> None:
        try:
            self._converted(digest, format_name, remarks, begun)
        except CorporealError:
            pass  # Kept for whoever asks how far it is.
        finally:
            begun.set()

    def _converted(
        self, digest: str, format_name: Format, remarks: Remarks, begun: threading.Event
    ) -> Path:
        path = self.path(digest, format_name, remarks)
        with self._lock:
            turn = self._turns.setdefault(path.name, threading.Lock())
        with turn:
            begun.set()
            if _size(path) is not None:
                os.utime(path)
                return path
            try:
                with self._room:
                    self._write(digest, format_name, remarks, path)
            except (CorporealError, OSError) as error:
                said = str(error) if isinstance(error, CorporealError) else _explained(path, error)
                with self._lock:
                    self._failed[path.name] = said
                raise error if isinstance(error, CorporealError) else WriteError(said) from None
            with self._lock:
                self._failed.pop(path.name, None)
            return path

    def _write(self, digest: str, format_name: Format, remarks: Remarks, path: Path) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=".", dir=self._folder))
        try:
            with Episode.open(local_copies(self._workspace).path(digest)) as episode:

                def opened(_: int) -> Recording:
                    return remarks.added_to(recording_of(episode))

                dataset = Dataset(
                    source=episode.path, format="episodes", episodes=(0,), open=opened
                )
                options = ExportOptions(on="serial")
                made = export(lambda: dataset, work / "out", format_name, options)
            written = next(made.out.glob(f"*.{format_name}"))
            self._make_room(written.stat().st_size)
            written.replace(path)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def _make_room(self, wanted: int) -> None:
        """Remove what was asked for longest ago until the new file fits."""
        kept = sorted(
            (each for each in self._folder.iterdir() if each.is_file()),
            key=lambda each: each.stat().st_mtime,
        )
        total = wanted + sum(each.stat().st_size for each in kept)
        for each in kept:
            if total <= self._most_bytes:
                return
            total -= each.stat().st_size
            each.unlink(missing_ok=True)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _explained(path: Path, error: OSError) -> str:
    return (
        f"{path.parent}: cannot be written ({error.strerror or error}). Free some space, or make "
        "the folder writable."
    )
