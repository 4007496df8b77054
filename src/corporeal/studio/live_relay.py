"""The health of recorders, passed on to browsers: one connection to each, however many look.

A browser gets JSON text {"recorder", "status", "sentence", "health"} and pictures as the recorder
sends them, with the recorder's name in the head. Nothing is asked of recorders while nobody looks.
What people do to a take goes the other way, mark by mark, and is answered.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from corporeal.capture.broadcast import KEY_VARIABLE, MARKS, PICTURES, PORTS, health_key
from corporeal.capture.thumbnail import framed, unframed
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.words import counted

_FIRST_WAIT_S, _LONGEST_WAIT_S = 0.5, 5.0
_OPEN_S = 3.0
# A recorder tells its health four times a second, also while nothing is recorded.
_SILENT_S = 5.0
_LARGEST_MESSAGE = 1 << 20
# What may wait for a browser: at least so much, and twice what everybody said and showed last.
_WAITING = 64
# Of one recorder; a strange one has no more room here.
_MOST_CAMERAS = 64
_ADDRESS = re.compile(r"(\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]{1,253}):([0-9]{1,5})")
_NO_RECORDER = "what answers there is no recorder of Corporeal"
_STRANGER = f"it is another user's; set {KEY_VARIABLE} to the key of that user"
_RECORDING_GOES_ON = "A take that runs goes on: use the recorder's own keys or its pedal."
Status = Literal["searching", "connected", "ended", "gone"]
Message = str | bytes


@dataclass
class _Upstream:
    """One recorder: its last words, for those who come later."""

    address: str
    is_found: bool = False
    said: str | None = None
    health: dict[str, Any] | None = None
    pictures: dict[str, bytes] = field(default_factory=dict)


class LiveRelay:
    """Recorders on one side, browsers on the other; belongs to the loop that serves."""

    def __init__(self, recorders: tuple[str, ...] = ()) -> None:
        self.is_looking = not recorders
        given = recorders or tuple(f"127.0.0.1:{port}" for port in PORTS)
        self._upstreams = {each: _Upstream(_checked(each)) for each in given}
        self._viewers: set[asyncio.Queue[Message]] = set()
        self._tasks: list[asyncio.Task[None]] = []

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[asyncio.Queue[Message]]:
        """What recorders say from now on, after what they said last."""
        queue: asyncio.Queue[Message] = asyncio.Queue()
        self._greet(queue)
        self._viewers.add(queue)
        if not self._tasks:
            self._tasks = [
                asyncio.create_task(self._follow(each)) for each in self._upstreams.values()
            ]
        try:
            yield queue
        finally:
            self._viewers.discard(queue)
            if not self._viewers:
                self._rest()

    async def mark(self, address: str, mark: Mapping[str, Any]) -> str | None:
        """Hand a mark to a recorder; why it was not taken, in a sentence."""
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidStatus, WebSocketException

        if address not in self._upstreams:
            raise UnknownNameError("recorder", address[:80], self._upstreams)
        try:
            async with connect(
                f"ws://{address}{MARKS}",
                additional_headers=_own_key(),
                open_timeout=_OPEN_S,
                close_timeout=0.2,
                max_size=_LARGEST_MESSAGE,
                proxy=None,
            ) as recorder:
                await recorder.send(json.dumps(dict(mark)))
                answer = json.loads(await asyncio.wait_for(recorder.recv(), _OPEN_S))
        except InvalidStatus as error:
            reason = _STRANGER if error.response.status_code == 401 else _NO_RECORDER
            return f"Recorder {address} takes no mark: {reason}."
        except (OSError, TimeoutError, WebSocketException, ValueError):
            return f"Recorder {address} does not answer. {_RECORDING_GOES_ON}"
        is_answer = isinstance(answer, dict) and isinstance(answer.get("ok"), bool)
        if not is_answer:
            return f"Recorder {address} takes no mark: {_NO_RECORDER}."
        return None if answer["ok"] else str(answer.get("reason", ""))[:400]

    def _rest(self) -> None:
        tasks, self._tasks = self._tasks, []
        for task in tasks:
            task.cancel()
        for upstream in self._upstreams.values():
            # What was so then may not be so when somebody looks again.
            upstream.said = upstream.health = None
            upstream.pictures.clear()

    def _greet(self, queue: asyncio.Queue[Message]) -> None:
        known = [] if self.is_looking else list(self._upstreams)
        queue.put_nowait(json.dumps({"recorders": known, "is_looking": self.is_looking}))
        for upstream in self._upstreams.values():
            for message in (upstream.said, *upstream.pictures.values()):
                if message is not None:
                    queue.put_nowait(message)

    async def _follow(self, upstream: _Upstream) -> None:
        """Stay connected to a recorder, and say when it is gone; ends when it is cancelled."""
        from websockets.exceptions import InvalidStatus, WebSocketException

        wait_s = _FIRST_WAIT_S
        while True:
            reason = "nothing answers there"
            try:
                await self._listen(upstream)
                reason = "it closed the connection"
            except TimeoutError:
                reason = f"it has said nothing for {_SILENT_S:.0f} s"
            except OSError:
                pass
            except InvalidStatus as error:
                reason = _STRANGER if error.response.status_code == 401 else _NO_RECORDER
            except (WebSocketException, ValueError):
                reason = _NO_RECORDER
            if upstream.is_found:
                wait_s = _FIRST_WAIT_S
            self._miss(upstream, reason)
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    async def _listen(self, upstream: _Upstream) -> None:
        from websockets.asyncio.client import connect

        upstream.is_found = False
        async with connect(
            f"ws://{upstream.address}{PICTURES}",
            additional_headers=_own_key(),
            open_timeout=_OPEN_S,
            close_timeout=1,
            max_size=_LARGEST_MESSAGE,
            proxy=None,
        ) as recorder:
            while True:
                try:
                    message = await asyncio.wait_for(recorder.recv(), _SILENT_S)
                except _closed():
                    return
                self._pass_on(upstream, message)

    def _pass_on(self, upstream: _Upstream, message: Message) -> None:
        if isinstance(message, bytes):
            head, picture = unframed(message)
            stream = str(head.get("stream", ""))[:200]
            shown = framed({"recorder": upstream.address, "stream": stream}, picture)
            if len(upstream.pictures) < _MOST_CAMERAS or stream in upstream.pictures:
                upstream.pictures[stream] = shown
            self._send(shown)
        else:
            health = json.loads(message)
            if not isinstance(health, dict):
                raise ValueError("health, got no object")
            upstream.is_found = True
            upstream.health = health or upstream.health
            self._say(upstream, "connected", "")

    def _miss(self, upstream: _Upstream, reason: str) -> None:
        """Tell that a recorder is not there; one that was never seen here is not spoken of."""
        health = upstream.health
        upstream.pictures.clear()
        if self.is_looking and health is None:
            return
        if health is not None and health.get("state") == "ended":
            done = health.get("episodes")
            count = counted(done if isinstance(done, int) else 0, "episode")
            self._say(upstream, "ended", f"Recorder {upstream.address} ended: {count}.")
            return
        status: Status = "gone" if health is not None else "searching"
        verb = "is offline" if health is not None else "cannot be reached"
        self._say(upstream, status, f"Recorder {upstream.address} {verb}: {reason}.")

    def _say(self, upstream: _Upstream, status: Status, sentence: str) -> None:
        told = {"recorder": upstream.address, "status": status, "sentence": sentence}
        upstream.said = json.dumps({**told, "health": upstream.health})
        self._send(upstream.said)

    def _send(self, message: Message) -> None:
        most = max(_WAITING, 2 * sum(1 + len(each.pictures) for each in self._upstreams.values()))
        for queue in self._viewers:
            _put(queue, message, most)


def _own_key() -> dict[str, str]:
    return {"Authorization": f"Bearer {health_key()}"}


def _put(queue: asyncio.Queue[Message], message: Message, most: int) -> None:
    """A browser that does not keep up misses the oldest, and is not waited for."""
    while queue.qsize() >= most:
        queue.get_nowait()
    queue.put_nowait(message)


def _closed() -> type[Exception]:
    from websockets.exceptions import ConnectionClosed

    return ConnectionClosed


def _checked(address: str) -> str:
    found = _ADDRESS.fullmatch(address)
    if found is None or not 0 < int(found[2]) < 65536:
        raise CorporealError(
            f"recorder, got {address[:80]!r}; expected HOST:PORT, such as 192.168.1.20:8790."
        )
    return address
