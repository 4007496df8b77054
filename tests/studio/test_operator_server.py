"""An operator's page over a real socket: who drives, what is refused, and what moves nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient, WebSocketTestSession
from starlette.websockets import WebSocketDisconnect
from tests.teleoperation.captures import quest_inputs

from corporeal.capture.thumbnail import unframed
from corporeal.catalog.workspace import make_workspace
from corporeal.cli.take_recorder import TeleoperationTerms
from corporeal.cli.teleoperation_run import TeleoperationProgram
from corporeal.episode import Episode
from corporeal.studio.operator_server import MOST_MESSAGES, MOST_PAGES
from corporeal.studio.settings import StudioSettings
from corporeal.teleoperation.control_loop import TICK_NS, LoopTurn
from corporeal.teleoperation.operator_message import write_message
from corporeal.teleoperation.robot_link import LinkOptions, robot_drivers

pytest.importorskip("daqp", reason="needs the extra robot")

HELLO = {"kind": "hello", "version": 1, "device": "test"}


@dataclass
class _Floor:
    """A program whose loop is turned by hand, and its application."""

    program: TeleoperationProgram
    client: TestClient

    def turn(self) -> LoopTurn:
        _Clock.now_ns += TICK_NS
        return self.program.loop.turn(_Clock.now_ns)


class _Clock:
    """Time goes on when a test says so."""

    now_ns = 1_000_000_000

    @classmethod
    def read(cls) -> int:
        return cls.now_ns


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> TeleoperationProgram:
    page = tmp_path_factory.mktemp("page")
    (page / "teleoperate.html").write_text("<title>operator</title>")
    settings = StudioSettings(page=page, names=("testserver",))
    link = robot_drivers()["sim"].open(LinkOptions(seed=2))
    terms = TeleoperationTerms("pick_place", settings, pictures=False)
    return TeleoperationProgram(terms, link, is_virtual=True, clock=_Clock.read)


@pytest.fixture
def floor(program: TeleoperationProgram) -> Iterator[_Floor]:
    with TestClient(program.server.application()) as client:
        yield _Floor(program, client)


def _until(socket: WebSocketTestSession, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    for _ in range(400):
        message = socket.receive()
        if message.get("text") is not None:
            said: dict[str, Any] = json.loads(message["text"])
            if is_it(said):
                return said
    raise AssertionError("it was not said")


def _read_to_the_end(socket: WebSocketTestSession) -> None:
    while True:
        socket.receive_text()


def _kind(name: str) -> Callable[[dict[str, Any]], bool]:
    return lambda said: said["kind"] == name


def test_the_page_is_served_and_told_about_the_robot(floor: _Floor) -> None:
    assert "operator" in floor.client.get("/").text
    assert floor.client.get("/camera/none").status_code == 404
    assert floor.client.get("/ca.crt").status_code == 404
    with floor.client.websocket_connect("/teleoperate") as socket:
        said = _until(socket, _kind("welcome"))
        assert (said["robot"], said["task"], said["role"]) == ("g1", "pick_place", "operator")
        floor.turn()
        state = _until(socket, _kind("state"))
        assert state["recording"]["state"] == "off"
        assert not said["records"]
        assert len(state["hands"]["left"]["command"]) == 7


def test_messages_that_cannot_be_read_move_nothing(floor: _Floor) -> None:
    given = write_message(quest_inputs()[0])
    with floor.client.websocket_connect("/teleoperate") as socket:
        socket.send_json(HELLO)
        before = floor.turn().tick.arms.positions
        for message in (b"", b"CTIN", given[:-1], given + b"\0", b"CTIN\xff\xff" + given[6:]):
            socket.send_bytes(message)
        for text in ("", "[]", "{", '{"kind": "command", "command": "jump"}', "9" * 9000):
            socket.send_text(text)
        socket.send_json({"kind": "ping", "sent_ms": 1.0})
        errors: list[str] = []

        def note(said: dict[str, Any]) -> bool:
            errors.append(said["kind"])
            return bool(said["kind"] == "pong")

        _until(socket, note)
        # The first are answered, the rest of a flood is dropped.
        assert 4 <= errors.count("error") <= 6
        for _ in range(20):
            turn = floor.turn()
        assert (turn.tick.arms.positions == before).all()
        assert turn.tick.state == "inert"


def test_one_page_drives_and_others_look_on_but_may_stop(floor: _Floor) -> None:
    first, second = (floor.client.websocket_connect("/teleoperate") for _ in range(2))
    with first as driver, second as spectator:
        driver.send_json(HELLO)
        driver.send_json({"kind": "ping", "sent_ms": 1.0})
        _until(driver, _kind("pong"))
        spectator.send_json(HELLO)
        spectator.send_bytes(write_message(quest_inputs()[0]))
        assert "does not drive" in _until(spectator, _kind("error"))["message"]
        spectator.send_json({"kind": "command", "command": "stop", "reason": "I saw a hand"})
        spectator.send_json({"kind": "ping", "sent_ms": 1.0})
        _until(spectator, _kind("pong"))
        turn = floor.turn()
        assert (turn.tick.state, turn.tick.cause) == ("stopped", "I saw a hand")
        assert _until(driver, lambda said: said.get("event") == "stopped")["cause"]
        driver.send_json({"kind": "command", "command": "reset"})
        driver.send_json({"kind": "ping", "sent_ms": 1.0})
        _until(driver, _kind("pong"))
        assert floor.turn().tick.state == "inert"


def test_the_robot_follows_what_a_page_sends_and_holds_when_it_closes(floor: _Floor) -> None:
    rows = quest_inputs()[:120]
    with floor.client.websocket_connect("/teleoperate") as socket:
        socket.send_json(HELLO)
        socket.send_json({"kind": "command", "command": "engage"})
        before = floor.turn().tick.arms.positions
        for number, row in enumerate(rows):
            times = replace(row.times, device_ns=number * TICK_NS, sent_ns=number * TICK_NS)
            socket.send_bytes(write_message(replace(row, times=times)))
            socket.send_json({"kind": "ping", "sent_ms": 1.0})
            _until(socket, _kind("pong"))
            turn = floor.turn()
        assert turn.tick.state == "engaged"
        assert abs(turn.tick.arms.positions - before).max() > 0.02
        state = _until(
            socket, lambda said: said["kind"] == "state" and said["hands"]["left"]["goal"]
        )
        assert state["latency_ms"]["command"] >= 0
        assert state["hands"]["left"]["error_m"] < 0.2
    closed = floor.turn().tick
    assert (closed.state, closed.cause) == ("hold", "the page was closed")


def test_strangers_need_the_token(program: TeleoperationProgram) -> None:
    program.token = "a secret"
    try:
        with TestClient(program.server.application()) as client:
            assert client.get("/").status_code == 401
            assert client.get("/camera/head_left").status_code == 401
            with (
                pytest.raises(WebSocketDisconnect) as refused,
                client.websocket_connect("/teleoperate"),
            ):
                pass
            assert refused.value.code == 4401
            assert client.get("/?token=a secret").status_code == 200
            # The cookie speaks for the socket from here on.
            with client.websocket_connect("/teleoperate") as socket:
                assert _until(socket, _kind("welcome"))
    finally:
        program.token = None


def test_only_so_many_pages_look_on_and_none_of_them_floods_the_robots_loop(floor: _Floor) -> None:
    with ExitStack() as stack:
        sockets = [stack.enter_context(floor.client.websocket_connect("/teleoperate"))
                   for _ in range(MOST_PAGES)]  # fmt: skip
        for socket in sockets:
            _until(socket, _kind("welcome"))
        with floor.client.websocket_connect("/teleoperate") as one_more:
            with pytest.raises(WebSocketDisconnect) as refused:
                one_more.receive_text()
            assert refused.value.code == 4429
        sockets[0].send_json(HELLO)
        for _ in range(MOST_MESSAGES[False] + 1):
            for socket in sockets[:2]:
                socket.send_json({"kind": "ping", "sent_ms": 1.0})
        with pytest.raises(WebSocketDisconnect) as ended:
            _read_to_the_end(sockets[1])
        assert ended.value.code == 4408
        assert _until(sockets[0], _kind("pong")), "who drives may send as much as a device does"


def test_pictures_are_the_newest_and_framed(floor: _Floor) -> None:
    server = floor.program.server
    with floor.client.websocket_connect("/teleoperate") as socket:
        for number in range(3):
            server.see_picture("head_left", np.full((48, 64, 3), 40 * number, np.uint8), number)
        head: dict[str, Any] = {}
        while head.get("time_ns") != 2:
            message = socket.receive()
            if message.get("bytes") is not None:
                head, picture = unframed(message["bytes"])
                assert head["camera"] == "head_left"
                assert picture.startswith(b"\xff\xd8")
    assert floor.client.get("/camera/head_left").headers["x-time-ns"] == "2"


def test_the_page_can_draw_the_robot_and_what_lies_before_it(floor: _Floor) -> None:
    model = floor.client.get("/robot").json()
    assert model["name"] == "g1"
    with floor.client.websocket_connect("/teleoperate") as socket:
        floor.turn()
        state = _until(socket, _kind("state"))
    assert len(state["positions"]) == len(state["commanded"]) == 29
    assert state["base"][1] == pytest.approx(0.757, abs=0.03), "y is up"
    assert {thing["name"] for thing in state["things"]} >= {"object"}


@pytest.mark.slow
@pytest.mark.alone
def test_the_whole_program_drives_records_and_judges(tmp_path: Path) -> None:
    """In real time, over a real socket: a person follows, ends, and gets a verdict."""
    from websockets.sync.client import connect

    settings = StudioSettings(page=tmp_path, port=0)
    link = robot_drivers()["sim"].open(LinkOptions(seed=2, height=48, width=64))
    make_workspace(tmp_path / "lab").close()
    terms = TeleoperationTerms("pick_place", settings, out=tmp_path / "demos", camera_hz=5.0,
                               countdown_s=0.2, workspace=tmp_path / "lab")  # fmt: skip
    program = TeleoperationProgram(terms, link, is_virtual=False)
    until, address = threading.Event(), []
    is_ready = threading.Event()

    def ready(given: str) -> None:
        address.append(given)
        is_ready.set()

    def operate() -> None:
        assert is_ready.wait(30)
        with connect(address[0].replace("http", "ws") + "/teleoperate") as socket:
            socket.send(json.dumps(HELLO))
            row, commands = (
                quest_inputs()[0],
                {40: "engage", 80: "start", 200: "end", 201: "success"},
            )
            for number in range(1, 420):
                if number in commands:
                    said = {"kind": "command", "command": commands[number]}
                    socket.send(json.dumps(said))
                now_ns = program.now_ns()
                times = replace(row.times, device_ns=now_ns - 4_000_000, sent_ns=now_ns)
                shown = replace(quest_inputs()[number], sequence=number, times=times)
                socket.send(write_message(shown))
                until.wait(0.011)
        until.set()

    person = threading.Thread(target=operate, daemon=True)
    person.start()
    # A browser's test may have left a loop in this thread; a program has one of its own.
    with ThreadPoolExecutor(1) as pool:
        summary = pool.submit(program.run, ready, until).result()
    person.join(timeout=10)
    assert summary.states.get("engaged", 0) > 100
    assert len(summary.episodes) == 1
    assert [verdict.verdict is not None for verdict in summary.verdicts] == [True]
    assert summary.verdicts[0].status is not None, "it is in the workspace"
    # Where Studio's floor looks.
    health = json.loads((tmp_path / "demos" / "health.json").read_text())
    assert health["episodes"] == 1
    assert "observations/head_left" in {stream["path"] for stream in health["streams"]}
    assert summary.command_ms is not None
    with Episode.open(summary.episodes[0]) as episode:
        paths = set(episode)
        assert "debug/operator_message" in paths
        assert "actions/joint_position_target" in paths
        assert "observations/head_left" in paths
        assert episode.metadata["mode"] == "teleoperation"
        assert episode.metadata["outcome"]["success"] is True, "the person's word, after the judge"
