"""Health over a WebSocket on the loopback: every client hears, nobody can hold it up."""

from __future__ import annotations

import io
import json
import socket
import stat
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from corporeal.capture.broadcast import (
    PICTURES,
    PORTS,
    Broadcast,
    health_key,
    open_broadcast,
)
from corporeal.capture.health import Health, HealthMonitor
from corporeal.capture.thumbnail import unframed
from corporeal.errors import CorporealError
from corporeal.schema import Schema

client = pytest.importorskip("websockets.sync.client")
pytestmark = pytest.mark.usefixtures("no_thread_is_left")


@pytest.fixture
def health(small_schema: Schema, tmp_path: Path) -> Health:
    """Some health."""
    return HealthMonitor(small_schema, tmp_path).read(5, state="recording", episode="a")


def test_every_client_gets_the_latest_and_what_follows(health: Health) -> None:
    with Broadcast(0) as server:
        address = f"ws://127.0.0.1:{server.port}/?token={server.token}"
        with client.connect(address) as first:
            assert json.loads(first.recv(timeout=5)) == {}
            server.publish(health)
            told = json.loads(first.recv(timeout=5))
            assert told == json.loads(json.dumps(health.to_json()))
            assert told["streams"][0]["path"] == "observations/arm"
            with client.connect(address) as second:
                assert json.loads(second.recv(timeout=5)) == told
                server.publish(health)
                assert json.loads(second.recv(timeout=5)) == told
            assert json.loads(first.recv(timeout=5)) == told


def test_a_client_that_leaves_or_never_listens_does_no_harm(health: Health) -> None:
    with Broadcast(0) as server:
        stranger = socket.create_connection(("127.0.0.1", server.port))
        stranger.sendall(b"no handshake")
        address = f"ws://127.0.0.1:{server.port}/?token={server.token}"
        with client.connect(address), client.connect(address) as other:
            stranger.close()
            assert json.loads(other.recv(timeout=5)) == {}
            for _ in range(5):
                server.publish(health)
            assert json.loads(other.recv(timeout=5))["episode"] == "a"


def test_a_port_in_use_is_named() -> None:
    with (
        Broadcast(0) as server,
        pytest.raises(CorporealError, match=f"health port {server.port}: .* Choose another"),
    ):
        Broadcast(server.port)


def test_pictures_go_to_those_who_ask_for_them_and_others_get_what_they_always_got(
    health: Health,
) -> None:
    picture = np.full((480, 640, 3), 90, np.uint8)
    with Broadcast(0) as server:
        address = f"ws://127.0.0.1:{server.port}/?token={server.token}"
        server.show("observations/camera", picture)  # Nobody looks: nothing is made of it.
        pictures = address.replace("/?", f"{PICTURES}?")
        with client.connect(pictures) as viewer, client.connect(address) as other:
            for each in (viewer, other):
                assert json.loads(each.recv(timeout=5)) == {}
            server.show("observations/camera", picture)
            server.publish(health)
            head, made = unframed(viewer.recv(timeout=5))
            assert head == {"stream": "observations/camera"}
            assert Image.open(io.BytesIO(made)).size == (320, 240)
            assert json.loads(viewer.recv(timeout=5))["episode"] == "a"
            assert json.loads(other.recv(timeout=5))["episode"] == "a"


@pytest.mark.parametrize(
    ("origin", "is_let_in"),
    [("https://evil.org", False), ("null", False), ("http://localhost.evil.org", False),
     ("http://localhost:8700", True), ("http://127.0.0.1:8700", True)],
)  # fmt: skip
def test_pages_of_strangers_are_refused(origin: str, is_let_in: bool) -> None:
    from websockets.exceptions import InvalidStatus

    with Broadcast(0) as server:
        address = f"ws://127.0.0.1:{server.port}{PICTURES}?token={server.token}"
        if is_let_in:
            with client.connect(address, origin=origin) as viewer:
                assert json.loads(viewer.recv(timeout=5)) == {}
        else:
            with pytest.raises(InvalidStatus, match="403"):
                client.connect(address, origin=origin)


@pytest.mark.parametrize("path", ["", PICTURES, "/elsewhere", f"{PICTURES}?token=guess"])
@pytest.mark.parametrize("key", [None, "", "guess"])
def test_health_and_pictures_take_the_users_key_also_on_this_machine(
    path: str, key: str | None
) -> None:
    from websockets.exceptions import InvalidStatus

    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    with Broadcast(0) as server:
        address = f"ws://127.0.0.1:{server.port}{path}"
        with pytest.raises(InvalidStatus, match="401"):
            client.connect(address, additional_headers=headers)
        own = {"Authorization": f"Bearer {health_key()}"}
        with client.connect(address, additional_headers=own) as viewer:
            assert json.loads(viewer.recv(timeout=5)) == {}


def test_the_users_key_is_made_once_and_for_them_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    first = health_key()
    assert health_key() == first
    (path,) = (tmp_path / "corporeal").iterdir()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    monkeypatch.setenv("CORPOREAL_RECORDER_KEY", "of another user")
    assert health_key() == "of another user"


def test_recorders_take_the_ports_where_studio_looks_one_after_the_other() -> None:
    with ExitStack() as stack:
        made = [open_broadcast() for _ in range(2)]
        for each in made:
            if each is not None:
                stack.enter_context(each)
        ports = [each.port for each in made if each is not None]
        assert len(set(ports)) == len(ports)
        assert all(port in PORTS for port in ports)


def test_a_floor_of_twelve_stations_on_one_machine_has_a_port_for_each_twice() -> None:
    assert len(PORTS) == 24


def test_closing_twice_does_no_harm() -> None:
    server = Broadcast(0)
    server.close()
    server.close()
