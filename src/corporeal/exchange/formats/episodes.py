"""Episode files of our own: one, or a folder of them."""

from __future__ import annotations

import gc
import weakref
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from corporeal.embodiment.embodiment import Embodiment
from corporeal.episode import layout
from corporeal.episode.episode import Episode
from corporeal.episode.recording import Dataset, Recording, recording_of
from corporeal.episode.storage import Storage
from corporeal.errors import EpisodeError
from corporeal.exchange.format import Format
from corporeal.exchange.hdf5 import is_hdf5, root_attribute

SUFFIX = ".h5"
MAX_OPEN = 64


def recognises(path: Path) -> bool:
    """Whether the file is an episode, damaged ones included, or the folder has one below."""
    return any(map(_is_ours, _files(path))) if path.is_dir() else _is_ours(path)


def read(path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The episodes in order of their names; a damaged one is listed, and opening it raises."""
    files = _files(path) if path.is_dir() else [path]
    shelf = Shelf()
    return Dataset(
        source=path,
        format="episodes",
        episodes=tuple(range(len(files))),
        open=partial(_open, files, shelf, robot),
    )


@dataclass(frozen=True, eq=False)
class Shelf:
    """Files that are open: each for as long as somebody has one of its streams."""

    _open: weakref.WeakSet[Storage] = field(default_factory=weakref.WeakSet)

    def keep(self, episode: Episode) -> None:
        """Count the file as open until nobody needs it any more."""
        self._open.add(episode.storage)
        if len(self._open) > MAX_OPEN:
            gc.collect()  # Recordings in a circle of references wait for this.


def _open(files: list[Path], shelf: Shelf, robot: Embodiment | None, index: int) -> Recording:
    if not 0 <= index < len(files):
        raise EpisodeError(f"episode {index} is not here; expected 0 to {len(files) - 1}.")
    episode = Episode.open(files[index])
    try:
        recording = recording_of(episode, index=index, robot=robot)
    except BaseException:  # Nobody else can free the file when there is no recording.
        episode.close()
        raise
    shelf.keep(episode)
    return recording


def _files(folder: Path) -> list[Path]:
    """Episode files below, in order of their names; a second link to a file is left out."""
    found: dict[tuple[int, int], Path] = {}
    for path in sorted(folder.rglob(f"*{SUFFIX}"), key=lambda path: (len(path.parts), path)):
        if path.is_file():
            status = path.stat()
            found.setdefault((status.st_dev, status.st_ino), path)
    return sorted(found.values())


def _is_ours(path: Path) -> bool:
    if not is_hdf5(path):
        # Damaged from its first byte; no other format here has this suffix and nothing inside.
        return path.suffix == SUFFIX
    return bool(root_attribute(path, "format") == layout.FORMAT)


FORMAT = Format(read=read, recognises=recognises, title="episode files of Corporeal")
