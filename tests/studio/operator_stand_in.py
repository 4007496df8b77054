"""The robot's side of an operator's page, as small as docs/spec/teleoperation.md allows.

What the page sends is read by the reader of the program itself; what the test sets is what it says.
"""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from PIL import Image
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket, WebSocketDisconnect
from tests.studio.waiting import SECONDS

from corporeal.capture.thumbnail import framed
from corporeal.embodiment import open_robot
from corporeal.embodiment.kinematics import robot_model
from corporeal.studio.settings import StudioSettings
from corporeal.teleoperation.operator_input import OperatorInput
from corporeal.teleoperation.operator_message import (
    PageCommand,
    PageHello,
    PagePing,
    read_message,
    read_text,
)

REST = {"left": [-0.2, 0.15, -0.3, 0, 0, 0, 1], "right": [0.2, 0.15, -0.3, 0, 0, 0, 1]}


@dataclass(eq=False)
class OperatorStandIn:
    """What the page said, and what it is told."""

    robot: Any = field(default_factory=lambda: open_robot("g1"))
    inputs: list[OperatorInput] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    hellos: list[PageHello] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    welcome: dict[str, Any] = field(default_factory=dict)
    pictures: int = 0
    is_silent: bool = False

    @property
    def last(self) -> OperatorInput:
        """The newest input."""
        return self.inputs[-1]

    def application(self) -> Starlette:
        """Page, robot and socket at one address."""
        page = StudioSettings().page
        model = robot_model(self.robot).model_dump_json()

        async def front(_: Request) -> Response:
            return FileResponse(page / "teleoperate.html")

        async def robot(_: Request) -> Response:
            return Response(model, media_type="application/json")

        return Starlette(routes=[
            Route("/", front),
            Route("/robot", robot),
            Mount("/assets", StaticFiles(directory=page / "assets")),
            WebSocketRoute("/teleoperate", self._serve),
        ])  # fmt: skip

    async def _serve(self, socket: WebSocket) -> None:
        await socket.accept()
        await socket.send_json(self._welcome())
        tell = asyncio.create_task(self._tell(socket))
        with suppress(WebSocketDisconnect):
            while True:
                message = await socket.receive()
                if message["type"] == "websocket.disconnect":
                    break
                if message.get("bytes") is not None:
                    read = read_message(message["bytes"], time.monotonic_ns())
                    assert isinstance(read, OperatorInput)
                    self.inputs.append(read)
                else:
                    await self._hear(socket, message["text"])
        tell.cancel()

    async def _hear(self, socket: WebSocket, text: str) -> None:
        said = read_text(text)
        if isinstance(said, PageHello):
            self.hellos.append(said)
        elif isinstance(said, PageCommand):
            self.commands.append(said.command)
        elif isinstance(said, PagePing):
            await socket.send_json({"kind": "pong", "sent_ms": said.sent_ms,
                                    "host_ns": time.time_ns()})  # fmt: skip

    async def _tell(self, socket: WebSocket) -> None:
        while True:
            if not self.is_silent:
                await socket.send_json(self._state())
                self.pictures += 1
                head = {"camera": "head_left", "time_ns": time.time_ns()}
                await socket.send_bytes(framed(head, _picture(self.pictures)))
            await asyncio.sleep(0.05)

    def _welcome(self) -> dict[str, Any]:
        return {
            "kind": "welcome", "version": 1, "robot": "g1",
            "joints": list(self.robot.joint_names), "task": "pick_place",
            "instruction": "Move the red box onto the turquoise disc.",
            "cameras": ["head_left"], "walks": True, "records": True, "role": "operator",
            "host_ns": time.time_ns(),
        } | self.welcome  # fmt: skip

    def _state(self) -> dict[str, Any]:
        rest = robot_model(self.robot).rest
        hands = {
            side: {"goal": None, "command": pose, "measured": pose, "error_m": None,
                   "reach": None, "opening": 1.0}
            for side, pose in REST.items()
        }  # fmt: skip
        return {
            "kind": "state", "state": "inert", "cause": "", "driver": "human",
            "time_ns": time.time_ns(), "engaged": {"left": False, "right": False}, "hands": hands,
            "limits": [], "near": [], "base_velocity": [0.0, 0.0, 0.0],
            "latency_ms": {"input": 4.1, "command": 9.8},
            "base": [0, 0.79, 0, 0, 0, 0, 1], "positions": list(rest.values()),
            "recording": {"state": "idle"},
        } | self.state  # fmt: skip


def _picture(number: int) -> bytes:
    """A picture that says by its brightness which one it is."""
    made = io.BytesIO()
    Image.new("RGB", (64, 48), (number % 256, 90, 120)).save(made, "JPEG")
    return made.getvalue()


@contextmanager
def operator_stand_in() -> Iterator[tuple[OperatorStandIn, str]]:
    """A robot's side that runs, and its address."""
    host = OperatorStandIn()
    server = uvicorn.Server(uvicorn.Config(host.application(), port=0, log_level="warning"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + SECONDS
    while not server.started and time.monotonic() < until:
        time.sleep(0.02)
    assert server.started
    port = server.servers[0].sockets[0].getsockname()[1]
    yield host, f"http://127.0.0.1:{port}"
    server.should_exit = True
    server.force_exit = True
    thread.join(timeout=SECONDS)
