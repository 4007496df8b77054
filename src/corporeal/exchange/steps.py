"""Recordings that are a list of steps with numbers in them and the names of files beside them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import FOOTAGE_INCOMPLETE, INDEX_WRONG
from corporeal.errors import EpisodeError
from corporeal.exchange.foreign_stream import EpisodeReading
from corporeal.exchange.format import in_order
from corporeal.exchange.json_text import read_bounded
from corporeal.exchange.stored_samples import StoredPictures
from corporeal.schema.stream import Group

DATA = "data.json"
MAX_FILE_BYTES = 1 << 26
_MISSING: Any = object()
# Deeper than this, what a step holds is accounted for as one thing.
_DEPTH = 6


@dataclass(frozen=True, eq=False)
class StepColumn:
    """One quantity: its values (n, ...), the steps that have it, and how many have it otherwise."""

    values: NDArray[np.float64]
    steps: NDArray[np.int64]
    odd: int = 0

    def __len__(self) -> int:
        return len(self.steps)


def episode_folders(path: Path) -> list[Path]:
    """The folders with a data.json: the path itself, or those in it or in folders of it, in order
    of their numbers.
    """
    if (path / DATA).is_file():
        return [path]
    if not path.is_dir():
        return []
    return in_order(
        file.parent for pattern in (f"*/{DATA}", f"*/*/{DATA}") for file in path.glob(pattern)
    )


def begins_with(path: Path, mark: str, *keys: str) -> bool:
    """Whether a JSON file begins with this sign and has these keys in its first bytes."""
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16).decode("utf-8", "replace").lstrip()
    except OSError:
        return False
    return head.startswith(mark) and all(f'"{key}"' in head for key in keys)


def value_at(step: Any, *keys: str) -> Any:
    """What lies at the end of these keys; None when it is not there."""
    for key in keys:
        step = step.get(key, _MISSING) if isinstance(step, Mapping) else _MISSING
        if step is _MISSING:
            return None
    return step


def column(steps: Sequence[Any], *keys: str) -> StepColumn:
    """A quantity in all steps that have it; empty lists count as not having it.

    Steps in which it has another shape than in most are left out and counted.
    """
    found: dict[tuple[int, ...], list[int]] = {}
    values: dict[int, NDArray[np.float64]] = {}
    for number, step in enumerate(steps):
        array = _numbers(value_at(step, *keys))
        if array is not None and array.size:
            found.setdefault(array.shape, []).append(number)
            values[number] = array
    if not found:
        return StepColumn(np.zeros((0, 1)), np.zeros(0, np.int64))
    shape = max(found, key=lambda each: len(found[each]))
    chosen = found[shape]
    stacked = np.stack([values[number] for number in chosen])
    rows = stacked.reshape(len(chosen), 1) if not shape else stacked
    return StepColumn(rows, np.array(chosen, np.int64), len(values) - len(chosen))


def side_by_side(columns: Sequence[StepColumn]) -> StepColumn:
    """Several quantities (n, width) as one, in the steps that have all of them."""
    common = columns[0].steps
    for each in columns[1:]:
        common = np.intersect1d(common, each.steps)
    parts = [each.values[np.isin(each.steps, common)] for each in columns]
    lost = max(len(each) for each in columns) - len(common)
    return StepColumn(
        np.concatenate(parts, axis=1), common, lost + sum(each.odd for each in columns)
    )


def files_at(root: Path, steps: Sequence[Any], *keys: str) -> tuple[list[Path], NDArray[np.int64]]:
    """The files that steps name, and which steps do; none may lie outside of `root`."""
    files, places = [], []
    for number, step in enumerate(steps):
        name = value_at(step, *keys)
        if isinstance(name, str) and name:
            files.append(inside(root, name))
            places.append(number)
    return files, np.array(places, np.int64)


def inside(root: Path, name: str) -> Path:
    """The path of a file in a folder; raises EpisodeError when it leads out of it."""
    plain = PurePosixPath(name.replace("\\", "/"))
    path = root / plain
    if plain.is_absolute() or not path.resolve().is_relative_to(root.resolve()):
        raise EpisodeError(
            f"{root / DATA}: names the file {name[:80]!r}, which is not in its folder. "
            "Take the recording from its source again."
        )
    return path


def read_frame(path: Path) -> bytes:
    """A file of bounded size that holds one frame."""
    return read_bounded(path, limit=MAX_FILE_BYTES, expected="one frame")


def read_frames(files: Sequence[Path], numbers: Iterable[int]) -> Iterator[bytes]:
    """The files with these numbers."""
    return (read_frame(files[number]) for number in numbers)


def _numbers(value: Any) -> NDArray[np.float64] | None:
    if value is None or isinstance(value, str | Mapping):
        return None
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.ndim <= 3 else None


def _leaves(value: Any, keys: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Where a step has something: the keys of every list, number and text in it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, (*keys, str(key))) if len(keys) < _DEPTH else [keys]
    elif keys and value is not None and value != [] and value != "":
        yield keys


@dataclass(kw_only=True)
class StepReading(EpisodeReading):
    """An episode of steps while it is read; `time_ns` has the stamp of every step."""

    folder: Path
    steps: Sequence[Any]
    time_ns: NDArray[np.int64]
    looked_at: set[tuple[str, ...]] = field(default_factory=set)

    def column(self, *keys: str) -> StepColumn:
        """A quantity in all steps that have it."""
        found = column(self.steps, *keys)
        if len(found):
            self.looked_at.add(keys)
        return found

    def leave_out_rest(self) -> None:
        """Account for everything in the steps that nobody looked at; an empty value is nothing."""
        counts: Counter[tuple[str, ...]] = Counter()
        for step in self.steps:
            counts.update(_leaves(step))
        for keys, count in counts.items():
            if not any(keys[: len(known)] == known for known in self.looked_at):
                name = ".".join(keys)
                self.leave_out(name, "unknown to this reader", samples=count, lost=True)

    def add(
        self,
        label: str,
        quantity: StepColumn,
        *,
        role: str | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        """A quantity in the role that its label, or the word `role`, and its names give it."""
        if len(quantity):
            stamps = self.time_ns[quantity.steps]
            self.take_numbers(label, quantity.values, stamps, role=role, names=names)
            self._check_steps(label, quantity)

    def add_stream(
        self,
        label: str,
        quantity: StepColumn,
        name: str,
        group: Group = "observations",
        names: Sequence[str] | None = None,
        unit: str | Sequence[str] = "1",
        frame: str | None = None,
    ) -> None:
        """A quantity as the stream that it is known to be."""
        if len(quantity):
            stamps = self.time_ns[quantity.steps]
            self.take_stream(label, quantity.values, stamps, name=name, group=group, names=names,
                             unit=unit, frame=frame)  # fmt: skip
            self._check_steps(label, quantity)

    def add_stills(self, label: str, *keys: str, name: str) -> None:
        """A camera whose pictures lie in files that the steps name."""
        files, stamps = self.files(label, *keys)
        if files:
            pictures = StoredPictures(len(files), partial(read_frames, files))
            self.take_pictures(label, pictures, stamps, name=name)

    def files(
        self, label: str, *keys: str, spell: Callable[[Path], Path] = lambda path: path
    ) -> tuple[list[Path], NDArray[np.int64]]:
        """The files that steps name and that are there, and their stamps; others are told.

        `spell` gives the name on disk of one in a step.
        """
        self.looked_at.add(keys)
        named, places = files_at(self.folder, self.steps, *keys)
        # Looked at again under that name: it may be a link that leads elsewhere.
        named = [inside(self.folder, str(spell(path).relative_to(self.folder))) for path in named]
        there = np.array([path.is_file() for path in named], bool)
        found, count = int(there.sum()), len(self.steps)
        if found < len(named):
            first = named[int(np.argmin(there))].name
            gone = f"{len(named) - found} of {len(named)} files are missing, {first} the first"
            self.complain(FOOTAGE_INCOMPLETE, gone, label, found, len(named))
        elif 0 < found < count:
            few = f"{found} files for {count} steps"
            self.complain(FOOTAGE_INCOMPLETE, few, label, found, count)
        kept = [path for path, here in zip(named, there, strict=True) if here]
        return kept, self.time_ns[places[there]] if kept else self.time_ns[:0]

    def _check_steps(self, label: str, quantity: StepColumn) -> None:
        """Complain of a quantity that some of the steps lack."""
        count = len(self.steps)
        if len(quantity) != count:
            message = f"{label} is in {len(quantity)} of {count} steps"
            if quantity.odd:
                message += f", and in {quantity.odd} with other entries"
            self.complain(INDEX_WRONG, message, label, float(len(quantity)), float(count))
