"""WebSockets that show something: open while whoever looks may look, and no longer."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import anyio
from starlette.concurrency import run_in_threadpool
from starlette.websockets import WebSocket

from corporeal.catalog.permission import Action, PermissionDeniedError, require
from corporeal.errors import CorporealError
from corporeal.studio.authentication import visitor
from corporeal.studio.context import Studio
from corporeal.studio.errors import NotLoggedInError

_NOT_LOGGED_IN, _REFUSED, _FAILED = 4401, 4403, 4503
Refusal = tuple[int, str]


def refusal_of(
    socket: WebSocket, studio: Studio, action: Action, not_shared: str
) -> Refusal | None:
    """The code and the words of the end; None for those who may. No link shows what this shows."""
    try:
        found = visitor(socket, studio)
        require(found.actor, action)
        if found.episodes is not None:
            raise PermissionDeniedError(not_shared)
    except NotLoggedInError as error:
        return _NOT_LOGGED_IN, str(error)[:100]
    except PermissionDeniedError as error:
        return _REFUSED, str(error)[:100]
    except CorporealError as error:
        return _FAILED, str(error)[:100]
    return None


async def send_while_allowed(
    socket: WebSocket,
    send: Callable[[], Coroutine[Any, Any, None]],
    refusal: Callable[[], Refusal | None],
    recheck_s: float,
) -> None:
    """Send until the browser leaves, or has to: the code that closes the connection says why."""
    refused: Refusal | None = None
    async with anyio.create_task_group() as group:

        async def recheck() -> None:
            nonlocal refused
            while refused is None:
                await anyio.sleep(recheck_s)
                refused = await run_in_threadpool(refusal)
            group.cancel_scope.cancel()

        group.start_soon(send)
        group.start_soon(recheck)
        # It has nothing to say.
        while (await socket.receive())["type"] != "websocket.disconnect":
            pass
        group.cancel_scope.cancel()
    if refused is not None:
        await socket.close(*refused)
