"""Episodes that are open because somebody looks at them, the latest ones at hand."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from corporeal.catalog.episodes import EpisodeRow, find_episode
from corporeal.catalog.store import Store, not_there, open_remote
from corporeal.catalog.workspace import Workspace
from corporeal.episode import Episode
from corporeal.episode.file import StreamReader
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.studio.errors import GoneError

# A folder tells at once whether a file is there; a store far away is asked this often.
_LOOK_AGAIN_S = 10.0


@dataclass(eq=False)
class CachedEpisode:
    """An open file, one reader at a time; `readers` counts who holds or waits for it."""

    episode: Episode
    digest: str
    turn: threading.Lock = field(default_factory=threading.Lock)
    readers: int = 0
    is_kept: bool = True
    seen_s: float = field(default_factory=time.monotonic)


class OpenEpisodes:
    """The last episodes that were asked for, open; safe for many threads."""

    def __init__(self, workspace: Workspace, *, most: int) -> None:
        self._workspace, self._most = workspace, most
        self._open: OrderedDict[str, CachedEpisode] = OrderedDict()
        self._lock = threading.Lock()

    def row(self, name: str) -> EpisodeRow:
        """What the catalogue has of an episode."""
        with self._workspace.database.read() as connection:
            return find_episode(connection, name)

    @contextmanager
    def episode(self, name: str) -> Iterator[Episode]:
        """The episode with this id, for this thread alone until the end of the block.

        Raises GoneError or StoreError when its file is not there any more, EpisodeError when it is
        damaged; it is opened afresh the next time.
        """
        held = self._take(name)
        try:
            with held.turn:
                yield held.episode
        except (EpisodeError, OSError):
            self._forget(name, held)
            raise
        finally:
            self._leave(held)

    def forget(self, name: str) -> None:
        """Close an episode as soon as nobody reads it, so that it is opened afresh."""
        with self._lock:
            held = self._open.pop(name, None)
            if held is not None:
                self._drop(held)

    def close(self) -> None:
        """Close everything that nobody reads."""
        with self._lock:
            for held in self._open.values():
                self._drop(held)
            self._open.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _take(self, name: str) -> CachedEpisode:
        with self._lock:
            held = self._open.get(name)
            if held is not None:
                self._open.move_to_end(name)
                held.readers += 1
        if held is not None:
            return self._still_there(name, held)
        row = self.row(name)
        if row.state == "erased":
            raise GoneError(f"episode {name!r} was erased; nothing of it is left to see.")
        digest = row.hash
        fresh = CachedEpisode(open_stored(self._workspace.store, digest), digest)
        with self._lock:
            # Somebody else may have been quicker.
            held = self._open.setdefault(name, fresh)
            if held is not fresh:
                fresh.episode.close()
            held.readers += 1
            while len(self._open) > self._most:
                self._drop(self._open.popitem(last=False)[1])
            return held

    def _still_there(self, name: str, held: CachedEpisode) -> CachedEpisode:
        """The same, unless its file was removed: an open file would outlive its erasure."""
        store, now_s = self._workspace.store, time.monotonic()
        if not store.is_local and now_s - held.seen_s < _LOOK_AGAIN_S:
            return held
        try:
            if store.has(held.digest) is None:
                raise not_there(held.digest)
        except BaseException:  # Nobody else gives back what was taken.
            self._forget(name, held)
            self._leave(held)
            raise
        held.seen_s = now_s
        return held

    def _forget(self, name: str, held: CachedEpisode) -> None:
        with self._lock:
            if self._open.get(name) is held:
                self._drop(self._open.pop(name))

    def _leave(self, held: CachedEpisode) -> None:
        with self._lock:
            held.readers -= 1
            if not held.is_kept and not held.readers:
                held.episode.close()

    def _drop(self, held: CachedEpisode) -> None:
        held.is_kept = False
        if not held.readers:
            held.episode.close()


def open_stored(store: Store, digest: str) -> Episode:
    """The episode with this hash, from the folder it lies in or from far away."""
    local = store.path(digest)
    if local is not None and store.has(digest) is not None:
        return Episode.open(local)
    return open_remote(store, digest)


def stream_of(episode: Episode, path: str, *kinds: str) -> StreamReader:
    """The stream of this path and one of these kinds; raises UnknownNameError for any other."""
    known = [each for each in episode if episode[each].spec.kind in kinds]
    if path not in known:
        raise UnknownNameError("stream", path[:120], known)
    return episode[path]
