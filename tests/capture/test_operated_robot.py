"""A driven robot as a source: what a recorder that lags costs is told, and holds nobody up."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from corporeal.capture.driver import Loss, Mark, Sample
from corporeal.capture.operated_robot import OperatedRobot

CAMERA = "observations/head_left"


def test_what_a_recorder_that_lags_costs_is_told_in_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("corporeal.capture.operated_robot._WAITING", 2)
    link: Any = None  # Nobody asks the robot here.
    driven = OperatedRobot(link, {"head_left": (2, 2)}, 20.0, is_live=True)
    items = driven.source.driver.read(None)

    def see(*numbers: int) -> None:
        for number in numbers:
            driven.see_picture("head_left", np.zeros((2, 2, 3), np.uint8), number)

    see(0, 1, 2, 3, 4)
    assert driven.lost == 3
    # A mark is never lost and never waits, for the robot's loop would wait with it.
    driven.mark(Mark("end", 5))
    kept = [next(items) for _ in range(4)]
    assert [item.source_ns for item in kept[:2] if isinstance(item, Sample)] == [0, 1]
    assert kept[2] == Loss(CAMERA, 3, "the recorder was behind")
    assert isinstance(kept[3], Mark)
    see(6)
    assert isinstance(next(items), Sample)
    see(7, 8, 9)
    driven.end()
    assert [type(item) for item in items] == [Sample, Sample, Loss]
