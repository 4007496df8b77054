"""Publishes the recorder's health over a WebSocket, and what its cameras see, for whoever looks.

Every client gets the health as JSON text. A client that asks for the path /pictures also gets
binary messages (`thumbnail.framed`): the head {"stream": path} and a JPEG, about ten per second
and camera. Pages of strangers are refused, since a browser would let any page connect, and so is
whoever has neither the user's key (`health_key`) nor the recorder's token: `Authorization: Bearer`,
or `?token=` from a page.

A client of this machine that asks for the path /marks may send marks (`operator_mark`), and gets
{"ok": true} or {"ok": false, "reason": ...} for each. It shows one of the two keys as it connects,
as Studio does, or the recorder's token with every mark.
"""

from __future__ import annotations

import asyncio
import errno
import hmac
import ipaddress
import json
import os
import re
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from corporeal.capture.health import Health
from corporeal.capture.operator_mark import OperatorMark, read_mark
from corporeal.capture.thumbnail import Pace, framed, jpeg
from corporeal.errors import CorporealError, MissingExtraError
from corporeal.files import publish_file
from corporeal.trust import trust_file

PORTS = range(8790, 8814)
"""Where recorders publish unless they are told otherwise: the first of these that is free."""
PICTURES, MARKS = "/pictures", "/marks"
KEY_VARIABLE = "CORPOREAL_RECORDER_KEY"
"""Holds the key of the recorders where they are another user's, or on another machine."""
_KEY_FILE, _KEY_LENGTH = "recorder.key", 32
_OWN_PAGES = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
# What a client may leave unread before pictures are spared it.
_MOST_UNREAD = 1 << 20
# A foot is quick, a broken page quicker: beyond so many marks a second the client is let go, and
# after so many that were refused.
_MARKS_PER_S, _MOST_REFUSED = 20, 50


class Broadcast:
    """A WebSocket server in a thread; every client gets every health, a new one the latest."""

    def __init__(
        self,
        port: int,
        *,
        host: str = "127.0.0.1",
    ) -> None:
        try:
            import websockets  # noqa: F401
        except ImportError:
            raise MissingExtraError("websockets", "live") from None
        self.host, self.port = host, port
        self.token = secrets.token_urlsafe(24)
        self._keys = (self.token, health_key())
        self._on_mark: Callable[[OperatorMark], str | None] | None = None
        self._token_file: Path | None = None
        self._latest = "{}"
        self._clients: set[Any] = set()
        self._watchers: set[Any] = set()
        self._pace = Pace()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="broadcast", daemon=True)
        self._thread.start()
        self._ready.wait(10)
        if self._failure is not None:
            raise PortError(port, self._failure)

    def publish(self, health: Health) -> None:
        """Send to everyone, from any thread."""
        self._latest = json.dumps(health.to_json())
        self._loop.call_soon_threadsafe(self._send)

    def show(self, stream: str, picture: Any) -> None:
        """Send a small copy of a camera's picture, if anyone looks and it is time for one."""
        if not self._watchers or not self._pace.is_due(stream):
            return
        message = framed({"stream": stream}, jpeg(picture))
        self._loop.call_soon_threadsafe(self._send_picture, message)

    def take_marks(self, enter: Callable[[OperatorMark], str | None], token_file: Path) -> None:
        """From now on take marks. `enter` gets each, and returns why it cannot be taken.

        It is called from the server's thread. Address and token are in `token_file`, which this
        user alone can read, until the server is closed.
        """
        token_file.unlink(missing_ok=True)
        descriptor = os.open(token_file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            address = f"ws://{self.host}:{self.port}{MARKS}"
            json.dump({"address": address, "token": self.token}, file)
        self._token_file, self._on_mark = token_file, enter

    def close(self) -> None:
        """End the server; a second time does nothing."""
        if self._token_file is not None:
            self._token_file.unlink(missing_ok=True)
        if self._thread.is_alive():
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

    def _send_picture(self, message: bytes) -> None:
        from websockets.asyncio.server import broadcast

        broadcast({each for each in self._watchers if _unread(each) < _MOST_UNREAD}, message)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        from websockets.asyncio.server import serve

        self._stop = asyncio.Event()
        try:
            async with serve(
                self._greet,
                self.host,
                self.port,
                close_timeout=1,
                origins=[None, _OWN_PAGES],
                process_request=self._refuse_strangers,
                max_size=4096,
            ) as server:
                self.port = next(iter(server.sockets)).getsockname()[1]
                self._ready.set()
                await self._stop.wait()
        except OSError as error:
            self._failure = error
            self._ready.set()

    def _refuse_strangers(self, client: Any, request: Any) -> Any:
        """An answer for those who have no key; marks may have their token in every message."""
        if request.path == MARKS and "Authorization" not in request.headers:
            return None
        if _has_key(request.path, request.headers.get("Authorization", ""), self._keys):
            return None
        return client.respond(
            401, f"expected the key of this recorder's user; set ${KEY_VARIABLE}.\n"
        )

    async def _greet(self, client: Any) -> None:
        path = "" if client.request is None else client.request.path.partition("?")[0]
        if path == MARKS:
            await self._take_marks(client)
            return
        self._clients.add(client)
        if path == PICTURES:
            self._watchers.add(client)
        try:
            await client.send(self._latest)
            await client.wait_closed()
        finally:
            self._clients.discard(client)
            self._watchers.discard(client)

    async def _take_marks(self, client: Any) -> None:
        """Answer every mark of a client, until it leaves or floods."""
        from websockets.exceptions import ConnectionClosed

        is_known = "Authorization" in client.request.headers  # The key was looked at before.
        refused = 0
        recent: deque[float] = deque(maxlen=_MARKS_PER_S)
        with suppress(ConnectionClosed):
            async for message in client:
                now_s = time.monotonic()
                floods = len(recent) == _MARKS_PER_S and now_s - recent[0] < 1.0
                recent.append(now_s)
                if floods:
                    reason: str | None = f"more than {_MARKS_PER_S} marks in a second. Slow down."
                else:
                    reason = self._take_mark(client, message, is_known=is_known)
                refused += reason is not None
                answer = {"ok": True} if reason is None else {"ok": False, "reason": reason}
                await client.send(json.dumps(answer))
                if floods or refused >= _MOST_REFUSED:
                    return

    def _take_mark(self, client: Any, message: str | bytes, *, is_known: bool) -> str | None:
        """Why a mark is refused, in one sentence; None when it was taken."""
        address = client.remote_address
        if not address or not ipaddress.ip_address(address[0]).is_loopback:
            return "marks are taken from this machine only."
        if self._on_mark is None:
            return "this recorder takes no marks."
        try:
            return self._on_mark(read_mark(message, None if is_known else self.token))
        except CorporealError as error:
            return str(error)


class PortError(CorporealError):
    """A port cannot be listened on."""

    def __init__(self, port: int, error: OSError) -> None:
        self.is_taken = error.errno == errno.EADDRINUSE
        super().__init__(f"health port {port}: {error.strerror or error}. Choose another.")


def open_broadcast() -> Broadcast | None:
    """A broadcast where Studio looks for it; None where that is not possible.

    Nobody asked for it, so that nothing of it may keep a recording from its start.
    """
    for port in PORTS:
        try:
            return Broadcast(port)
        except PortError as error:
            if not error.is_taken:
                return None
        except MissingExtraError:
            return None
    return None


def _unread(client: Any) -> int:
    return int(client.transport.get_write_buffer_size())


def health_key() -> str:
    """The user's key, made when it is first asked for, and readable by them alone.

    Where nothing can be written it is new every time, so that nobody is let in.
    """
    if given := os.environ.get(KEY_VARIABLE):
        return given
    path, fresh = trust_file().with_name(_KEY_FILE), secrets.token_urlsafe(_KEY_LENGTH)
    if (stored := _read_key(path)) is None:
        with suppress(OSError):
            _store_key(path, fresh)
        stored = _read_key(path)
    return stored or fresh


def _has_key(path: str, authorization: str, keys: tuple[str, ...]) -> bool:
    """Whether a request has one of these keys: `Authorization: Bearer KEY`, or `?token=KEY`."""
    kind, _, token = authorization.partition(" ")
    given = [token.strip()] if kind.lower() == "bearer" else []
    given += parse_qs(urlsplit(path).query).get("token", [])
    return any(hmac.compare_digest(a.encode(), b.encode()) for a in given for b in keys)


def _read_key(path: Path) -> str | None:
    try:
        return path.read_text("ascii").strip() or None
    except (OSError, ValueError):
        return None


def _store_key(path: Path, key: str) -> None:
    """Written beside and linked: of two recorders that start at once, both take the first key."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(key)
        publish_file(draft, path)
    finally:
        draft.unlink(missing_ok=True)
