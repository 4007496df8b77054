"""Where output goes and how it looks: results to standard output, all else to standard error."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import date
from pathlib import Path
from typing import Annotated, Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from corporeal.cli.command import option
from corporeal.errors import CorporealError
from corporeal.words import UNSHOWN, show_plainly

AsJson = Annotated[bool, option("Print JSON only.", "--json")]
PICTURES = (".png", ".pdf", ".svg")
COLOURS = {"accepted": "green", "quarantined": "yellow", "failed": "red",
           "fail": "red", "quarantine": "yellow", "note": "dim"}  # fmt: skip


class _PlainConsole(Console):
    """A console for text from anywhere: no markup, and no escape sequence but its own styles."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or not UNSHOWN.search(segment.text):
                yield segment
            else:
                yield Segment(show_plainly(segment.text), segment.style)


def console() -> Console:
    """For results that people read. A pipe gets room enough not to cut names short.

    What it prints is text, never markup: a name such as corporeal[track] would be eaten.
    """
    width = None if sys.stdout.isatty() else 160
    return _PlainConsole(width=width, highlight=False, markup=False, emoji=False)


def stderr() -> Console:
    """For progress and messages."""
    return _PlainConsole(stderr=True, highlight=False, markup=False, emoji=False)


def emphasise(first: object, rest: str = "", *, style: str = "bold") -> Text:
    """A line whose first words stand out."""
    return Text.assemble((str(first), style), rest)


def print_json(values: Any) -> None:
    """The result as JSON, alone on standard output."""
    text = json.dumps(values, ensure_ascii=False, indent=2, allow_nan=False, default=_plain)
    sys.stdout.write(f"{_escape_unshown(text)}\n")


def print_json_line(values: Any) -> None:
    """One of many results as a line of JSON, at once."""
    text = json.dumps(values, ensure_ascii=False, allow_nan=False, default=_plain)
    sys.stdout.write(f"{_escape_unshown(text)}\n")
    sys.stdout.flush()


def _escape_unshown(text: str) -> str:
    return UNSHOWN.sub(lambda sign: f"\\u{ord(sign[0]):04x}", text)


def _plain(value: Any) -> Any:
    """A path or a day, or a value of ours: as it says itself, or its fields by name."""
    if isinstance(value, Path | date):
        return str(value)
    if hasattr(value, "to_json"):
        return value.to_json()
    return {field.name: getattr(value, field.name) for field in fields(value)}


def print_result(as_json: bool, values: Any, *lines: RenderableType) -> None:
    """The result as JSON, or in lines for people."""
    if as_json:
        print_json(values)
        return
    for line in lines:
        console().print(line)


def make_table(*titles: str, right: Collection[str] = (), wrap: bool = True) -> Table:
    """An empty table without lines; without titles it has no header."""
    table = Table(box=None, show_header=bool(titles), header_style="dim", pad_edge=False,
                  padding=(0, 2, 0, 0))  # fmt: skip
    for title in titles:
        table.add_column(title, overflow="fold", no_wrap=not wrap,
                         justify="right" if title in right else "left")  # fmt: skip
    return table


def check_picture(path: Path) -> None:
    """Raise for a name that says no kind of picture which figures are saved as."""
    if path.suffix not in PICTURES:
        raise CorporealError(
            f"picture, got {path.name!r}; expected a name ending in {', '.join(PICTURES)}."
        )


def save_picture(figure: Any, path: Path) -> None:
    """Write a figure of matplotlib."""
    try:
        figure.savefig(path)
    except OSError as error:
        raise CorporealError(f"{path}: {error.strerror or error}.") from None


class ProgressBar:
    """A bar on standard error whose methods are handed to whoever does the work."""

    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def start(self, count: float) -> None:
        """Say how much there is to do."""
        self._progress.update(self._task, total=count)

    def advance(self, *_: object) -> None:
        """One more is done."""
        self._progress.advance(self._task)

    def move(self, title: str, done: float) -> None:
        """Say what is being done now, and how much is done altogether."""
        self._progress.update(self._task, description=title, completed=done)


@contextmanager
def show_progress(
    title: str, total: float | None = None, *, counted: bool = True
) -> Iterator[ProgressBar]:
    """A bar that is gone in the end, and is not there for a pipe; counted: says how many."""
    amount = MofNCompleteColumn() if counted else TaskProgressColumn()
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        amount,
        TimeRemainingColumn(),
    )
    page = stderr()
    with Progress(*columns, console=page, transient=True, disable=not page.is_terminal) as progress:
        yield ProgressBar(progress, progress.add_task(title, total=total))
