"""Connections of strangers: how many there may be, and how long one may keep Studio waiting.

A client that owes something (the rest of a request, or reading an answer) has a deadline. Where
there are as many connections as there may be, the one that has owed longest gives way to a new
one, so that a thousand half-open connections keep nobody out. Needs the extra `server`.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections import Counter
from typing import Any, Literal

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from corporeal.studio.access.local_peer import noted
from corporeal.studio.settings import ConnectionBounds

Debt = Literal["head", "body", "reading"]
_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\n"
    b'Connection: close\r\nRetry-After: 10\r\nContent-Length: %d\r\n\r\n{"error": "%s"}'
)
_SENTENCE = b"Studio has as many connections as it can serve. Try again in a moment."
# After uvicorn has looked at its own limits: what waits longest is dropped, not who comes new.
_BACKLOG = 64


class Connections:
    """Who is connected, and who of them owes something, longest first."""

    def __init__(self, bounds: ConnectionBounds) -> None:
        self.bounds = bounds
        self._addresses: dict[asyncio.Protocol, str] = {}
        self._counts: Counter[str] = Counter()
        self._owing: dict[BoundedHttp, None] = {}

    def admit(self, connection: BoundedHttp, address: str) -> bool:
        """Take a connection in, in place of one that owes if need be; False: there is no room."""
        room = self._most_of(address)
        if self._counts[address] >= room and not self._drop_longest(address):
            return False
        if len(self._addresses) >= self.bounds.most and not self._drop_longest():
            return False
        self.take(connection, address)
        return True

    def take(self, connection: asyncio.Protocol, address: str) -> None:
        """Count a connection."""
        self._addresses[connection] = address
        self._counts[address] += 1

    def leave(self, connection: asyncio.Protocol) -> None:
        """Count a connection no more; a second time does nothing."""
        address = self._addresses.pop(connection, None)
        if address is None:
            return
        self._counts[address] -= 1
        if not self._counts[address]:
            del self._counts[address]
        if isinstance(connection, BoundedHttp):
            self._owing.pop(connection, None)

    def owe(self, connection: BoundedHttp, *, owes: bool) -> None:
        """Whether a connection waits for its client, from now on."""
        self._owing.pop(connection, None)
        if owes and connection in self._addresses:
            self._owing[connection] = None

    def _most_of(self, address: str) -> int:
        """A proxy stands on this machine and speaks for many."""
        return self.bounds.most // 2 if _is_here(address) else self.bounds.most_per_address

    def _drop_longest(self, address: str | None = None) -> bool:
        for connection in self._owing:
            if address is None or self._addresses[connection] == address:
                connection.drop()
                return True
        return False


class StudioConfig(uvicorn.Config):
    """A server whose connections are bounded."""

    def __init__(self, app: Any, bounds: ConnectionBounds, **options: Any) -> None:
        super().__init__(
            app, http=BoundedHttp, ws=BoundedSocket, backlog=_BACKLOG, server_header=False,
            log_level="warning", **options,
        )  # fmt: skip
        self.connections = Connections(bounds)


class BoundedHttp(H11Protocol):
    """One connection, whose client has deadlines."""

    def __init__(self, config: StudioConfig, *given: Any, **named: Any) -> None:
        super().__init__(config, *given, **named)
        self._all = config.connections
        # Not while it is refused, nor once a WebSocket has taken it over.
        self._is_ours = True
        self._unread = False
        self._debt: tuple[object, Debt] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it in, or say that there is no room."""
        super().connection_made(transport)
        # Before a head of the request can say that it comes from elsewhere.
        self.app_state = noted(self.app_state, self.client, self.server)
        if self._all.admit(self, _address(self.client)):
            self._watch()
            return
        self._is_ours = False
        transport.write(_FULL % (len(_SENTENCE) + 13, _SENTENCE))
        transport.close()

    def data_received(self, data: bytes) -> None:
        """Some bytes of a request."""
        if self._is_ours:
            super().data_received(data)
            self._watch()

    def on_response_complete(self) -> None:
        """An answer is through; the next request may come."""
        super().on_response_complete()
        self._watch()

    def pause_writing(self) -> None:
        """The client does not read."""
        super().pause_writing()
        self._unread = True
        self._watch()

    def resume_writing(self) -> None:
        """The client has read."""
        super().resume_writing()
        self._unread = False
        self._watch()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Another protocol takes the connection over, and counts it."""
        self._is_ours = False
        self._settle()
        super().handle_websocket_upgrade(event)

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._settle()
        super().connection_lost(exc)

    def drop(self) -> None:
        """End it now, whatever the client still owes."""
        self._settle()
        self.transport.abort()

    def _settle(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._all.leave(self)

    def _watch(self) -> None:
        """Begin a deadline where the client begins to owe; bytes that trickle in do not move it."""
        kind = self._owed()
        debt = None if kind is None else (self.cycle, kind)
        if debt == self._debt or not self._is_ours or self.transport.is_closing():
            return
        self._debt = debt
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._all.owe(self, owes=kind is not None)
        if kind is not None:
            self._timer = self.loop.call_later(self._all.bounds.seconds(kind), self.drop)

    def _owed(self) -> Debt | None:
        if self._unread:
            return "reading"
        if self.conn.their_state is h11.IDLE:
            return "head"
        return "body" if self.conn.their_state is h11.SEND_BODY else None


class BoundedSocket(WebSocketsSansIOProtocol):
    """A WebSocket, counted among the connections; pings find those that are gone."""

    def __init__(self, config: StudioConfig, *given: Any, **named: Any) -> None:
        super().__init__(config, *given, **named)
        self._all = config.connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the place of the request that asked for it."""
        super().connection_made(transport)
        self._all.take(self, _address(self.client))

    def connection_lost(self, exc: Exception | None) -> None:
        """It is over."""
        self._all.leave(self)
        super().connection_lost(exc)


def _address(client: tuple[str, int] | None) -> str:
    return "" if client is None else client[0]


def _is_here(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False
