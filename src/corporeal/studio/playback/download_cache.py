"""Episodes in the formats of other tools: converted once, kept in a folder of bounded size."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from corporeal import __version__
from corporeal.catalog.store import open_remote
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.episode.recording import Dataset, Recording, recording_of
from corporeal.errors import CorporealError, WriteError
from corporeal.exchange import ExportOptions, export
from corporeal.studio.playback.remarks import Remarks

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
        return (
            DownloadState("failed", reason=reason)
            if reason is not None
            else DownloadState("missing")
        )

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
            with self._episode(digest) as episode:

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

    def _episode(self, digest: str) -> Episode:
        store = self._workspace.store
        local = store.path(digest)
        if local is not None and store.has(digest) is not None:
            return Episode.open(local)
        return open_remote(store, digest)

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
