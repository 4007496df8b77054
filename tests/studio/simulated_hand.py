"""A hand that holds a board where a guided capture asks for it, as a camera sees it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.calibration.marker_pictures import HEIGHT, WIDTH
from tests.calibration.test_guided_capture import BOARD, FRAME_NS, held, picture_of

from corporeal.calibration.camera import CameraSettings
from corporeal.calibration.guidance import CaptureGoal, GuidedCapture
from corporeal.cli.guided_calibration import Guide, GuidedCamera, GuideTerms, Pictures
from corporeal.geometry import Array
from corporeal.studio.guide_feed import GuideFeed

_FRAMES = 6
ALL_VIEWS = 1_000


class SimulatedHand:
    """Follows until `views_wanted` are taken; then it keeps the board far away, helping nobody."""

    def __init__(self, seed: int = 7) -> None:
        self._rng = np.random.default_rng(seed)
        self.views_wanted = 0
        self.is_over = threading.Event()
        self._frame = 0

    def pictures(self, capture_of: Callable[[], GuidedCapture | None]) -> Pictures:
        """Pictures without end: to the asked view in two of them, then still for the others."""
        away = np.array([0.0, 0.0, 0.0, -0.14, -0.1, 1.4])
        pose = away
        while not self.is_over.is_set():
            capture = capture_of()
            follows = capture is not None and len(capture.views) < self.views_wanted
            target = held(capture, self._rng) if capture and follows else away
            for step in range(_FRAMES):
                pose = pose + (target - pose) * (1.0 if step else 0.5)
                if not follows:
                    self.is_over.wait(0.05)
                yield self._seen(pose)
                if capture is not None and capture_of() is not capture:
                    return

    def _seen(self, pose: Array) -> tuple[int, np.ndarray]:
        self._frame += 1
        return self._frame * FRAME_NS, picture_of(pose, self._rng)


def guide_of(
    hand: SimulatedHand, out: Path, feed: GuideFeed, *names: str, goal: float = 0.25,
    say: Callable[[str], object] = print,
) -> Guide:  # fmt: skip
    """A guide through cameras of these names, all before the same hand."""
    cameras = [GuidedCamera(name, hand.pictures) for name in names]
    terms = GuideTerms(BOARD, CameraSettings(), CaptureGoal(uncertainty_px=goal), out)
    assert (WIDTH, HEIGHT) == (640, 480)
    return Guide(cameras, terms, feed=feed, say=say)
