"""Work on a simulated floor, shift by shift in virtual time, through the platform's own functions.

Plans of shifts, cards, breaks, the catalogue and the practice partition are the real ones; only
the people, their takes and the clock are made up.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Literal
from uuid import UUID

import numpy as np

from corporeal.capture.health import work_standing
from corporeal.catalog.database import Database
from corporeal.catalog.episodes import add_episodes, take_check
from corporeal.catalog.people import (
    add_operator,
    give_certificate,
    open_certification,
    place_episodes,
    require_certificates,
    revoke_certificates,
)
from corporeal.catalog.permission import Actor
from corporeal.floor.made_take import MadeTake, calibration_check, entry_of_take
from corporeal.floor.truth import FloorTruth, SimulatedOperator, SimulatedStation
from corporeal.operations.campaign import (
    CampaignError,
    create_campaign,
    next_card,
    refuse_card,
    take_card,
)
from corporeal.operations.shifts import Fixture, Roster, ShiftPlan, plan_shifts
from corporeal.protocol.card import EpisodeCard
from corporeal.protocol.protocol import WorkLimits
from corporeal.units import SECOND_NS

LEAD = Actor("floor lead", "lead", privacy="managed")
EventKind = Literal["arrives", "prepares", "begins", "ends", "refuses", "rests", "idle", "leaves"]
_RESET_S, _MINUTE_S = 45.0, 60.0
# People try again after a while where there was no card.
_WAIT = timedelta(minutes=5)


@dataclass(frozen=True)
class FloorEvent:
    """Something that happened at a station; `until` is when the next thing is to happen there."""

    at: datetime
    kind: EventKind
    station: str
    operator: str
    task: str
    until: datetime
    card: EpisodeCard | None = None
    take: MadeTake | None = None
    words: str = ""


@dataclass
class FloorRun:
    """A floor at work: what it truly is, its roster and plan, and all takes so far."""

    database: Database
    truth: FloorTruth
    roster: Roster
    plan: ShiftPlan
    takes: list[MadeTake] = field(default_factory=list)
    spans: dict[tuple[str, date], list[tuple[float, float]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    halted: Counter[str] = field(default_factory=Counter)
    _events: list[FloorEvent] = field(default_factory=list)
    _limits: WorkLimits = field(default_factory=WorkLimits)

    def replan(self, day: int, *, seconds: float) -> tuple[str, ...]:
        """Plan anew in the morning where somebody is ill; who is."""
        ill = tuple(person for number, person in self.truth.ill if number == day)
        if ill:
            today = self.roster.dates[day]
            away = frozenset((person, today) for person in ill)
            self.plan = plan_shifts(self.roster, seconds=seconds, seed=self.truth.seed,
                                    keep=Fixture(self.plan, today, 0, away))  # fmt: skip
        return ill

    def work(self, day: int) -> Iterator[FloorEvent]:
        """A working day, event by event in the order of time; each is done when it is given."""
        today = self.roster.dates[day]
        self._check_calibrations(day)
        waiting: list[tuple[datetime, int, Iterator[datetime]]] = []
        duties = sorted(duty for duty in self.plan.duties if duty.day == today)
        for number, duty in enumerate(duties):
            begin, end = (datetime.combine(today, at).astimezone()
                          for at in self.roster.slots[duty.slot])  # fmt: skip
            person = next(each for each in self.truth.operators if each.name == duty.person)
            station = next(each for each in self.truth.stations if each.name == duty.station)
            rng = np.random.default_rng([self.truth.seed, day, duty.slot, number])
            shift = _Shift(self, day, person, station, duty.task, begin, end, rng)
            heapq.heappush(waiting, (begin, number, shift.work()))
        while waiting:
            _, number, worker = heapq.heappop(waiting)
            wake = next(worker, None)
            yield from self._events
            self._events.clear()
            if wake is not None:
                heapq.heappush(waiting, (wake, number, worker))

    def _check_calibrations(self, day: int) -> None:
        """Every station looks at its marker in the morning; one that came loose creeps."""
        at = datetime.combine(self.roster.dates[day], time(7, 50)).astimezone()
        rng = np.random.default_rng([self.truth.seed, day, 7])
        with self.database.write() as connection:
            for station in self.truth.stations:
                check = calibration_check(station, day, at, rng)
                take_check(connection, check, who="morning check")


@dataclass
class _Shift:
    """One person in one slot at one station."""

    run: FloorRun
    day: int
    person: SimulatedOperator
    station: SimulatedStation
    task: str
    begin: datetime
    end: datetime
    rng: np.random.Generator

    def work(self) -> Iterator[datetime]:
        """Wake-up times; what is due is done when it is resumed."""
        run, now = self.run, self.begin
        yield now
        self._note(now, "arrives", now)
        work_until = now + timedelta(minutes=run.roster.rules.work_min)
        stop = self.end if self.person.eager else work_until
        while now < stop:
            if (until := self._rest_until(now)) is not None:
                yield until
                now = until
                continue
            try:
                card = next_card(run.database, self.task, station=self.station.name,
                                 operator=self.person.name, now=now)  # fmt: skip
            except CampaignError as error:
                self._note(now, "idle", now + _WAIT, words=str(error))
                now += _WAIT
                yield now
                continue
            ready = now + timedelta(seconds=self._set_up_s(card))
            if ready >= stop:
                break
            self._note(now, "prepares", ready, card)
            yield ready
            now = ready
            if self._rest_until(now) is not None:
                continue  # Setting up took what was left; the card stays open.
            if self.rng.random() < self.person.refuses:
                self._refuse(card, now)
                continue
            take = self._draw(card, now)
            with run.database.write() as connection:
                take_card(connection, card.id, now=now)
            over = now + timedelta(seconds=take.duration_s)
            self._note(now, "begins", over, card)
            yield over
            self._keep(card, take)
            now = over
            self._note(now, "ends", now, card, take)
        self._note(min(max(now, work_until), self.end), "leaves", self.end)

    def _rest_until(self, now: datetime) -> datetime | None:
        """Until when no take may begin; only whoever would have worked on comes to wait."""
        standing = work_standing(self._spans, now.timestamp(), self.run._limits)
        if standing.state != "halted":
            return None
        self.run.halted[self.person.name] += 1
        free = datetime.fromisoformat(standing.until) if standing.until else self.end
        until = min(max(free, now + timedelta(seconds=_MINUTE_S)), self.end)
        self._note(now, "rests", until, words=standing.sentence)
        return until

    @property
    def _spans(self) -> list[tuple[float, float]]:
        return self.run.spans[self.person.name, self.begin.date()]

    def _set_up_s(self, card: EpisodeCard) -> float:
        protocol = next(each for each in self.run.truth.protocols if each.task.name == self.task)
        minutes = {factor.name: factor.change_min or 0.0 for factor in protocol.factors}
        changed = [words.partition(":")[0] for words in card.changes]
        return _RESET_S + _MINUTE_S * sum(minutes.get(name, 0.0) for name in changed)

    def _refuse(self, card: EpisodeCard, now: datetime) -> None:
        with self.run.database.write() as connection:
            refuse_card(connection, card.id, "the object is not clean", by=self.person.name,
                        now=now)  # fmt: skip
        self._note(now, "refuses", now, card)

    def _draw(self, card: EpisodeCard, now: datetime) -> MadeTake:
        """What becomes of this take, by who and where; the clock runs from the last break on."""
        run, person, rng = self.run, self.person, self.rng
        since_h = self._since_break_h(now)
        count = sum(take.operator == person.name for take in run.takes)
        slow = person.slowness(count, since_h) + self.station.slowness(self.day)
        duration_s = run.truth.usual_s(self.task) * float(np.exp(slow + rng.normal(0, 0.18)))
        slips = person.slips * (1 + 1.5 * person.tiring * since_h)
        slips += 0.08 if self.station.is_adrift(self.day) else 0.0
        levels = dict(card.levels)
        if person.favourite is not None and rng.random() < 0.6:
            levels["object"] = person.favourite
        is_out = self.station.is_out(self.day, now.hour)
        return MadeTake(
            id=str(UUID(bytes=rng.bytes(16), version=4)),
            task=self.task, operator=person.name, station=self.station.name,
            recorded_ns=round(now.timestamp() * SECOND_NS), duration_s=duration_s, levels=levels,
            failed=bool(rng.random() < slips), lost_pictures=is_out and rng.random() < 0.7,
            smoothness=float(rng.normal(-4.0 - 0.6 * person.tiring * since_h, 0.4)),
            day=self.day, adrift=self.station.is_adrift(self.day),
        )  # fmt: skip

    def _since_break_h(self, now: datetime) -> float:
        rest_s = _MINUTE_S * self.run._limits.break_min
        begun = now.timestamp()
        for first, last in reversed(self._spans):
            if begun - last >= rest_s:
                break
            begun = first
        return (now.timestamp() - begun) / 3600

    def _keep(self, card: EpisodeCard, take: MadeTake) -> None:
        protocol = next(each for each in self.run.truth.protocols if each.task.name == self.task)
        entry = entry_of_take(take, card, protocol)
        with self.run.database.write() as connection:
            add_episodes(connection, [entry], who=self.station.name)
            place_episodes(connection, [entry.id], who=self.station.name)
        self.run.takes.append(take)
        begun = take.recorded_ns / SECOND_NS
        self._spans.append((begun, begun + take.duration_s))

    def _note(
        self, at: datetime, kind: EventKind, until: datetime, card: EpisodeCard | None = None,
        take: MadeTake | None = None, words: str = "",
    ) -> None:  # fmt: skip
        self.run._events.append(FloorEvent(at, kind, self.station.name, self.person.name,
                                           self.task, until, card, take, words))  # fmt: skip


def open_floor(
    database: Database, truth: FloorTruth, roster: Roster, *, episodes: int, seconds: float = 20.0
) -> FloorRun:
    """Plan the shifts, add the people with their certificates, and begin a campaign of each task.

    `episodes` are those of each campaign, `seconds` the most that planning takes.
    """
    begin = datetime.combine(roster.dates[0], time(0)).astimezone()
    certification = open_certification("standard")
    with database.write() as connection:
        for person in roster.people:
            add_operator(connection, person.name, by=LEAD)
        for protocol in truth.protocols:
            task = protocol.task.name
            create_campaign(connection, LEAD, task, protocol, episodes=episodes, seed=truth.seed,
                            at=begin)  # fmt: skip
            require_certificates(connection, task, certification, by=LEAD, since=begin)
        for person in roster.people:
            for task, last in person.certified.items():
                give_certificate(connection, person.name, task, certification, by=LEAD,
                                 evidence={}, valid_from=begin, why="certified before")  # fmt: skip
                if last is not None:
                    end = datetime.combine(last, time(0)).astimezone() + timedelta(days=1)
                    revoke_certificates(connection, person.name, task, by=LEAD, since=end,
                                        why="its time was up")  # fmt: skip
    plan = plan_shifts(roster, seconds=seconds, seed=truth.seed)
    return FloorRun(database, truth, roster, plan)
