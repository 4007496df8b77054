"""Which clips are meant by some paths, and what the files made from each are called."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corporeal.errors import CorporealError, WriteError
from corporeal.retargeting.motion import MotionError
from corporeal.retargeting.reader import readers


@dataclass(frozen=True)
class ClipFile:
    """A clip, and the name without suffix of what is made from it, below the folder for that."""

    path: Path
    name: Path


def find_clips(paths: Sequence[Path], *, kind: str | None = None) -> list[ClipFile]:
    """The files that are named, and those in folders that some reader, or that of `kind`, knows.

    What is made from a folder's clips is laid out as the folder is; clips that differ only in
    their suffix have it in their names.
    """
    if not paths:
        raise MotionError("no clip; name a file of human motion, or a folder of them.")
    names: dict[Path, Path] = {}
    for path in paths:
        if not path.exists():
            raise MotionError(f"{path}: does not exist; expected a file of human motion.")
        if not path.is_dir():
            names.setdefault(path, Path(path.name))
            continue
        inside = [each for each in sorted(path.rglob("*")) if each.is_file() and _known(each, kind)]
        if not inside:
            raise MotionError(f"{path}: holds no file of human motion that is known here.")
        for each in inside:
            names.setdefault(each, each.relative_to(path))
    shared = Counter(name.with_suffix("") for name in names.values())
    clips = [
        ClipFile(path, _stem(name, alone=shared[name.with_suffix("")] == 1))
        for path, name in names.items()
    ]
    _check_names(clips)
    return clips


def check_target(path: Path, what: str) -> None:
    """Raise WriteError where a file of this name could not be made; looks only, makes nothing."""
    if path.is_dir():
        raise WriteError(f"{path}: is a folder; expected the name of {what}.")
    folder = path.parent
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    if not folder.is_dir():
        raise WriteError(f"{path}: {folder} is a file; expected a folder for {what}.")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise WriteError(f"{path}: {folder} cannot be written to. Name another place for {what}.")


def _known(path: Path, kind: str | None) -> bool:
    chosen = [each for name, each in readers().items() if kind in (None, name)]
    try:
        return any(reader.recognises(path) for reader in chosen)
    except OSError as error:
        raise MotionError(f"{path}: cannot be read: {error.strerror}.") from None


def _stem(name: Path, *, alone: bool) -> Path:
    return name.with_suffix("") if alone else name.with_name(name.name.replace(".", "_"))


def _check_names(clips: Sequence[ClipFile]) -> None:
    owners: dict[Path, Path] = {}
    for clip in clips:
        first = owners.setdefault(clip.name, clip.path)
        if first != clip.path:
            raise CorporealError(
                f"{first} and {clip.path} would both become {clip.name}. Give them one by one, "
                "or the folder that holds both."
            )
