"""How every stream is doing right now: rate, age, losses, skew; and the disk and the buffers."""

from __future__ import annotations

import json
import shutil
import threading
from collections import deque
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from corporeal.capture.clock import FAR_NS, format_span
from corporeal.capture.trigger_group import (
    TriggerGauge,
    TriggerGroup,
    TriggerHealth,
    group_paths,
    group_rate_hz,
)
from corporeal.files import atomic_write
from corporeal.schema import Schema, Stream
from corporeal.units import SECOND_NS

_WINDOW_NS = 2 * SECOND_NS
_MOST_RECENT = 8192
_MOST_STRANGERS = 32
State = Literal["waiting", "good", "slow", "silent"]


@dataclass(frozen=True)
class StreamHealth:
    """One stream at one moment.

    `late` counts samples that did not come while an episode was recorded, from intervals between
    stamps of more than one and a half periods. `refused` counts samples that came and could not be
    taken, with the last reason.
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
    triggers: tuple[TriggerHealth, ...] = ()
    """The groups of cameras that share a hardware trigger."""

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
        while self.recent and arrival_ns - self.recent[0] > _WINDOW_NS:
            self.recent.popleft()

    def read(self, now_ns: int, delay_ns: int | None) -> StreamHealth:
        age_s = (
            None if self.last_arrival_ns is None else (now_ns - self.last_arrival_ns) / SECOND_NS
        )
        rate = self._rate(now_ns)
        skew = None
        if delay_ns is not None and self.samples:
            skew = (self.delay_ns - delay_ns) / 1e6
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
            skew_ms=skew,
            kind=self.stream.kind,
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


class HealthMonitor:
    """Fed by the recorder with every sample, read by whoever wants to know."""

    def __init__(self, schema: Schema, folder: Path, groups: tuple[TriggerGroup, ...] = ()) -> None:
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

    def refuse(self, path: str, reason: str) -> None:
        """Note a sample that could not be taken, and why."""
        with self._lock:
            gauge = self._gauges.get(path)
            if gauge is not None:
                gauge.refused += 1
                gauge.reason = reason
            elif path in self._strangers or len(self._strangers) < _MOST_STRANGERS:
                self._strangers[path] = self._strangers.get(path, 0) + 1

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
        asks: tuple[str, ...] = (),
    ) -> Health:
        """Everything, now."""
        with self._lock:
            delays = sorted(g.delay_ns for g in self._gauges.values() if g.samples)
            middle = delays[len(delays) // 2] if delays else None
            streams = tuple(gauge.read(now_ns, middle) for gauge in self._gauges.values())
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
            disk_free_bytes=free,
            alarms=(
                *self._alarms(streams, state, free, slowest_sync_s),
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
            ),
            asks=asks,
            triggers=triggers,
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


def write_health(path: Path, health: Health) -> None:
    """The health as a JSON file that is always whole: for a page, a watchdog, a script."""
    atomic_write(path, json.dumps(health.to_json()), sync=False)
