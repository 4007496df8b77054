"""A plan of shifts: who is where and on what, and whether that keeps to a roster."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Self

from pydantic import TypeAdapter, ValidationError

from corporeal.errors import CorporealError
from corporeal.files import atomic_write
from corporeal.operations.shifts.roster import Roster
from corporeal.schema.document import first_problem

_MOST_BYTES = 16 << 20


@dataclass(frozen=True, order=True)
class Duty:
    """One slot of one person: `slot` counts from the opening of the day."""

    day: date
    slot: int
    person: str
    station: str
    task: str


@dataclass(frozen=True)
class ShiftStretch:
    """A person at one station on one task without a change."""

    day: date
    begins: str
    ends: str
    person: str
    station: str
    task: str
    breaks: tuple[str, ...]


@dataclass(frozen=True)
class _PlanFile:
    roster: str
    duties: tuple[Duty, ...]
    missing: dict[str, float]
    proved: bool = False


_FILE = TypeAdapter(_PlanFile)


@dataclass(frozen=True)
class ShiftPlan:
    """All duties of a roster, and what could not be had."""

    roster: str
    duties: tuple[Duty, ...]
    missing: dict[str, float]
    """Task: hours that are wanted and that nobody works."""
    proved: bool
    """Nothing better exists; else the time was up."""

    def hours(self, roster: Roster, *, person: str | None = None, task: str | None = None) -> float:
        """Hours of work and breaks, of all or of one person or task."""
        count = sum(1 for duty in self.duties
                    if person in (None, duty.person) and task in (None, duty.task))  # fmt: skip
        return count * roster.rules.slot_min / 60

    def stretches(self, roster: Roster) -> list[ShiftStretch]:
        """Duties joined as people read them, in the order of time; a break ends every slot."""
        slots = roster.slots
        joined: list[list[Duty]] = []
        for duty in sorted(self.duties, key=lambda each: (each.day, each.person, each.slot)):
            last = joined[-1][-1] if joined else None
            follows = last is not None and (
                (last.day, last.person, last.station, last.task, last.slot + 1)
                == (duty.day, duty.person, duty.station, duty.task, duty.slot)
            )
            if follows:
                joined[-1].append(duty)
            else:
                joined.append([duty])
        work = timedelta(minutes=roster.rules.work_min)
        made = [
            ShiftStretch(
                run[0].day, f"{slots[run[0].slot][0]:%H:%M}", f"{slots[run[-1].slot][1]:%H:%M}",
                run[0].person, run[0].station, run[0].task,
                tuple(f"{datetime.combine(duty.day, slots[duty.slot][0]) + work:%H:%M}"
                      for duty in run),
            )
            for run in joined
        ]  # fmt: skip
        return sorted(made, key=lambda each: (each.day, each.begins, each.station))

    def as_json(self, roster: Roster) -> dict[str, Any]:
        """What is printed and saved: the stretches for people, the duties to plan on from."""
        return {
            "roster": self.roster,
            "missing": self.missing,
            "proved": self.proved,
            "stretches": [vars(each) | {"day": str(each.day), "breaks": list(each.breaks)}
                          for each in self.stretches(roster)],
            "duties": [vars(duty) | {"day": str(duty.day)} for duty in sorted(self.duties)],
        }  # fmt: skip

    def save(self, path: Path, roster: Roster) -> None:
        """Write a plan as JSON, whole or not at all."""
        text = json.dumps(self.as_json(roster), ensure_ascii=False, indent=1)
        atomic_write(path, text)

    @classmethod
    def read(cls, path: Path) -> Self:
        """Read a plan that was saved; raises CorporealError for anything else."""
        try:
            if path.stat().st_size > _MOST_BYTES:
                raise CorporealError(
                    f"{path}: larger than {_MOST_BYTES >> 20} MiB; no plan of shifts."
                )
            values = json.loads(path.read_bytes())
            if isinstance(values, dict):
                values.pop("stretches", None)
            read = _FILE.validate_python(values)
        except OSError as error:
            raise CorporealError(f"{path}: {error.strerror or error}.") from None
        except ValidationError as error:
            raise CorporealError(f"{path}: no plan of shifts: {first_problem(error)}.") from None
        except (ValueError, RecursionError):
            raise CorporealError(
                f"{path}: no plan of shifts, got no JSON; expected what --out wrote."
            ) from None
        return cls(read.roster, read.duties, read.missing, read.proved)


def find_breaches(roster: Roster, plan: ShiftPlan, *, shares: bool = True) -> Iterator[str]:
    """Every rule that a plan breaks, in words, counted from the duties and nothing else.

    Without `shares` those of people in a task are left out: who was ill cannot work off hers.
    """
    strangers = list_strangers(roster, plan)
    for duty in strangers:
        yield f"{duty.day} slot {duty.slot}: {duty.person} at {duty.station} is not of this roster"
    duties = sorted({*plan.duties} - {*strangers})
    yield from _wrong_places(roster, duties)
    yield from _wrong_days(roster, duties)
    yield from _wrong_stays(roster, duties)
    yield from _wrong_weeks(roster, duties)
    if shares:
        yield from _wrong_shares(roster, duties)


def list_strangers(roster: Roster, plan: ShiftPlan) -> list[Duty]:
    """Duties of people, stations or times that the roster does not have."""
    people = {person.name for person in roster.people}
    stations = {station.name for station in roster.stations}
    return [
        duty
        for duty in plan.duties
        if duty.person not in people
        or duty.station not in stations
        or duty.day not in roster.dates
        or not 0 <= duty.slot < len(roster.slots)
    ]


def _wrong_places(roster: Roster, duties: Iterable[Duty]) -> Iterator[str]:
    people = {person.name: person for person in roster.people}
    stations = {station.name: station for station in roster.stations}
    seen: set[tuple[date, int, str]] = set()
    for duty in sorted(duties):
        where = f"{duty.day} {roster.slots[duty.slot][0]:%H:%M}"
        person, station = people[duty.person], stations[duty.station]
        if not roster.can_come(person, duty.day, duty.slot):
            yield f"{where}: {duty.person} is not there"
        if not person.is_certified(duty.task, duty.day):
            yield f"{where}: {duty.person} has no certificate for {duty.task}"
        if duty.task not in station.tasks:
            yield f"{where}: {duty.station} has no {duty.task}"
        if not roster.is_open(station, duty.day, duty.slot):
            yield f"{where}: {duty.station} is closed"
        for name in (duty.person, duty.station):
            if (duty.day, duty.slot, name) in seen:
                yield f"{where}: {name} is planned twice"
            seen.add((duty.day, duty.slot, name))


def _wrong_days(roster: Roster, duties: Iterable[Duty]) -> Iterator[str]:
    shifts: dict[tuple[str, date], list[Duty]] = defaultdict(list)
    for duty in sorted(duties, key=lambda each: each.slot):
        shifts[duty.person, duty.day].append(duty)
    step = roster.rules.slot_min / 60
    for (person, day), shift in sorted(shifts.items()):
        hours = len(shift) * step
        if any(after.slot != before.slot + 1 for before, after in pairwise(shift)):
            yield f"{day}: {person} comes twice; expected one shift a day"
        if len(shift) > roster.longest_slots:
            yield f"{day}: {person} works {hours:g} h; expected {roster.rules.longest_h:g} at most"
        if hours < roster.rules.shortest_h:
            yield f"{day}: {person} comes for {hours:g} h; expected {roster.rules.shortest_h:g}"
    for person in {name for name, _ in shifts}:
        days = sorted(day for name, day in shifts if name == person)
        for before, after in pairwise(days):
            last, first = shifts[person, before][-1].slot, shifts[person, after][0].slot
            rest = (datetime.combine(after, roster.slots[first][0])
                    - datetime.combine(before, roster.slots[last][1]))  # fmt: skip
            if rest < timedelta(hours=roster.rules.rest_h):
                yield f"{after}: {person} has rested {rest.total_seconds() / 3600:g} h"


def _wrong_stays(roster: Roster, duties: Iterable[Duty]) -> Iterator[str]:
    """Who stays at one station although another has the same task that half of the day."""
    step = roster.rules.slot_min / 60
    with_task: dict[tuple[date, bool, str], set[str]] = defaultdict(set)
    shifts: dict[tuple[str, date], list[Duty]] = defaultdict(list)
    for duty in sorted(duties, key=lambda each: each.slot):
        with_task[duty.day, duty.slot >= roster.middle, duty.task].add(duty.station)
        shifts[duty.person, duty.day].append(duty)
    for (person, day), shift in sorted(shifts.items()):
        stay = 1
        for before, after in pairwise(shift):
            stay = stay + 1 if before.station == after.station else 1
            others = with_task[day, after.slot >= roster.middle, after.task] - {after.station}
            if stay > roster.station_slots and others:
                yield f"{day}: {person} stays {stay * step:g} h at {after.station}"
                break


def _wrong_weeks(roster: Roster, duties: Iterable[Duty]) -> Iterator[str]:
    counts = Counter((duty.person, duty.day) for duty in duties)
    for person in roster.people:
        for day in roster.dates:
            week = sum(counts[person.name, day + timedelta(days=ahead)] for ahead in range(7))
            if week > roster.week_slots(person):
                hours = week * roster.rules.slot_min / 60
                yield f"week of {day}: {person.name} works {hours:g} h"
                break


def _wrong_shares(roster: Roster, duties: Iterable[Duty]) -> Iterator[str]:
    by_task: dict[str, Counter[str]] = defaultdict(Counter)
    for duty in duties:
        by_task[duty.task][duty.person] += 1
    for task, people in sorted(by_task.items()):
        total = people.total()
        name, most = people.most_common(1)[0]
        if most > roster.rules.greatest_share * total + 1e-9:
            yield f"{task}: {name} has {most / total:.0%} of the hours"
        if len(people) < roster.rules.least_people:
            yield f"{task}: {len(people)} people; expected {roster.rules.least_people} or more"
