"""Recorders on one side, browsers on the other: health and pictures get through, and their end."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import uvicorn
from starlette.websockets import WebSocketDisconnect
from tests.studio.people import open_client, token_of
from tests.studio.waiting import SECONDS

from corporeal.capture.broadcast import Broadcast
from corporeal.capture.health import Health, StreamHealth
from corporeal.capture.thumbnail import unframed
from corporeal.catalog.workspace import Workspace
from corporeal.errors import CorporealError
from corporeal.studio.context import open_studio
from corporeal.studio.live_relay import LiveRelay, Message
from corporeal.studio.server import create_application
from corporeal.studio.settings import StudioSettings

if TYPE_CHECKING:
    from playwright.sync_api import Page

CAMERA = "observations/head_left"
LIVE = "ws://127.0.0.1:8700/api/live"
ROOT = Path(__file__).resolve().parents[2]


def health(*, state: str = "recording", alarms: tuple[str, ...] = ()) -> Health:
    """A recorder with one camera."""
    stream = StreamHealth(CAMERA, "silent" if alarms else "good", 90, 30.0, 30.0, 0.01, 0, 0, "",
                          0.0, "video")  # fmt: skip
    return Health(1, state, "reach_0001", 0, 3.0, (stream,), 0, 0, 0.0, 10**12, alarms)


@pytest.fixture
def recorder() -> Iterator[Broadcast]:
    """What a recorder publishes, without the recorder."""
    with Broadcast(0) as opened:
        yield opened


def at(recorder: Broadcast) -> StudioSettings:
    """A Studio that knows of it."""
    return StudioSettings(recorders=(f"127.0.0.1:{recorder.port}",))


def heard(socket: Any, status: str) -> dict[str, Any]:
    """The next message with this status."""
    while True:
        message = socket.receive()
        if message.get("text"):
            told = json.loads(message["text"])
            if told.get("status") == status and told["health"] is not None:
                return dict(told)


def test_a_browser_gets_health_and_pictures(workspace: Workspace, recorder: Broadcast) -> None:
    recorder.publish(health())
    with (
        open_client(workspace, at(recorder)) as client,
        client.websocket_connect(LIVE) as socket,
    ):
        first = json.loads(socket.receive_text())
        assert first == {"recorders": [f"127.0.0.1:{recorder.port}"], "is_looking": False}
        assert heard(socket, "connected")["health"]["streams"][0]["path"] == CAMERA
        recorder.show(CAMERA, np.full((120, 160, 3), 90, np.uint8))
        while "bytes" not in (message := socket.receive()):
            pass
        head, picture = unframed(message["bytes"])
        assert head == {"recorder": f"127.0.0.1:{recorder.port}", "stream": CAMERA}
        assert picture.startswith(b"\xff\xd8")


def test_a_recorder_that_goes_is_told_and_one_that_comes_back_is_found(
    workspace: Workspace,
) -> None:
    with Broadcast(0) as first:
        port = first.port
        first.publish(health())
        with (
            open_client(workspace, at(first)) as client,
            client.websocket_connect(LIVE) as socket,
        ):
            heard(socket, "connected")
            first.close()
            gone = heard(socket, "gone")
            assert gone["sentence"] == (
                f"Recorder 127.0.0.1:{port} is offline: it closed the connection."
            )
            assert gone["health"]["episode"] == "reach_0001"
            with Broadcast(port) as second:
                second.publish(health(state="idle"))
                assert heard(socket, "connected")["health"]["state"] == "idle"


def test_a_recorder_that_ended_well_is_not_offline(workspace: Workspace) -> None:
    with Broadcast(0) as first:
        first.publish(health())
        with (
            open_client(workspace, at(first)) as client,
            client.websocket_connect(LIVE) as socket,
        ):
            heard(socket, "connected")
            first.publish(replace(health(state="ended"), episodes=3))
            first.close()
            ended = heard(socket, "ended")
            assert ended["sentence"] == f"Recorder 127.0.0.1:{first.port} ended: 3 episodes."


async def settled(read: Callable[[], int], wanted: int) -> None:
    """Wait until a number is what is wanted, and leave time for it to become more."""
    until = time.monotonic() + SECONDS
    while read() != wanted and time.monotonic() < until:
        await asyncio.sleep(0.02)
    await asyncio.sleep(0.2)


async def looked_at(recorder: Broadcast, *, by: int) -> None:
    """Wait until so many listen to a recorder."""
    await settled(lambda: len(recorder._clients), by)


def test_many_browsers_share_one_connection_and_none_is_kept_for_nobody(
    recorder: Broadcast,
) -> None:
    async def look() -> tuple[int, int]:
        relay = LiveRelay((f"127.0.0.1:{recorder.port}",))
        async with relay.watch() as one, relay.watch() as two:
            await looked_at(recorder, by=1)
            recorder.publish(health())
            for queue in (one, two):
                while "connected" not in str(await asyncio.wait_for(queue.get(), SECONDS)):
                    pass
            during = len(recorder._clients)
        await looked_at(recorder, by=0)
        return during, len(recorder._clients)

    assert asyncio.run(look()) == (1, 0)


def test_a_browser_that_does_not_keep_up_misses_the_oldest(recorder: Broadcast) -> None:
    async def look() -> int:
        relay = LiveRelay((f"127.0.0.1:{recorder.port}",))
        async with relay.watch() as queue:
            await looked_at(recorder, by=1)
            for _ in range(300):
                recorder.publish(health())
            await settled(queue.qsize, 64)
            return queue.qsize()

    assert asyncio.run(look()) == 64


def test_whoever_comes_later_is_greeted_with_every_picture_of_twelve_stations() -> None:
    async def greet() -> list[Message]:
        relay = LiveRelay(tuple(f"127.0.0.1:{port}" for port in range(9000, 9012)))
        for upstream in relay._upstreams.values():
            upstream.said = "{}"
            upstream.pictures = {f"camera {number}": b"jpeg" for number in range(5)}
        async with relay.watch() as queue:
            return [queue.get_nowait() for _ in range(queue.qsize())]

    greeting = asyncio.run(greet())
    assert len(greeting) == 1 + 12 * 6
    assert len(json.loads(greeting[0])["recorders"]) == 12


def test_something_else_at_the_address_is_named(workspace: Workspace, address: str) -> None:
    place = address.removeprefix("http://")
    with (
        open_client(workspace, StudioSettings(recorders=(place,))) as client,
        client.websocket_connect(LIVE) as socket,
    ):
        socket.receive_text()
        said = json.loads(socket.receive_text())
        assert said["status"] == "searching"
        assert said["sentence"].startswith(f"Recorder {place} cannot be reached: ")


@pytest.mark.parametrize("wrong", ["nowhere", "host:0", "host:99999", "a b:80", "ws://x:1", ":80"])
def test_a_wrong_address_of_a_recorder_is_refused_at_once(wrong: str) -> None:
    with pytest.raises(CorporealError, match="expected HOST:PORT"):
        LiveRelay((wrong,))


def test_whoever_may_not_look_is_told_by_the_code_of_the_end(workspace: Workspace) -> None:
    token = token_of(workspace, "ada", "admin")
    with open_client(workspace, StudioSettings(recorders=("127.0.0.1:9",))) as client:
        with (
            client.websocket_connect(LIVE) as socket,
            pytest.raises(WebSocketDisconnect) as ended,
        ):
            socket.receive_text()
        assert ended.value.code == 4401
        client.post("/api/login", json={"token": token})
        with client.websocket_connect(LIVE) as socket:
            assert "recorders" in socket.receive_text()


@pytest.mark.parametrize(
    "headers", [{"Origin": "https://evil.org"}, {"Origin": "null"}, {"Host": "evil.org"}]
)
def test_pages_of_others_cannot_listen(workspace: Workspace, headers: dict[str, str]) -> None:
    with (
        open_client(workspace) as client,
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(LIVE, headers=headers),
    ):
        pass


@contextmanager
def dying_recorder(folder: Path, *, dies_s: float) -> Iterator[int]:
    """A real recorder in a process of its own, one camera of which dies; its port."""
    program = [sys.executable, "-m", "tests.studio.dying_recorder", str(folder), str(dies_s)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            yield int(process.stdout.readline())
        finally:
            process.terminate()
            process.wait(20)


@contextmanager
def serving(workspace: Workspace, settings: StudioSettings) -> Iterator[str]:
    """A real server with these settings; its address."""
    with open_studio(workspace, settings) as studio:
        config = uvicorn.Config(create_application(studio), port=0, log_level="warning",
                                ws="websockets-sansio", timeout_graceful_shutdown=1)  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.02)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        server.should_exit = True
        thread.join(timeout=10)


@pytest.mark.slow
@pytest.mark.xdist_group("browser")
@pytest.mark.alone
def test_the_page_shows_a_real_recorder_and_is_loud_when_its_camera_dies(
    workspace: Workspace, page: Page, tmp_path: Path
) -> None:
    with (
        dying_recorder(tmp_path / "out", dies_s=4.0) as port,
        serving(workspace, StudioSettings(recorders=(f"127.0.0.1:{port}",))) as address,
    ):
        page.goto(f"{address}/live")
        card = page.get_by_role("region", name="Recorder reach")
        card.get_by_role("row", name=CAMERA).wait_for()
        page.get_by_alt_text("What observations/head_right sees").wait_for()
        alarm = page.get_by_role("alert").filter(has_text=f"{CAMERA} is silent")
        alarm.wait_for(state="attached")
        page.locator(".alarm-loud").wait_for()
        page.wait_for_function("document.title.includes('head_left')")
        # A browser that is not let near any loudspeaker says so instead of offering a button.
        sound, hint = page.locator(".alarm-sound"), page.locator(".alarm-hint")
        page.locator("main").click(position={"x": 2, "y": 2})
        sound.or_(hint).first.wait_for()
        if sound.is_visible():
            sound.click()
            page.get_by_role("button", name="Turn the sound on").wait_for()
