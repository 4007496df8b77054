"""What an inlet is: a thread that receives poses at an address; and a clip played to one."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import numpy as np

from corporeal.errors import UnknownNameError
from corporeal.registry import plugins
from corporeal.retargeting.cleaning.cleaning import clean
from corporeal.retargeting.live.arrivals import Arrivals
from corporeal.retargeting.live.pose_message import Announcement, PoseMessage, parse_message
from corporeal.retargeting.motion import POINTS, HumanMotion, MotionError
from corporeal.retargeting.reader import read_motion

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
