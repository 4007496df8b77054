"""A dataset format: how it is recognised, how it is read and written, and what it cannot hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from corporeal.embodiment import Embodiment
from corporeal.episode.facts import ASSUMED
from corporeal.episode.recording import Dataset, Ledger, Recording, SourceItem
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.exchange.composition import find_stream
from corporeal.exchange.layout import TableLayout, collect_lanes
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import EpisodeTable
from corporeal.registry import plugins
from corporeal.schema import Stream

PACKAGE = "corporeal.exchange.formats"
LEDGER = "ledger"
CUT = "cut"
"""The field of a piece's metadata that says which rows of which episode it is."""
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
    ledger: Ledger = field(default_factory=Ledger)
    """What its source has of it, and what of that is here."""
    assumed: Mapping[str, str] = field(default_factory=dict)
    """What its source does not say, and why it was assumed, by field."""

    @property
    def origin(self) -> str:
        """The id of the episode that it was cut from, or its own."""
        return str(self.details.get(CUT, {}).get("episode", self.id))

    @property
    def rows(self) -> int:
        """The number of its rows; 0 where the format has none."""
        return self.length or 0

    def to_json(self) -> dict[str, Any]:
        """All of it but folder and ledger, the details among the rest."""
        stated = {name: getattr(self, name) for name in _STATED}
        assumed = {ASSUMED: dict(self.assumed)} if self.assumed else {}
        return {**stated, "filled": dict(self.filled), **assumed, **self.details}

    @classmethod
    def from_json(cls, folder: Path, values: Mapping[str, Any]) -> WrittenEpisode:
        """What `to_json` gave."""
        stated = {name: values[name] for name in (*_STATED, "filled")}
        stated["instructions"] = tuple(stated["instructions"])
        details = {name: value for name, value in values.items()
                   if name not in stated and name not in (LEDGER, ASSUMED)}  # fmt: skip
        return cls(
            folder=folder,
            details=details,
            ledger=Ledger.from_json(values.get(LEDGER, ())),
            assumed=values.get(ASSUMED, {}),
            **stated,
        )


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


BESIDE = "beside the rows: "
"""How a ledger says that a stream is not in the rows, but in a side file."""


def account_written(
    recording: Recording,
    writer: Writer,
    layout: TableLayout | None,
    *,
    exclude: Collection[str],
    side: bool,
) -> Ledger:
    """What became of every item of the source: in the dataset, beside it, or not at all."""
    specs = {signal.spec.path: signal.spec for signal in recording.signals.values()}
    in_rows = set(specs)
    if isinstance(writer, TableWriter) and layout is not None:
        in_rows = {stream.path for key, column in layout.columns.items()
                   if writer.label(key) is not None for stream in column.streams}  # fmt: skip
        in_rows |= {camera.stream.path for key, camera in layout.cameras.items()
                    if writer.label(key) is not None}  # fmt: skip
        in_rows |= {path for path, spec in specs.items() if spec.kind == "text"}
    return Ledger(
        tuple(
            _account_item(item, specs, in_rows, exclude, side=side)
            for item in recording.ledger.items
        )
    )


def _account_item(
    item: SourceItem,
    specs: Mapping[str, Stream],
    in_rows: Collection[str],
    exclude: Collection[str],
    *,
    side: bool,
) -> SourceItem:
    streams = [path for path in item.taken_as if path in specs]
    hidden = {find_stream(name, specs) for name in exclude}
    asked = [path for path in streams if path in hidden]
    if item.name in exclude or (streams and len(asked) == len(streams)):
        return replace(item, taken_as=(), reason="left out, as asked", lost=False, lacking=1)
    gone = [path for path in streams if path not in in_rows]
    if not gone:
        return item
    kept = tuple(path for path in item.taken_as if path not in gone)
    if side:
        return replace(item, taken_as=(*kept, *(f"{BESIDE}{path}" for path in gone)))
    if kept:
        return item
    reason = f"no column of the rows; --include {specs[gone[0]].name} adds it"
    return replace(item, taken_as=(), reason=reason, lacking=1)


@dataclass(frozen=True)
class Format:
    """One format. `recognises` looks at names and a few bytes; it never raises.

    `read(path, robot=...)` gives the dataset; with `takes_rate` also rate_hz, for files that do not
    state theirs. A format that is only written, since another one reads it, recognises nothing.
    """

    title: str
    recognises: Callable[[Path], bool] = lambda _: False
    read: Callable[..., Dataset] | None = None
    takes_rate: bool = False
    writer: Writer | None = None
    guards_links: bool = False
    """Whether `read` itself refuses links out of a folder, which may have other things in it."""


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
