"""Episode files of our own: one, or a folder of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from corporeal.embodiment import Embodiment
from corporeal.episode import Episode
from corporeal.episode.file import layout, list_episode_files, read_attribute
from corporeal.episode.recording import Dataset, OpenFiles, Recording, recording_of
from corporeal.errors import WriteError
from corporeal.exchange.episode_file import write_recording
from corporeal.exchange.format import (
    Format,
    RecordingWriter,
    WrittenEpisode,
    dataset_of,
    formats,
)
from corporeal.exchange.hdf5 import is_hdf5, is_hdf5_with
from corporeal.exchange.options import ExportOptions
from corporeal.files import link_or_copy, refuse_links_out

SUFFIX = ".h5"
_FILE = "episode.h5"
# A dataset's folder is at most so far above the file that holds an episode of it.
_LEVELS = 4


def recognises(path: Path) -> bool:
    """Whether the file is an episode, damaged ones included, or the folder has one below."""
    return any(map(_is_ours, list_episode_files(path))) if path.is_dir() else _is_ours(path)


def read(path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The episodes in order of their names; a damaged one is listed, and opening it raises."""
    files = list_episode_files(path) if path.is_dir() else [path]
    if path.is_dir():
        refuse_links_out(path, filter(Path.is_symlink, files))
    return dataset_of(path, "episodes", files, partial(_open, OpenFiles(), robot), labelled=True)


def _open(open_files: OpenFiles, robot: Embodiment | None, path: Path, index: int) -> Recording:
    episode = Episode.open(path)
    try:
        recording = recording_of(episode, index=index, robot=robot)
    except BaseException:  # Nobody else can free the file when there is no recording.
        episode.close()
        raise
    open_files.keep(episode)
    return recording


def _is_ours(path: Path) -> bool:
    if not is_hdf5(path):
        # Damaged from its first byte; no other format here has this suffix and nothing inside.
        return path.suffix == SUFFIX
    return is_hdf5_with(path, lambda file: read_attribute(file, "format") == layout.FORMAT)


def write(recording: Recording, _: int, folder: Path, options: ExportOptions) -> Mapping[str, Any]:
    """One episode file of the recording itself: every stream that is not left out."""
    refuse_rows(options)
    kept = write_recording(
        recording,
        folder / _FILE,
        source_format=_format_of(recording.source),
        exclude=options.exclude,
    )
    return {
        "episode": kept.id,
        "kept_cameras": dict(kept.cameras),
        "source_problems": list(kept.problems),
    }


def assemble(episodes: Sequence[WrittenEpisode], out: Path) -> None:
    """Give the files names in the order of the episodes: e0000.h5, e0001.h5, ..."""
    digits = max(4, len(str(len(episodes) - 1)))
    for episode in episodes:
        source, target = episode.folder / _FILE, out / f"e{episode.number:0{digits}d}{SUFFIX}"
        link_or_copy(source, target)


def refuse_rows(options: ExportOptions) -> None:
    """Raise WriteError for options that ask for rows: an episode keeps what was recorded."""
    asked = {
        "--rate": options.rate_hz is not None,
        "--normalise": options.normalise != "none",
        "--image-size": options.image_size is not None,
        "--view": options.view != "flat",
    }
    for option in (name for name, given in asked.items() if given):
        raise WriteError(
            f"{option} is for tables, but episode files keep every stream as it was recorded. "
            f"Leave {option} out, or choose another format."
        )


def _format_of(source: Path) -> str | None:
    """The format of the dataset that a file belongs to; None when that cannot be told."""
    known = {name: each for name, each in formats().items() if each.read is not None}
    for place in (source, *source.parents[:_LEVELS]):
        for name, each in known.items():
            # Only a file says that it is an episode: any folder may have one somewhere below.
            if (name != "episodes" or place == source) and each.recognises(place):
                return name
    return None


FORMAT = Format(
    read=read,
    recognises=recognises,
    title="episode files of Corporeal",
    writer=RecordingWriter(write=write, assemble=assemble),
    guards_links=True,
)
