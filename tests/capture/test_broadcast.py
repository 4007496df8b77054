"""Health over a WebSocket on the loopback: every client hears, nobody can hold it up."""

from __future__ import annotations

import json
import socket
from pathlib import Path

import pytest

from corporeal.capture.broadcast import Broadcast
from corporeal.capture.health import Health, HealthMonitor
from corporeal.errors import CorporealError
from corporeal.schema.schema import Schema

client = pytest.importorskip("websockets.sync.client")
pytestmark = pytest.mark.usefixtures("no_thread_is_left")


@pytest.fixture
def health(small_schema: Schema, tmp_path: Path) -> Health:
    """Some health."""
    return HealthMonitor(small_schema, tmp_path).read(5, state="recording", episode="a")


def test_every_client_gets_the_latest_and_what_follows(health: Health) -> None:
    with Broadcast(0) as server:
        address = f"ws://127.0.0.1:{server.port}"
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
        address = f"ws://127.0.0.1:{server.port}"
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
