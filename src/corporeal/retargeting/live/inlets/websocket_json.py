"""Poses as JSON, one per WebSocket message; one demonstrator at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from corporeal.errors import MissingExtraError
from corporeal.retargeting.live.inlet import (
    OWN_PAGES,
    Address,
    Arrivals,
    Inlet,
    JsonStream,
    in_thread,
)
from corporeal.retargeting.live.pose_message import MAX_BYTES
from corporeal.retargeting.motion import MotionError


@contextmanager
def listen(address: Address, arrivals: Arrivals) -> Iterator[Address]:
    """Accept connections until the end of the block; pages of strangers are refused."""
    try:
        from websockets.exceptions import ConnectionClosed
        from websockets.sync.server import ServerConnection, serve
    except ModuleNotFoundError:
        raise MissingExtraError("websockets", "live") from None

    def follow(client: ServerConnection) -> None:
        stream = JsonStream(address, arrivals)
        try:
            for data in client:
                received_ns = time.monotonic_ns()
                if not arrivals.admits(client.id):
                    client.close(1013, "another demonstrator is being followed")
                    return
                stream.take(data, received_ns)
        except ConnectionClosed:
            arrivals.reject("a connection that ended within a message")

    try:
        server = serve(
            follow,
            address.host,
            address.port,
            max_size=MAX_BYTES,
            compression=None,
            origins=[None, OWN_PAGES],
        )
    except OSError as error:
        raise MotionError(
            f"cannot listen at {address}: {error.strerror or error}. Choose another address."
        ) from None
    with in_thread(lambda _: server.serve_forever(), "websocket inlet"):
        try:
            yield replace(address, port=server.socket.getsockname()[1])
        finally:
            server.shutdown()


INLET = Inlet("ws", listen, 'messages {"t": s, "points": {"left_wrist": [x, y, z]}}')
