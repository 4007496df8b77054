"""A day of a simulated floor played at many times its pace, its stations heard as recorders are."""

from __future__ import annotations

import shutil
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, time, timedelta
from itertools import chain
from pathlib import Path
from time import monotonic

from corporeal.capture.broadcast import Broadcast
from corporeal.capture.health import (
    CalibrationHealth,
    FloorHealth,
    Health,
    StreamHealth,
    TakeHealth,
    work_standing,
)
from corporeal.floor.labour import FloorEvent, FloorRun
from corporeal.floor.made_take import MadeTake, calibration_name
from corporeal.floor.truth import SimulatedStation
from corporeal.operations.monitoring import measure_batch, record_metrics, watch
from corporeal.protocol.protocol import WorkLimits
from corporeal.units import SECOND_NS

_TELL_S = 0.25
_WATCHED_EVERY = timedelta(minutes=30)
_TAKES_SHOWN = 6
# A station without anybody says so as long as its recorder stays open.
_CAMERAS = ("head_left", "head_right", "wrist_left", "wrist_right", "external_front")
_OWN_LIMITS = {"label_balance_error": 1.0, "largest_operator_share": 1.0}
_WORDS = {"accepted": "accepted", "failed": "kept as a failure: dropped",
          "quarantined": "held back: 31 % of the pictures of head_left came late"}  # fmt: skip


@dataclass
class FloorClock:
    """A clock that runs `speed` times as fast as this machine's, from `start` on."""

    start: datetime
    speed: float
    _begun: float = field(default_factory=monotonic)

    def now(self) -> datetime:
        """What time it is on the floor."""
        return self.start + timedelta(seconds=self.speed * (monotonic() - self._begun))

    def seconds_until(self, moment: datetime) -> float:
        """How long that still is by this machine's clock; 0 where it is over."""
        return max(0.0, (moment - self.now()).total_seconds() / self.speed)

    def wait_for(self, moment: datetime) -> None:
        """Go back to a moment that is only reached now: a machine too slow makes the day longer."""
        self._begun += max(0.0, (self.now() - moment).total_seconds() / self.speed)


@dataclass
class _LiveStation:
    """A station as its recorder would tell it."""

    truth: SimulatedStation
    broadcast: Broadcast
    event: FloorEvent | None = None
    begun: datetime | None = None
    made: int = 0
    takes: deque[TakeHealth] = field(default_factory=lambda: deque(maxlen=_TAKES_SHOWN))

    def apply(self, event: FloorEvent) -> None:
        self.event = event
        self.begun = event.at if event.kind == "begins" else None
        if event.take is not None:
            self.made += 1
            self.takes.appendleft(_told(event.take))


class FloorReplay:
    """Stations of a floor that publish their health on this machine; use it with `with`."""

    def __init__(self, run: FloorRun, day: int, speed: float, folder: Path) -> None:
        self._run, self._day, self._folder = run, day, folder
        self._exits = ExitStack()
        opened = [(station, self._exits.enter_context(Broadcast(0)))
                  for station in run.truth.stations]  # fmt: skip
        self._stations = {station.name: _LiveStation(station, server) for station, server in opened}
        self.addresses = tuple(f"127.0.0.1:{server.port}" for _, server in opened)
        start = datetime.combine(run.roster.dates[day], time(7, 58)).astimezone()
        self.clock = FloorClock(start, speed)
        self._watched, self._told = start, 0.0

    def __enter__(self) -> FloorReplay:
        return self

    def __exit__(self, *_: object) -> None:
        self._exits.close()

    def play(self, until: threading.Event, *, hours: float = 24.0) -> Iterator[FloorEvent]:
        """So many hours of the day, event by event when it is time, or until somebody ends it.

        They begin when the first person comes: a plan may leave the early hours free.
        """
        events = self._run.work(self._day)
        first = next(events, None)
        if first is None:
            return
        self.clock = FloorClock(max(self.clock.start, first.at), self.clock.speed)
        end = self.clock.start + timedelta(hours=hours)
        for event in chain((first,), events):
            if event.at >= end:
                break
            while not until.is_set() and (left_s := self.clock.seconds_until(event.at)) > 0:
                self._tell()
                until.wait(min(left_s, _TELL_S))
            if until.is_set():
                return
            self.clock.wait_for(event.at)
            if monotonic() - self._told >= _TELL_S:
                self._tell()
            self._stations[event.station].apply(event)
            if event.at - self._watched >= _WATCHED_EVERY:
                self._watched = event.at
                measure_day(self._run, self._day)
            yield event
        self._tell()

    def _tell(self) -> None:
        self._told, now = monotonic(), self.clock.now()
        for station in self._stations.values():
            station.broadcast.publish(self._health(station, now))

    def _health(self, station: _LiveStation, now: datetime) -> Health:
        event, name = station.event, station.truth.name
        is_there = event is not None and event.kind != "leaves"
        is_out = station.truth.is_out(self._day, now.hour)
        facts = {"station": name}
        work = None
        if event is not None and is_there:
            facts |= {"operator": event.operator, "task": event.task}
            spans = list(self._run.spans[event.operator, event.at.date()])
            if station.begun is not None:
                spans.append((station.begun.timestamp(), now.timestamp()))
            work = work_standing(spans, now.timestamp(), WorkLimits())
        takes = list(station.takes)
        if station.begun is not None:
            seconds = max(0.0, (now - station.begun).total_seconds())
            takes.insert(0, TakeHealth(f"take_{station.made + 1:04}", "recording", seconds))
        card = event.card if event is not None and is_there else None
        checked = self.clock.start - timedelta(minutes=8)
        alarms = ("observations/head_left is slow: check its cable and power",) if is_out else ()
        return Health(
            time_ns=round(now.timestamp() * SECOND_NS),
            state="recording" if station.begun is not None else "idle",
            episode=takes[0].name if takes else "", episodes=station.made,
            elapsed_s=(now - self.clock.start).total_seconds(),
            streams=tuple(_streams(is_out)), waiting_bytes=0, written_bytes=0, slowest_sync_s=0.0,
            disk_free_bytes=shutil.disk_usage(self._folder).free, alarms=alarms, facts=facts,
            calibration=CalibrationHealth(
                calibration_name(name), "good", "", checked.isoformat(),
                (checked + timedelta(hours=12)).isoformat(),
            ),
            work=work,
            floor=FloorHealth(
                instruction=card.instruction if card else "", starts_by="key", today=station.made,
                takes=tuple(takes), card=card,
            ),
        )  # fmt: skip


@contextmanager
def replaying(run: FloorRun, day: int, *, speed: float, folder: Path) -> Iterator[FloorReplay]:
    """A floor whose stations can be listened to; `folder` is where its recordings would lie."""
    with FloorReplay(run, day, speed, folder) as replay:
        yield replay


def measure_day(run: FloorRun, day: int) -> None:
    """Measure what each station made in a day, and look whether a figure left its limits."""
    batches = sorted({f"{run.roster.dates[day]}-{take.station}"
                      for take in run.takes if take.day == day})  # fmt: skip
    with run.database.write() as connection:
        for batch in batches:
            record_metrics(connection, batch, measure_batch(connection, batch), who="floor")
    # A batch is what one station made in a day: it is not to be even within itself.
    watch(run.database, who="floor", limits=_OWN_LIMITS)


def _streams(is_out: bool) -> Iterator[StreamHealth]:
    for camera in _CAMERAS:
        is_slow = is_out and camera == "head_left"
        yield StreamHealth(f"observations/{camera}", "slow" if is_slow else "good", 1000,
                           18.0 if is_slow else 30.0, 30.0, 0.02, 0, 0, "", 0.4, "video", 0.6,
                           "known")  # fmt: skip
    yield StreamHealth("observations/joints", "good", 10_000, 500.0, 500.0, 0.002, 0, 0, "", 0.1,
                       "vector", 0.3, "known")  # fmt: skip


def _told(take: MadeTake) -> TakeHealth:
    return TakeHealth(
        f"{take.task}_{take.id[:8]}", "done", take.duration_s,
        outcome="dropped" if take.failed else "success", verdict=take.verdict,
        words=_WORDS[take.verdict],
    )  # fmt: skip
