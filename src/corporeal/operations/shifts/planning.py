"""Shifts found by OR-Tools: every rule holds, and as much of what is wanted is worked as can be.

The rules that protect people and data are never broken: a plan that cannot have all hours has
fewer. Beyond the hours, work is shared evenly, each task is worked in mornings as in afternoons,
each person likewise, and a station changes its task as seldom as may be. First the program says
who works on what in which slot, and what every station is set up for; then stations are handed
out so that people change places.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any

from corporeal.errors import CorporealError, MissingExtraError
from corporeal.operations.shifts.assignment import guess_shifts, hand_out_stations
from corporeal.operations.shifts.plan import ShiftPlan
from corporeal.operations.shifts.roster import Roster

_SHORT, _CHANGED, _UNEVEN, _COMES, _SWITCH, _LOPSIDED, _RESET = 1000, 60, 8, 6, 4, 3, 2
_CORES = 2
_MANY = 10_000


class NoPlanFoundError(CorporealError):
    """The time was up before there was any plan."""


@dataclass(frozen=True)
class Fixture:
    """What a new plan keeps: duties before `slot` of `day` as they were, the rest if it can."""

    plan: ShiftPlan
    day: date
    slot: int = 0
    away: frozenset[tuple[str, date]] = field(default_factory=frozenset)

    def is_past(self, day: date, slot: int) -> bool:
        """Whether that time is over."""
        return (day, slot) < (self.day, self.slot)


def plan_shifts(
    roster: Roster, *, seconds: float = 30.0, seed: int = 0, keep: Fixture | None = None
) -> ShiftPlan:
    """The best plan found within `seconds`; `missing` says what nobody can work."""
    return _Program(roster, keep).solve(seconds, seed)


class _Program:
    """Who works on what, and what stations are set up for, as a constraint program."""

    def __init__(self, roster: Roster, keep: Fixture | None) -> None:
        try:
            from ortools.sat.python import cp_model
        except ImportError:
            raise MissingExtraError("ortools", "plan") from None
        self.cp, self.model = cp_model, cp_model.CpModel()
        self.roster, self.keep = roster, keep
        self.dates, self.slots = roster.dates, range(len(roster.slots))
        self.wanted = {wanted.task: -(-round(wanted.slots * 60) // roster.rules.slot_min)
                       for wanted in roster.wanted}  # fmt: skip
        self.costs: list[Any] = []
        self.past = {(duty.person, duty.day, duty.slot, duty.task): duty.station
                     for duty in (keep.plan.duties if keep else ())
                     if keep is not None and keep.is_past(duty.day, duty.slot)}  # fmt: skip
        self.on = dict(self._switches())
        self.works = self._work()
        self.set_up = self._stations()
        self._shifts()
        self._weeks_and_rest()
        self.short = {task: self._task(task, most) for task, most in self.wanted.items()}
        self._share_evenly()
        self._begin_with()
        self.model.minimize(sum(self.costs))

    def _is_past(self, day: date, slot: int) -> bool:
        return self.keep is not None and self.keep.is_past(day, slot)

    def _switches(self) -> Iterator[tuple[tuple[str, date, int, str], Any]]:
        """Whether a person works on a task in a slot; what was worked is a fact."""
        for key in self.past:
            yield key, self.model.new_constant(1)
        for person in self.roster.people:
            for day in self.dates:
                if self.keep is not None and (person.name, day) in self.keep.away:
                    continue
                tasks = [task for task in self.wanted if person.is_certified(task, day)]
                for slot in self.slots:
                    if self.roster.can_come(person, day, slot) and not self._is_past(day, slot):
                        for task in tasks:
                            yield (person.name, day, slot, task), self.model.new_bool_var("")

    def _work(self) -> dict[tuple[str, date, int], Any]:
        """Whether a person works in a slot: on one task at most, since it is a switch itself."""
        grouped: dict[tuple[str, date, int], list[Any]] = defaultdict(list)
        for (person, day, slot, _), switch in self.on.items():
            grouped[person, day, slot].append(switch)
        works = {}
        for key, switches in grouped.items():
            works[key] = switches[0] if len(switches) == 1 else self.model.new_bool_var("")
            if len(switches) > 1:
                self.model.add(sum(switches) == works[key])
        return works

    def _stations(self) -> dict[tuple[date, bool, str], dict[str, Any]]:
        """What each station is set up for until noon and after it, with room for all who work."""
        set_up: dict[tuple[date, bool, str], dict[str, Any]] = {}
        for day in self.dates:
            for station in self.roster.stations:
                tasks = [task for task in station.tasks if task in self.wanted]
                for afternoon in (False, True):
                    chosen = {task: self.model.new_bool_var("") for task in tasks}
                    self.model.add_at_most_one(chosen.values())
                    set_up[day, afternoon, station.name] = chosen
                for task, later in set_up[day, True, station.name].items():
                    others = [earlier for name, earlier in set_up[day, False, station.name].items()
                              if name != task]  # fmt: skip
                    reset = self.model.new_bool_var("")
                    self.model.add(reset >= later + sum(others) - 1)
                    self.costs.append(_RESET * reset)
        for (_, day, slot, task), station_name in self.past.items():
            choices = set_up.get((day, slot >= self.roster.middle, station_name), {})
            if task in choices:
                self.model.add(choices[task] == 1)
        people: dict[tuple[date, int, str], list[Any]] = defaultdict(list)
        for (_, day, slot, task), switch in self.on.items():
            if not self._is_past(day, slot):
                people[day, slot, task].append(switch)
        for (day, slot, task), switches in people.items():
            half = slot >= self.roster.middle
            room = [
                set_up[day, half, station.name][task]
                for station in self.roster.stations
                if task in station.tasks and self.roster.is_open(station, day, slot)
            ]
            self.model.add(sum(switches) <= sum(room))
        return set_up

    def _shifts(self) -> None:
        """One shift a day, not too long and not too short."""
        rules, roster = self.roster.rules, self.roster
        shortest = -(-int(rules.shortest_h * 60) // rules.slot_min)
        for person in roster.people:
            for day in self.dates:
                works = [self.works.get((person.name, day, slot), 0) for slot in self.slots]
                if not any(type(work) is not int for work in works):
                    continue
                if self._is_past(day, len(self.slots) - 1):
                    continue
                come = self.model.new_bool_var("")
                starts = []
                for slot, work in enumerate(works):
                    start = self.model.new_bool_var("")
                    self.model.add(start >= work - (works[slot - 1] if slot else 0))
                    starts.append(start)
                self.model.add(sum(starts) <= come)
                self.costs.append(_COMES * come)
                self._stay_at_task(person.name, day)
                self.model.add(sum(works) <= roster.longest_slots)
                if not any(key[:2] == (person.name, day) for key in self.past):
                    self.model.add(sum(works) >= shortest * come)

    def _stay_at_task(self, person: str, day: date) -> None:
        """Another task within a shift costs a little."""
        for slot in self.slots[1:]:
            works = self.works.get((person, day, slot - 1))
            for task in self.wanted:
                switch = self.on.get((person, day, slot, task))
                if works is not None and switch is not None:
                    changed = self.model.new_bool_var("")
                    same = self.on.get((person, day, slot - 1, task), 0)
                    self.model.add(changed >= switch + works - same - 1)
                    self.costs.append(_SWITCH * changed)

    def _weeks_and_rest(self) -> None:
        roster = self.roster
        least_min = roster.rules.rest_h * 60 - 24 * 60
        for person in roster.people:
            for first in self.dates:
                week = [
                    work
                    for (name, day, _), work in self.works.items()
                    if name == person.name and first <= day < first + timedelta(days=7)
                ]
                self.model.add(sum(week) <= roster.week_slots(person))
            for day in self.dates:
                for late in self.slots:
                    for early in self.slots:
                        last = self.works.get((person.name, day, late))
                        next_one = self.works.get((person.name, day + timedelta(days=1), early))
                        between = _minute(roster.slots[early][0]) - _minute(roster.slots[late][1])
                        if between < least_min and last is not None and next_one is not None:
                            self.model.add(last + next_one <= 1)

    def _task(self, task: str, wanted: int) -> Any:
        """The slots of a task that nobody works; shares and halves of those that are."""
        rules = self.roster.rules
        people: dict[str, list[Any]] = defaultdict(list)
        ahead: dict[str, list[Any]] = defaultdict(list)
        early: list[Any] = []
        late: list[Any] = []
        for (person, day, slot, name), switch in self.on.items():
            if name == task:
                people[person].append(switch)
                (late if slot >= self.roster.middle else early).append(switch)
                if not self._is_past(day, slot):
                    ahead[person].append(switch)
        slots = sum(early) + sum(late)
        done = sum(1 for key in self.past if key[3] == task)
        self.model.add(slots <= max(wanted, done))
        short = self.model.new_int_var(0, wanted, "")
        self.model.add(short >= wanted - slots)
        self.costs.append(_SHORT * short)
        # What was worked is a fact: shares bind those who are to work more of the task.
        used = self.model.new_bool_var("")
        self.model.add(sum(sum(switches) for switches in ahead.values()) <= _MANY * used)
        parts = []
        for person, switches in people.items():
            more = self.model.new_bool_var("")
            self.model.add(sum(ahead[person]) <= _MANY * more)
            share = self.model.add(1000 * sum(switches) <= int(rules.greatest_share * 1000) * slots)
            share.only_enforce_if(more)
            part = self.model.new_bool_var("")
            self.model.add(part <= sum(switches))
            parts.append(part)
        self.model.add(sum(parts) >= rules.least_people * used)
        self._keep_near(sum(early), sum(late), _LOPSIDED)
        return short

    def _keep_near(self, one: Any, other: Any, weight: int) -> None:
        apart = self.model.new_int_var(0, _MANY, "")
        self.model.add(apart >= one - other)
        self.model.add(apart >= other - one)
        self.costs.append(weight * apart)

    def _share_evenly(self) -> None:
        """Hours shared among those who can come; everybody in mornings and afternoons."""
        most, least = (self.model.new_int_var(0, _MANY, "") for _ in range(2))
        for person in self.roster.people:
            slots = [(slot, work) for (name, _, slot), work in self.works.items()
                     if name == person.name]  # fmt: skip
            if not slots:
                continue
            count = sum(work for _, work in slots)
            self.model.add(most >= count)
            # Who can seldom come does not hold the others down.
            if len(slots) >= len(self.slots) * len(self.dates) // 2:
                self.model.add(least <= count)
            early = sum(work for slot, work in slots if slot < self.roster.middle)
            self._keep_near(early, count - early, 1)
        self.model.add(least <= most)
        self.costs.append(_UNEVEN * (most - least))

    def _begin_with(self) -> None:
        """A first plan begins with a guess, a later one with what it keeps; changes cost."""
        if self.keep is None:
            plan, set_up = guess_shifts(self.roster, self.wanted)
            chosen = set(plan)
        else:
            duties = self.keep.plan.duties
            chosen = {(duty.person, duty.day, duty.slot, duty.task) for duty in duties}
            set_up = {(duty.day, duty.slot >= self.roster.middle, duty.station): duty.task
                      for duty in duties}  # fmt: skip
        for key, switch in self.on.items():
            if key in self.past:
                continue
            # People have plans of their own.
            if self.keep is not None:
                self.costs.append(_CHANGED * (1 - switch if key in chosen else switch))
            self.model.add_hint(switch, key in chosen)
        for place, half in self.set_up.items():
            for task, switch in half.items():
                self.model.add_hint(switch, set_up.get(place) == task)

    def solve(self, seconds: float, seed: int) -> ShiftPlan:
        """Run the program, then hand out stations."""
        solver = self.cp.CpSolver()
        solver.parameters.max_time_in_seconds = seconds
        solver.parameters.num_workers = _CORES
        solver.parameters.random_seed = seed
        # Both take longer than they save: plans are used long before they are proved the best.
        solver.parameters.symmetry_level = 0
        solver.parameters.cp_model_probing_level = 0
        status = solver.solve(self.model)
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            raise NoPlanFoundError(
                f"{self.roster.reference}, got no plan within {seconds:g} s; expected one. "
                "Give it more --seconds; what was worked already may break a rule of the roster."
            )
        chosen = [key for key, switch in self.on.items() if solver.value(switch)]
        set_up = {place: next((task for task, on in half.items() if solver.value(on)), None)
                  for place, half in self.set_up.items()}  # fmt: skip
        before = {} if self.keep is None else {
            (duty.person, duty.day, duty.slot): duty.station for duty in self.keep.plan.duties
        }  # fmt: skip
        duties = hand_out_stations(self.roster, chosen, set_up, self.past, before)
        hours = self.roster.rules.slot_min / 60
        missing = {task: solver.value(short) * hours for task, short in self.short.items()
                   if solver.value(short)}  # fmt: skip
        return ShiftPlan(self.roster.reference, tuple(sorted(duties)), missing,
                         status == self.cp.OPTIMAL)  # fmt: skip


def _minute(clock: Any) -> int:
    return int(clock.hour * 60 + clock.minute)
