"""A dataset format: how it is recognised, how it is read and written, and what it cannot hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.exchange.layout import TableLayout, collect_lanes
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import EpisodeTable
from corporeal.registry import plugins

PACKAGE = "corporeal.exchange.formats"
T = TypeVar("T")

Loss = Literal[
    "rates", "stamps", "names", "units", "instructions", "precision", "pictures", "columns",
    "cameras", "robot", "modes", "outcome", "labels",
]  # fmt: skip
LOSSES: Mapping[Loss, str] = {
    "rates": "every stream is sampled at the rate of the rows",
    "stamps": "rows have even stamps made from their number",
    "names": "columns have no names",
    "units": "columns have no units",
    "instructions": "no instruction is kept",
    "precision": "numbers are kept as 32-bit floats",
    "pictures": "pictures that cannot be copied are encoded anew",
    "columns": "only state and action are kept",
    "cameras": "no camera is kept",
    "robot": "the robot is not named",
    "modes": "mode labels are not kept",
    "outcome": "whether the task succeeded is not kept",
    "labels": "labels hold for whole rows, without attributes",
}
"""What an episode may lose in a format, in words."""


@dataclass(frozen=True)
class ExportContext:
    """What is true of all tables of a dataset that is being written."""

    name: str
    options: ExportOptions
    layout: TableLayout
    robot: Embodiment | None


@dataclass(frozen=True)
class WrittenEpisode:
    """One episode that is written: its folder, and what is known of it without reading it.

    `length` is the number of its rows, None where the format has none; `filled` counts those that
    repeat a value, by column. `details` are what the writer returned.
    """

    folder: Path
    id: str
    number: int
    source: str = ""
    index: int = 0
    length: int | None = None
    instructions: tuple[str, ...] = ()
    success: bool | None = None
    filled: Mapping[str, int] = field(default_factory=dict)
    side: bool = False
    """Whether `side.h5` beside the folder has what the rows do not hold."""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The number of its rows; 0 where the format has none."""
        return self.length or 0

    def to_json(self) -> dict[str, Any]:
        """All of it but the folder, the details among the rest."""
        stated = {name: getattr(self, name) for name in _STATED}
        return {**stated, "filled": dict(self.filled), **self.details}

    @classmethod
    def from_json(cls, folder: Path, values: Mapping[str, Any]) -> WrittenEpisode:
        """What `to_json` gave."""
        stated = {name: values[name] for name in (*_STATED, "filled")}
        stated["instructions"] = tuple(stated["instructions"])
        details = {name: value for name, value in values.items() if name not in stated}
        return cls(folder=folder, details=details, **stated)


_STATED = ("id", "number", "index", "source", "length", "instructions", "success", "side")


@dataclass(frozen=True)
class Consumer:
    """The library that people read a format with: `script` in `conformance` runs it."""

    script: str
    module: str
    install: str


@dataclass(frozen=True)
class TableWriter:
    """How a format of rows is written: episodes one by one, in any process, then all together.

    `write(table, folder, context)` writes one episode into an empty folder, whatever the format
    needs of it, and returns details of it for `assemble`, as JSON. `assemble(episodes, out,
    context)` makes the dataset in the empty folder `out`; it may link to files of the episodes'
    folders. An episode is written once, also when the export is interrupted; `assemble` starts
    over. `label` says what the format's own reader calls a column or camera; None when it is lost.
    """

    write: Callable[[EpisodeTable, Path, ExportContext], Mapping[str, Any]]
    assemble: Callable[[Sequence[WrittenEpisode], Path, ExportContext], None]
    loses: tuple[Loss, ...] = ()
    label: Callable[[str], str | None] = lambda key: key
    consumer: Consumer | None = None


@dataclass(frozen=True)
class RecordingWriter:
    """How a format is written that keeps every stream at its own rate: no rows are made for it.

    `write(recording, number, folder, options)` and `assemble(episodes, out)` are as in
    `TableWriter`; nothing needs to lie beside such a dataset.
    """

    write: Callable[[Recording, int, Path, ExportOptions], Mapping[str, Any]]
    assemble: Callable[[Sequence[WrittenEpisode], Path], None]
    loses: tuple[Loss, ...] = ()
    consumer: Consumer | None = None


Writer = TableWriter | RecordingWriter


@dataclass(frozen=True)
class Format:
    """One format. `recognises` looks at names and a few bytes; it never raises.

    `read(path, robot=...)` gives the dataset. A format that is only written, since another one
    reads it, recognises nothing.
    """

    title: str
    recognises: Callable[[Path], bool] = lambda _: False
    read: Callable[..., Dataset] | None = None
    writer: Writer | None = None


@cache
def formats() -> dict[str, Format]:
    """Every format by name."""
    return plugins(PACKAGE, "FORMAT", Format)


def writer_of(name: str) -> Writer:
    """The writer of the format with this name."""
    writers = {each: known.writer for each, known in formats().items() if known.writer is not None}
    if name not in writers:
        raise UnknownNameError("format", name, writers)
    return writers[name]


def in_order(items: Iterable[T]) -> list[T]:
    """Names or paths by the numbers in them: demo_2 before demo_10."""
    return sorted(items, key=lambda item: [int(part) if part.isdigit() else part
                                           for part in re.split(r"(\d+)", str(item))])  # fmt: skip


def files_of(path: Path, *suffixes: str) -> list[Path]:
    """The file itself, or those of a folder with such a suffix, by the numbers in their names."""
    if not path.is_dir():
        return [path] if path.suffix in suffixes and path.is_file() else []
    return in_order(file for file in path.iterdir() if file.suffix in suffixes and file.is_file())


def dataset_of(
    source: Path,
    name: str,
    parts: Sequence[T],
    open_part: Callable[[T, int], Recording],
    *,
    labelled: bool = False,
    noun: str = "episode",
    **stated: Any,
) -> Dataset:
    """A dataset with one file, folder or other part for each episode, which `open_part` opens.

    `labelled` when the episodes may have labels, of which only they themselves know. `stated` are
    further fields of the dataset.
    """
    opener = partial(_open_numbered, source, tuple(parts), open_part, noun)
    numbers = tuple(range(len(parts)))
    dataset = Dataset(source=source, format=name, episodes=numbers, open=opener, **stated)
    return replace(dataset, lanes=partial(collect_lanes, opener, numbers)) if labelled else dataset


def _open_numbered(
    source: Path,
    parts: tuple[T, ...],
    open_part: Callable[[T, int], Recording],
    noun: str,
    index: int,
) -> Recording:
    if not 0 <= index < len(parts):
        raise EpisodeError(f"{source}: {noun} {index} is not here; expected 0 to {len(parts) - 1}.")
    return open_part(parts[index], index)
