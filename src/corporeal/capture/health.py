"""How every stream is doing right now: rate, age, losses, skew; and the disk and the buffers."""

from __future__ import annotations

import json
import shutil
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from corporeal.capture.clock import FAR_NS, ClockEstimate, ClockGauge, format_span, skew_of
from corporeal.capture.driver import ROBOT_CLOCK
from corporeal.capture.take_log import FloorHealth as FloorHealth
from corporeal.capture.take_log import TakeHealth as TakeHealth
from corporeal.capture.trigger_group import (
    TriggerGauge,
    TriggerGroup,
    TriggerHealth,
    group_paths,
    group_rate_hz,
)
from corporeal.capture.work_hours import WorkHealth as WorkHealth
from corporeal.capture.work_hours import work_standing as work_standing
from corporeal.files import atomic_write
from corporeal.schema import Schema, Stream
from corporeal.units import SECOND_NS

_WINDOW_NS = 2 * SECOND_NS
_MOST_RECENT = 8192
UNSAVED_S = 0.15
"""A sample that waits longer for the disk raises an alarm; the promise is 0.2 s."""
_MOST_STRANGERS = 32
# Of so many samples the middle one tells how late a stream is: one late message is none.
_LATEST = 31
_NO_FLOOR = FloorHealth()
State = Literal["waiting", "good", "slow", "silent"]
ClockState = Literal["estimating", "known", "on arrival"]
CalibrationState = Literal["good", "due", "overdue", "halted"]


@dataclass(frozen=True)
class StreamHealth:
    """One stream at one moment.

    `late` counts samples that did not come while an episode was recorded, from intervals between
    stamps of more than one and a half periods. `refused` counts samples that came and could not be
    taken, with the last reason. `skew_ms` is how much later than its clock says the samples arrive,
    once offset and drift of the clock are known, give or take `skew_error_ms`; `clock` says whether
    it is known, being estimated, or cannot be since stamps are made on arrival.
    """

    path: str
    state: State
    samples: int
    rate_hz: float
    nominal_hz: float | None
    age_s: float | None
    late: int
    refused: int
    reason: str
    skew_ms: float | None
    kind: str = "array"
    skew_error_ms: float | None = None
    clock: ClockState = "estimating"


@dataclass(frozen=True)
class CalibrationHealth:
    """Whether the station's calibration holds. Once `halted`, no episode begins.

    `checked_at` is when its markers were last seen where they should be, `due_at` when they are
    to be seen again, both ISO 8601; `sentence` says what that means, `ask` what to do about it.
    """

    reference: str
    state: CalibrationState
    sentence: str
    checked_at: str | None = None
    due_at: str | None = None
    ask: str = ""


@dataclass(frozen=True)
class Health:
    """The whole recorder at one moment."""

    time_ns: int
    state: str
    episode: str
    episodes: int
    elapsed_s: float
    streams: tuple[StreamHealth, ...]
    waiting_bytes: int
    written_bytes: int
    slowest_sync_s: float
    disk_free_bytes: int
    alarms: tuple[str, ...]
    asks: tuple[str, ...] = ()
    """What the operator is to do before the next episode."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Who records what and where: station, operator, task, as far as they were told."""
    triggers: tuple[TriggerHealth, ...] = ()
    """The groups of cameras that share a hardware trigger."""
    unsaved_s: float = 0.0
    """The age of the oldest sample that was not on disk, at its worst in the last second."""
    calibration: CalibrationHealth | None = None
    """None for a station whose calibration names no markers."""
    work: WorkHealth | None = None
    """How long the operator has worked; None where nobody was named, or no person is at work."""
    floor: FloorHealth = _NO_FLOOR
    """What the operator sees: what to do, how many are done, and the latest takes."""

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the web page and the file."""
        return asdict(self)


@dataclass
class _Gauge:
    stream: Stream
    samples: int = 0
    late: int = 0
    refused: int = 0
    reason: str = ""
    last_source_ns: int | None = None
    last_arrival_ns: int | None = None
    delay_ns: int = 0
    clock_step_ns: int = 0
    # Bounded, also when the arrivals of a broken source do not advance.
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_RECENT))
    latest: deque[tuple[int, int]] = field(default_factory=lambda: deque(maxlen=_LATEST))

    def take(self, source_ns: int, arrival_ns: int, *, is_recording: bool) -> None:
        period_ns = SECOND_NS / self.stream.rate_hz if self.stream.rate_hz else None
        if is_recording and self.last_source_ns is not None and period_ns is not None:
            step = source_ns - self.last_source_ns
            waited = arrival_ns - (self.last_arrival_ns or arrival_ns)
            if step - waited > SECOND_NS:
                step = waited  # The clock was set: that is no loss.
            if step > 1.5 * period_ns:
                self.late += max(1, round(step / period_ns) - 1)
        delay_ns = arrival_ns - source_ns
        if self.samples:
            self.clock_step_ns = max(self.clock_step_ns, abs(delay_ns - self.delay_ns))
        self.samples += 1
        self.last_source_ns, self.last_arrival_ns = source_ns, arrival_ns
        self.delay_ns = delay_ns
        self.recent.append(arrival_ns)
        self.latest.append((source_ns, arrival_ns))
        while self.recent and arrival_ns - self.recent[0] > _WINDOW_NS:
            self.recent.popleft()

    def read(self, now_ns: int, clock: ClockEstimate | None) -> StreamHealth:
        age_s = (
            None if self.last_arrival_ns is None else (now_ns - self.last_arrival_ns) / SECOND_NS
        )
        rate = self._rate(now_ns)
        # The sample of the middle delay stands for the latest ones.
        by_delay = sorted(self.latest, key=lambda pair: pair[1] - pair[0])
        skew = skew_of(clock, *by_delay[len(by_delay) // 2]) if by_delay else None
        return StreamHealth(
            path=self.stream.path,
            state=self._state(rate, age_s),
            samples=self.samples,
            rate_hz=rate,
            nominal_hz=self.stream.rate_hz,
            age_s=age_s,
            late=self.late,
            refused=self.refused,
            reason=self.reason,
            skew_ms=None if skew is None else skew[0],
            kind=self.stream.kind,
            skew_error_ms=None if skew is None else skew[1],
            clock=_clock_state(clock),
        )

    def _rate(self, now_ns: int) -> float:
        inside = [stamp for stamp in self.recent if now_ns - stamp <= _WINDOW_NS]
        span = inside[-1] - inside[0] if len(inside) > 1 else 0
        return (len(inside) - 1) * SECOND_NS / span if span > 0 else 0.0

    def _state(self, rate: float, age_s: float | None) -> State:
        nominal = self.stream.rate_hz
        if age_s is None:
            return "waiting"
        if nominal is None:
            return "good"
        if age_s > max(0.5, 5 / nominal):
            return "silent"
        return "slow" if len(self.recent) > 4 and rate < 0.8 * nominal else "good"


def _clock_state(clock: ClockEstimate | None) -> ClockState:
    if clock is None:
        return "estimating"
    return "on arrival" if clock.on_arrival else "known"


class HealthMonitor:
    """Fed by the recorder with every sample, read by whoever wants to know.

    `clocks` names the clock that stamps each stream; without a name it is the robot's.
    """

    def __init__(
        self,
        schema: Schema,
        folder: Path,
        groups: tuple[TriggerGroup, ...] = (),
        clocks: Mapping[str, str] | None = None,
    ) -> None:
        names = clocks or {}
        self._clock_of = {s.path: names.get(s.path, ROBOT_CLOCK) for s in schema.streams}
        self._clocks = {name: ClockGauge() for name in self._clock_of.values()}
        self._triggers = tuple(
            TriggerGauge(group.name, paths, group_rate_hz(paths, schema))
            for group, paths in ((group, group_paths(group, schema)) for group in groups)
        )
        self._gauges = {stream.path: _Gauge(stream) for stream in schema.streams}
        self._required = {
            stream.path for stream in schema.streams if stream.rate_hz and not stream.optional
        }
        self._strangers: dict[str, int] = {}
        self._lasting: list[str] = []
        self._passing: tuple[str, ...] = ()
        self._folder = folder
        self._lock = threading.Lock()

    def take(self, path: str, source_ns: int, arrival_ns: int, *, is_recording: bool) -> None:
        """Note a sample; only what is missing from an episode counts as late."""
        with self._lock:
            self._gauges[path].take(source_ns, arrival_ns, is_recording=is_recording)
            self._clocks[self._clock_of[path]].take(source_ns, arrival_ns)
            for group in self._triggers:
                group.take(path, source_ns, arrival_ns, is_recording=is_recording)

    def alarm(self, sentence: str) -> None:
        """Raise an alarm that stays, such as that a source is gone."""
        with self._lock:
            self._lasting.append(sentence)

    def warn(self, sentences: tuple[str, ...]) -> None:
        """Raise alarms that stay until the next episode begins."""
        with self._lock:
            self._passing = sentences

    def refuse(self, path: str, reason: str, count: int = 1) -> None:
        """Note samples that could not be taken, and why."""
        with self._lock:
            gauge = self._gauges.get(path)
            if gauge is not None:
                gauge.refused += count
                gauge.reason = reason
            elif path in self._strangers or len(self._strangers) < _MOST_STRANGERS:
                self._strangers[path] = self._strangers.get(path, 0) + count

    def strangers(self) -> dict[str, int]:
        """How many samples came of streams that are not in the schema."""
        with self._lock:
            return dict(self._strangers)

    def losses(self) -> dict[str, dict[str, int]]:
        """What each stream has lost so far: missed while recording, and refused."""
        with self._lock:
            return {
                path: {"missed": gauge.late, "refused": gauge.refused}
                for path, gauge in self._gauges.items()
            }

    def read(
        self,
        now_ns: int,
        *,
        state: str = "idle",
        episode: str = "",
        episodes: int = 0,
        elapsed_s: float = 0.0,
        waiting_bytes: int = 0,
        written_bytes: int = 0,
        slowest_sync_s: float = 0.0,
        unsaved_s: float = 0.0,
        asks: tuple[str, ...] = (),
        facts: Mapping[str, str] | None = None,
        calibration: CalibrationHealth | None = None,
        work: WorkHealth | None = None,
        floor: FloorHealth = _NO_FLOOR,
    ) -> Health:
        """Everything, now."""
        with self._lock:
            clocks = {name: gauge.estimate() for name, gauge in self._clocks.items()}
            streams = tuple(
                gauge.read(now_ns, clocks[self._clock_of[path]])
                for path, gauge in self._gauges.items()
            )
            triggers = tuple(group.read() for group in self._triggers)
            steps = {path: gauge.clock_step_ns for path, gauge in self._gauges.items()}
        free = shutil.disk_usage(self._folder).free
        return Health(
            time_ns=now_ns,
            state=state,
            episode=episode,
            episodes=episodes,
            elapsed_s=elapsed_s,
            streams=streams,
            waiting_bytes=waiting_bytes,
            written_bytes=written_bytes,
            slowest_sync_s=slowest_sync_s,
            unsaved_s=unsaved_s,
            disk_free_bytes=free,
            alarms=(
                *self._alarms(streams, state, free, slowest_sync_s),
                *_unsaved(unsaved_s),
                *(
                    f"{path}: its clock was set by {format_span(step)}; what was recorded then is "
                    "quarantined"
                    for path, step in steps.items()
                    if step > FAR_NS
                ),
                *(
                    f"{camera} missed {count} triggers of the group {group.name}"
                    for group in triggers
                    for camera, count in group.missed.items()
                ),
                *_uncalibrated(calibration),
            ),
            asks=(*asks, *([calibration.ask] if calibration and calibration.ask else [])),
            facts=dict(facts or {}),
            floor=floor,
            triggers=triggers,
            calibration=calibration,
            work=work,
        )

    def _alarms(
        self, streams: tuple[StreamHealth, ...], state: str, free: int, slowest_sync_s: float
    ) -> list[str]:
        alarms = [*self._lasting, *self._passing]
        alarms += [
            f"{stream.path} is silent for {stream.age_s:.1f} s: check its cable and power"
            for stream in streams
            if stream.state == "silent" and stream.age_s is not None
        ]
        alarms += [
            f"{stream.path} has sent nothing: check its cable, its power and its name"
            for stream in streams
            if stream.state == "waiting" and stream.path in self._required and state == "recording"
        ]
        alarms += [
            f"{path}: {count} samples refused, since the driver did not announce this stream"
            for path, count in self.strangers().items()
        ]
        alarms += [
            f"{stream.path}: {stream.refused} samples refused, last because {stream.reason}"
            for stream in streams
            if stream.refused
        ]
        if free < 2 << 30:
            alarms.append(
                f"{free / 1e9:.1f} GB left on the disk: free space before the next episode"
            )
        if slowest_sync_s > 1.0:
            alarms.append(f"the disk took {slowest_sync_s:.1f} s to sync: it is too slow or busy")
        return alarms


def _unsaved(unsaved_s: float) -> list[str]:
    if unsaved_s <= UNSAVED_S:
        return []
    return [
        f"samples waited {1e3 * unsaved_s:.0f} ms for the disk, and a power cut would lose them: "
        "end other programs, use a faster disk, or record fewer or smaller pictures"
    ]


def _uncalibrated(calibration: CalibrationHealth | None) -> list[str]:
    if calibration is None or calibration.state not in ("overdue", "halted"):
        return []
    return [calibration.sentence]


def write_health(path: Path, health: Health) -> None:
    """The health as a JSON file that is always whole: for a page, a watchdog, a script."""
    atomic_write(path, json.dumps(health.to_json()), sync=False)
