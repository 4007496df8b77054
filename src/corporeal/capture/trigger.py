"""What starts and ends a demonstration: the source itself, motion, or a person's button."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import ClassVar, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from corporeal.capture.driver import Mark, Sample
from corporeal.capture.operator_mark import (
    LONGEST_TEXT,
    MarkError,
    OperatorMark,
    segment_mark,
)
from corporeal.episode.facts import CORRECTION
from corporeal.errors import UnknownNameError
from corporeal.schema import Schema, roles
from corporeal.units import SECOND_NS

_SPAN_NS = SECOND_NS // 20
Cue = Literal["start", "end"]


class Trigger(Protocol):
    """Sees everything that arrives and says when a demonstration begins and ends."""

    def see(self, item: Sample | Mark) -> Cue | None:
        """A cue, or None to go on."""


@dataclass
class Automatic:
    """Follows the marks of the source.

    With `at_once` a source that gives none is one demonstration, from its first sample on.
    """

    at_once: bool = False

    def see(self, item: Sample | Mark) -> Cue | None:
        """The mark, if it is one."""
        begins, self.at_once = self.at_once, False
        if isinstance(item, Mark):
            return None if item.what == "segment" else item.what
        return "start" if begins else None


@dataclass
class MotionDetector:
    """Starts when the joints move, ends when they have been still for a while.

    `threshold` is the largest joint speed in rad/s. With `from_positions` the stream holds
    positions, which are differenced over 50 ms of their own stamps.
    """

    stream: str = "observations/joint_velocity"
    threshold: float = 0.15
    still_s: float = 2.0
    from_positions: bool = False
    _moving: bool = field(default=False, init=False)
    _last_ns: int = field(default=0, init=False)
    _before: deque[tuple[int, NDArray[np.float64]]] = field(default_factory=deque, init=False)

    def see(self, item: Sample | Mark) -> Cue | None:
        """`start` at the first movement, `end` after `still_s` of stillness."""
        if not isinstance(item, Sample) or item.stream != self.stream:
            return None
        speed = self._speed(item)
        if speed is None:
            return None
        if speed > self.threshold:
            self._last_ns = item.arrival_ns
            if not self._moving:
                self._moving = True
                return "start"
        elif self._moving and item.arrival_ns - self._last_ns > self.still_s * SECOND_NS:
            self._moving = False
            return "end"
        return None

    def _speed(self, item: Sample) -> float | None:
        """The quickest joint; None while it cannot be told."""
        try:
            values = np.asarray(item.value, np.float64)
        except (TypeError, ValueError):
            # Not a row of numbers: the recorder refuses it, with the reason.
            return None
        if self.from_positions:
            return self._differenced(item.source_ns, values)
        return _largest(values)

    def _differenced(self, time_ns: int, values: NDArray[np.float64]) -> float | None:
        before = self._before
        if before and (time_ns <= before[-1][0] or values.shape != before[-1][1].shape):
            before.clear()
        before.append((time_ns, values))
        while len(before) > 1 and time_ns - before[1][0] >= _SPAN_NS:
            before.popleft()
        span_ns = time_ns - before[0][0]
        if span_ns < _SPAN_NS:
            return None
        return _largest((values - before[0][1]) / (span_ns / SECOND_NS))


def motion_trigger(schema: Schema) -> MotionDetector:
    """A trigger on the joint speeds of a rig, or on its joint positions if it has no speeds."""
    paths = [stream.path for stream in schema.streams]
    for name, from_positions in ((roles.JOINT_VELOCITY, False), (roles.JOINT_POSITION, True)):
        if f"observations/{name}" in paths:
            return MotionDetector(f"observations/{name}", from_positions=from_positions)
    raise UnknownNameError("stream for the trigger", "observations/joint_velocity", paths)


def _largest(values: NDArray[np.float64]) -> float | None:
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max()) if finite.size else None


class Button:
    """A key, a pedal, a web page: `press()` from any thread starts, and ends, a demonstration."""

    def __init__(self) -> None:
        self._presses = 0
        self.is_running = False
        """Whether the next press ends; a recorder says so, since other things end takes as well."""
        self._lock = threading.Lock()

    def press(self) -> None:
        """Start if idle, end if recording."""
        with self._lock:
            self._presses += 1

    def see(self, item: Sample | Mark) -> Cue | None:
        """The cue of the next press that was not seen yet."""
        del item
        with self._lock:
            if not self._presses:
                return None
            self._presses -= 1
        self.is_running = not self.is_running
        return "start" if self.is_running else "end"


class TerminalKeys:
    """Lines of a terminal as marks, for those who have no page and no pedal."""

    HELP: ClassVar[str] = (
        "Enter starts an episode, and ends it. With Enter after it: s ends it as a success, f as "
        "failed (f drop says why), d discards it; i begins and ends a correction of the policy, c "
        "checks the calibration; r and a reason refuse the card of a campaign."
    )

    def __init__(self) -> None:
        self._is_correcting = False

    def read(self, line: str) -> OperatorMark:
        """The mark of a line; raises MarkError for one that is none."""
        key, _, words = line.strip().partition(" ")
        reason = words.strip()[:LONGEST_TEXT] or None
        key = key.lower()
        self._is_correcting = key == "i" and not self._is_correcting
        if key == "i":
            return segment_mark(CORRECTION if self._is_correcting else None)
        if key == "d":
            return OperatorMark("discard", {"reason": reason}, ends=True)
        if key in ("s", "f"):
            stated = {"success": key == "s", "failure": reason if key == "f" else None}
            return OperatorMark("outcome", {"outcome": stated}, ends=True)
        if key == "r":
            if reason is None:
                raise MarkError("r, got no reason; expected one, such as r the glass is broken.")
            return OperatorMark("refuse", {"reason": reason})
        if key == "c":
            return OperatorMark("check")
        if key:
            raise MarkError(f"{key[:20]!r} is no key here. {self.HELP}")
        return OperatorMark("button")
