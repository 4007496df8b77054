"""What a Studio is started with."""

from __future__ import annotations

import ipaddress
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

PORT = 8700
PAGE_VARIABLE = "CORPOREAL_STUDIO_PAGE"
"""A folder with a page that was built elsewhere, for those who work on it."""
_HERE = ("localhost", "127.0.0.1", "::1")


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
    again who they are every `recheck_s`.
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
