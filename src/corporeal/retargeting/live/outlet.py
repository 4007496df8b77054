"""Joint targets on their way out: JSON datagrams, the names of the joints announced."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from corporeal.retargeting.live.frame_solver import LivePose
from corporeal.retargeting.live.inlet import parse_address
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
            found = socket.getaddrinfo(where.host, where.port, type=socket.SOCK_DGRAM)
        except OSError as error:
            raise MotionError(
                f"cannot send to {address!r}: {error.strerror or error}. Give another address."
            ) from None
        family, kind, protocol, _, target = found[0]
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
