"""Answers of text are sent compressed; pictures and arrays as they are."""

from __future__ import annotations

import zlib

import anyio
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_TEXT = ("application/json", "text/", "application/javascript", "image/svg+xml")
_SMALLEST = 1000
# A longer piece is compressed in a thread, so that others do not wait for it.
_LONG = 64 << 10
_LEVEL = 4


class Compression:
    """Compresses what is text, for browsers that take gzip."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on; its answer is compressed on its way back."""
        takes = scope["type"] == "http" and "gzip" in Headers(scope=scope).get(
            "accept-encoding", ""
        )
        await self._app(scope, receive, _Squeezed(send).send if takes else send)


class _Squeezed:
    """One answer: whether to compress it is known when its head has come."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._press: zlib._Compress | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._decide(message)
        elif message["type"] == "http.response.body" and self._press is not None:
            more = message.get("more_body", False)
            message = {**message, "body": await self._squeeze(message.get("body", b""), more=more)}
        await self._send(message)

    def _decide(self, message: Message) -> None:
        headers = MutableHeaders(scope=message)
        is_text = headers.get("content-type", "").startswith(_TEXT)
        is_small = int(headers.get("content-length", _SMALLEST)) < _SMALLEST
        # A part is counted in bytes of the whole; the other two have no body at all.
        is_part = message["status"] in (204, 206, 304) or "content-range" in headers
        if not is_text or is_small or is_part or "content-encoding" in headers:
            return
        self._press = zlib.compressobj(_LEVEL, zlib.DEFLATED, 31)
        headers["Content-Encoding"] = "gzip"
        headers.add_vary_header("Accept-Encoding")
        del headers["content-length"]

    async def _squeeze(self, body: bytes, *, more: bool) -> bytes:
        press = self._press
        assert press is not None

        def work() -> bytes:
            return press.compress(body) + (b"" if more else press.flush())

        return await anyio.to_thread.run_sync(work) if len(body) > _LONG else work()
