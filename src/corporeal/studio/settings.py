"""What a Studio is started with."""

from __future__ import annotations

import ipaddress
import os
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

PORT = 8700
PAGE_VARIABLE = "CORPOREAL_STUDIO_PAGE"
"""A folder with a page that was built elsewhere, for those who work on it."""
# What Linux calls the request for an interface's address.
_SIOCGIFADDR = 0x8915
_HERE = ("localhost", "127.0.0.1", "::1")


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class ConnectionBounds:
    """How many connections there may be, and for how long one may keep Studio waiting.

    This machine's own address has half of them, since a proxy on it speaks for many.
    """

    most: int = 512
    most_per_address: int = 64
    head_s: float = 10.0
    body_s: float = 30.0
    reading_s: float = 60.0

    def seconds(self, what: Literal["head", "body", "reading"]) -> float:
        """The deadline for a request's head, its body, or reading some of the answer."""
        return {"head": self.head_s, "body": self.body_s, "reading": self.reading_s}[what]


@dataclass(frozen=True)
class StudioSettings:
    """`page` holds the built front end; `recorders` are addresses that publish their health.

    `names` are names that this machine is called by, besides its own and its numbers; without
    `recorders`, those of this machine are looked for. Whoever looks at them is asked
    again who they are every `recheck_s`. `clock` says what time it is on the floor that the board
    shows: another one for a day that is played again.
    """

    host: str = "127.0.0.1"
    port: int = PORT
    read_only: bool = False
    recorders: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    page: Path = Path(os.environ.get(PAGE_VARIABLE, Path(__file__).parent / "page"))
    open_episodes: int = 16
    most_body_bytes: int = 2 << 20
    recheck_s: float = 2.0
    clock: Callable[[], datetime] = _now
    connections: ConnectionBounds = ConnectionBounds()

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach it."""
        return is_loopback(self.host)


def is_loopback(host: str) -> bool:
    """Whether an address or name means this machine alone."""
    if host.lower() in _HERE:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def machine_addresses() -> tuple[str, ...]:
    """The addresses by which other machines reach this one, that of its usual way out first.

    Nothing is sent: a datagram's socket is asked where it would start from, and every interface
    for the address it has.
    """
    addresses = [*_ways_out(), *_interfaces()]
    with suppress(OSError):
        addresses += [str(entry[4][0]) for entry in socket.getaddrinfo(socket.gethostname(), None)]
    return tuple(dict.fromkeys(each for each in addresses if _reaches_others(each)))


def _ways_out() -> list[str]:
    # Addresses that are kept for documents: nobody has them.
    ways = []
    for family, target in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((target, 9))
            ways.append(str(probe.getsockname()[0]))
    return ways


def _interfaces() -> list[str]:
    """The IPv4 address of every interface, where the system is one that can be asked."""
    if sys.platform != "linux":
        return []
    import fcntl

    addresses = []
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            with suppress(OSError):
                request = struct.pack("256s", name.encode()[:15])
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, request)
                addresses.append(socket.inet_ntoa(answer[20:24]))
    return addresses


def _reaches_others(address: str) -> bool:
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    return not (known.is_loopback or known.is_link_local or known.is_unspecified)
