"""A floor as it truly is: who is quick, who tires, who has habits, and which station drifts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, time

import numpy as np

from corporeal.operations.shifts import Roster
from corporeal.protocol import Protocol, open_protocol
from corporeal.protocol.coverage import DesignRules, Factor

TASKS = ("pick_place", "handover", "reach", "bimanual_lift")
OBJECTS = ("cup", "can", "box", "bottle", "bowl", "brush")
_USUAL_S = {"pick_place": 110.0, "handover": 130.0, "reach": 80.0, "bimanual_lift": 150.0}
_SKILL, _LEARNING, _SLIPS = 0.15, 0.10, 0.06
SLOWER_TIRED, SLOWER_DRIFT = 0.30, 0.26
"""Logarithms: what an hour since the break adds for who tires, and what drift adds at a station."""


@dataclass(frozen=True)
class SimulatedOperator:
    """Somebody at work; durations are logarithms, so that they add.

    `learning` is what each tenfold of episodes saves, `tiring` what an hour since the last break
    adds, `slips` the share of takes that fail. Whoever has a `favourite` object shows it more often
    than cards ask for it, and whoever is `eager` works on in a break where nobody stops them.
    """

    name: str
    skill: float
    learning: float
    tiring: float
    slips: float
    refuses: float
    favourite: str | None = None
    eager: bool = False

    def slowness(self, episodes: int, since_break_h: float) -> float:
        """What this person adds to the logarithm of a duration, after so many episodes."""
        learnt = self.learning * math.log10(1 + episodes)
        return self.skill - learnt + self.tiring * since_break_h


@dataclass(frozen=True)
class SimulatedStation:
    """A station: what it adds to every duration, a drift that begins some day, and an outage.

    Days count the working days from 0; in the hours of an `outage` a camera loses pictures.
    """

    name: str
    tasks: tuple[str, ...]
    offset: float
    drifts_from: int | None = None
    outage: tuple[int, int, int] | None = None

    def slowness(self, day: int) -> float:
        """What this station adds to the logarithm of a duration."""
        return self.offset + (SLOWER_DRIFT if self.is_adrift(day) else 0.0)

    def is_adrift(self, day: int) -> bool:
        """Whether something at it has come loose."""
        return self.drifts_from is not None and day >= self.drifts_from

    def is_out(self, day: int, hour: int) -> bool:
        """Whether its camera loses pictures now."""
        return (self.outage is not None and day == self.outage[0]
                and self.outage[1] <= hour < self.outage[2])  # fmt: skip


@dataclass(frozen=True)
class FloorTruth:
    """All of a floor, always the same for the same seed; `ill` are people by working day."""

    seed: int
    operators: tuple[SimulatedOperator, ...]
    stations: tuple[SimulatedStation, ...]
    protocols: tuple[Protocol, ...]
    ill: tuple[tuple[int, str], ...]

    @property
    def tired(self) -> tuple[str, ...]:
        """Those whom work without a break slows down."""
        return tuple(each.name for each in self.operators if each.tiring)

    @property
    def biased(self) -> tuple[str, ...]:
        """Those who show what they like."""
        return tuple(each.name for each in self.operators if each.favourite)

    @property
    def adrift(self) -> tuple[SimulatedStation, ...]:
        """Stations that drift from some day on."""
        return tuple(each for each in self.stations if each.drifts_from is not None)

    def usual_s(self, task: str) -> float:
        """How long a take of somebody average lasts."""
        return _USUAL_S[task]


def make_truth(seed: int = 0, *, stations: int = 12, operators: int = 20) -> FloorTruth:
    """A floor: of its people three tire, two have habits, two are eager; one station drifts."""
    chance = np.random.default_rng([seed, 22])
    order = chance.permutation(operators)
    tired, biased, eager = ({*order[:3].tolist()}, {*order[3:5].tolist()}, {*order[5:7].tolist()})
    people = tuple(
        SimulatedOperator(
            name=f"p{number + 1:02}",
            skill=float(chance.normal(0, _SKILL)),
            learning=_LEARNING * float(chance.uniform(0.5, 1.5)),
            tiring=SLOWER_TIRED if number in tired else 0.0,
            slips=_SLIPS * float(chance.uniform(0.5, 1.5)),
            refuses=0.01,
            favourite=OBJECTS[int(chance.integers(len(OBJECTS)))] if number in biased else None,
            eager=number in eager,
        )
        for number in range(operators)
    )
    loose, broken = (int(at) for at in chance.permutation(stations)[:2])
    rooms = tuple(
        SimulatedStation(
            name=f"s{number + 1:02}",
            tasks=(TASKS[number % len(TASKS)], TASKS[(number + 1) % len(TASKS)]),
            offset=float(chance.normal(0, 0.02)),
            drifts_from=4 if number == loose else None,
            outage=(6, 8, 18) if number == broken else None,
        )
        for number in range(stations)
    )
    ill = ((2, people[int(order[8])].name), (7, people[int(order[9])].name))
    return FloorTruth(seed, people, rooms, tuple(map(floor_protocol, TASKS)), ill)


def floor_protocol(task: str) -> Protocol:
    """A task's protocol with five factors: 720 combinations, 159 pairs of levels."""
    factors = (
        Factor(name="object", levels=OBJECTS),
        Factor(name="pose", levels=("near", "far", "left", "right", "rim")),
        Factor(name="surface", levels=("wood", "steel", "cloth", "glass"), change_min=2),
        Factor(name="light", levels=("bright", "dim", "side"), change_min=1),
        Factor(name="approach", levels=("top", "side")),
    )
    ready = open_protocol(task)
    words = "{object} at {pose}, {approach}, on {surface}, light {light}"
    return ready.model_copy(update={
        "name": f"floor_{task}", "factors": factors, "design": DesignRules(), "continuous": None,
        "task": ready.task.model_copy(update={"instructions": (words,)}),
    })  # fmt: skip


def make_roster(
    truth: FloorTruth, first_day: date, days: int, *, hours: float, weekend: bool = False
) -> Roster:
    """Who can come when; most know two tasks, and stations are closed where they are repaired.

    `hours` are wanted of every task. The last certificate of one person ends after the first week.
    """
    chance = np.random.default_rng([truth.seed, 23])
    roster = Roster.model_validate({
        "document": "roster", "name": "floor", "version": "1.0.0", "first_day": first_day,
        "days": days, "weekend": weekend, "opens": time(8), "closes": time(18),
        "stations": [{"name": station.name, "tasks": station.tasks,
                      "closed": [{"begins": "08:00", "ends": "09:00"}] if number % 4 == 0 else []}
                     for number, station in enumerate(truth.stations)],
        "people": [{"name": "nobody", "certified": {}}],
        "wanted": [{"task": task, "hours": hours} for task in TASKS],
    })  # fmt: skip
    # Everybody comes every other day and for no more than their part, or all work would be done in
    # the first days.
    part_h = 1.3 * len(TASKS) * hours / len(truth.operators) / max(1.0, days / 5)
    week_h = min(20.0, max(4.0, part_h)) if days > 3 else 20.0
    people = []
    for number, person in enumerate(truth.operators):
        first = number % len(TASKS)
        known = [TASKS[first], TASKS[(first + 1 + int(chance.integers(3))) % len(TASKS)]]
        ends = roster.dates[min(4, days - 1)] if number == 0 else None
        late = "12:00" if chance.random() < 0.2 else None
        there = [day for at, day in enumerate(roster.dates) if days <= 3 or (at + number) % 2 == 0]
        people.append({"name": person.name, "certified": dict.fromkeys(known, ends),
                       "begins": late, "days": there, "week_h": week_h})  # fmt: skip
    return Roster.model_validate(roster.model_dump() | {"document": "roster", "people": people})
