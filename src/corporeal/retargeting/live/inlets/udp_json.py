"""Poses as JSON, one per datagram."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from corporeal.retargeting.live.inlet import (
    Address,
    Arrivals,
    Inlet,
    JsonStream,
    bound_socket,
    in_thread,
)
from corporeal.retargeting.live.pose_message import MAX_BYTES


@contextmanager
def listen(address: Address, arrivals: Arrivals) -> Iterator[Address]:
    """Receive datagrams until the end of the block."""
    stream = JsonStream(address, arrivals)
    with bound_socket(address) as opened:

        def receive(stop: threading.Event) -> None:
            while not stop.is_set():
                try:
                    data, sender = opened.recvfrom(MAX_BYTES + 1)
                except OSError:  # nothing came in time, or a peer of ours is gone
                    continue
                received_ns = time.monotonic_ns()
                if arrivals.admits(sender):
                    stream.take(data, received_ns)

        with in_thread(receive, "udp inlet"):
            yield replace(address, port=opened.getsockname()[1])


INLET = Inlet("udp", listen, 'datagrams {"t": s, "points": {"left_wrist": [x, y, z]}}')
