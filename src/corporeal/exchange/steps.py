"""Recordings that are a list of steps with numbers in them and the names of files beside them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import (
    FOOTAGE_INCOMPLETE,
    INDEX_WRONG,
    ArraySignal,
    Defect,
    DefectCheck,
    ImageSequence,
    Signal,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.foreign_stream import array_signal, picture_stream
from corporeal.exchange.hdf5 import in_order
from corporeal.schema import Stream
from corporeal.schema.stream import Group

DATA = "data.json"
MAX_FILE_BYTES = 1 << 26
_MISSING: Any = object()


@dataclass(frozen=True, eq=False)
class StepColumn:
    """One quantity: its values (n, ...), the steps that have it, and how many have it otherwise."""

    values: NDArray[np.float64]
    steps: NDArray[np.int64]
    odd: int = 0

    def __len__(self) -> int:
        return len(self.steps)


@dataclass(frozen=True, eq=False)
class FilePictures(Sequence[bytes]):
    """Encoded pictures, each in a file that is read when it is asked for."""

    files: Sequence[Path]

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, selection: Any) -> Any:
        if isinstance(selection, slice):
            return [read_bytes(path) for path in self.files[selection]]
        return read_bytes(self.files[selection])


@dataclass(frozen=True, eq=False)
class FileSignal:
    """Depth or point clouds, each in a file that `load` reads when it is asked for."""

    spec: Stream
    time_ns: NDArray[np.int64]
    files: Sequence[Path]
    load: Callable[[Path], NDArray[Any]]

    def __len__(self) -> int:
        return len(self.time_ns)

    def __getitem__(self, selection: Any) -> Any:
        """One sample, or several: depth (n, height, width), a list of clouds."""
        numbers = np.arange(len(self))[selection]
        if np.ndim(numbers) == 0:
            return self.load(self.files[int(numbers)])
        samples = [self.load(self.files[int(number)]) for number in numbers]
        return np.stack(samples) if self.spec.kind == "depth" and samples else samples


def episode_folders(path: Path) -> list[Path]:
    """The folders with a data.json: the path itself, or those in it or in folders of it, in order
    of their numbers.
    """
    if (path / DATA).is_file():
        return [path]
    if not path.is_dir():
        return []
    found = {
        str(each.parent.relative_to(path)): each.parent
        for pattern in (f"*/{DATA}", f"*/*/{DATA}")
        for each in path.glob(pattern)
    }
    return [found[name] for name in in_order(list(found))]


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


def read_bytes(path: Path) -> bytes:
    """A file of bounded size."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise EpisodeError(f"{path}: cannot be read ({error.strerror}). Replace it.") from None
    if len(data) > MAX_FILE_BYTES:
        raise EpisodeError(f"{path}: larger than {MAX_FILE_BYTES >> 20} MiB; expected one frame.")
    return data


def stills(
    label: str, files: Sequence[Path], time_ns: NDArray[np.int64], rate_hz: float
) -> ImageSequence:
    """A camera whose pictures lie in files, of the size that the first of them has."""
    pictures = FilePictures(files)
    empty = picture_stream(label, height=2, width=2, rate_hz=rate_hz)
    height, width = ImageSequence(empty, time_ns, pictures)[0].shape[:2]
    spec = picture_stream(label, height=height, width=width, rate_hz=rate_hz)
    return ImageSequence(spec, time_ns, pictures)


def _numbers(value: Any) -> NDArray[np.float64] | None:
    if value is None or isinstance(value, str | Mapping):
        return None
    try:
        array = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        return None
    return array if array.ndim <= 3 else None


@dataclass
class StepReading:
    """What is read so far; `time_ns` has the stamp of every step."""

    folder: Path
    index: int
    steps: Sequence[Any]
    time_ns: NDArray[np.int64]
    rate_hz: float
    robot: Embodiment | None
    signals: dict[str, Signal] = field(default_factory=dict)
    complaints: list[Defect] = field(default_factory=list)
    _columns: dict[str, StepColumn] = field(default_factory=dict)

    def add(
        self,
        label: str,
        found: StepColumn,
        *,
        role: str | None = None,
        names: Sequence[str] | None = None,
    ) -> None:
        """A quantity in the role that its label, or the word `role`, and its names give it."""
        if len(found):
            self._columns[label] = found
            self.signals[label] = array_signal(
                role or label,
                found.values,
                self.time_ns[found.steps],
                rate_hz=self.rate_hz,
                names=names,
                robot=self.robot,
            )

    def add_stream(
        self,
        label: str,
        found: StepColumn,
        *,
        name: str,
        group: Group,
        names: Sequence[str] | None = None,
        unit: str | Sequence[str] = "1",
        frame: str | None = None,
    ) -> None:
        """A quantity as the stream that it is known to be; names that do not fit are left out."""
        if not len(found):
            return
        shape = found.values.shape[1:]
        spec = Stream(
            name=name,
            group=group,
            dtype="float64",
            shape=shape,
            rate_hz=self.rate_hz,
            components=tuple(names) if names is not None and shape == (len(names),) else None,
            unit=unit if isinstance(unit, str) else tuple(unit),
            frame=frame,
        )
        self._columns[label] = found
        self.signals[label] = ArraySignal(spec, self.time_ns[found.steps], found.values)

    def files(
        self, label: str, *keys: str, spell: Callable[[Path], Path] = lambda path: path
    ) -> tuple[list[Path], NDArray[np.int64]]:
        """The files that steps name and that are there, and their stamps; others are told.

        `spell` gives the name on disk of one in a step.
        """
        named, places = files_at(self.folder, self.steps, *keys)
        # Looked at again under that name: it may be a link that leads elsewhere.
        named = [inside(self.folder, str(spell(path).relative_to(self.folder))) for path in named]
        there = np.array([path.is_file() for path in named], bool)
        found, count = int(there.sum()), len(self.steps)
        if found < len(named):
            first = named[int(np.argmin(there))].name
            gone = f"{len(named) - found} of {len(named)} files are missing, {first} the first"
            self.complain(FOOTAGE_INCOMPLETE, label, gone, found=found, wanted=len(named))
        elif 0 < found < count:
            few = f"{found} files for {count} steps"
            self.complain(FOOTAGE_INCOMPLETE, label, few, found=found, wanted=count)
        kept = [path for path, here in zip(named, there, strict=True) if here]
        return kept, self.time_ns[places[there]] if kept else self.time_ns[:0]

    def complain(
        self,
        check: DefectCheck,
        label: str | None,
        message: str,
        *,
        found: float | None = None,
        wanted: float | None = None,
    ) -> None:
        """Say what is wrong with this episode."""
        self.complaints.append(Defect(check, message, self.index, label, found, wanted))

    def defects(self) -> tuple[Defect, ...]:
        """All that is wrong: what was said, and quantities that some of the steps lack."""
        count = len(self.steps)
        lacking = []
        for label, each in self._columns.items():
            if len(each) != count:
                message = f"{label} is in {len(each)} of {count} steps"
                if each.odd:
                    message += f", and in {each.odd} with other entries"
                lacking.append(
                    Defect(INDEX_WRONG, message, self.index, label, float(len(each)), float(count))
                )
        return (*self.complaints, *lacking)
