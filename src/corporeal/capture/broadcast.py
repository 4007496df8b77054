"""Publishes the recorder's health as JSON over a WebSocket, for whoever looks."""

from __future__ import annotations

import asyncio
import json
import threading
from types import TracebackType
from typing import Any, Self

from corporeal.capture.health import Health
from corporeal.errors import CorporealError, MissingExtraError


class Broadcast:
    """A WebSocket server in a thread; every client gets every health, a new one the latest."""

    def __init__(self, port: int, *, host: str = "127.0.0.1") -> None:
        try:
            import websockets  # noqa: F401
        except ImportError:
            raise MissingExtraError("websockets", "live") from None
        self.host, self.port = host, port
        self._latest = "{}"
        self._clients: set[Any] = set()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="broadcast", daemon=True)
        self._thread.start()
        self._ready.wait(10)
        if self._failure is not None:
            raise CorporealError(
                f"health port {port}: {self._failure.strerror or self._failure}. Choose another."
            )

    def publish(self, health: Health) -> None:
        """Send to everyone, from any thread."""
        self._latest = json.dumps(health.to_json())
        self._loop.call_soon_threadsafe(self._send)

    def close(self) -> None:
        """End the server."""
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _send(self) -> None:
        from websockets.asyncio.server import broadcast

        broadcast(self._clients, self._latest)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        from websockets.asyncio.server import serve

        async def greet(client: Any) -> None:
            self._clients.add(client)
            try:
                await client.send(self._latest)
                await client.wait_closed()
            finally:
                self._clients.discard(client)

        self._stop = asyncio.Event()
        try:
            async with serve(greet, self.host, self.port, close_timeout=1) as server:
                self.port = next(iter(server.sockets)).getsockname()[1]
                self._ready.set()
                await self._stop.wait()
        except OSError as error:
            self._failure = error
            self._ready.set()
