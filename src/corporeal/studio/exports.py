"""Releases and episodes on their way into other formats, whatever the page does meanwhile."""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from weakref import WeakKeyDictionary

from corporeal.catalog.database import Database
from corporeal.catalog.episodes import EpisodeRow
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.episode.label_track import united
from corporeal.episode.recording import Dataset, OpenFiles, Recording, recording_of
from corporeal.errors import CorporealError
from corporeal.exchange import ExportOptions, export
from corporeal.labelling.labels import label_track, labels_in_force
from corporeal.labelling.taxonomy import kept_taxonomy
from corporeal.release.card import write_card
from corporeal.release.reading import check_members, find_release, local_copies, release_opener

FOLDER = "exports"
"""Below the workspace: a folder for each release, or choice of episodes, and format."""
MOST_WAITING = 16
"""Exports that are under way or wait for their turn."""
ExportFormat = Literal[
    "lerobot", "lerobot_v21", "groot", "rlds", "robomimic", "aloha", "zarr", "mcap"
]
FORMATS: tuple[ExportFormat, ...] = (
    "lerobot", "lerobot_v21", "groot", "rlds", "robomimic", "aloha", "zarr", "mcap",
)  # fmt: skip
ExportPhase = Literal["working", "ready", "failed"]


@dataclass(frozen=True)
class ExportState:
    """One export: how many episodes of how many are written; `error` says why it ended."""

    format: str
    phase: ExportPhase
    done: int
    total: int
    folder: str
    error: str | None = None


class Exports:
    """The exports of one workspace; one at a time, so that pages stay quick."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], ExportState] = {}
        self._lock = threading.Lock()
        self._turn = threading.Lock()

    def of(self, workspace: Workspace, subject: str) -> list[ExportState]:
        """What is there of a release or a choice, is under way or failed, by format."""
        shown = []
        with self._lock:
            known = dict(self._known)
        for name in FORMATS:
            folder = folder_of(workspace, subject, name)
            state = known.get((subject, name))
            if state is not None and state.phase != "ready":
                shown.append(state)
            elif folder.is_dir():
                shown.append(ExportState(name, "ready", 0, 0, _shown(workspace, folder)))
        return shown

    def start_release(self, workspace: Workspace, reference: str, name: str) -> None:
        """Export a release in the background, unless that is done or under way."""

        def write(folder: Path, on_episode: Callable[[object], None]) -> None:
            check_members(workspace, reference)
            opener = release_opener(workspace, reference)
            export(opener, folder, name, ExportOptions(on="serial"), on_episode=on_episode)
            write_card(workspace, reference, folder)

        self._start(workspace, reference, name, find_release(workspace, reference).episodes, write)

    def start_episodes(self, workspace: Workspace, rows: Sequence[EpisodeRow], name: str) -> str:
        """Export these episodes with the labels in force; what the export is called from now on."""
        subject = subject_of(rows)

        def write(folder: Path, on_episode: Callable[[object], None]) -> None:
            files = OpenFiles()
            dataset = _dataset_of(workspace, rows, files)
            export(lambda: dataset, folder, name, ExportOptions(on="serial"), on_episode=on_episode)

        self._start(workspace, subject, name, len(rows), write)
        return subject

    def _start(
        self, workspace: Workspace, subject: str, name: str, total: int,
        write: Callable[[Path, Callable[[object], None]], None],
    ) -> None:  # fmt: skip
        folder, key = folder_of(workspace, subject, name), (subject, name)
        with self._lock:
            state = self._known.get(key)
            if folder.is_dir() or (state is not None and state.phase == "working"):
                return
            waiting = sum(each.phase == "working" for each in self._known.values())
            if waiting >= MOST_WAITING:
                raise CorporealError(
                    f"exports, got {waiting} that are not done yet; expected fewer. Wait for one."
                )
            self._known[key] = ExportState(name, "working", 0, total, _shown(workspace, folder))

        def work() -> None:
            with self._turn, self._told(key):
                folder.parent.mkdir(parents=True, exist_ok=True)
                write(folder, lambda _: self._advance(key))

        threading.Thread(target=work, daemon=True, name=f"export-{name}").start()

    def _advance(self, key: tuple[str, str]) -> None:
        with self._lock:
            self._known[key] = replace(self._known[key], done=self._known[key].done + 1)

    @contextmanager
    def _told(self, key: tuple[str, str]) -> Iterator[None]:
        """How it ended is kept for whoever asks."""
        phase: ExportPhase = "failed"
        error: str | None = "Studio failed to export it; its log says why."
        try:
            yield
            phase, error = "ready", None
        except (CorporealError, OSError) as reason:
            error = str(reason)
            logging.getLogger(__name__).info("%s as %s: %s", *key, reason)
        finally:
            with self._lock:
                self._known[key] = replace(self._known[key], phase=phase, error=error)


def _dataset_of(workspace: Workspace, rows: Sequence[EpisodeRow], files: OpenFiles) -> Dataset:
    """The episodes of these rows, opened one at a time, each held against its hash."""
    with workspace.database.read() as connection:
        labels = labels_in_force(connection, [row.id for row in rows])
        tracks = {
            name: label_track(each.annotation, kept_taxonomy(connection, each.taxonomy))
            for name, each in labels.items()
            if each.stale is None
        }
    copies = local_copies(workspace)

    def opened(number: int) -> Recording:
        row = rows[number]
        episode = Episode.open(copies.path(row.hash, row.bytes))
        files.keep(episode)
        recording = recording_of(episode, index=number)
        return replace(recording, labels=tracks.get(row.id) or recording.labels)

    lanes = united(track.used_lanes for track in tracks.values())
    return Dataset(
        source=workspace.root, format="episodes", episodes=tuple(range(len(rows))), open=opened,
        lanes=lambda: lanes,
    )  # fmt: skip


_OF: WeakKeyDictionary[Database, Exports] = WeakKeyDictionary()
_LOCK = threading.Lock()


def exports_for(database: Database) -> Exports:
    """The exports of this catalogue's workspace."""
    with _LOCK:
        return _OF.setdefault(database, Exports())


def subject_of(rows: Sequence[EpisodeRow]) -> str:
    """What a choice of episodes is called: the same for the same ones, and safe in a path."""
    digest = hashlib.sha256("\n".join(sorted(row.hash for row in rows)).encode())
    return f"{len(rows)}-episodes-{digest.hexdigest()[:10]}"


def folder_of(workspace: Workspace, subject: str, name: str) -> Path:
    """Where a release or a choice of episodes in a format is, or will be."""
    return workspace.root / FOLDER / f"{subject}-{name}"


def _shown(workspace: Workspace, folder: Path) -> str:
    return folder.relative_to(workspace.root).as_posix()
