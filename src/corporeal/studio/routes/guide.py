"""A guided calibration as it happens: what the camera sees, what is asked for, what was pressed."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import anyio
from fastapi import APIRouter, Depends, WebSocket, WebSocketDisconnect
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from corporeal.catalog.permission import Actor, PermissionDeniedError, require
from corporeal.errors import CorporealError
from corporeal.studio.authentication import allowed, visitor
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.errors import NotLoggedInError
from corporeal.studio.guide_feed import GuideCommand, GuideFeed

ROUTER = APIRouter(tags=["guide"])
Recordist = Annotated[Actor, Depends(allowed("ingest"))]
_NOT_LOGGED_IN, _REFUSED, _NO_GUIDE = 4401, 4403, 4404
_WAIT_S = 2.0
_NONE = "No guided calibration runs in this Studio."


class GuideRequest(BaseModel):
    """What was pressed."""

    command: GuideCommand


class GuideAnswer(BaseModel):
    """That it was heard."""

    command: GuideCommand


@ROUTER.post("/guide")
def press(asked: GuideRequest, studio: StudioDep, _: Recordist) -> GuideAnswer:
    """Take this view, ask for another one, give the last one back, or finish the camera."""
    if studio.guide is None:
        raise CorporealError(f"{_NONE} Start one: corporeal calibrate guide.")
    studio.guide.ask(asked.command)
    return GuideAnswer(command=asked.command)


@ROUTER.websocket("/guide")
async def guide(socket: WebSocket, studio: StudioDep) -> None:
    """Progress as JSON text when it changes; every picture with how it stands to what is asked."""
    await socket.accept()
    refusal = await run_in_threadpool(_refusal, socket, studio)
    if refusal is not None or studio.guide is None:
        await socket.close(*(refusal or (_NO_GUIDE, _NONE)))
        return
    feed = studio.guide
    feed.watch(begins=True)
    try:
        async with anyio.create_task_group() as group:
            group.start_soon(_send_all, socket, feed)
            while (await socket.receive())["type"] != "websocket.disconnect":
                pass
            group.cancel_scope.cancel()
    finally:
        feed.watch(begins=False)


def _refusal(socket: WebSocket, studio: Studio) -> tuple[int, str] | None:
    try:
        found = visitor(socket, studio)
        require(found.actor, "ingest")
        if found.episodes is not None:
            raise PermissionDeniedError("The link that you followed does not show cameras.")
    except NotLoggedInError as error:
        return _NOT_LOGGED_IN, str(error)[:100]
    except CorporealError as error:
        return _REFUSED, str(error)[:100]
    return None


async def _send_all(socket: WebSocket, feed: GuideFeed) -> None:
    version = progress = 0
    with suppress(WebSocketDisconnect, RuntimeError):
        while True:
            news = await anyio.to_thread.run_sync(feed.wait, version, progress, _WAIT_S)
            if news is None:
                continue
            version, progress = news.version, news.progress_version
            if news.progress is not None:
                await socket.send_text(news.progress)
            if news.sight is not None:
                await socket.send_bytes(news.sight)
