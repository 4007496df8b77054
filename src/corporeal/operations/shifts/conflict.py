"""Why not all hours that are wanted can be worked, and which single change would help most."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from corporeal.operations.shifts.plan import ShiftPlan
from corporeal.operations.shifts.planning import Fixture, NoPlanFoundError, plan_shifts
from corporeal.operations.shifts.roster import Roster
from corporeal.words import counted

_EASED_SHARE = 0.5
_MORE_H = 1.0


@dataclass(frozen=True)
class Remedy:
    """One change of a roster, and the hours that would still be missing with it."""

    change: str
    missing_h: float


def explain_missing(roster: Roster, plan: ShiftPlan) -> Iterator[str]:
    """What stands against the hours that are missing, by arithmetic alone."""
    rules, step = roster.rules, roster.rules.slot_min / 60
    wanted = {each.task: each.slots for each in roster.wanted}
    for task, missing in sorted(plan.missing.items()):
        first = f"{task}: {missing:g} of {wanted[task]:g} h"
        people = [person for person in roster.people
                  if any(person.is_certified(task, day) for day in roster.dates)]  # fmt: skip
        least = max(rules.least_people, math.ceil(1 / rules.greatest_share - 1e-9))
        names = ", ".join(person.name for person in people) or "nobody"
        if len(people) < least:
            yield (
                f"{first}: it takes {counted(least, 'person', 'people')}, since none may have "
                f"more than {rules.greatest_share:.0%}; certified: {names}"
            )
            continue
        weeks = math.ceil(len(roster.dates) / 5)
        hours = sum(min(roster.week_slots(person) * weeks, _slots_of(roster, person.name, task))
                    for person in people) * step  # fmt: skip
        room = step * sum(
            roster.is_open(station, day, slot)
            for station in roster.stations if task in station.tasks
            for day in roster.dates for slot in range(len(roster.slots))
        )  # fmt: skip
        if hours < wanted[task]:
            yield f"{first}: who is certified can work {hours:g} h of anything: {names}"
        elif room < wanted[task]:
            yield f"{first}: the stations that have it are open {room:g} h"
        else:
            yield f"{first}: people and stations are needed for other tasks at the same time"


def _slots_of(roster: Roster, name: str, task: str) -> int:
    person = next(each for each in roster.people if each.name == name)
    days = (sum(roster.can_come(person, day, slot) for slot in range(len(roster.slots)))
            for day in roster.dates if person.is_certified(task, day))  # fmt: skip
    return sum(min(slots, roster.longest_slots) for slots in days)


def find_remedies(
    roster: Roster, plan: ShiftPlan, *, seconds: float = 5.0, keep: Fixture | None = None
) -> list[Remedy]:
    """Single changes that leave fewer hours missing, the best first; each is planned to be sure."""
    before = sum(plan.missing.values())
    remedies = []
    for change, altered in _changes(roster, plan):
        try:
            missing = sum(plan_shifts(altered, seconds=seconds, keep=keep).missing.values())
        except NoPlanFoundError:
            continue
        if missing < before - 1e-9:
            remedies.append(Remedy(change, missing))
    return sorted(remedies, key=lambda remedy: remedy.missing_h)


def _changes(roster: Roster, plan: ShiftPlan) -> Iterator[tuple[str, Roster]]:
    rules = roster.rules
    longer = {"longest_h": min(12.0, rules.longest_h + _MORE_H)}
    for words, values in (
        (f"shifts of {longer['longest_h']:g} h", longer),
        (f"{rules.week_h * 1.25:g} h a week", {"week_h": min(60.0, rules.week_h * 1.25)}),
        (f"a share of {_EASED_SHARE:.0%} for one person",
         {"greatest_share": max(_EASED_SHARE, rules.greatest_share), "least_people": 1}),
    ):  # fmt: skip
        altered = rules.model_copy(update=values)
        if altered != rules:
            yield words, roster.model_copy(update={"rules": altered})
    if any(person.days is not None or person.begins or person.ends for person in roster.people):
        yield (
            "everybody there every day",
            roster.model_copy(update={"people": tuple(
                person.model_copy(update={"days": None, "begins": None, "ends": None})
                for person in roster.people)}),
        )  # fmt: skip
    for task in sorted(plan.missing):
        others = [person for person in roster.people if task not in person.certified]
        if others:
            newly = others[0].model_copy(update={"certified": others[0].certified | {task: None}})
            people = tuple(newly if each is others[0] else each for each in roster.people)
            yield (
                f"{others[0].name} certified for {task}",
                roster.model_copy(update={"people": people}),
            )
        without = [station for station in roster.stations if task not in station.tasks]
        if without:
            added = without[0].model_copy(update={"tasks": (*without[0].tasks, task)})
            stations = tuple(added if each is without[0] else each for each in roster.stations)
            yield f"{task} at {added.name}, too", roster.model_copy(update={"stations": stations})
