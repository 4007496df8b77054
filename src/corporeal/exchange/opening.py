"""Opens one path or several as one dataset, whatever their formats."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path

from corporeal.embodiment import Embodiment
from corporeal.episode.label_track import united
from corporeal.episode.recording import Dataset, Defect, Ledger, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.format import formats
from corporeal.exchange.neighbours import take_part, with_siblings
from corporeal.exchange.sidecar import describe_rows, restore_episodes
from corporeal.files import refuse_links_out, refuse_pointer
from corporeal.words import some_of

MAX_INSIDE = 1000
# A dataset's folder is at most so far above one of its files.
MAX_LEVELS = 4


def open_dataset(
    source: Path | str | Sequence[Path | str],
    *,
    robot: Embodiment | None = None,
    restore: bool = True,
    rate_hz: float | None = None,
) -> Dataset:
    """The dataset at a path, whatever its format; several become one with new episode numbers.

    `robot` takes the place of the one it names. A dataset that Corporeal wrote is put together
    again with what lies beside it, unless `restore` is False. `rate_hz` is that of files which do
    not state one.
    """
    paths = [source] if isinstance(source, Path | str) else source
    parts = [_open_path(Path(path), robot, restore, rate_hz) for path in paths]
    return parts[0] if len(parts) == 1 else join_datasets(parts)


def _open_path(
    path: Path, robot: Embodiment | None, restore: bool, rate_hz: float | None = None
) -> Dataset:
    if not path.exists():
        raise EpisodeError(f"{path}: does not exist. Give the path of a dataset.")
    refuse_pointer(path)
    readers = {name: format_ for name, format_ in formats().items() if format_.read is not None}
    for format_ in readers.values():
        if format_.read is not None and format_.recognises(path):
            if rate_hz is not None and not format_.takes_rate:
                raise EpisodeError(
                    f"{path}: {format_.title} states its own rate, got {rate_hz:g} Hz beside it. "
                    "Leave --source-rate out."
                )
            stated = {} if rate_hz is None else {"rate_hz": rate_hz}
            if path.is_dir() and not format_.guards_links:
                refuse_links_out(path)
            dataset = format_.read(path, robot=robot, **stated)
            dataset = restore_episodes(dataset, path, robot=robot) if restore else dataset
            again = partial(_open_path, robot=robot, restore=restore, rate_hz=rate_hz)
            return with_siblings(dataset, path, format_.recognises, again)
    whole = _dataset_around(path) if path.is_file() else None
    if whole is not None:
        return take_part(_open_path(whole, robot, restore, rate_hz), path)
    _explain_folder(path)
    known = ", ".join(f"{name} ({format_.title})" for name, format_ in readers.items())
    raise EpisodeError(f"{path}: not a dataset of a known format; expected one of: {known}.")


# A set of these may lie in any folder below, whose files are none of its business: only the folder
# of a file itself is asked.
_LOOK_BELOW = frozenset({"rlds", "unitree_json"})


def _dataset_around(path: Path) -> Path | None:
    """The dataset that a file lies in; a folder of episode files is none that has other parts.

    Nobody named these folders. What looks through all below them is not asked, and never the root
    of a file system: one damaged file would have the whole disk read.
    """
    known = {name: each for name, each in formats().items() if each.read and name != "episodes"}
    for level, folder in enumerate(islice(path.absolute().parents, MAX_LEVELS)):
        asked = [each for name, each in known.items() if level == 0 or name not in _LOOK_BELOW]
        with suppress(OSError):
            if folder != folder.parent and any(each.recognises(folder) for each in asked):
                return folder
    return None


def _explain_folder(path: Path) -> None:
    """Raise EpisodeError where it can be said why a path is no dataset, or which are inside."""
    if any(".tfrecord" in each.name for each in (path.iterdir() if path.is_dir() else [path])):
        raise EpisodeError(
            f"{path}: holds TFRecords without features.json, which alone says what is in them; "
            "expected the folder of a TFDS dataset. Copy features.json and dataset_info.json from "
            "where the records were made, and give the folder of all three."
        )
    names: dict[Path, str] = {}
    for pattern in ("*", "*/*", "*/*/*") if path.is_dir() else ():
        for each in sorted(islice(path.glob(pattern), MAX_INSIDE)):
            refuse_pointer(each)
            if names.keys().isdisjoint(each.parents) and (name := _format_name(each)):
                names[each] = name
    if names:
        words = (f"{each.relative_to(path)} ({name})" for each, name in names.items())
        raise EpisodeError(
            f"{path}: is no dataset itself, but holds {len(names)}: {some_of(words, most=8)}. Name "
            f"one, such as {next(iter(names))}, or several of them one after the other."
        )


def _format_name(path: Path) -> str | None:
    """The format that a file or folder is of; None for none."""
    known = (name for name, each in formats().items() if each.read and each.recognises(path))
    return next(known, None)


def open_rows(
    source: Path | str | Sequence[Path | str], *, robot: Embodiment | None = None
) -> Dataset:
    """The same row by row as it stands: what merge, split, delete and select work on."""
    paths = [source] if isinstance(source, Path | str) else source
    parts = [describe_rows(_open_path(Path(path), robot, False), Path(path), robot=robot)
             for path in paths]  # fmt: skip
    return parts[0] if len(parts) == 1 else join_datasets(parts)


def join_datasets(parts: Sequence[Dataset]) -> Dataset:
    """Datasets one after the other. Their own statistics no longer hold and are left out."""
    numbered = [(part, number) for part in parts for number in part.episodes]
    renumbered = {(id(part), number): new for new, (part, number) in enumerate(numbered)}

    def open_numbered(number: int) -> Recording:
        part, own = numbered[number]
        return replace(part.open(own), index=number)

    def moved(part: Dataset, defect: Defect) -> Defect:
        named = tuple(renumbered[id(part), each] for each in defect.episodes
                      if (id(part), each) in renumbered)  # fmt: skip
        alone = None if defect.episode is None else renumbered.get((id(part), defect.episode))
        return replace(defect, episode=alone, episodes=named)

    names = {part.format for part in parts}
    return Dataset(
        source=parts[0].source.parent,
        format=names.pop() if len(names) == 1 else "mixed",
        episodes=tuple(range(len(numbered))),
        open=open_numbered,
        defects=tuple(moved(part, defect) for part in parts for defect in part.defects),
        lanes=lambda: united(part.lanes() for part in parts),
        ledger=sum((part.ledger for part in parts), Ledger()),
    )
