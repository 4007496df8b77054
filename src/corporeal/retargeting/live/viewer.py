"""Shows the person and the robot on a page: one port serves the page and what it draws."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from http import HTTPStatus
from importlib.resources import files
from importlib.util import find_spec
from typing import Any, Self
from urllib.parse import urlsplit

import numpy as np

from corporeal.embodiment.engines import compile_pinocchio, import_pinocchio
from corporeal.embodiment.kinematics import placement_of
from corporeal.errors import MissingExtraError
from corporeal.geometry import quaternion_from_matrix
from corporeal.retargeting.goal.robot_map import RobotMap
from corporeal.retargeting.live.frame_solver import LivePose
from corporeal.retargeting.live.inlet import LOOPBACK, ArrivalTally, LatencyLog
from corporeal.retargeting.live.pose_message import PoseMessage
from corporeal.retargeting.motion import POINTS, MotionError

STREAM = "/stream"
_FRAMES_PER_S, _UNSEEN_PER_S = 60.0, 2.0
_RECENT = 600
_MOST_UNREAD = 2
# The page loads nothing and may talk to nobody but this server.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "connect-src 'self' ws: ; img-src data:; base-uri 'none'; frame-ancestors 'none'"
)


class Viewer:
    """A web server in a thread; whoever comes later sees the latest frame at once.

    A page answers every message with one of its own when it has drawn it. One that is slow is
    spared messages, so that it shows the present and never lags behind.
    """

    def __init__(self, robot: RobotMap, port: int, *, host: str = "127.0.0.1") -> None:
        if find_spec("websockets") is None:
            raise MissingExtraError("websockets", "live")
        self._scene = _Scene(robot)
        self._page = files("corporeal.retargeting.live").joinpath("page.html").read_bytes()
        self.host, self.port = host, port
        self._clients: dict[Any, int] = {}
        self._latest: str | None = None
        self._due_s = 0.0
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._run, name="live viewer", daemon=True)
        self._thread.start()
        self._ready.wait(10)
        if self._failure is not None:
            raise MotionError(
                f"cannot show the page at port {port}: {self._failure.strerror or self._failure}. "
                "Choose another port."
            )

    @property
    def address(self) -> str:
        """Where a browser finds the page."""
        return f"http://{self.host}:{self.port}/"

    def is_due(self) -> bool:
        """Whether it is time for another frame: often while somebody looks, else now and then."""
        return time.monotonic() >= self._due_s

    def show(
        self,
        person: PoseMessage,
        pose: LivePose,
        latency: LatencyLog,
        rate_hz: float,
        tally: ArrivalTally,
    ) -> None:
        """Send one frame to everybody who looks."""
        self._due_s = time.monotonic() + 1 / (_FRAMES_PER_S if self._clients else _UNSEEN_PER_S)
        recent, newest = latency.summary(_RECENT).total_ms, latency.summary(1).total_ms
        self._send(
            {
                "kind": "frame",
                "t": person.t_s,
                "human": _rounded(person.positions, 3),
                "links": self._scene.links(pose),
                "error_cm": _rounded(pose.error_m * 100, 2),
                "ok": pose.ok,
                "latency": {**vars(recent), "last": newest.p50},
                "rate_hz": round(rate_hz, 1),
                "tally": vars(tally),
            }
        )

    def tell_stale(self, silent_s: float) -> None:
        """Say that nothing has come for a while."""
        if self._clients:
            self._send({"kind": "stale", "silent_s": round(silent_s, 2)})

    def close(self) -> None:
        """End the server; a second time does nothing."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(timeout=5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message)
        if message["kind"] == "frame":
            self._latest = text
        self._loop.call_soon_threadsafe(self._pass_on, text)

    def _pass_on(self, text: str) -> None:
        from websockets.asyncio.server import broadcast

        ready = {client for client, unread in self._clients.items() if unread < _MOST_UNREAD}
        for client in ready:
            self._clients[client] += 1
        broadcast(ready, text)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(self._serve())
        self._loop.close()

    async def _serve(self) -> None:
        from websockets.asyncio.server import serve

        self._stop = asyncio.Event()
        try:
            async with serve(
                self._greet,
                self.host,
                self.port,
                process_request=self._answer,
                close_timeout=1,
                max_size=4096,
                write_limit=1 << 18,
                compression=None,
            ) as server:
                self.port = next(iter(server.sockets)).getsockname()[1]
                self._ready.set()
                await self._stop.wait()
        except OSError as error:
            self._failure = error
            self._ready.set()

    def _answer(self, connection: Any, request: Any) -> Any:
        """The page, a refusal, or None to go on with the WebSocket."""
        host, origin = request.headers.get("Host", ""), request.headers.get("Origin")
        named = urlsplit(f"//{host}").hostname
        # Another name for this machine is how a stranger's page would get in.
        if self.host in LOOPBACK and named not in LOOPBACK:
            return connection.respond(HTTPStatus.FORBIDDEN, "Open this page by its address.\n")
        if request.path == STREAM:
            if origin is not None and urlsplit(origin).netloc != host:
                return connection.respond(HTTPStatus.FORBIDDEN, "Open this page by its address.\n")
            return None
        if request.path not in ("/", "/index.html"):
            return connection.respond(HTTPStatus.NOT_FOUND, "There is one page here: /\n")
        return self._paged()

    def _paged(self) -> Any:
        from websockets.datastructures import Headers
        from websockets.http11 import Response

        headers = {
            "Content-Type": "text/html; charset=utf-8",
            "Content-Length": str(len(self._page)),
            "Content-Security-Policy": _POLICY,
            "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff",
            "Connection": "close",
        }
        return Response(HTTPStatus.OK.value, "OK", Headers(headers), self._page)

    async def _greet(self, client: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        await client.send(json.dumps(self._scene.hello))
        if self._latest is not None:
            await client.send(self._latest)
        self._clients[client] = 0
        try:
            async for _ in client:
                self._clients[client] = max(0, self._clients[client] - 1)
        except ConnectionClosed:
            return
        finally:
            self._clients.pop(client, None)


class _Scene:
    """What the page has to know once, and where the links are in each frame."""

    def __init__(self, robot: RobotMap) -> None:
        self._pin = import_pinocchio()
        self._compiled = compile_pinocchio(robot.robot)
        self._data = self._compiled.model.createData()
        links = [link.name for link in robot.robot.links]
        self._frames = [self._compiled.model.getFrameId(name) for name in links]
        number = {name: index for index, name in enumerate(links)}
        self.hello = {
            "kind": "hello",
            "robot": robot.robot.name,
            "points": list(POINTS),
            "links": links,
            "shapes": [
                {
                    "link": number[link.name],
                    "type": shape.type,
                    "size": list(shape.size),
                    "pose": _rounded(_pose_row(placement_of(shape)), 5),
                }
                for link in robot.robot.links
                for shape in link.collision
            ],
            "bones": [[number[j.parent], number[j.child]] for j in robot.robot.joints],
        }

    def links(self, pose: LivePose) -> list[float | None]:
        """Seven numbers per link: x y z qw qx qy qz."""
        place = self._compiled.configurations(pose.q[None], pose.base[None])[0]
        self._pin.framesForwardKinematics(self._compiled.model, self._data, place)
        rows = np.array([self._pin.SE3ToXYZQUAT(self._data.oMf[index]) for index in self._frames])
        return _rounded(rows[:, [0, 1, 2, 6, 3, 4, 5]], 4)


def _pose_row(placement: Any) -> Any:
    return np.concatenate([placement[:, 3], quaternion_from_matrix(placement[:, :3])])


def _rounded(values: Any, digits: int) -> list[float | None]:
    """Flat, short, and without what JSON does not know."""
    flat = np.round(np.asarray(values, np.float64).ravel(), digits).tolist()
    return [value if value == value else None for value in flat]
