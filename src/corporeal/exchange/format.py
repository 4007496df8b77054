"""A dataset format: how it is recognised, how it is read, and what it cannot hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import Dataset
from corporeal.errors import EpisodeError, UnknownNameError
from corporeal.exchange.beside.restoration import as_rows, restored
from corporeal.exchange.layout import Layout
from corporeal.exchange.plan import Plan
from corporeal.exchange.table import Table
from corporeal.registry import plugins

PACKAGE = "corporeal.exchange.formats"

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
"""What a table may lose in a format, in words."""


@dataclass(frozen=True)
class Head:
    """What is true of the whole dataset that is being written."""

    name: str
    plan: Plan
    layout: Layout
    robot: Embodiment | None


@dataclass(frozen=True)
class Piece:
    """One episode that is written: its folder, and what is known of it without reading it.

    `facts` has id, number, length, instructions, success, source, and what `Writer.piece` returned.
    """

    folder: Path
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Consumer:
    """The library that people read a format with: `script` in `exchange/consumers` runs it."""

    script: str
    module: str
    install: str


@dataclass(frozen=True)
class Writer:
    """How a format is written: episodes one by one, in any process, then all together.

    `piece(table, folder, head)` writes one episode into an empty folder, whatever the format needs
    of it, and returns facts of it for `assemble`, as JSON. `assemble(pieces, out, head)` makes the
    dataset in the empty folder `out`; it may move files out of the pieces' folders. A piece is
    written once, also when the export is interrupted; `assemble` starts over.
    `label` says what the format's own reader calls a column or camera; None when it is lost.
    A format of `many_rates` keeps the recording itself and needs nothing beside it.
    """

    piece: Callable[[Table, Path, Head], Mapping[str, Any]]
    assemble: Callable[[Sequence[Piece], Path, Head], None]
    loses: tuple[Loss, ...] = ()
    label: Callable[[str], str | None] = lambda key: key
    consumer: Consumer | None = None
    many_rates: bool = False


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


def open_dataset(
    path: Path | str, *, robot: Embodiment | None = None, restore: bool = True
) -> Dataset:
    """The dataset at a path, whatever its format; `robot` takes the place of the one it names.

    A dataset that Corporeal wrote is put together again with what lies beside it, unless
    `restore` is False.
    """
    path = Path(path)
    if not path.exists():
        raise EpisodeError(f"{path}: does not exist. Give the path of a dataset.")
    for each in formats().values():
        if each.read is not None and each.recognises(path):
            dataset = each.read(path, robot=robot)
            return restored(dataset, path, robot=robot) if restore else dataset
    known = ", ".join(f"{name} ({each.title})" for name, each in formats().items() if each.read)
    raise EpisodeError(f"{path}: not a dataset of a known format; expected one of: {known}.")


def open_rows(path: Path | str, *, robot: Embodiment | None = None) -> Dataset:
    """The dataset at a path row by row as it stands: what merge, split, delete, select work on."""
    return as_rows(open_dataset(path, robot=robot, restore=False), Path(path), robot=robot)


def writer_of(name: str) -> Writer:
    """The writer of the format with this name."""
    writers = {each: known.writer for each, known in formats().items() if known.writer is not None}
    if name not in writers:
        raise UnknownNameError("format", name, writers)
    return writers[name]
