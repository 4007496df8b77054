"""A question about many episodes: a function answers it from the catalogue, with a chart."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, Field
from sqlalchemy import Connection

from corporeal.catalog.database import CatalogError
from corporeal.catalog.people import PERSON_KEYS
from corporeal.errors import UnknownNameError
from corporeal.operations.scope import Scope
from corporeal.registry import plugins

PACKAGE = "corporeal.operations.questions"

Section = Literal["Today", "Quality", "Coverage and cost"]
"""A page of the dashboards: each is one screen."""
SECTIONS: tuple[Section, ...] = get_args(Section)
Tone = Literal["plain", "good", "warn", "bad", "quiet"]
Unit = Literal["count", "share", "number", "hours", "m", "rad"]
LONGEST_TEXT = 120


def _finite(value: object) -> object:
    """JSON has no infinity and no NaN: both are `unknown` to the page."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


Number = Annotated[float | None, BeforeValidator(_finite)]


class LinePoint(BaseModel):
    """One batch; `query` finds its episodes. `state` is how it stands to the limits."""

    label: str
    at: str
    value: float
    size: int
    lower: Number = None
    upper: Number = None
    state: Literal["reference", "within", "out", "unknown"] = "unknown"
    detail: str
    query: str


class LineMarks(BaseModel):
    """Values in order of time, with the limits that they should stay within."""

    kind: Literal["line"] = "line"
    unit: Unit
    name: str
    points: list[LinePoint]
    target: Number = None


class BarMark(BaseModel):
    """One bar of a plain chart."""

    label: str
    value: float
    detail: str
    tone: Tone = "plain"
    query: str | None = None


class BarMarks(BaseModel):
    """Bars that lie, the first on top; `limit` is drawn across them."""

    kind: Literal["bars"] = "bars"
    unit: Unit
    name: str
    bars: list[BarMark]
    limit: Number = None
    limit_label: str = ""


class StackSegment(BaseModel):
    """A part of a stacked bar."""

    name: str
    value: float
    detail: str
    tone: Tone = "plain"
    query: str | None = None


class Stack(BaseModel):
    """A bar made of segments."""

    label: str
    detail: str
    segments: list[StackSegment]
    query: str | None = None


class StackMarks(BaseModel):
    """Stacked bars: lying, one above the other, or standing along time.

    `fill` makes each as long as the others, to compare shares; `legend` names tones.
    """

    kind: Literal["stacked"] = "stacked"
    unit: Unit
    name: str
    standing: bool = False
    fill: bool = False
    legend: dict[str, Tone] = {}
    stacks: list[Stack]


class HeatCell(BaseModel):
    """One cell of a heat table; `empty` says that nothing is there yet."""

    value: Number
    text: str
    detail: str
    empty: bool = False
    query: str | None = None


class HeatMarks(BaseModel):
    """A table whose cells are coloured by value from 0 to `most`.

    `as_lines` says that columns follow each other in time: every row can be drawn as a line.
    """

    kind: Literal["heat"] = "heat"
    row_name: str
    column_name: str
    rows: list[str]
    columns: list[str]
    cells: list[list[HeatCell]]
    most: float
    tone: Tone = "good"
    as_lines: bool = False
    empty_means: str = ""


class HistogramBin(BaseModel):
    """One step of a histogram, from `low` to `high`."""

    low: float
    high: float
    count: int
    detail: str
    query: str


class HistogramMarks(BaseModel):
    """Counts over a range of values."""

    kind: Literal["histogram"] = "histogram"
    name: str
    bins: list[HistogramBin]
    mean: Number = None


class TableRow(BaseModel):
    """A row of a table; `address` is a page of Studio, `query` opens the list of episodes."""

    cells: list[str]
    tone: Tone = "plain"
    query: str | None = None
    address: str | None = None


class TableMarks(BaseModel):
    """A plain table."""

    kind: Literal["table"] = "table"
    columns: list[str]
    rows: list[TableRow]


class BigNumber(BaseModel):
    """A big number, what it is, and what it is made of."""

    label: str
    value: str
    detail: str
    query: str | None = None


class BigNumbers(BaseModel):
    """Some big numbers."""

    kind: Literal["figures"] = "figures"
    figures: list[BigNumber]


Marks = LineMarks | BarMarks | StackMarks | HeatMarks | HistogramMarks | TableMarks | BigNumbers
Payload = Annotated[Marks, Field(discriminator="kind")]


class ChartChoice(BaseModel):
    """A setting that the reader may change: one of `options`, or a number where there are none."""

    name: str
    label: str
    value: str
    options: list[str] = []
    unit: str = ""


@dataclass(frozen=True)
class Drawing:
    """What a chart answers: one sentence, the marks, and what was assumed.

    Without marks, `advice` says what to do to get some.
    """

    answer: str
    payload: Marks | None = None
    notes: tuple[str, ...] = ()
    advice: str = ""
    choices: tuple[ChartChoice, ...] = ()


NO_PAIRS = Drawing(
    "Cannot tell: no episode here was labelled and submitted by two people yet.",
    advice="Make a queue under Labels; at least one episode in ten is given to two people who do "
    "not see each other.",
)
TAKE_IN = "Choose a longer span of days above, or take in episodes: corporeal ingest."
"""What to do where a chart has no episodes."""


@dataclass(frozen=True)
class Chart:
    """One chart. `draw(connection, scope, *, settings...)` answers the question in the title.

    Settings are keyword-only arguments with a default, text or number; the page and
    `corporeal.toml` may change them. Charts of a section are shown in the order of `place`. One
    that shows `people` is for those alone who may see figures of single people; `of_one` says that
    it also makes sense of one operator, who may see their own.
    """

    draw: Callable[..., Drawing]
    title: str
    section: Section
    place: int = 50
    wide: bool = False
    people: bool = False
    of_one: bool = False

    def shows_people(self, settings: Mapping[str, object]) -> bool:
        """Whether it shows figures of single people with these settings."""
        chosen = {**self.settings, **settings}.values()
        return self.people or any(str(value) in PERSON_KEYS for value in chosen)

    @property
    def settings(self) -> dict[str, str | float]:
        """The keyword-only arguments of `draw` with their defaults."""
        parameters = inspect.signature(self.draw).parameters.values()
        return {each.name: each.default for each in parameters if each.kind is each.KEYWORD_ONLY}

    def answer(
        self, connection: Connection, scope: Scope, settings: Mapping[str, object]
    ) -> Drawing:
        """Draw with these settings; raises UnknownNameError or CatalogError for wrong ones."""
        known = self.settings
        given = {}
        for name, value in settings.items():
            if name not in known:
                raise UnknownNameError("setting of this chart", name, sorted(known) or ["none"])
            given[name] = _fitting(name, value, known[name])
        return self.draw(connection, scope, **given)


def _fitting(name: str, value: object, default: str | float) -> str | float:
    if isinstance(default, str):
        text = str(value)
        if len(text) > LONGEST_TEXT:
            raise CatalogError(f"{name}, got {len(text)} letters; expected up to {LONGEST_TEXT}.")
        return text
    try:
        number = float(str(value))
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise CatalogError(f"{name}, got {str(value)[:40]!r}; expected a number.")
    return number


@cache
def charts() -> dict[str, Chart]:
    """Every chart by name, in the order in which the page shows them."""
    found = plugins(PACKAGE, "CHART", Chart)
    order = sorted(
        found, key=lambda name: (SECTIONS.index(found[name].section), found[name].place, name)
    )
    return {name: found[name] for name in order}
