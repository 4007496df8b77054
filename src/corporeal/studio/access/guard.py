"""What stands before every request: its host, its origin, its size; and what browsers may do."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from fastapi import HTTPException
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from corporeal.studio import errors
from corporeal.studio.settings import StudioSettings, is_loopback

_SAFE = ("GET", "HEAD", "OPTIONS")
# Whoever may look may say who they are.
_NO_CHANGE = ("/api/login", "/api/logout")
POLICY = "; ".join((
    "default-src 'none'",
    "script-src 'self' 'wasm-unsafe-eval'",
    "style-src 'self'",
    "img-src 'self' blob: data:",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self' blob: data:",
    "worker-src 'self' blob:",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
))  # fmt: skip
_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}


class Guard:
    """Refuses what no page of ours would send, before anything of it is read."""

    def __init__(self, app: ASGIApp, settings: StudioSettings) -> None:
        self._app, self._settings = app, settings
        own = {settings.host, *settings.names, socket.gethostname(), socket.getfqdn()}
        self._names = {name.lower().rstrip(".") for name in own}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with why not."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        refused = self._refusal(scope)
        if scope["type"] == "websocket":
            if refused is None:
                await self._app(scope, receive, send)
            else:
                await send({"type": "websocket.close", "code": 4403, "reason": refused[1][:120]})
            return
        await self._answer(scope, receive, _with_headers(send), refused)

    async def _answer(
        self, scope: Scope, receive: Receive, send: Send, refused: tuple[int, str] | None
    ) -> None:
        if refused is not None:
            await errors.answer(*refused)(scope, receive, send)
            return
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, self._bounded(receive), _Plain(scope, receive, watched).send)
        except Exception as error:  # The last line: whatever it was, people get a sentence.
            errors.log_failure(scope["method"], scope["path"], error)
            if not begun:
                await errors.answer(500, errors.FAILED)(scope, receive, send)

    @property
    def _too_large(self) -> str:
        return f"The request is larger than {self._settings.most_body_bytes:,} bytes. Send less."

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Status and sentence for a request that no page of ours would send."""
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not self._is_ours(host):
            return 421, (
                f"Studio does not know itself as {host[:80]!r}. Open it by its address, or start "
                "it with --name and this name."
            )
        is_change = scope["type"] == "http" and scope["method"] not in _SAFE
        origin = headers.get("origin") if is_change or scope["type"] == "websocket" else None
        is_elsewhere = origin is not None and urlsplit(origin).netloc.lower() != host.lower()
        if is_elsewhere or _is_foreign(headers, is_change=is_change, path=scope["path"]):
            return 403, "The request comes from another page than Studio's. Use Studio itself."
        return self._change_refusal(scope["path"], headers) if is_change else None

    def _change_refusal(self, path: str, headers: Headers) -> tuple[int, str] | None:
        if headers.get("x-studio") != "1":
            return 403, "A request that changes something needs the header X-Studio: 1."
        if self._settings.read_only and path not in _NO_CHANGE:
            return 403, "This Studio is read-only: start it without --read-only to change things."
        length = headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            return 400, "Content-Length is no number."
        if int(length[:20]) > self._settings.most_body_bytes:
            return 413, self._too_large
        return None

    def _is_ours(self, host: str) -> bool:
        """Numbers are always ours; a name must be known, or any page could borrow it by DNS."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
        except ValueError:
            return False
        if is_loopback(name) or name in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _bounded(self, receive: Receive) -> Receive:
        taken = 0

        async def counted() -> Message:
            nonlocal taken
            message = await receive()
            taken += len(message.get("body", b""))
            if taken > self._settings.most_body_bytes:
                raise HTTPException(413, self._too_large)
            return message

        return counted


class _Plain:
    """One answer; where the framework says in plain text what is wrong, a problem takes its place.

    A range that cannot be read is answered so, for one.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._status = 0
        self._text = b""
        self._content_range = ""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            headers = Headers(raw=message["headers"])
            kind = headers.get("content-type", "")
            self._content_range = headers.get("content-range", "")
            self._status = message["status"] if kind.startswith("text/plain") else 0
            if self._status:
                return
        if not self._status:
            await self._send(message)
            return
        self._text += message.get("body", b"")
        if not message.get("more_body", False):
            await self._explain()

    async def _explain(self) -> None:
        """The words of the framework as a sentence; of a range it has none but the length."""
        words = self._text.decode(errors="replace").strip().rstrip(".")
        headers = {}
        if self._status == 416 and self._content_range:
            size = self._content_range.rpartition("/")[2]
            headers = {"Content-Range": self._content_range}
            words = f"The range lies outside of the file, which has {size} bytes"
        sentence = f"{words or 'Studio cannot answer this'}."
        await errors.answer(self._status, sentence, headers)(self._scope, self._receive, self._send)


def _is_foreign(headers: Headers, *, is_change: bool, path: str) -> bool:
    """Whether a browser says that another site asks; following a link from there is fine."""
    site = headers.get("sec-fetch-site", "none")
    if is_change:
        return site not in ("same-origin", "none")
    is_link = headers.get("sec-fetch-mode") == "navigate"
    return path.startswith("/api") and site == "cross-site" and not is_link


def _with_headers(send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
        await send(message)

    return sending
