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


@ROUTER.websocket("/live")
async def live(socket: WebSocket, studio: StudioDep) -> None:
    """Pass on what recorders say until the browser leaves.

    A browser is told why it is refused by the code that closes the connection.
    """
    await socket.accept()
    try:
        await run_in_threadpool(_check, socket, studio)
    except NotLoggedInError as error:
        await socket.close(_NOT_LOGGED_IN, str(error)[:100])
    except PermissionDeniedError as error:
        await socket.close(_REFUSED, str(error)[:100])
    except CorporealError as error:
        await socket.close(_FAILED, str(error)[:100])
    else:
        await _pass_on(socket, studio)


async def _pass_on(socket: WebSocket, studio: Studio) -> None:
    async with studio.live.watch() as queue, anyio.create_task_group() as group:
        group.start_soon(_send_all, socket, queue)
        await _wait_for_end(socket)
        group.cancel_scope.cancel()


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
