"""Work handed out without a search: a first guess of who works, and stations for who does."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta

import numpy as np
import scipy

from corporeal.operations.shifts.plan import Duty
from corporeal.operations.shifts.roster import Roster, RosterPerson, RosterStation

_STAYED, _MOVED, _ELSEWHERE = 1000.0, 1.0, 0.5

Work = tuple[str, date, int, str]
"""A person, a day, a slot and a task."""


def hand_out_stations(
    roster: Roster,
    chosen: Iterable[Work],
    set_up: Mapping[tuple[date, bool, str], str | None],
    past: Mapping[Work, str],
    before: Mapping[tuple[str, date, int], str],
) -> Iterator[Duty]:
    """A duty for every piece of work; `past` says where people were, `before` where they should be.

    From slot to slot people stay where they are until the rule sends them on; who must move takes
    the place that costs the fewest others theirs.
    """
    by_slot: dict[tuple[date, int, str], list[str]] = defaultdict(list)
    for person, day, slot, task in sorted(chosen):
        by_slot[day, slot, task].append(person)
    stayed: dict[tuple[str, date], tuple[str, int, int]] = {}
    for day, slot, task in sorted(by_slot):
        people = by_slot[day, slot, task]
        known = {person: past[person, day, slot, task] for person in people
                 if (person, day, slot, task) in past}  # fmt: skip
        open_ones = [station.name for station in roster.stations
                     if roster.is_open(station, day, slot)
                     and set_up.get((day, slot >= roster.middle, station.name)) == task
                     and station.name not in known.values()]  # fmt: skip
        moving = [person for person in people if person not in known]
        cost = np.full((len(moving), len(open_ones)), _MOVED)
        for row, person in enumerate(moving):
            station, slots, last = stayed.get((person, day), ("", 0, -2))
            for column, name in enumerate(open_ones):
                if name == station and last == slot - 1:
                    cost[row, column] = _STAYED if slots >= roster.station_slots else 0.0
                if before.get((person, day, slot)) not in (None, name):
                    cost[row, column] += _ELSEWHERE
        rows, columns = scipy.optimize.linear_sum_assignment(cost)
        places = known | {moving[row]: open_ones[column]
                          for row, column in zip(rows, columns, strict=True)}  # fmt: skip
        for person, name in sorted(places.items()):
            station, slots, last = stayed.get((person, day), ("", 0, -2))
            follows = name == station and last == slot - 1
            stayed[person, day] = (name, slots + 1 if follows else 1, slot)
            yield Duty(day, slot, person, name, task)


def guess_shifts(
    roster: Roster, wanted: Mapping[str, int]
) -> tuple[list[Work], dict[tuple[date, bool, str], str]]:
    """Morning and afternoon shifts, station by station, to whoever has worked least so far.

    It keeps to every rule but the shares at the end, which only the search can settle.
    """
    left, worked, done = Counter(wanted), Counter[tuple[str, date]](), Counter[tuple[str, str]]()
    plan: list[Work] = []
    set_up: dict[tuple[date, bool, str], str] = {}
    for day in roster.dates:
        for half in (False, True):
            for station in roster.stations:
                slots = _open_slots(roster, station, day, half)
                tasks = [task for task in station.tasks if left[task] > 0 and slots]
                for task in sorted(tasks, key=lambda name: -left[name]):
                    stretch = slots[: left[task]]
                    person = next(_free(roster, task, day, stretch, worked, done, wanted), None)
                    if person is None or len(stretch) * roster.rules.slot_min < (
                        roster.rules.shortest_h * 60
                    ):
                        continue
                    plan += [(person.name, day, slot, task) for slot in stretch]
                    set_up[day, half, station.name] = task
                    left[task] -= len(stretch)
                    worked[person.name, day] += len(stretch)
                    done[person.name, task] += len(stretch)
                    break
    return plan, set_up


def _open_slots(roster: Roster, station: RosterStation, day: date, half: bool) -> list[int]:
    """The first run of open slots of half a day, no longer than a shift."""
    run: list[int] = []
    for slot in range(len(roster.slots)):
        if (slot >= roster.middle) == half and roster.is_open(station, day, slot):
            if run and slot != run[-1] + 1:
                break
            run.append(slot)
    return run[: roster.longest_slots]


def _free(
    roster: Roster,
    task: str,
    day: date,
    slots: list[int],
    worked: Counter[tuple[str, date]],
    done: Counter[tuple[str, str]],
    wanted: Mapping[str, int],
) -> Iterator[RosterPerson]:
    def total(person: RosterPerson) -> int:
        return sum(count for (name, _), count in worked.items() if name == person.name)

    most = roster.rules.greatest_share * wanted[task]
    for person in sorted(roster.people, key=lambda each: (total(each), len(each.certified))):
        week = max(sum(worked[person.name, first + timedelta(days=ahead)] for ahead in range(7))
                   for first in roster.dates)  # fmt: skip
        if (
            worked[person.name, day] == 0
            and person.is_certified(task, day)
            and all(roster.can_come(person, day, slot) for slot in slots)
            and week + len(slots) <= roster.week_slots(person)
            and done[person.name, task] + len(slots) <= most
        ):
            yield person
