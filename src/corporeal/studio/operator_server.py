"""Serves an operator's page, its socket and its pictures; docs/spec/teleoperation.md decides."""

from __future__ import annotations

import asyncio
import hmac
import json
import threading
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect

from corporeal.capture.thumbnail import framed, jpeg
from corporeal.embodiment import kinematics
from corporeal.errors import CorporealError
from corporeal.studio import errors
from corporeal.studio.access.guard import Guard
from corporeal.studio.access.local_peer import is_other_user
from corporeal.studio.settings import StudioSettings
from corporeal.teleoperation.control_loop import (
    AskedCommand,
    DeviceClock,
    Given,
    LoopTurn,
    OperatorArrived,
)
from corporeal.teleoperation.operator_message import (
    PageCommand,
    PageHello,
    PagePing,
    read_message,
    read_text,
)
from corporeal.teleoperation.operator_state import StateReport, event_message
from corporeal.teleoperation.robot_link import RobotLink

PAGE = "teleoperate.html"
COOKIE = "corporeal_teleoperation"
_STATE_S = 0.05
_LARGEST_MESSAGE = 1 << 15
_NO_PAGE = "The operator's page was not built. In a clone of Corporeal, run: make page."
_STRANGER = "Open the address that was printed, token and all, as the user who started this."
_WAITING_TEXTS = 256
_PICTURE_WIDTH = 640
# More of these a second than any device sends: the rest of them is not answered one by one.
_ERRORS_A_SECOND = 5.0
# Pages share a processor with the loop that commands the robot.
MOST_PAGES = 12
# A second: of who drives, more than headset and leader arms send; of who looks on, pings and stops.
MOST_MESSAGES = {True: 2000, False: 50}
_TOO_MANY, _TOO_QUICK = 4429, 4408
_FULL = f"{MOST_PAGES} pages look already. Close one of them."
_QUICK = "This page sends more than any device does. Reload it."


class Desk(Protocol):
    """The program behind the page."""

    settings: StudioSettings
    token: str | None
    authority: Path | None
    report: StateReport
    link: RobotLink

    def now_ns(self) -> int:
        """The host's clock."""
        ...

    def offer(self, given: Given) -> None:
        """What an operator did."""
        ...

    def welcome(self, *, may_drive: bool) -> dict[str, Any]:
        """The first message to a page."""
        ...

    def recording(self) -> Mapping[str, Any]:
        """Where the recording stands."""
        ...


@dataclass(eq=False)
class _Page:
    """One page that looks: texts that wait for it, and which pictures it has seen."""

    socket: WebSocket
    texts: asyncio.Queue[str] = field(default_factory=lambda: asyncio.Queue(_WAITING_TEXTS))
    shown: dict[str, int] = field(default_factory=dict)
    errors_left: float = _ERRORS_A_SECOND
    erred_s: float = 0.0
    has_greeted: bool = False
    heard: int = 0
    heard_since_s: float = 0.0

    def is_too_quick(self, now_s: float, *, drives: bool) -> bool:
        """Count a message; whether that are too many of the last second."""
        if now_s - self.heard_since_s >= 1.0:
            self.heard, self.heard_since_s = 0, now_s
        self.heard += 1
        return self.heard > MOST_MESSAGES[drives]

    def say(self, message: Mapping[str, Any] | str) -> None:
        """Send a text soon; a page that does not read loses what it left."""
        with suppress(asyncio.QueueFull):
            self.texts.put_nowait(message if isinstance(message, str) else json.dumps(message))


class OperatorServer:
    """Pages on one side, a control loop on the other; the first page that says hello drives."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.turn: LoopTurn | None = None
        self._pages: set[_Page] = set()
        self._driver: _Page | None = None
        self._pictures: dict[str, tuple[int, NDArray[np.uint8]]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        # Made once for all pages: the state of a turn as text, and pictures by camera and time.
        self._state: tuple[LoopTurn, str] | None = None
        self._packed: dict[str, tuple[int, asyncio.Task[bytes]]] = {}

    def see(self, turn: LoopTurn) -> None:
        """A listener of the control loop, in its thread."""
        self.turn = turn
        self.desk.report.see(turn)
        for event in turn.tick.events:
            self.tell(event_message(event))

    def see_picture(self, camera: str, picture: NDArray[np.uint8], time_ns: int) -> None:
        """A listener of the cameras: only the newest of each is kept."""
        self._pictures[camera] = (time_ns, picture)

    def tell(self, message: Mapping[str, Any]) -> None:
        """Say something to all pages, from any thread."""
        if self._loop is not None:
            with suppress(RuntimeError):  # It ends just now.
                self._loop.call_soon_threadsafe(self._tell, dict(message))

    def state(self, turn: LoopTurn) -> dict[str, Any]:
        """What pages are told 20 times a second."""
        desk = self.desk
        return desk.report.message(turn, desk.recording(), desk.link.things())

    def _state_of(self, turn: LoopTurn) -> str:
        if self._state is None or self._state[0] is not turn:
            self._state = turn, json.dumps(self.state(turn))
        return self._state[1]

    def _pack(self, camera: str, time_ns: int, picture: NDArray[np.uint8]) -> asyncio.Task[bytes]:
        """The JPEG of a picture, made once however many look."""
        known = self._packed.get(camera)
        if known is None or known[0] != time_ns:
            making = asyncio.create_task(asyncio.to_thread(jpeg, picture, width=_PICTURE_WIDTH))
            known = self._packed[camera] = time_ns, making
        return known[1]

    def _tell(self, message: Mapping[str, Any]) -> None:
        for page in self._pages:
            page.say(message)

    def application(self) -> Any:
        """The ASGI application, behind the guard that Studio has."""
        page = self.desk.settings.page
        app = Starlette(routes=[
            Route("/", self._front),
            Route("/robot", self._robot),
            Route("/ca.crt", self._authority),
            Route("/camera/{name}", self._camera),
            Mount("/assets", StaticFiles(directory=page / "assets", check_dir=False)),
            WebSocketRoute("/teleoperate", self._serve_page),
        ])  # fmt: skip
        return Guard(app, self.desk.settings)

    def _is_known(self, connection: HTTPConnection) -> bool:
        token = self.desk.token
        if token is None:
            return not is_other_user(connection)
        given = connection.query_params.get("token") or connection.cookies.get(COOKIE, "")
        return hmac.compare_digest(given.encode(), token.encode())

    async def _front(self, request: Request) -> Response:
        if not self._is_known(request):
            return errors.answer(401, _STRANGER)
        page = self.desk.settings.page / PAGE
        if not page.is_file():
            return errors.answer(503, _NO_PAGE)
        response = FileResponse(page, headers={"Cache-Control": "no-cache"})
        if self.desk.token is not None:
            # A WebSocket of the page cannot send a head: the cookie speaks for it.
            response.set_cookie(COOKIE, self.desk.token, httponly=True, samesite="strict",
                                secure=self.desk.authority is not None)  # fmt: skip
        return response

    async def _robot(self, request: Request) -> Response:
        if not self._is_known(request):
            return errors.answer(401, _STRANGER)
        model = kinematics.robot_model(self.desk.link.robot)
        return Response(model.model_dump_json(), media_type="application/json")

    async def _authority(self, request: Request) -> Response:
        del request
        if self.desk.authority is None:
            return errors.answer(404, "This address has no certificate: it is not https.")
        return FileResponse(self.desk.authority, media_type="application/x-x509-ca-cert",
                            filename="corporeal-ca.crt")  # fmt: skip

    async def _camera(self, request: Request) -> Response:
        if not self._is_known(request):
            return errors.answer(401, _STRANGER)
        newest = self._pictures.get(request.path_params["name"])
        if newest is None:
            return PlainTextResponse("no such camera, or no picture yet", status_code=404)
        picture = await asyncio.shield(self._pack(request.path_params["name"], *newest))
        headers = {"Cache-Control": "no-store", "X-Time-Ns": str(newest[0])}
        return Response(picture, media_type="image/jpeg", headers=headers)

    async def _serve_page(self, socket: WebSocket) -> None:
        if not self._is_known(socket):
            await socket.close(4401, _STRANGER)
            return
        if len(self._pages) >= MOST_PAGES:
            await socket.accept()
            await socket.close(_TOO_MANY, _FULL)
            return
        await socket.accept()
        self._loop = asyncio.get_running_loop()
        page = _Page(socket)
        self._pages.add(page)
        page.say(self.desk.welcome(may_drive=self._driver is None))
        works = (self._send_texts(page), self._send_states(page), self._send_pictures(page))
        tasks = [asyncio.create_task(work) for work in works]
        try:
            await self._listen(page)
        finally:
            for task in tasks:
                task.cancel()
            self._pages.discard(page)
            if self._driver is page:
                self._driver = None
                self._ask("hold", "the page was closed")
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _listen(self, page: _Page) -> None:
        with suppress(WebSocketDisconnect):
            while True:
                message = await page.socket.receive()
                received_ns = self.desk.now_ns()
                if message["type"] == "websocket.disconnect":
                    return
                if page.is_too_quick(received_ns / 1e9, drives=page is self._driver):
                    await page.socket.close(_TOO_QUICK, _QUICK)
                    return
                try:
                    if message.get("bytes") is not None:
                        self._take_input(page, message["bytes"], received_ns)
                    else:
                        self._take_text(page, message.get("text") or "", received_ns)
                except CorporealError as error:
                    self._refuse(page, str(error))

    def _take_input(self, page: _Page, message: bytes, received_ns: int) -> None:
        if self._driver is not page:
            self._refuse(page, "input, got it from a page that does not drive. Say hello first, "
                               "or close the page that drives.")  # fmt: skip
            return
        self.desk.offer(read_message(message, received_ns))

    def _take_text(self, page: _Page, message: str, received_ns: int) -> None:
        said = read_text(message)
        if isinstance(said, PagePing):
            page.say({"kind": "pong", "sent_ms": said.sent_ms, "host_ns": received_ns})
            if self._driver is page and said.host_offset_ms is not None:
                offset_ns = round(said.host_offset_ms * 1e6)
                round_trip_ns = round((said.round_trip_ms or 0.0) * 1e6)
                self.desk.offer(DeviceClock(received_ns, offset_ns, round_trip_ns))
        elif isinstance(said, PageHello):
            self._greet(page, said, received_ns)
        elif isinstance(said, PageCommand):
            if self._driver is not page and said.command != "stop":
                self._refuse(page, f"command {said.command}, got it from a page that does not "
                                   "drive; expected stop.")  # fmt: skip
                return
            self.desk.offer(AskedCommand(said.command, said.reason, received_ns))

    def _greet(self, page: _Page, said: PageHello, now_ns: int) -> None:
        if page.has_greeted:
            self._refuse(page, "hello, got a second one; expected one. Reload the page.")
            return
        page.has_greeted = True
        if self._driver is None and said.device != "spectator":
            self._driver = page
            self.desk.offer(OperatorArrived(now_ns, said.joint_streams, said.device))

    def _ask(self, command: Any, reason: str) -> None:
        self.desk.offer(AskedCommand(command, reason, self.desk.now_ns()))

    def _refuse(self, page: _Page, sentence: str) -> None:
        """Answer with why; whoever floods is answered a few times a second."""
        now_s = self.desk.now_ns() / 1e9
        page.errors_left = min(
            page.errors_left + (now_s - page.erred_s) * _ERRORS_A_SECOND, _ERRORS_A_SECOND
        )
        page.erred_s = now_s
        if page.errors_left >= 1.0:
            page.errors_left -= 1.0
            page.say({"kind": "error", "message": sentence})

    async def _send_texts(self, page: _Page) -> None:
        while True:
            await page.socket.send_text(await page.texts.get())

    async def _send_states(self, page: _Page) -> None:
        while True:
            await asyncio.sleep(_STATE_S)
            # One that has not read the last state yet gets none on top of it.
            if self.turn is not None and page.texts.empty():
                page.say(self._state_of(self.turn))

    async def _send_pictures(self, page: _Page) -> None:
        """The newest picture of each camera; sending one waits until the page has taken it."""
        while True:
            sent = False
            for camera, (time_ns, picture) in list(self._pictures.items()):
                if page.shown.get(camera) == time_ns:
                    continue
                page.shown[camera] = time_ns
                packed = await asyncio.shield(self._pack(camera, time_ns, picture))
                await page.socket.send_bytes(framed({"camera": camera, "time_ns": time_ns}, packed))
                sent = True
            if not sent:
                await asyncio.sleep(0.01)


def serve_operator(
    server: OperatorServer, *, certificate: tuple[Path, Path] | None,
    on_ready: Callable[[str], None], until: threading.Event,
) -> None:  # fmt: skip
    """Serve pages until an event says so; `certificate` is that of https and its key."""
    import uvicorn

    from corporeal.studio.access.connections import StudioConfig
    from corporeal.studio.server import ended_by, listening

    settings = server.desk.settings
    with closing(listening(settings)) as listener:
        host, port = listener.getsockname()[:2]
        options: dict[str, Any] = {}
        if certificate is not None:
            options = {"ssl_certfile": str(certificate[0]), "ssl_keyfile": str(certificate[1])}
        config = StudioConfig(
            server.application(), settings.connections, timeout_graceful_shutdown=1,
            ws_max_size=_LARGEST_MESSAGE, **options,
        )  # fmt: skip
        shown = f"[{host}]" if ":" in host else host
        on_ready(f"{'https' if certificate else 'http'}://{shown}:{port}")
        process = uvicorn.Server(config)
        with ended_by(until, process):
            process.run(sockets=[listener])
