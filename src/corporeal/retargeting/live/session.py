"""One live session: poses in, targets out as datagrams, until it is to stop."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from corporeal.embodiment import Embodiment
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.live.arrivals import (
    SHORTEST_STEP_S,
    Arrival,
    Arrivals,
    ArrivalTally,
    LatencyLog,
    LiveLatency,
)
from corporeal.retargeting.live.frame_solver import FrameSolver, LivePose, LiveSolver
from corporeal.retargeting.live.inlet import open_inlet, parse_address
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
            "q": [round(each, _DIGITS) for each in pose.q.tolist()],
            "base": [round(each, _DIGITS) for each in pose.base.tolist()],
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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


@dataclass
class _Course:
    """What changes during a session."""

    latency: LatencyLog = field(default_factory=LatencyLog)
    frames: int = 0
    infeasible: int = 0
    incomplete: int = 0
    stale_times: int = 0
    last_t_s: float | None = None
    first_ns: int = 0
    last_ns: int = 0
    pose: LivePose | None = None
    arrival: Arrival | None = None
    is_stale: bool = False
    waiting: str | None = "no pose has come yet"
    held_s: float = 0.0

    @property
    def rate_hz(self) -> float:
        """Frames per second from the first to the last."""
        span = (self.last_ns - self.first_ns) / 1e9
        return (self.frames - 1) / span if span > 0 else 0.0


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
    places = robot_map(settings.robot)
    follower = solver or FrameSolver(places)
    arrivals, course = Arrivals(), _Course()
    names = settings.robot.joint_names
    with ExitStack() as open_things:
        outlet = viewer = recording = None
        if settings.send is not None:
            outlet = open_things.enter_context(Outlet(settings.send, settings.robot.name, names))
        if settings.view is not None:
            viewer = open_things.enter_context(
                Viewer(places, settings.view, host=settings.view_host)
            )
        if settings.record is not None:
            folder = recording_folder(settings.record)
            recording = open_things.enter_context(LiveRecording(folder, settings.robot.name, names))
        address = open_things.enter_context(open_inlet(settings.listen, arrivals))
        session = _Session(follower, arrivals, course, outlet, viewer, recording)
        begun = time.monotonic()
        reported = 0.0
        while not stop.is_set():
            now = time.monotonic()
            if settings.seconds is not None and now - begun >= settings.seconds:
                break
            if now - reported >= _REPORT_S:
                reported = now
                page = None if viewer is None else viewer.address
                report(session.status(str(address), page))
            session.follow_next()
    return session.summary()


class _Session:
    """The pieces of one session, and one round of its loop."""

    def __init__(
        self,
        solver: LiveSolver,
        arrivals: Arrivals,
        course: _Course,
        outlet: Outlet | None,
        viewer: Viewer | None,
        recording: LiveRecording | None,
    ) -> None:
        self._solver, self._arrivals, self._course = solver, arrivals, course
        self._outlet, self._viewer, self._recording = outlet, viewer, recording

    def follow_next(self) -> None:
        """Wait for the next pose and follow it, or hold the last one."""
        arrival = self._arrivals.take(_HOLD_S)
        if arrival is not None:
            self._follow(arrival)
        else:
            self._hold()

    def _follow(self, arrival: Arrival) -> None:
        course, pose_in = self._course, arrival.pose
        begun_ns = time.monotonic_ns()
        since = None if course.last_t_s is None else pose_in.t_s - course.last_t_s
        if since is not None and since < 0:
            self._solver.restart()
            since = None
        course.last_t_s = pose_in.t_s
        dt_s = SHORTEST_STEP_S if since is None else min(since, _LONGEST_STEP_S)
        try:
            pose = self._solver.step(pose_in.positions, pose_in.confidence, pose_in.rotations, dt_s)
            waiting = "not all needed points have been seen"
        except MotionError as error:
            pose, waiting = None, str(error)
        if pose is None:
            course.incomplete += 1
            course.waiting = waiting
            return
        solved_ns = time.monotonic_ns()
        if self._outlet is not None:
            self._outlet.send(pose_in.t_s, pose, received_ns=arrival.received_ns)
        sent_ns = time.monotonic_ns()
        course.latency.take(arrival.received_ns, begun_ns, solved_ns, sent_ns)
        course.first_ns = course.first_ns or arrival.received_ns
        course.last_ns = arrival.received_ns
        course.frames += 1
        course.infeasible += not pose.ok
        course.pose, course.arrival, course.is_stale, course.waiting = pose, arrival, False, None
        self._keep(arrival, pose, (sent_ns - arrival.received_ns) / 1e6)

    def _keep(self, arrival: Arrival, pose: LivePose, latency_ms: float) -> None:
        person = arrival.pose
        if self._recording is not None:
            self._recording.write(
                person.t_s,
                pose.q,
                pose.base,
                pose.error_m,
                pose.ok,
                latency_ms,
                person.positions,
                person.confidence,
            )
        if self._viewer is not None and self._viewer.is_due():
            course = self._course
            self._viewer.show(person, pose, course.latency, course.rate_hz, self._arrivals.tally)

    def _hold(self) -> None:
        """Say the last target again while nothing comes, flagged once it is old."""
        course = self._course
        if course.arrival is None or course.pose is None:
            return
        silent_s = (time.monotonic_ns() - course.arrival.received_ns) / 1e9
        if silent_s < STALE_S:
            return
        if not course.is_stale:
            course.is_stale = True
            course.stale_times += 1
            if self._recording is not None:
                self._recording.keep()
        if self._outlet is not None:
            self._outlet.send(
                course.arrival.pose.t_s,
                course.pose,
                received_ns=course.arrival.received_ns,
                stale=True,
            )
        if self._viewer is not None:
            self._viewer.tell_stale(silent_s)

    def status(self, listening: str, page: str | None) -> LiveStatus:
        """How it goes."""
        course = self._course
        return LiveStatus(
            listening,
            page,
            course.frames,
            course.rate_hz,
            course.latency.summary(1000),
            self._arrivals.tally,
            course.is_stale,
            course.waiting,
        )

    def summary(self) -> LiveSummary:
        """What it came to."""
        course, outlet = self._course, self._outlet
        notes = list(self._arrivals.notes)
        frames_at = None if self._recording is None else self._recording.folder
        if frames_at is not None and not course.frames:
            discard_recording(frames_at)
            frames_at = None
        if course.waiting is not None:
            notes.append(f"nothing was followed at the end: {course.waiting}")
        return LiveSummary(
            course.frames,
            (course.last_ns - course.first_ns) / 1e9,
            course.rate_hz,
            course.latency.summary(),
            self._arrivals.tally,
            0 if outlet is None else outlet.sent,
            0 if outlet is None else outlet.refused,
            course.infeasible,
            course.incomplete,
            course.stale_times,
            frames_at,
            tuple(notes),
        )
