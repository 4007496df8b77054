"""Releases on their way into other formats, in the background, whatever the page does meanwhile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal
from weakref import WeakKeyDictionary

from corporeal.catalog.database import Database
from corporeal.catalog.workspace import Workspace
from corporeal.errors import CorporealError
from corporeal.exchange import ExportOptions, export
from corporeal.release.card import write_card
from corporeal.release.reading import check_members, find_release, release_opener

FOLDER = "exports"
"""Below the workspace: a folder for each release and format."""
FORMATS = ("lerobot", "lerobot_v21", "groot", "rlds", "robomimic", "aloha", "zarr", "mcap")
ExportPhase = Literal["working", "ready", "failed"]


@dataclass(frozen=True)
class ReleaseExport:
    """One export: how many episodes of how many are written; `error` says why it ended."""

    format: str
    phase: ExportPhase
    done: int
    total: int
    folder: str
    error: str | None = None


class ReleaseExports:
    """The exports of one workspace; one at a time, so that pages stay quick."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], ReleaseExport] = {}
        self._lock = threading.Lock()
        self._turn = threading.Lock()

    def of(self, workspace: Workspace, reference: str) -> list[ReleaseExport]:
        """What is there of a release, is under way or failed, by format."""
        shown = []
        with self._lock:
            known = dict(self._known)
        for name in FORMATS:
            folder = folder_of(workspace, reference, name)
            state = known.get((reference, name))
            if state is not None and state.phase != "ready":
                shown.append(state)
            elif folder.is_dir():
                shown.append(ReleaseExport(name, "ready", 0, 0, _shown(workspace, folder)))
        return shown

    def start(self, workspace: Workspace, reference: str, name: str) -> None:
        """Export in the background, unless that is done or under way; goes on where it ended."""
        folder, key = folder_of(workspace, reference, name), (reference, name)
        total = find_release(workspace, reference).episodes
        with self._lock:
            state = self._known.get(key)
            if folder.is_dir() or (state is not None and state.phase == "working"):
                return
            self._known[key] = ReleaseExport(name, "working", 0, total, _shown(workspace, folder))
        threading.Thread(
            target=self._work, args=(workspace, key, folder), daemon=True, name=f"export-{name}"
        ).start()

    def _work(self, workspace: Workspace, key: tuple[str, str], folder: Path) -> None:
        with self._turn, self._told(key):
            reference, name = key
            check_members(workspace, reference)
            folder.parent.mkdir(parents=True, exist_ok=True)
            opener = release_opener(workspace, reference)
            export(opener, folder, name, ExportOptions(on="serial"),
                   on_episode=lambda _: self._advance(key))  # fmt: skip
            write_card(workspace, reference, folder)

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


_OF: WeakKeyDictionary[Database, ReleaseExports] = WeakKeyDictionary()
_LOCK = threading.Lock()


def exports_for(database: Database) -> ReleaseExports:
    """The exports of this catalogue's workspace."""
    with _LOCK:
        return _OF.setdefault(database, ReleaseExports())


def folder_of(workspace: Workspace, reference: str, name: str) -> Path:
    """Where a release in a format is, or will be."""
    return workspace.root / FOLDER / f"{reference}-{name}"


def _shown(workspace: Workspace, folder: Path) -> str:
    return folder.relative_to(workspace.root).as_posix()
