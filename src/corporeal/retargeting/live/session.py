"""One live session: poses in, targets out as datagrams, until it is to stop."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from corporeal.embodiment import Embodiment
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.live.frame_solver import FrameSolver, LivePose, LiveSolver
from corporeal.retargeting.live.inlet import (
    SHORTEST_STEP_S,
    Arrival,
    Arrivals,
    ArrivalTally,
    LatencyLog,
    LiveLatency,
    open_inlet,
    parse_address,
)
from corporeal.retargeting.live.live_recording import (
    LiveRecording,
    discard_recording,
    recording_folder,
)
from corporeal.retargeting.live.viewer import Viewer
from corporeal.retargeting.motion import MotionError

# Datagrams get lost, and receivers start late: the names are told again.
_ANNOUNCED_EVERY_S = 1.0
_DIGITS = 6


class Outlet:
    """Sends targets to one address; nobody listening there is counted, never an error."""

    def __init__(self, address: str, robot: str, joint_names: Sequence[str]) -> None:
        where = parse_address(address)
        if where.scheme != "udp":
            raise MotionError(f"cannot send to {address!r}; expected udp://host:port.")
        try:
            addresses = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_DGRAM)
        except OSError as error:
            raise MotionError(
                f"cannot send to {address!r}: {error.strerror or error}. Give another address."
            ) from None
        family, kind, protocol, _, target = addresses[0]
        self._target: Any = target
        self._socket = socket.socket(family, kind, protocol)
        self._socket.setblocking(False)
        announced = {"robot": robot, "names": list(joint_names), "base": "x y z qw qx qy qz"}
        self._announcement = json.dumps(announced).encode()
        self._announced_s = float("-inf")
        self.sent = 0
        self.refused = 0

    def send(self, t_s: float, pose: LivePose, *, received_ns: int, stale: bool = False) -> None:
        """Send one target; its latency is that since the pose was received."""
        now = time.monotonic()
        if now - self._announced_s > _ANNOUNCED_EVERY_S:
            self._put(self._announcement)
            self._announced_s = now
        message = {
            "t": t_s,
            "q": pose.q.round(_DIGITS).tolist(),
            "base": pose.base.round(_DIGITS).tolist(),
            "ok": pose.ok,
            "latency_ms": round((time.monotonic_ns() - received_ns) / 1e6, 3),
        }
        if stale:
            message["stale"] = True
        if self._put(json.dumps(message).encode()):
            self.sent += 1

    def close(self) -> None:
        """Free the socket."""
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _put(self, data: bytes) -> bool:
        try:
            self._socket.sendto(data, self._target)
        except OSError:  # the receiver is not there, or its queue is full
            self.refused += 1
            return False
        return True


# Silence after which the last target is held and flagged as stale, and how often it is told.
STALE_S = 0.25
_HOLD_S = 0.05
_REPORT_S = 1.0
# Gaps longer than this are bridged at the limits of a step of this length.
_LONGEST_STEP_S = 0.1


@dataclass(frozen=True)
class LiveSettings:
    """What a session is asked to do.

    `listen` is udp://, ws:// or natnet:// with host and port (0 takes any that is free); `send`
    a udp:// address; `view` the port of the page (0 as well); `record` the episode that will be
    written from the frames, which lie in `recording_folder(record)` until then.
    """

    robot: Embodiment
    listen: str = "udp://127.0.0.1:9870"
    send: str | None = None
    view: int | None = None
    view_host: str = "127.0.0.1"
    record: Path | None = None
    seconds: float | None = None


@dataclass(frozen=True)
class LiveStatus:
    """How it goes, told about once a second."""

    listening: str
    page: str | None
    frames: int
    rate_hz: float
    latency: LiveLatency
    tally: ArrivalTally
    stale: bool
    waiting: str | None


@dataclass(frozen=True)
class LiveSummary:
    """What a session came to; `frames_at` holds its frames where it was recorded."""

    frames: int
    duration_s: float
    rate_hz: float
    latency: LiveLatency
    tally: ArrivalTally
    sent: int
    refused: int
    infeasible: int
    incomplete: int
    stale_times: int
    frames_at: Path | None
    notes: tuple[str, ...]


def run_live(
    settings: LiveSettings,
    *,
    stop: threading.Event,
    report: Callable[[LiveStatus], None],
    solver: LiveSolver | None = None,
) -> LiveSummary:
    """Follow a stream until `stop` is set or the time is over; `report` hears about once a second.

    Raises MotionError when an address cannot be used; whatever arrives is counted, never raised.
    """
    mapped = robot_map(settings.robot)
    session = _Session(solver or FrameSolver(mapped), Arrivals())
    name, joint_names = settings.robot.name, settings.robot.joint_names
    with ExitStack() as opened:
        if settings.send is not None:
            session.outlet = opened.enter_context(Outlet(settings.send, name, joint_names))
        if settings.view is not None:
            viewer = Viewer(mapped, settings.view, host=settings.view_host)
            session.viewer = opened.enter_context(viewer)
        if settings.record is not None:
            recording = LiveRecording(recording_folder(settings.record), name, joint_names)
            session.recording = opened.enter_context(recording)
        address = opened.enter_context(open_inlet(settings.listen, session.arrivals))
        begun, reported = time.monotonic(), 0.0
        while not stop.is_set():
            now = time.monotonic()
            if settings.seconds is not None and now - begun >= settings.seconds:
                break
            if now - reported >= _REPORT_S:
                reported = now
                report(session.status(str(address)))
            session.follow_next()
    return session.summary()


@dataclass
class _Session:
    """The pieces of one session, what changes during it, and one round of its loop."""

    solver: LiveSolver
    arrivals: Arrivals
    outlet: Outlet | None = None
    viewer: Viewer | None = None
    recording: LiveRecording | None = None
    latency: LatencyLog = field(default_factory=LatencyLog)
    frames: int = 0
    infeasible: int = 0
    incomplete: int = 0
    stale_times: int = 0
    last_t_s: float | None = None
    first_ns: int = 0
    last_ns: int = 0
    last: tuple[Arrival, LivePose] | None = None
    is_stale: bool = False
    waiting: str | None = "no pose has come yet"

    @property
    def rate_hz(self) -> float:
        """Frames per second from the first to the last."""
        span = (self.last_ns - self.first_ns) / 1e9
        return (self.frames - 1) / span if span > 0 else 0.0

    def follow_next(self) -> None:
        """Wait for the next pose and follow it, or hold the last one."""
        arrival = self.arrivals.take(_HOLD_S)
        if arrival is not None:
            self._follow(arrival)
        elif self.last is not None:
            self._hold(*self.last)

    def _follow(self, arrival: Arrival) -> None:
        person, begun_ns = arrival.pose, time.monotonic_ns()
        since = None if self.last_t_s is None else person.t_s - self.last_t_s
        if since is not None and since < 0:
            self.solver.restart()
            since = None
        self.last_t_s = person.t_s
        dt_s = SHORTEST_STEP_S if since is None else min(since, _LONGEST_STEP_S)
        try:
            pose = self.solver.step(person.positions, person.confidence, person.rotations, dt_s)
            waiting = "not all needed points have been seen"
        except MotionError as error:
            pose, waiting = None, str(error)
        if pose is None:
            self.incomplete += 1
            self.waiting = waiting
            return
        solved_ns = time.monotonic_ns()
        if self.outlet is not None:
            self.outlet.send(person.t_s, pose, received_ns=arrival.received_ns)
        sent_ns = time.monotonic_ns()
        self.latency.take(arrival.received_ns, begun_ns, solved_ns, sent_ns)
        self.first_ns = self.first_ns or arrival.received_ns
        self.last_ns = arrival.received_ns
        self.frames += 1
        self.infeasible += not pose.ok
        self.last, self.is_stale, self.waiting = (arrival, pose), False, None
        if self.recording is not None:
            self.recording.write(person, pose, (sent_ns - arrival.received_ns) / 1e6)
        if self.viewer is not None and self.viewer.is_due():
            self.viewer.show(person, pose, self.latency, self.rate_hz, self.arrivals.tally)

    def _hold(self, arrival: Arrival, pose: LivePose) -> None:
        """Say the last target again while nothing comes, flagged once it is old."""
        silent_s = (time.monotonic_ns() - arrival.received_ns) / 1e9
        if silent_s < STALE_S:
            return
        if not self.is_stale:
            self.is_stale = True
            self.stale_times += 1
            if self.recording is not None:
                self.recording.keep()
        if self.outlet is not None:
            t_s, received_ns = arrival.pose.t_s, arrival.received_ns
            self.outlet.send(t_s, pose, received_ns=received_ns, stale=True)
        if self.viewer is not None:
            self.viewer.tell_stale(silent_s)

    def status(self, listening: str) -> LiveStatus:
        """How it goes."""
        return LiveStatus(
            listening,
            None if self.viewer is None else self.viewer.address,
            self.frames,
            self.rate_hz,
            self.latency.summary(1000),
            self.arrivals.tally,
            self.is_stale,
            self.waiting,
        )

    def summary(self) -> LiveSummary:
        """What it came to."""
        notes = self.arrivals.notes
        frames_at = None if self.recording is None else self.recording.folder
        if frames_at is not None and not self.frames:
            discard_recording(frames_at)
            frames_at = None
        if frames_at is not None and self.recording is not None:
            self.recording.conclude(self.arrivals.step_s, asdict(self.arrivals.tally))
        if self.waiting is not None:
            notes = (*notes, f"nothing was followed at the end: {self.waiting}")
        return LiveSummary(
            self.frames,
            (self.last_ns - self.first_ns) / 1e9,
            self.rate_hz,
            self.latency.summary(),
            self.arrivals.tally,
            0 if self.outlet is None else self.outlet.sent,
            0 if self.outlet is None else self.outlet.refused,
            self.infeasible,
            self.incomplete,
            self.stale_times,
            frames_at,
            notes,
        )
