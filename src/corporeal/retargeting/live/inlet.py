"""What an inlet is: a thread that receives poses, opened by an address such as udp://host:port."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from urllib.parse import parse_qsl, urlsplit

from corporeal.errors import UnknownNameError
from corporeal.registry import plugins
from corporeal.retargeting.live.arrivals import Arrivals
from corporeal.retargeting.motion import MotionError

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
