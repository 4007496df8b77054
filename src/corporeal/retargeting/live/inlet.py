"""What an inlet is, what arrives there and how late; and a clip played to one."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from corporeal.errors import UnknownNameError
from corporeal.geometry import Array
from corporeal.registry import plugins
from corporeal.retargeting.cleaning.cleaning import clean
from corporeal.retargeting.live.pose_message import Announcement, PoseMessage, parse_message
from corporeal.retargeting.motion import POINTS, HumanMotion, MotionError
from corporeal.retargeting.reader import read_motion

# A sender that has been silent for so long may be followed by another.
TAKEOVER_S = 3.0
# A clock this far behind was set anew; anything less is a message out of order.
RESTART_S = 5.0
# Two poses nearer to each other than this are the same one.
SHORTEST_STEP_S = 1e-3
_STEPS = 4096


@dataclass(frozen=True)
class ArrivalTally:
    """How many messages came, and why some were not used."""

    received: int = 0
    garbage: int = 0
    duplicate: int = 0
    late: int = 0
    stranger: int = 0
    skipped: int = 0
    lost: int = 0
    restarts: int = 0


@dataclass(frozen=True, eq=False)
class Arrival:
    """A pose with the instant of its receipt (time.monotonic_ns)."""

    pose: PoseMessage
    received_ns: int


class Arrivals:
    """Holds only the newest pose, so that a slow solver is never behind; used by two threads."""

    def __init__(self) -> None:
        self._ready = threading.Condition()
        self._newest: Arrival | None = None
        self._tally = ArrivalTally()
        self._sender: Any = None
        self._last_t_s = float("-inf")
        self._last_ns = 0
        self._last_number: int | None = None
        self._steps_s: deque[float] = deque(maxlen=_STEPS)
        # The first note of each kind, which is what stands before its colon.
        self._notes: dict[str, str] = {}

    def admits(self, sender: Any) -> bool:
        """Whether a message of this sender is to be used: the first one wins until it is silent."""
        now = time.monotonic_ns()
        with self._ready:
            silent = now - self._last_ns > TAKEOVER_S * 1e9
            if self._sender is None or (sender != self._sender and silent):
                if self._sender is not None:
                    self._note("another sender took over after the first fell silent")
                self._sender, self._last_t_s, self._last_number = sender, float("-inf"), None
                self._last_ns = now
            if sender == self._sender:
                return True
            self._count(stranger=1)
            self._note("more than one sender: only the first is followed")
            return False

    def reject(self, reason: str) -> None:
        """Count a message that is none."""
        with self._ready:
            self._count(received=1, garbage=1)
            self._note(f"first unreadable message: {reason}")

    def put(self, pose: PoseMessage, received_ns: int, *, number: int | None = None) -> None:
        """Offer a pose; `number` counts the sender's frames, where it does."""
        with self._ready:
            self._count(received=1)
            behind = self._last_t_s - pose.t_s
            if behind > RESTART_S:
                self._count(restarts=1)
                self._note("the sender's clock was set back: started again from there")
                self._last_number = None
            elif behind > -SHORTEST_STEP_S:
                self._count(**{"late" if behind > 0 else "duplicate": 1})
                return
            if number is not None and self._last_number is not None:
                self._count(lost=max(0, number - self._last_number - 1))
            if -behind < RESTART_S:
                self._steps_s.append(-behind)
            self._last_number, self._last_t_s, self._last_ns = number, pose.t_s, received_ns
            if self._newest is not None:
                self._count(skipped=1)
            self._newest = Arrival(pose, received_ns)
            self._ready.notify()

    def take(self, timeout_s: float) -> Arrival | None:
        """The newest pose, once; None when none comes in time."""
        with self._ready:
            if self._newest is None:
                self._ready.wait(timeout_s)
            newest, self._newest = self._newest, None
            return newest

    @property
    def tally(self) -> ArrivalTally:
        """The counts so far."""
        with self._ready:
            return self._tally

    @property
    def step_s(self) -> float | None:
        """From one pose of the sender to its next, whether they were followed or not."""
        with self._ready:
            return float(np.median(self._steps_s)) if self._steps_s else None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should know of this stream."""
        with self._ready:
            return tuple(self._notes.values())

    def _count(self, **more: int) -> None:
        counts = {name: getattr(self._tally, name) + add for name, add in more.items()}
        self._tally = replace(self._tally, **counts)

    def _note(self, note: str) -> None:
        self._notes.setdefault(note.split(":")[0], note)


# Half an hour at 120 Hz is 216,000 frames; the newest of them are kept.
_MOST = 1 << 18


@dataclass(frozen=True)
class Percentiles:
    """Milliseconds within which half, 95 % and 99 % of the frames were done, and the worst."""

    p50: float
    p95: float
    p99: float
    worst: float


@dataclass(frozen=True)
class LiveLatency:
    """`wait_ms` from receipt to the solver, `solve_ms` there, `send_ms` out, `total_ms` in all."""

    frames: int
    wait_ms: Percentiles
    solve_ms: Percentiles
    send_ms: Percentiles
    total_ms: Percentiles


class LatencyLog:
    """The four instants of each frame, in nanoseconds of one clock; memory is bounded."""

    def __init__(self, most: int = _MOST) -> None:
        self._rows = np.zeros((most, 4), np.int64)
        self._count = 0

    def take(self, received_ns: int, begun_ns: int, solved_ns: int, sent_ns: int) -> None:
        """One more frame."""
        self._rows[self._count % len(self._rows)] = (received_ns, begun_ns, solved_ns, sent_ns)
        self._count += 1

    def summary(self, last: int | None = None) -> LiveLatency:
        """Over all frames kept, or the newest `last` of them."""
        kept = min(self._count, len(self._rows))
        wanted = kept if last is None else min(last, kept)
        rows = self._rows[(self._count - 1 - np.arange(wanted)) % len(self._rows)]
        steps = np.column_stack([np.diff(rows, axis=1), rows[:, 3] - rows[:, 0]]) / 1e6
        return LiveLatency(self._count, *map(percentiles, steps.T))


def percentiles(values_ms: Array | Iterable[float]) -> Percentiles:
    """Percentiles of some durations; all zero when there are none."""
    values = np.asarray(values_ms, np.float64)
    if not values.size:
        return Percentiles(0.0, 0.0, 0.0, 0.0)
    quantiles = np.quantile(values, [0.5, 0.95, 0.99, 1.0])
    return Percentiles(*(round(float(quantile), 3) for quantile in quantiles))


# A browser lets any page connect to anything, so pages of strangers have to be refused here.
OWN_PAGES = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Address:
    """A place on the network: scheme://host:port?option=value."""

    scheme: str
    host: str
    port: int
    options: Mapping[str, str]

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host in LOOPBACK

    def __str__(self) -> str:
        return f"{self.scheme}://{self.host}:{self.port}"


@dataclass(frozen=True)
class Inlet:
    """One protocol: `open` listens at an address and gives the address that it really has."""

    scheme: str
    open: Callable[[Address, Arrivals], AbstractContextManager[Address]]
    description: str


@cache
def inlets() -> dict[str, Inlet]:
    """All inlets by scheme: a file `inlets/<name>.py` that ends in INLET is all one needs."""
    known = plugins("corporeal.retargeting.live.inlets", "INLET", Inlet)
    return {inlet.scheme: inlet for inlet in known.values()}


def parse_address(text: str) -> Address:
    """An address from its text; raises MotionError for one that names no port."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if not parts.scheme or port is None:
        raise MotionError(f"address {text[:80]!r}; expected scheme://host:port, say udp://:9870.")
    return Address(parts.scheme, parts.hostname or "127.0.0.1", port, dict(parse_qsl(parts.query)))


def open_inlet(text: str, arrivals: Arrivals) -> AbstractContextManager[Address]:
    """Listen at an address; raises MotionError where that is not possible."""
    address = parse_address(text)
    known = inlets()
    if address.scheme not in known:
        raise UnknownNameError("protocol to listen with", address.scheme, known)
    return known[address.scheme].open(address, arrivals)


def bound_socket(address: Address) -> socket.socket:
    """A UDP socket at an address; raises MotionError when it is taken."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_DGRAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
        opened.settimeout(0.1)
        opened.bind((address.host, address.port))
    except OSError as error:
        opened.close()
        raise MotionError(
            f"cannot listen at {address}: {error.strerror or error}. Choose another address."
        ) from None
    return opened


class JsonStream:
    """The JSON messages of one sender; what it announces holds for those that follow."""

    def __init__(self, address: Address, arrivals: Arrivals) -> None:
        self._arrivals = arrivals
        self._announced = Announcement(up=address.options.get("up", "z"))

    def take(self, data: bytes | str, received_ns: int) -> None:
        """Offer the pose in a message, note an announcement, or count what is neither."""
        try:
            message = parse_message(data, self._announced)
        except MotionError as error:
            self._arrivals.reject(str(error))
            return
        if isinstance(message, PoseMessage):
            self._arrivals.put(message, received_ns)
        else:
            self._announced = message


@contextmanager
def in_thread(work: Callable[[threading.Event], None], name: str) -> Iterator[None]:
    """Run `work` beside the caller; it is told to stop, and waited for, at the end."""
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=5)


@contextmanager
def play_clip(clip: Path, address: str) -> Iterator[None]:
    """Send a clip to a udp:// address in its own time, again and again, until the block ends."""
    target = parse_address(address)
    if target.scheme != "udp" or not target.port:
        raise MotionError(f"{address}: a clip is played to udp://HOST:PORT only. Name one.")
    motion = clean(read_motion(clip))
    with in_thread(lambda stop: _play(motion, (target.host, target.port), stop), "played clip"):
        yield


def _play(motion: HumanMotion, target: tuple[str, int], stop: threading.Event) -> None:
    """There and back through the clip, so that its end is no leap."""
    order = [*range(len(motion)), *range(len(motion) - 2, 0, -1)]
    begun, sent = time.monotonic(), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        while not stop.is_set():
            out.sendto(_message(motion, order[sent % len(order)], sent / motion.rate_hz), target)
            sent += 1
            stop.wait(max(0.0, begun + sent / motion.rate_hz - time.monotonic()))


def _message(motion: HumanMotion, frame: int, t_s: float) -> bytes:
    """One frame as a datagram: all points that are known, with their confidence."""
    rows = np.column_stack([motion.positions[frame], motion.confidence[frame]]).round(5).tolist()
    known = {name: row for name, row in zip(POINTS, rows, strict=True) if row[3] > 0}
    return json.dumps({"t": t_s, "points": known}).encode()
