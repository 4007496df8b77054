"""Halves of the views of one camera, and of two that were mixed: how often they contradict."""

from __future__ import annotations

import numpy as np
from tests.calibration.test_camera import BOARD, TRUE, guided_views, seen

from corporeal.calibration.camera import CameraSettings
from corporeal.calibration.certainty import compare_halves
from corporeal.calibration.detection import BoardView
from corporeal.calibration.lens import Lens


def halves(runs: int, first: int) -> dict[str, float]:
    """The share of runs in which halves are not explained: none should be, then all."""
    wider = TRUE.with_values(TRUE.values * [1.03, 1.03, 1, 1, 1, 1, 1, 1, 1])
    other = TRUE.with_values(TRUE.values * [1.03, 1.03, 0.98, 1.03, 0.9, 1, -1, 1, 1])
    cases = {
        "asked for, 10 views": (TRUE, 10, True),
        "at random, 10 views": (TRUE, 10, False),
        "at random, 20 views": (TRUE, 20, False),
        "another zoom by 3 %, 10 + 10 asked for": (wider, 20, True),
        "another camera, 10 + 10 asked for": (other, 20, True),
    }
    figures = {}
    for name, (last, count, is_guided) in cases.items():
        apart = 0
        for seed in range(first, first + runs):
            rng = np.random.default_rng(seed)
            parts = [_views(lens, count // 2, rng, is_guided=is_guided) for lens in (TRUE, last)]
            compared = compare_halves([*parts[0], *parts[1]], BOARD, 640, 480, CameraSettings())
            apart += compared is not None and not compared.is_explained
        figures[name] = apart / runs
    return figures


def _views(lens: Lens, count: int, rng: np.random.Generator, *, is_guided: bool) -> list[BoardView]:
    if is_guided:
        return guided_views(lens, count, rng)
    views: list[BoardView] = []
    while len(views) < count:
        pose = np.concatenate([rng.normal(0, 0.3, 3), rng.normal([-0.1, -0.07, 0.55], 0.08)])
        view = seen(lens, pose, rng)
        views += [view] if len(view) >= 12 else []
    return views
