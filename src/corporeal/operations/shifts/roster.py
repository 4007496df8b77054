"""The roster document: stations, people, hours and rules that shifts are planned by."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Annotated, ClassVar, Self

from pydantic import Field, model_validator

from corporeal.schema import Document, Part
from corporeal.schema.document import Name

_MOST_SLOTS = 40_000
Minutes = Annotated[int, Field(gt=0, le=1440)]


class ShiftRules(Part):
    """What no plan may break. The defaults are those of the specification."""

    work_min: Minutes = Field(default=45, description="work in every hour")
    break_min: Minutes = Field(default=15, description="break after it")
    longest_h: Annotated[float, Field(gt=0, le=12)] = Field(
        default=4.0, description="a person's shift, breaks included"
    )
    shortest_h: Annotated[float, Field(ge=0, le=12)] = Field(
        default=2.0, description="nobody comes for less"
    )
    rest_h: Annotated[float, Field(ge=0, le=24)] = Field(
        default=11.0, description="between the shifts of two days"
    )
    week_h: Annotated[float, Field(gt=0, le=60)] = Field(
        default=20.0, description="of one person within seven days"
    )
    station_h: Annotated[float, Field(gt=0, le=12)] = Field(
        default=2.0, description="at one station without a change, where a person knows another"
    )
    greatest_share: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.3, description="of a task's hours by one person"
    )
    least_people: Annotated[int, Field(ge=1, le=100)] = Field(
        default=3, description="who share a task"
    )

    @property
    def slot_min(self) -> int:
        """Work and the break after it."""
        return self.work_min + self.break_min

    @model_validator(mode="after")
    def _leaves_room(self) -> Self:
        if self.shortest_h > self.longest_h:
            raise ValueError(
                f"shortest_h is {self.shortest_h:g}; expected at most longest_h, {self.longest_h:g}"
            )
        if self.longest_h * 60 < self.slot_min:
            raise ValueError(
                f"longest_h is {self.longest_h:g}; expected room for one stretch of work and its "
                f"break, {self.slot_min} min"
            )
        return self


class Closure(Part):
    """When a station cannot be used: its calibration, repairs. Without a day: every day."""

    begins: time
    ends: time
    day: date | None = None
    why: str = "calibration"

    @model_validator(mode="after")
    def _has_a_length(self) -> Self:
        if self.begins >= self.ends:
            raise ValueError(
                f"closed from {self.begins:%H:%M} to {self.ends:%H:%M}; expected an end after it"
            )
        return self


class RosterStation(Part):
    """A station, the tasks that can be collected there, and when it is closed."""

    name: Name
    tasks: tuple[Name, ...] = Field(min_length=1)
    closed: tuple[Closure, ...] = ()


class RosterPerson(Part):
    """Somebody by pseudonym: certified for which tasks until when, and when they can come."""

    name: Name
    certified: dict[Name, date | None] = Field(
        description="task: last day of the certificate, or nothing"
    )
    days: tuple[date, ...] | None = Field(default=None, description="every day where not said")
    begins: time | None = Field(default=None, description="not before")
    ends: time | None = Field(default=None, description="not after")
    week_h: Annotated[float, Field(ge=0, le=60)] | None = Field(
        default=None, description="at most, where it is less than the rule"
    )

    def is_certified(self, task: str, day: date) -> bool:
        """Whether the certificate covers that day."""
        if task not in self.certified:
            return False
        last = self.certified[task]
        return last is None or day <= last


class TaskHours(Part):
    """How much of a task is to be collected, in hours or by episodes."""

    task: Name
    hours: Annotated[float, Field(ge=0, le=10_000)] | None = None
    episodes: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    per_hour: Annotated[float, Field(gt=0, le=1000)] = Field(
        default=30.0, description="episodes that an hour with its break brings"
    )

    @property
    def slots(self) -> float:
        """Hours wanted, one for each stretch of work and break of an hour."""
        if self.hours is not None:
            return self.hours
        return (self.episodes or 0) / self.per_hour

    @model_validator(mode="after")
    def _says_how_much(self) -> Self:
        if (self.hours is None) == (self.episodes is None):
            raise ValueError(f"{self.task}: expected hours or episodes, one of the two")
        return self


class Roster(Document):
    """Everything that a plan of shifts has to keep to."""

    kind: ClassVar[str] = "roster"

    first_day: date
    days: Annotated[int, Field(ge=1, le=31)] = 5
    weekend: bool = Field(default=False, description="Saturdays and Sundays are worked, too")
    opens: time = time(8)
    closes: time = time(18)
    rules: ShiftRules = ShiftRules()
    stations: tuple[RosterStation, ...] = Field(min_length=1)
    people: tuple[RosterPerson, ...] = Field(min_length=1)
    wanted: tuple[TaskHours, ...] = Field(min_length=1)

    @property
    def dates(self) -> tuple[date, ...]:
        """The days of work, in order."""
        chosen: list[date] = []
        day = self.first_day
        while len(chosen) < self.days:
            if self.weekend or day.weekday() < 5:
                chosen.append(day)
            day += timedelta(days=1)
        return tuple(chosen)

    @property
    def slots(self) -> tuple[tuple[time, time], ...]:
        """Stretches of work, each with its break, that a day has room for."""
        step = timedelta(minutes=self.rules.slot_min)
        begin = datetime.combine(self.first_day, self.opens)
        close = datetime.combine(self.first_day, self.closes)
        made = []
        while begin + step <= close:
            made.append((begin.time(), (begin + step).time()))
            begin += step
        return tuple(made)

    @property
    def middle(self) -> int:
        """The slot with which the afternoon begins."""
        return (len(self.slots) + 1) // 2

    def is_open(self, station: RosterStation, day: date, slot: int) -> bool:
        """Whether a station can be used in the whole of a slot."""
        begin, end = self.slots[slot]
        return not any(closed.day in (None, day) and closed.begins < end and begin < closed.ends
                       for closed in station.closed)  # fmt: skip

    def can_come(self, person: RosterPerson, day: date, slot: int) -> bool:
        """Whether a person is there in the whole of a slot."""
        if person.days is not None and day not in person.days:
            return False
        begin, end = self.slots[slot]
        return ((person.begins is None or person.begins <= begin)
                and (person.ends is None or end <= person.ends))  # fmt: skip

    def week_slots(self, person: RosterPerson) -> int:
        """How many slots a person may work within seven days."""
        hours = self.rules.week_h if person.week_h is None else min(person.week_h,
                                                                    self.rules.week_h)  # fmt: skip
        return int(hours * 60 // self.rules.slot_min)

    @property
    def longest_slots(self) -> int:
        """How many slots one shift may have."""
        return int(self.rules.longest_h * 60 // self.rules.slot_min)

    @property
    def station_slots(self) -> int:
        """How many slots a person may stay at one station, at least one."""
        return max(1, int(self.rules.station_h * 60 // self.rules.slot_min))

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        for what, names in (
            ("station", [station.name for station in self.stations]),
            ("person", [person.name for person in self.people]),
            ("task", [wanted.task for wanted in self.wanted]),
        ):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise ValueError(f"{what} {twice[0]!r} is listed twice; expected once")
        if not self.slots:
            raise ValueError(
                f"open from {self.opens:%H:%M} to {self.closes:%H:%M}; expected room for "
                f"{self.rules.slot_min} min of work and break"
            )
        for wanted in self.wanted:
            if not any(wanted.task in station.tasks for station in self.stations):
                raise ValueError(
                    f"{wanted.task} is wanted and no station has it; expected one of: "
                    f"{', '.join(sorted({name for each in self.stations for name in each.tasks}))}"
                )
        size = len(self.people) * len(self.stations) * len(self.slots) * self.days
        if size > _MOST_SLOTS:
            raise ValueError(
                f"{len(self.people)} people, {len(self.stations)} stations and {self.days} days "
                f"are {size:,} places; expected at most {_MOST_SLOTS:,}. Plan fewer days at once"
            )
        return self
