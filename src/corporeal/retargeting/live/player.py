"""A clip sent as if somebody moved right now: for trying a live session without a suit."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from corporeal.retargeting.cleaning.cleaning import clean
from corporeal.retargeting.motion import POINTS, HumanMotion, MotionError
from corporeal.retargeting.reader import read_motion


@contextmanager
def play_clip(clip: Path, address: str) -> Iterator[None]:
    """Send a clip to a udp:// address in its own time, again and again, until the block ends."""
    target = urlsplit(address)
    if target.scheme != "udp" or not target.hostname or not target.port:
        raise MotionError(f"{address}: a clip is played to udp://HOST:PORT only. Name one.")
    motion = clean(read_motion(clip))
    stop = threading.Event()
    sender = threading.Thread(
        target=_play, args=(motion, (target.hostname, target.port), stop), daemon=True
    )
    sender.start()
    try:
        yield
    finally:
        stop.set()
        sender.join()


def message_of(motion: HumanMotion, frame: int, t_s: float) -> bytes:
    """One frame as a datagram: all points that are known, with their confidence."""
    rows = np.column_stack([motion.positions[frame], motion.confidence[frame]]).round(5).tolist()
    known = {name: row for name, row in zip(POINTS, rows, strict=True) if row[3] > 0}
    return json.dumps({"t": t_s, "points": known}).encode()


def _play(motion: HumanMotion, target: tuple[str, int], stop: threading.Event) -> None:
    """There and back through the clip, so that its end is no leap."""
    order = [*range(len(motion)), *range(len(motion) - 2, 0, -1)]
    begun, sent = time.monotonic(), 0
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as out:
        while not stop.is_set():
            out.sendto(message_of(motion, order[sent % len(order)], sent / motion.rate_hz), target)
            sent += 1
            stop.wait(max(0.0, begun + sent / motion.rate_hz - time.monotonic()))
