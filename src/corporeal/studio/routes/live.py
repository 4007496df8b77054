"""Recorders at work: their health, what their cameras see, and what an operator does to a take."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, WebSocket, WebSocketDisconnect
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from corporeal.catalog.audit import Change, record
from corporeal.catalog.permission import Actor
from corporeal.studio.authentication import allowed
from corporeal.studio.context import Studio, StudioDep
from corporeal.studio.live_relay import Message
from corporeal.studio.watched_socket import Refusal, refusal_of, send_while_allowed

ROUTER = APIRouter(tags=["live"])
_NOT_SHARED = "The link that you followed does not show recorders."
# What a recorder takes of a text, and of a name.
_LONGEST_TEXT, _LONGEST_NAME = 500, 60
Collector = Annotated[Actor, Depends(allowed("ingest"))]


class NewTakeMark(BaseModel):
    """What to do at which recorder: the marks of a page or a pedal, as its own wire has them."""

    recorder: str = Field(max_length=300)
    mark: Literal["start", "end", "discard", "outcome", "answer", "note", "refuse", "check"]
    success: bool | None = None
    failure: str | None = Field(None, max_length=_LONGEST_TEXT)
    end: bool | None = None
    reason: str | None = Field(None, max_length=_LONGEST_TEXT)
    question: str | None = Field(None, max_length=_LONGEST_TEXT)
    answer: bool | None = None
    text: str | None = Field(None, max_length=_LONGEST_TEXT)


class TakeMarkAnswer(BaseModel):
    """Whether the recorder took it; `reason` says why not."""

    ok: bool
    reason: str


@ROUTER.post("/live/marks")
async def mark_take(asked: NewTakeMark, studio: StudioDep, actor: Collector) -> TakeMarkAnswer:
    """Start, end, discard or judge a take at a recorder; the episode and the log say who did."""
    mark = asked.model_dump(exclude={"recorder"}, exclude_none=True)
    reason = await studio.live.mark(asked.recorder, {**mark, "by": actor.name[:_LONGEST_NAME]})
    if reason is None:
        await run_in_threadpool(_log_mark, studio, actor, asked.recorder, mark)
    return TakeMarkAnswer(ok=reason is None, reason=reason or "")


def _log_mark(studio: Studio, actor: Actor, recorder: str, mark: dict[str, Any]) -> None:
    what = mark.pop("mark")
    change = Change(actor.name, f"take.{what}", f"recorder:{recorder}", details=mark)
    with studio.workspace.database.write() as connection:
        record(connection, [change])


@ROUTER.websocket("/live")
async def live(socket: WebSocket, studio: StudioDep) -> None:
    """Pass on what recorders say until the browser leaves, or may not look any more.

    A browser is told why it is refused by the code that closes the connection.
    """
    await socket.accept()

    def refusal() -> Refusal | None:
        return refusal_of(socket, studio, "read", _NOT_SHARED)

    refused = await run_in_threadpool(refusal)
    if refused is not None:
        await socket.close(*refused)
        return
    async with studio.live.watch() as queue:
        await send_while_allowed(
            socket, lambda: _send_all(socket, queue), refusal, studio.settings.recheck_s
        )


async def _send_all(socket: WebSocket, queue: asyncio.Queue[Message]) -> None:
    with suppress(WebSocketDisconnect):
        while True:
            message = await queue.get()
            if isinstance(message, bytes):
                await socket.send_bytes(message)
            else:
                await socket.send_text(message)
