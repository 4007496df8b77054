"""Cameras of a driven robot: the newest picture for whoever looks, none of them ever queued."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.teleoperation.robot_link import RobotLink

Viewer = Callable[[str, NDArray[np.uint8], int], Any]


class CameraFeed:
    """Draws each camera `rate_hz` times a second; `viewers` get name, picture and its time."""

    def __init__(self, link: RobotLink, cameras: tuple[str, ...], *, rate_hz: float = 15.0) -> None:
        self.link, self.cameras, self.rate_hz = link, cameras, rate_hz
        self.viewers: list[Viewer] = []
        self.failure: BaseException | None = None
        self._due_ns = 0
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    def draw_due(self, now_ns: int) -> None:
        """Draw what is due at a time; pictures that were missed are not made up for."""
        if now_ns < self._due_ns:
            return
        period_ns = round(1e9 / self.rate_hz)
        self._due_ns = max(self._due_ns + period_ns, now_ns - period_ns + 1)
        for camera in self.cameras:
            picture = self.link.picture(camera)
            for viewer in self.viewers:
                viewer(camera, picture, now_ns)

    def start(self, clock: Callable[[], int]) -> None:
        """Draw in a thread of its own until `stop`."""
        self._thread = threading.Thread(
            target=self._run, args=(clock,), name="robot's cameras", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the thread."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _run(self, clock: Callable[[], int]) -> None:
        try:
            while not self._stopping.is_set():
                wait_s = (self._due_ns - clock()) / 1e9
                if wait_s > 0:
                    self._stopping.wait(min(wait_s, 0.1))
                    continue
                self.draw_due(clock())
        except BaseException as error:  # Told by whoever waits; the robot goes on without pictures.
            self.failure = error
        finally:
            self.link.release_cameras()
