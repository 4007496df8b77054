"""How the pictures of a card look: paper, ink, colours, rows, dates."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, QUIET, _GRID = "#1d2733", "#66717b", "#e6eaee"
# Okabe and Ito's colours: told apart by everybody, also in grey.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
_WIDTH, _DPI, _MOST_LETTERS = 8.0, 160, 26


def canvas(height: float, title: str) -> tuple[Figure, Axes]:
    """An empty picture with its title."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    layout = ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.14)
    figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, facecolor="white", layout=layout)
    axis = figure.add_subplot()
    axis.set_title(title, loc="left", fontsize=11, weight="bold", color=INK, pad=8)
    axis.tick_params(length=0, colors=QUIET, labelsize=8.5)
    for side in axis.spines.values():
        side.set_visible(False)
    axis.grid(color=_GRID, lw=0.8)
    axis.set_axisbelow(True)
    return figure, axis


def rows(axis: Axes, names: Mapping[str, str], *, offset: float = 0.0) -> None:
    """A row for each name."""
    places = [row + offset for row in range(len(names))]
    axis.set_yticks(places, [label(name) for name in names], fontsize=9, color=INK)
    axis.grid(visible=False, axis="y")


def dates(axis: Axes) -> None:
    """Dates along the bottom."""
    import matplotlib.dates

    # Its classes carry no types.
    calendar: Any = matplotlib.dates
    places = calendar.AutoDateLocator(minticks=3, maxticks=9)
    axis.xaxis.set_major_locator(places)
    axis.xaxis.set_major_formatter(calendar.ConciseDateFormatter(places))
    axis.xaxis.get_offset_text().set(color=QUIET, fontsize=8.5)
    axis.grid(visible=False, axis="x")


def counts(axis: Axes) -> None:
    """Whole numbers upwards."""
    from matplotlib.ticker import MaxNLocator

    axis.yaxis.set_major_locator(MaxNLocator(5, integer=True))


def beside(axis: Axes, row: float, text: str, *, colour: str = INK) -> None:
    """A number at the right of a row."""
    axis.text(1.012, row, text, transform=axis.get_yaxis_transform(), color=colour, fontsize=8.5,
              va="center")  # fmt: skip


def legend(axis: Axes) -> None:
    """What the colours are, above on the right."""
    axis.legend(
        loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=4, fontsize=8.5, frameon=False,
        labelcolor=QUIET, handlelength=0.9, handleheight=0.9, borderaxespad=0.1,
        columnspacing=1.2,
    )  # fmt: skip


@cache
def _letters() -> frozenset[int]:
    """The letters that matplotlib's own font has."""
    from matplotlib.font_manager import findfont, get_font

    return frozenset(get_font(findfont("DejaVu Sans")).get_charmap())


def label(name: str) -> str:
    """Words from outside as a picture can show them: no formulas, no letters without a shape."""
    shown = "".join(
        letter if ord(letter) in _letters() and unicodedata.category(letter)[0] != "C" else "?"
        for letter in name.replace("_", " ")
    )
    cut = shown if len(shown) <= _MOST_LETTERS else shown[: _MOST_LETTERS - 3] + "..."
    return cut.replace("$", r"\$")


def png(figure: Figure) -> bytes:
    """The picture as a file; the same picture is the same file."""
    held = io.BytesIO()
    # Without the writer's name and version.
    told: dict[str, Any] = {"Software": None}
    figure.savefig(held, format="png", metadata=told)
    return held.getvalue()
