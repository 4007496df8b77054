"""A plan of shifts on one page: a column for each day, a row for each station."""

from __future__ import annotations

from datetime import date, time
from typing import TYPE_CHECKING

from corporeal.operations.shifts.plan import ShiftPlan
from corporeal.operations.shifts.roster import Roster, RosterStation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, lightened so that names are read on them.
_COLOURS = ("#8fc3e8", "#f5c76b", "#7fd0b5", "#e9a5c6", "#f2a27a", "#c9c2ee", "#d8d25c", "#b9c4cc")
_INK, _QUIET, _GRID, _CLOSED = "#1d2733", "#6b7783", "#dde3e8", "#eef1f4"


def plot_plan(roster: Roster, plan: ShiftPlan) -> Figure:
    """A matplotlib figure: who is where, on what, with breaks as gaps and closed hours in grey."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    dates = roster.dates
    width, height = max(9.0, 3.4 * len(dates) + 1.2), 0.5 * len(roster.stations) + 1.7
    figure = Figure(figsize=(width, height), dpi=110, facecolor="white")
    lanes = figure.subplots(1, len(dates), sharey=True, squeeze=False)[0]
    tasks = {wanted.task: _COLOURS[number % len(_COLOURS)]
             for number, wanted in enumerate(roster.wanted)}  # fmt: skip
    for lane, day in zip(lanes, dates, strict=True):
        _draw_day(lane, roster, plan, day, tasks)
    lanes[0].set_yticks(range(len(roster.stations)), [each.name for each in roster.stations])
    lanes[0].set_ylim(len(roster.stations) - 0.5, -0.5)
    figure.legend(
        handles=[Patch(color=colour, label=f"{task} ({plan.hours(roster, task=task):g} h)")
                 for task, colour in tasks.items()]
        + [Patch(facecolor=_CLOSED, edgecolor=_GRID, label="closed")],
        loc="lower center", ncols=min(6, len(tasks) + 1), frameon=False, fontsize=9,
    )  # fmt: skip
    missing = "".join(f", {task} lacks {hours:g} h" for task, hours in sorted(plan.missing.items()))
    figure.suptitle(f"{roster.reference}: {plan.hours(roster):g} h of work and breaks{missing}",
                    x=0.01, ha="left", fontsize=12, color=_INK)  # fmt: skip
    figure.subplots_adjust(left=0.9 / width, right=1 - 0.1 / width, top=1 - 0.8 / height,
                           bottom=0.75 / height, wspace=0.03)  # fmt: skip
    return figure


def _draw_day(
    lane: Axes, roster: Roster, plan: ShiftPlan, day: date, tasks: dict[str, str]
) -> None:
    opens, closes = _hour(roster.opens), _hour(roster.closes)
    rows = {station.name: row for row, station in enumerate(roster.stations)}
    for station, row in zip(roster.stations, rows.values(), strict=True):
        for begin, end in _closed(station, day):
            lane.barh(row, end - begin, left=begin, height=0.84, color=_CLOSED, edgecolor=_GRID)
    work = roster.rules.work_min / 60
    for duty in plan.duties:
        if duty.day == day:
            lane.barh(rows[duty.station], work, left=_hour(roster.slots[duty.slot][0]),
                      height=0.84, color=tasks.get(duty.task, _GRID))  # fmt: skip
    for stretch in plan.stretches(roster):
        if stretch.day == day:
            middle = (_hour(time.fromisoformat(stretch.begins))
                      + _hour(time.fromisoformat(stretch.ends))) / 2  # fmt: skip
            lane.text(middle, rows[stretch.station], stretch.person, ha="center", va="center",
                      fontsize=7.5, color=_INK)  # fmt: skip
    lane.set_xlim(opens, closes)
    ticks = [hour for hour in range(int(opens) + 1, int(closes)) if hour % 2 == 0]
    lane.set_xticks(ticks, [f"{hour}:00" for hour in ticks], fontsize=8, color=_QUIET)
    lane.set_title(f"{day:%a %d %b}", fontsize=10, color=_INK)
    lane.tick_params(length=0, labelsize=9)
    lane.grid(axis="x", color=_GRID, linewidth=0.6)
    lane.set_axisbelow(True)
    for spine in lane.spines.values():
        spine.set_color(_GRID)


def _closed(station: RosterStation, day: date) -> list[tuple[float, float]]:
    return [(_hour(closed.begins), _hour(closed.ends)) for closed in station.closed
            if closed.day in (None, day)]  # fmt: skip


def _hour(clock: time) -> float:
    return clock.hour + clock.minute / 60
