"""Recorders at work: their health and what their cameras see, as it happens."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import anyio
from fastapi import APIRouter, WebSocket, WebSocketDisconnect
from starlette.concurrency import run_in_threadpool

from corporeal.catalog.permission import PermissionDeniedError, require
from corporeal.errors import CorporealError
from corporeal.studio.authentication import visitor
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.errors import NotLoggedInError
from corporeal.studio.live_relay import Message

ROUTER = APIRouter(tags=["live"])
_NOT_LOGGED_IN, _REFUSED, _FAILED = 4401, 4403, 4503
Refusal = tuple[int, str]


@ROUTER.websocket("/live")
async def live(socket: WebSocket, studio: StudioDep) -> None:
    """Pass on what recorders say until the browser leaves, or may not look any more.

    A browser is told why it is refused by the code that closes the connection.
    """
    await socket.accept()
    refusal = await run_in_threadpool(_refusal, socket, studio)
    if refusal is None:
        refusal = await _pass_on(socket, studio)
    if refusal is not None:
        await socket.close(*refusal)


async def _pass_on(socket: WebSocket, studio: Studio) -> Refusal | None:
    """Until the browser leaves, or why it has to."""
    refusal: Refusal | None = None
    async with studio.live.watch() as queue, anyio.create_task_group() as group:

        async def recheck() -> None:
            nonlocal refusal
            while refusal is None:
                await anyio.sleep(studio.settings.recheck_s)
                refusal = await run_in_threadpool(_refusal, socket, studio)
            group.cancel_scope.cancel()

        group.start_soon(_send_all, socket, queue)
        group.start_soon(recheck)
        await _wait_for_end(socket)
        group.cancel_scope.cancel()
    return refusal


def _refusal(socket: WebSocket, studio: Studio) -> Refusal | None:
    """The code and the words of the end; None for those who may look."""
    try:
        _check(socket, studio)
    except NotLoggedInError as error:
        return _NOT_LOGGED_IN, str(error)[:100]
    except PermissionDeniedError as error:
        return _REFUSED, str(error)[:100]
    except CorporealError as error:
        return _FAILED, str(error)[:100]
    return None


def _check(socket: WebSocket, studio: Studio) -> None:
    found = visitor(socket, studio)
    require(found.actor, "read")
    if found.episodes is not None:
        raise PermissionDeniedError("The link that you followed does not show recorders.")


async def _send_all(socket: WebSocket, queue: asyncio.Queue[Message]) -> None:
    with suppress(WebSocketDisconnect):
        while True:
            message = await queue.get()
            if isinstance(message, bytes):
                await socket.send_bytes(message)
            else:
                await socket.send_text(message)


async def _wait_for_end(socket: WebSocket) -> None:
    """Until the browser leaves; it has nothing to say."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass
