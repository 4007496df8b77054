"""Half-open and slow connections keep nobody out, and do not fill the disk with a log."""

from __future__ import annotations

import logging
import resource
import socket
import threading
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

import pytest
import uvicorn
from tests.studio.conftest import SmallWorkspace
from tests.studio.people import make_page
from tests.studio.studio_process import StudioProcess
from tests.studio.waiting import SECONDS, comes_to
from websockets.sync.client import connect

from corporeal.catalog.workspace import Workspace
from corporeal.studio.access.connections import StudioConfig
from corporeal.studio.access.log_bounds import MOST_LINES, WINDOW_S, LogBounds
from corporeal.studio.context import open_studio
from corporeal.studio.server import create_application
from corporeal.studio.settings import ConnectionBounds, StudioSettings

HALF_HEAD = b"GET / HTTP/1.1\r\nX: "
HALF_BODY = (
    b"POST /api/login HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Studio: 1\r\n"
    b"Content-Type: application/json\r\nContent-Length: 90\r\n\r\n{"
)
SHORT = ConnectionBounds(head_s=0.3, body_s=0.3, reading_s=0.3)
PATIENT = ConnectionBounds(most=128, most_per_address=32, head_s=SECONDS, body_s=SECONDS)


@contextmanager
def serving(
    workspace: Workspace, bounds: ConnectionBounds, settings: StudioSettings | None = None
) -> Iterator[tuple[int, StudioConfig]]:
    """A real server in a thread: its port, and its configuration."""
    with open_studio(workspace, settings or StudioSettings()) as studio:
        config = StudioConfig(create_application(studio), bounds, port=0)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, daemon=True)
        thread.start()
        comes_to(None, lambda: server.started, True)
        yield server.servers[0].sockets[0].getsockname()[1], config
        server.should_exit = True
        thread.join(timeout=SECONDS)


def ask(port: int, path: str = "/api/session") -> int:
    """The status of an answer."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=SECONDS) as answer:
        answer.read()
        return int(answer.status)


def owe(port: int, words: bytes, address: str = "127.0.0.1") -> socket.socket:
    """A connection that has sent some bytes of a request."""
    line = socket.create_connection(("127.0.0.1", port), SECONDS, source_address=(address, 0))
    line.sendall(words)
    return line


def reads_its_end(line: socket.socket) -> bool:
    """Whether the server ends a connection, within the timeout of the socket."""
    try:
        while line.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


@pytest.mark.parametrize("words", [b"", HALF_HEAD, HALF_BODY], ids=["nothing", "head", "body"])
def test_hundreds_of_half_open_connections_leave_room_for_others(
    workspace: Workspace, words: bytes
) -> None:
    with serving(workspace, PATIENT) as (port, config), ExitStack() as stack:
        for number in range(300):
            address = f"127.0.0.{2 + number % 8}"
            stack.enter_context(closing(owe(port, words, address)))
        assert ask(port) == 200
        assert len(config.connections._addresses) <= PATIENT.most
    assert not config.connections._addresses
    assert not config.connections._owing


def test_one_address_has_its_share_and_no_more(workspace: Workspace) -> None:
    with serving(workspace, PATIENT) as (port, config), ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(closing(owe(port, HALF_HEAD)))
        assert ask(port) == 200
        assert config.connections._counts["127.0.0.1"] <= PATIENT.most // 2


@pytest.mark.parametrize("words", [b"", HALF_HEAD, HALF_BODY], ids=["nothing", "head", "body"])
def test_a_request_that_does_not_come_to_its_end_is_let_go(
    workspace: Workspace, words: bytes
) -> None:
    with serving(workspace, SHORT) as (port, _), closing(owe(port, words)) as line:
        assert reads_its_end(line)


def test_bytes_that_trickle_in_do_not_move_the_deadline(workspace: Workspace) -> None:
    with serving(workspace, SHORT) as (port, _), closing(owe(port, HALF_HEAD)) as line:
        line.settimeout(0.02)
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            try:
                line.sendall(b"x")
                if not line.recv(1):
                    return
            except TimeoutError:
                continue
            except ConnectionError:
                return
        pytest.fail("the connection is still open")


def test_a_half_request_after_a_whole_one_is_let_go_as_well(workspace: Workspace) -> None:
    whole = b"GET /api/session HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with serving(workspace, SHORT) as (port, _), closing(owe(port, whole)) as line:
        assert line.recv(65536).startswith(b"HTTP/1.1 200")
        line.sendall(HALF_HEAD)
        assert reads_its_end(line)


def test_a_client_that_does_not_read_its_answer_is_let_go(
    workspace: Workspace, tmp_path: Path
) -> None:
    page = make_page(tmp_path / "page")
    (page / "assets" / "large.bin").write_bytes(bytes(64 << 20))
    wanted = b"GET /assets/large.bin HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    with (
        serving(workspace, SHORT, StudioSettings(page=page)) as (port, config),
        closing(owe(port, wanted)),
    ):
        comes_to(None, lambda: len(config.connections._addresses), 1)
        comes_to(None, lambda: len(config.connections._addresses), 0)
        assert ask(port, "/assets/large.bin") == 200


def test_a_socket_that_looks_at_recorders_keeps_its_place_and_gives_it_back(
    workspace: Workspace,
) -> None:
    settings = StudioSettings(recorders=("127.0.0.1:9",))
    with serving(workspace, SHORT, settings) as (port, config):
        with connect(f"ws://127.0.0.1:{port}/api/live") as line:
            line.recv(SECONDS)
            assert config.connections._counts["127.0.0.1"] == 1
            until = time.monotonic() + 3 * SHORT.head_s
            while (left_s := until - time.monotonic()) > 0:
                with suppress(TimeoutError):  # Nothing was said; it is open all the same.
                    line.recv(left_s)
        comes_to(None, lambda: len(config.connections._addresses), 0)


def test_where_all_are_served_newcomers_are_told_to_come_again(workspace: Workspace) -> None:
    bounds = ConnectionBounds(most=4)
    settings = StudioSettings(recorders=("127.0.0.1:9",))
    with serving(workspace, bounds, settings) as (port, _), ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(connect(f"ws://127.0.0.1:{port}/api/live")).recv(SECONDS)
        with closing(owe(port, HALF_HEAD)) as line:
            assert line.recv(4096).startswith(b"HTTP/1.1 503")


def test_the_log_has_some_lines_of_a_kind_a_minute_and_counts_the_others() -> None:
    clock = [0.0]
    bounds = LogBounds(clock=lambda: clock[0])

    def say(name: str, words: str) -> logging.LogRecord | None:
        record = logging.LogRecord(name, logging.ERROR, "", 0, words, (), None)
        return record if bounds.filter(record) else None

    accepts = [say("asyncio", f"socket.accept() out\nsocket: {each}") for each in range(5000)]
    shown = [record for record in accepts if record is not None]
    assert [record.getMessage() for record in shown] == [
        "no more connections can be taken now; trying again"
    ]
    invalid = [say("uvicorn.error", "Invalid HTTP request received.") for _ in range(500)]
    assert sum(record is not None for record in invalid) == MOST_LINES
    others = [say("corporeal.studio", f"failure {number}") for number in range(5000)]
    assert sum(record is not None for record in others) < 100
    clock[0] = WINDOW_S
    next_line = say("uvicorn.error", "Invalid HTTP request received.")
    assert next_line is not None
    assert "lines were left out" in next_line.getMessage()


@pytest.mark.slow  # A process of its own, with a thousand connections.
def test_a_thousand_half_open_connections_do_not_shut_studio(
    small_workspace: SmallWorkspace, tmp_path: Path
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 1400:
        pytest.skip("this process may not open a thousand sockets")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 1400), hard))
    log = tmp_path / "log"
    studio = StudioProcess(small_workspace.root, files=600, log=log)
    studio.start()
    try:
        with ExitStack() as stack:
            for number in range(1000):
                words = (b"", HALF_HEAD, HALF_BODY)[number % 3]
                address = f"127.0.0.{2 + number % 20}"
                stack.enter_context(closing(owe(studio.port, words, address)))
                if number % 250 == 249:
                    assert ask(studio.port) == 200
            assert ask(studio.port) == 200
    finally:
        studio.kill()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert log.stat().st_size < 20_000
