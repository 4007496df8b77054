"""The simulated robot under command: it stands, crouches, walks, and its scene is judged."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from corporeal.geometry import Array
from corporeal.simulation.live import KNEEL_M, LiveSimulation

pytest.importorskip("mujoco", reason="needs the extra robot")


@pytest.fixture(scope="module")
def live() -> LiveSimulation:
    return LiveSimulation("pick_place", seed=3)


def _arms(live: LiveSimulation) -> tuple[NDArray[np.int64], Array]:
    columns = np.concatenate([live.world.joints(f"{side}_arm") for side in ("left", "right")])
    return columns, live.read().joints[columns]


def _go(live: LiveSimulation, seconds: float, *, kneels: bool = False) -> None:
    columns, angles = _arms(live)
    for _ in range(round(seconds * 100)):
        live.drive(columns, angles, np.ones(2), velocity=np.zeros(3), kneels=kneels)


def test_it_crouches_under_control_and_comes_up_again(live: LiveSimulation) -> None:
    _go(live, 0.5)
    high = live.read().base[2]
    _go(live, 3.0, kneels=True)
    low = live.read().base
    assert high - low[2] == pytest.approx(KNEEL_M, abs=0.02)
    assert 1 - 2 * (low[4] ** 2 + low[5] ** 2) > 0.95, "upright"
    _go(live, 3.0)
    assert live.read().base[2] == pytest.approx(high, abs=0.01)


def test_what_is_judged_begins_where_the_demonstration_does(live: LiveSimulation) -> None:
    live.put_back()
    _go(live, 0.5)
    live.begin()
    _go(live, 1.5)
    outcome = live.judge()
    assert outcome is not None
    assert outcome.failure == "missed_grasp"
    assert outcome.measures["duration_s"] == pytest.approx(1.5, abs=0.03)
    assert live.judge() is None, "nothing has begun anew"


def test_the_scene_is_put_back_with_the_object_a_little_elsewhere(live: LiveSimulation) -> None:
    live.put_back()
    first = live.read().object_pose
    live.put_back()
    second = live.read().object_pose
    assert first is not None
    assert second is not None
    assert 0 < np.abs(first[:2] - second[:2]).max() <= 0.03
    assert live.read().base[2] == pytest.approx(0.757, abs=0.02)
