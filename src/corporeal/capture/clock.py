"""Clocks: the recorder's own, which never steps, and what is estimated of every device's."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.capture.driver import ROBOT_CLOCK
from corporeal.units import SECOND_NS

_WINDOW_NS = SECOND_NS // 2
# A crystal is good to some tens of ppm; a fit beyond this is a broken clock, not a fast one.
_MOST_DRIFT_PPM = 500.0
_SHORTEST_FIT_NS = 2 * SECOND_NS
_JUMP_NS = SECOND_NS // 20
_LARGEST = (1 << 63) - 1
# Live: as many windows are kept, and so many are as short as an episode's clock is fitted from.
_MOST_WINDOWS = 120
_FEWEST_WINDOWS = 5
_STEP_NS = SECOND_NS
# Of a normal distribution, over its median distance from the middle.
_DEVIATION = 1.4826
_SAME_LEVEL_NS = SECOND_NS // 50
_SAME_PARTING_NS = SECOND_NS // 2000
# No cable and no network holds a sample up for so long: its clock was set, or is broken.
# No quartz is off by so much, and so few stamps or so short a time say nothing.
_ODD_PACE, _FEWEST_PACED = 0.02, 20
FAR_NS = 10 * SECOND_NS


class HostClock:
    """Unix time at the start, then the monotonic clock: a step of the system time is not seen."""

    def __init__(self) -> None:
        self._offset = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        """Nanoseconds since 1970, never going back."""
        return self._offset + time.monotonic_ns()


@dataclass(frozen=True)
class ClockEstimate:
    """host = source + offset_ns + drift_ppm * 1e-6 * (source - reference_ns).

    `residual_ns` is how far, in the typical window, the quickest message lies from this line:
    the uncertainty that can be seen. A constant delay that no message beats cannot be seen in one
    direction; `latency_ns` is what was known of it beforehand and taken off.
    `on_arrival`: nobody stamped the samples before they arrived.
    `backwards` and `repeats` count stamps below, or equal to, the one before in the same stream;
    `jumps` the half seconds in which the quickest message came 50 ms sooner or later than before:
    the clock was set, or everything was held up.
    """

    source: str
    offset_ns: int
    drift_ppm: float
    reference_ns: int
    residual_ns: int
    latency_ns: int
    samples: int
    backwards: int
    repeats: int = 0
    jumps: int = 0
    on_arrival: bool = False

    @property
    def uncertainty_ns(self) -> int | None:
        """Two deviations of a stamp against the recorder's clock, as far as arrivals show it.

        None where the stamps are the arrivals themselves: how late those are cannot be told.
        """
        return None if self.on_arrival else round(2 * _DEVIATION * self.residual_ns)

    def to_host(self, source_ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Stamps of this source on the recorder's clock."""
        since = (source_ns - self.reference_ns).astype(np.float64)
        host: NDArray[np.int64] = (
            source_ns + self.offset_ns + np.rint(self.drift_ppm * 1e-6 * since).astype(np.int64)
        )
        return host

    def to_json(self) -> dict[str, Any]:
        """Plain values, for the metadata of the episode."""
        return {**asdict(self), "uncertainty_ns": self.uncertainty_ns}


def estimate_clock(
    source: str,
    source_ns: NDArray[np.int64],
    arrival_ns: NDArray[np.int64],
    *,
    latency_ns: int = 0,
    streams: NDArray[np.integer[Any]] | None = None,
) -> ClockEstimate:
    """Offset and drift of a source from its stamps and their arrivals.

    A message is delayed, never early: in each half second the quickest one is closest to the
    truth. A robust line (Theil-Sen) through those gives offset and drift. `streams` numbers the
    stream of each stamp, where several share the clock.
    """
    order = np.argsort(arrival_ns, kind="stable")
    stamps, arrivals = source_ns[order], arrival_ns[order]
    backwards, repeats = _irregular(stamps, None if streams is None else streams[order])
    delay = arrivals - stamps
    window = (arrivals - arrivals[0]) // _WINDOW_NS
    edges = np.flatnonzero(np.diff(window, prepend=-1))
    quickest = np.array(
        [
            first + int(np.argmin(delay[first:stop]))
            for first, stop in zip(edges, [*edges[1:], len(delay)], strict=True)
        ]
    )
    reference = int(stamps[0])
    x = (stamps[quickest] - reference).astype(np.float64)
    base = int(np.min(delay))
    y = (delay[quickest] - base).astype(np.float64)
    drift = _slope(x, y)
    intercept = float(np.median(y - drift * x)) if len(x) else 0.0
    residual = float(np.median(np.abs(y - drift * x - intercept)))
    return ClockEstimate(
        source=source,
        offset_ns=max(-_LARGEST, min(_LARGEST, base + round(intercept) - latency_ns)),
        drift_ppm=drift * 1e6,
        reference_ns=reference,
        residual_ns=round(residual),
        latency_ns=latency_ns,
        samples=len(stamps),
        backwards=backwards,
        repeats=repeats,
        jumps=int((np.abs(np.diff(y)) > _JUMP_NS).sum()),
        on_arrival=not delay.any(),
    )


def describe_far_stamps(
    clock: ClockEstimate, source_ns: NDArray[np.int64], arrival_ns: NDArray[np.int64]
) -> str | None:
    """How many stamps are far from their arrival by this clock, and how far; None if none is."""
    # As floats: the stamps of a broken clock may lie further apart than 64 bits hold.
    since = source_ns.astype(np.float64) - clock.reference_ns
    host = source_ns.astype(np.float64) + clock.offset_ns + clock.drift_ppm * 1e-6 * since
    apart = np.abs(host - arrival_ns.astype(np.float64))
    count = int((apart > FAR_NS).sum())
    if not count:
        return None
    return (
        f"{count} of {len(apart)} stamps lie up to {format_span(float(apart.max()))} "
        "from their arrival"
    )


def describe_pace(source_ns: NDArray[np.int64], arrival_ns: NDArray[np.int64]) -> str | None:
    """How much too fast or slow stamps run beside their arrivals; None below two in a hundred.

    Told from the middle stamp of the first tenth and of the last, over a second or more.
    """
    tenth = max(1, len(source_ns) // 10)
    spans = [
        float(np.median(stamps[-tenth:].astype(np.float64) - np.float64(stamps[0])))
        - float(np.median(stamps[:tenth].astype(np.float64) - np.float64(stamps[0])))
        for stamps in (source_ns, arrival_ns)
    ]
    if len(source_ns) < _FEWEST_PACED or spans[1] < SECOND_NS or spans[0] <= 0:
        return None
    pace = spans[0] / spans[1] - 1
    if abs(pace) < _ODD_PACE:
        return None
    return f"its clock runs {100 * abs(pace):.1f} % too {'fast' if pace > 0 else 'slow'}"


def format_span(span_ns: float) -> str:
    """A long time in the largest unit that it has two of."""
    span_s = span_ns / SECOND_NS
    for unit, seconds in (("years", 365.25 * 86400), ("days", 86400.0), ("hours", 3600.0)):
        if span_s >= 2 * seconds:
            return f"{span_s / seconds:.1f} {unit}"
    return f"{span_s:.0f} s"


def _irregular(
    stamps: NDArray[np.int64], streams: NDArray[np.integer[Any]] | None
) -> tuple[int, int]:
    """How many stamps are below, and how many equal to, the one before in their stream."""
    if streams is not None:
        order = np.argsort(streams, kind="stable")
        stamps, streams = stamps[order], streams[order]
    same = np.ones(max(len(stamps) - 1, 0), bool) if streams is None else np.diff(streams) == 0
    # Compared, not subtracted: the step of a broken clock may not fit 64 bits.
    backwards = (stamps[1:] < stamps[:-1]) & same
    repeats = (stamps[1:] == stamps[:-1]) & same
    return int(backwards.sum()), int(repeats.sum())


def _slope(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Theil-Sen slope; none when the recording is too short to tell, or the clock is broken."""
    if len(x) < 4 or x[-1] - x[0] < _SHORTEST_FIT_NS:
        return 0.0
    if len(x) > 400:
        chosen = np.linspace(0, len(x) - 1, 400).astype(int)
        x, y = x[chosen], y[chosen]
    first, second = np.triu_indices(len(x), k=1)
    run = x[second] - x[first]
    there = run > 0
    slope = float(np.median((y[second] - y[first])[there] / run[there])) if there.any() else 0.0
    return slope if abs(slope) * 1e6 <= _MOST_DRIFT_PPM else 0.0


@dataclass(frozen=True)
class ClockStamps:
    """The two times of every sample of one stream.

    `is_heavy`: pictures and clouds, which take their time to arrive; of numbers only another
    clock explains a delay of more than 20 ms that no message beats.
    """

    source_ns: NDArray[np.int64]
    arrival_ns: NDArray[np.int64]
    is_heavy: bool = False


def split_clock(streams: Mapping[str, ClockStamps], reference: str | None) -> dict[str, str]:
    """The clock of every stream of several computers, told from offset and drift against arrival.

    The clock of the stream `reference`, or else the one with most samples, is the robot's; the
    others are computer_2 and so on. A stream too short to tell stays with the robot's.
    """
    lines = {
        path: _ClockLine.of(path, stamps)
        for path, stamps in streams.items()
        if len(stamps.source_ns)
    }
    groups: list[list[str]] = []
    for path in sorted(lines, key=lambda name: (lines[name].weight, len(streams[name].source_ns)),
                       reverse=True):  # fmt: skip
        fitting = [group for group in groups if lines[path].may_share(lines[group[0]])]
        if fitting:
            min(fitting, key=lambda group: lines[path].strangeness(lines[group[0]])).append(path)
        else:
            groups.append([path])
    sizes = [sum(len(streams[path].source_ns) for path in group) for group in groups]
    order = sorted(range(len(groups)), key=lambda number: (reference not in groups[number],
                                                           -sizes[number]))  # fmt: skip
    names = {number: f"computer_{place + 1}" if place else ROBOT_CLOCK
             for place, number in enumerate(order)}  # fmt: skip
    return {path: names[number] for number, group in enumerate(groups) for path in group}


@dataclass(frozen=True)
class _ClockLine:
    """How one stream's clock lies against arrival, and how surely that is known."""

    estimate: ClockEstimate
    middle_ns: int
    span_ns: int
    is_heavy: bool

    @classmethod
    def of(cls, path: str, stamps: ClockStamps) -> _ClockLine:
        first, last = int(stamps.source_ns.min()), int(stamps.source_ns.max())
        estimate = estimate_clock(path, stamps.source_ns, stamps.arrival_ns)
        return cls(estimate, (first + last) // 2, last - first, stamps.is_heavy)

    @property
    def weight(self) -> int:
        """Numbers over a long time first: they show a clock best."""
        return 0 if self.span_ns < _SHORTEST_FIT_NS else 1 if self.is_heavy else 2

    def level_ns(self, at_ns: int) -> float:
        since = at_ns - self.estimate.reference_ns
        return self.estimate.offset_ns + self.estimate.drift_ppm * 1e-6 * since

    def parting_ns(self, other: _ClockLine) -> float:
        """How far the two clocks run apart while both are seen, beyond what may be chance."""
        span = min(self.span_ns, other.span_ns)
        if span < _SHORTEST_FIT_NS:
            return 0.0
        apart = abs(self.estimate.drift_ppm - other.estimate.drift_ppm) * 1e-6 * span
        noise = self.estimate.residual_ns + other.estimate.residual_ns
        chance = max(_SAME_PARTING_NS, 12.0 * noise / (span / _WINDOW_NS) ** 0.5)
        return apart if apart > chance else 0.0

    def may_share(self, other: _ClockLine) -> bool:
        """Whether one clock explains both streams."""
        if self.parting_ns(other):
            return False
        later = self.level_ns(self.middle_ns) - other.level_ns(self.middle_ns)
        room = max(_SAME_LEVEL_NS, 5.0 * (self.estimate.residual_ns + other.estimate.residual_ns))
        # What takes time to arrive, or is too short to tell, may be later than the rest.
        return -room <= later <= (room if self.weight == 2 else SECOND_NS)

    def strangeness(self, other: _ClockLine) -> float:
        """How badly the drift of another fits."""
        return abs(self.estimate.drift_ppm - other.estimate.drift_ppm) if self.weight else 0.0


def to_robot_time(
    clocks: Mapping[str, ClockEstimate], source: str, source_ns: NDArray[np.int64], epoch_ns: int
) -> NDArray[np.int64]:
    """Stamps as nanoseconds since the epoch, on the robot's clock, which is the reference.

    The epoch is a time of the recorder's clock. Where the robot's clock was estimated, its drift
    is taken off, so that one second of robot time is one second in the file.
    """
    host = clocks[source].to_host(source_ns) - epoch_ns
    robot = clocks.get(ROBOT_CLOCK)
    if robot is None or robot.drift_ppm == 0.0:
        return host
    begin = float(robot.to_host(np.array([robot.reference_ns]))[0]) - float(epoch_ns)
    since = host.astype(np.float64) - begin
    corrected: NDArray[np.int64] = host - np.rint(robot.drift_ppm * 1e-6 * since).astype(np.int64)
    return corrected


@dataclass
class ClockGauge:
    """The quickest message of each half second of the last minute, whichever stream it was of."""

    quickest: deque[tuple[int, int, int]] = field(
        default_factory=lambda: deque(maxlen=_MOST_WINDOWS)
    )
    """The window, and the message's stamp and arrival."""

    def take(self, source_ns: int, arrival_ns: int) -> None:
        """Note a message; a clock that was set is estimated anew from here."""
        window = arrival_ns // _WINDOW_NS
        if self.quickest:
            last, stamp, arrival = self.quickest[-1]
            faster_ns = (arrival - stamp) - (arrival_ns - source_ns)
            if abs(faster_ns) > _STEP_NS:
                self.quickest.clear()
            elif window == last:
                if faster_ns <= 0:
                    return
                self.quickest.pop()
        self.quickest.append((window, source_ns, arrival_ns))

    def estimate(self) -> ClockEstimate | None:
        """The clock as far as it is known; None in the first seconds."""
        if len(self.quickest) < _FEWEST_WINDOWS:
            return None
        table = np.array([(stamp, arrival) for _, stamp, arrival in self.quickest], np.int64)
        return estimate_clock("", table[:, 0], table[:, 1])


def skew_of(
    clock: ClockEstimate | None, source_ns: int, arrival_ns: int
) -> tuple[float, float] | None:
    """How much later than its clock says a sample arrived, and two deviations of that, in ms.

    None while the clock is being estimated, and where nobody stamped before the arrival.
    """
    if clock is None or clock.uncertainty_ns is None:
        return None
    host = int(clock.to_host(np.array([source_ns], np.int64))[0])
    return (arrival_ns - host) / 1e6, clock.uncertainty_ns / 1e6
