"""The pictures of a card: when, how well, how long, with what outcome, and by how many people."""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from corporeal.release.card.facts import CardFacts

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


_REST, _NOTHING = "#b8c2cb", "#dfe5ea"
_GOOD, _BAD = COLOURS[0], COLOURS[5]
_MOST_TASKS, _MOST_PEOPLE = 6, 12
_DAY_NS = 86_400_000_000_000
# Nobody should have made more of a batch than this share: a policy would learn one person's habits.
_MOST_OF_ONE = 0.30
_BEHIND = {"facecolor": "white", "edgecolor": "none", "pad": 1.0}
_OTHER = "other tasks"
# Fewer bars than this are drawn as if there were this many.
_FEW = 12
_STEPS = ((1, "day"), (7, "week"), (30, "30 days"), (365, "year"))


def card_plots(facts: CardFacts) -> dict[str, bytes]:
    """PNG files by name; a picture that would show nothing is left out."""
    drawn: dict[str, bytes] = {}
    for name, draw in _PICTURES.items():
        figure = draw(facts)
        if figure is not None:
            drawn[f"{name}.png"] = png(figure)
    return drawn


def episodes_over_time(facts: CardFacts) -> Figure | None:
    """Episodes of each day (or week, or month), one colour for each task."""
    known = facts.columns.recorded_ns > 0
    if not known.any():
        return None
    days = (facts.columns.recorded_ns[known] // _DAY_NS).astype(int)
    span = int(days.max() - days.min()) + 1
    step, word = next((each for each in _STEPS if span / each[0] <= 60), _STEPS[-1])
    # The first day of the first bar; a week begins on a Monday, and day 0 was a Thursday.
    begin = int(days.min()) - ((int(days.min()) + 3) % 7 if step == 7 else 0)
    slots = (days - begin) // step
    count = int(slots.max()) + 1
    tasks, names = _main_tasks(facts)
    figure, axis = canvas(3.2, f"Episodes per {word}")
    along = np.datetime64(begin, "D") + step * np.arange(count)
    below = np.zeros(count)
    for name, colour in names.items():
        height = np.bincount(slots[tasks[known] == name], minlength=count).astype(float)
        axis.bar(along, height, width=0.86 * step, bottom=below, color=colour, label=label(name),
                 align="edge" if step > 1 else "center")  # fmt: skip
        below += height
    if count < _FEW:
        middle = along[0] + np.timedelta64(step * count // 2, "D")
        side = np.timedelta64(12 * step * _FEW - 6, "h")
        axis.set_xlim(middle - side, middle + side)
    dates(axis)
    counts(axis)
    legend(axis)
    return figure


def scores_of_tasks(facts: CardFacts) -> Figure | None:
    """How the scores of each task spread, one row for each, with its median."""
    scored = np.isfinite(facts.columns.score)
    if not scored.any():
        return None
    tasks, names = _main_tasks(facts, scored)
    figure, axis = canvas(1.0 + 0.62 * len(names), "Scores of each task")
    low, high = min(0.0, float(facts.columns.score[scored].min())), 1.0
    edges = np.linspace(low, max(high, float(facts.columns.score[scored].max())), 41)
    middles = (edges[:-1] + edges[1:]) / 2
    for row, (name, colour) in enumerate(names.items()):
        values = facts.columns.score[scored & (tasks == name)]
        height = np.histogram(values, edges)[0].astype(float)
        height *= 0.8 / max(1.0, float(height.max()))
        axis.bar(middles, -height, width=0.9 * (edges[1] - edges[0]), bottom=row, color=colour)
        median = float(np.median(values))
        axis.plot([median, median], [row, row - 0.86], color=INK, lw=1.2)
        beside(axis, row - 0.2, f"{median:.2f}")
    beside(axis, -0.98, "median", colour=QUIET)
    axis.set_xlim(edges[0], edges[-1])
    axis.set_ylim(len(names) - 0.9, -1.0)
    rows(axis, names, offset=-0.2)
    axis.set_xlabel("score, higher is better", color=QUIET, fontsize=8.5)
    return figure


def durations_of_tasks(facts: CardFacts) -> Figure | None:
    """How long episodes of each task take: the middle half, its median, and every episode."""
    timed = np.isfinite(facts.columns.duration_s)
    if not timed.any():
        return None
    tasks, names = _main_tasks(facts, timed)
    figure, axis = canvas(1.0 + 0.5 * len(names), "Durations of each task")
    draw = np.random.default_rng(0)
    for row, (name, colour) in enumerate(names.items()):
        values = facts.columns.duration_s[timed & (tasks == name)]
        shown = values if len(values) <= 2000 else draw.choice(values, 2000, replace=False)
        axis.scatter(shown, row + draw.uniform(-0.24, 0.24, len(shown)), s=9, color=colour,
                     alpha=0.35, linewidths=0)  # fmt: skip
        low, median, high = np.percentile(values, (25, 50, 75))
        axis.plot([low, high], [row, row], color=INK, lw=1.4, solid_capstyle="butt")
        axis.plot(median, row, "o", ms=5, color="white", mec=INK, mew=1.4)
        beside(axis, row, f"{median:.1f} s")
    axis.set_xlim(0, 1.03 * float(facts.columns.duration_s[timed].max()) or 1.0)
    axis.set_ylim(len(names) - 0.5, -0.5)
    rows(axis, names)
    axis.set_xlabel("seconds; the line is the middle half, the circle the median", color=QUIET,
                    fontsize=8.5)  # fmt: skip
    return figure


def outcomes_of_tasks(facts: CardFacts) -> Figure | None:
    """Which part of each task's episodes succeeded, failed, or does not say."""
    if not (facts.columns.success >= 0).any():
        return None
    tasks, names = _main_tasks(facts)
    figure, axis = canvas(0.95 + 0.42 * len(names), "Outcome of each task, and episodes")
    kinds = ((1, "success", _GOOD), (0, "failure", _BAD), (-1, "not stated", _NOTHING))
    for row, name in enumerate(names):
        chosen = facts.columns.success[tasks == name]
        begin = 0.0
        for code, word, colour in kinds:
            share = float((chosen == code).mean())
            axis.barh(row, share, left=begin, height=0.62, color=colour,
                      label=word if row == 0 else None)  # fmt: skip
            if share > 0.07:
                axis.text(begin + share / 2, row, f"{100 * share:.0f} %", ha="center", va="center",
                          fontsize=8.5, color=INK if code < 0 else "white")  # fmt: skip
            begin += share
        beside(axis, row, f"{len(chosen):,}")
    axis.set_xlim(0, 1)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.tick_params(labelbottom=False)
    axis.grid(visible=False)
    rows(axis, names)
    legend(axis)
    return figure


def shares_of_operators(facts: CardFacts) -> Figure | None:
    """Which part of the episodes each person made."""
    people = [share for share in facts.operators if share.name.startswith("operator ")]
    if not people:
        return None
    shown, rest = people[:_MOST_PEOPLE], people[_MOST_PEOPLE:]
    parts = [share.episodes / facts.episodes for share in shown]
    figure, axis = canvas(0.95 + 0.34 * len(shown), "Who made it: share of the episodes")
    colours = [_BAD if part > _MOST_OF_ONE else _GOOD for part in parts]
    axis.axvline(_MOST_OF_ONE, color=QUIET, lw=1, ls=(0, (4, 3)), zorder=0.5)
    axis.barh(range(len(shown)), parts, height=0.62, color=colours)
    for row, part in enumerate(parts):
        axis.text(part + 0.006, row, f"{100 * part:.0f} %", color=INK, fontsize=8.5, va="center",
                  bbox=_BEHIND)  # fmt: skip
    axis.set_xlim(0, max(0.45, max(parts) + 0.09))
    axis.set_ylim(len(shown) - 0.5, -0.5)
    axis.set_title(f"dashed: {100 * _MOST_OF_ONE:.0f} %, the most that one person should have",
                   loc="right", fontsize=8.5, color=QUIET, pad=8)  # fmt: skip
    axis.tick_params(labelbottom=False)
    axis.grid(visible=False)
    axis.set_yticks(range(len(shown)), [share.name for share in shown], fontsize=9, color=INK)
    if rest:
        part = sum(share.episodes for share in rest) / facts.episodes
        axis.set_xlabel(f"and {len(rest)} others with {100 * part:.0f} % together", color=QUIET,
                        fontsize=8.5)  # fmt: skip
    return figure


_PICTURES: Mapping[str, Callable[[CardFacts], Figure | None]] = {
    "episodes": episodes_over_time,
    "scores": scores_of_tasks,
    "durations": durations_of_tasks,
    "outcomes": outcomes_of_tasks,
    "operators": shares_of_operators,
}


def _main_tasks(
    facts: CardFacts, where: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.str_], dict[str, str]]:
    """The task of each episode, the rare ones put together, and the colour of each."""
    listed = [task.name for task in facts.tasks]
    main = listed if len(listed) <= _MOST_TASKS else listed[: _MOST_TASKS - 1]
    tasks = facts.columns.task
    colours = dict(zip(main, COLOURS, strict=False))
    if len(main) < len(listed):
        tasks = np.where(np.isin(tasks, main), tasks, _OTHER)
        colours[_OTHER] = _REST
    present = set(tasks if where is None else tasks[where])
    return tasks, {name: colour for name, colour in colours.items() if name in present}
