"""A guided calibration as it happens: what the camera sees, what is asked for, what was pressed."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import anyio
from fastapi import APIRouter, Depends, WebSocket, WebSocketDisconnect
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from corporeal.catalog.permission import Actor
from corporeal.errors import CorporealError
from corporeal.studio.authentication import allowed
from corporeal.studio.context import StudioDep
from corporeal.studio.guide_feed import GuideCommand, GuideFeed
from corporeal.studio.watched_socket import Refusal, refusal_of, send_while_allowed

ROUTER = APIRouter(tags=["guide"])
Recordist = Annotated[Actor, Depends(allowed("ingest"))]
_NO_GUIDE = 4404
_NOT_SHARED = "The link that you followed does not show cameras."
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
    """Progress as JSON text when it changes; every picture with how it stands to what is asked.

    Whoever may not look any more is told why by the code that closes the connection.
    """
    await socket.accept()

    def refusal() -> Refusal | None:
        return refusal_of(socket, studio, "ingest", _NOT_SHARED)

    refused = await run_in_threadpool(refusal)
    if refused is not None or studio.guide is None:
        await socket.close(*(refused or (_NO_GUIDE, _NONE)))
        return
    feed = studio.guide
    feed.watch(begins=True)
    try:
        await send_while_allowed(
            socket, lambda: _send_all(socket, feed), refusal, studio.settings.recheck_s
        )
    finally:
        feed.watch(begins=False)


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
