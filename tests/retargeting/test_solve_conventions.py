"""A robot is retargeted to in the same way whatever axes its file gives to base and feet."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.altered_robots import by_number, turn_link
from tests.retargeting.people import walking_person

from corporeal.embodiment import Embodiment, open_robot
from corporeal.geometry import matrix_from_quaternion, matrix_from_rpy
from corporeal.retargeting.result import Retargeted
from corporeal.retargeting.settings import RetargetSettings
from corporeal.retargeting.solve import retarget_motion

QUICK = RetargetSettings(cutoff_hz=None, avoid_self=False, ease=False)
TURNS = [(0.0, 0.0, np.pi / 2), (np.pi / 2, 0.0, 0.0)]


@cache
def plain() -> tuple[Embodiment, Retargeted]:
    """H1 without its ready map, and its walk of a second."""
    robot = open_robot("h1").model_copy(update={"name": "plain"})
    return robot, _walk(robot)


def _walk(robot: Embodiment) -> Retargeted:
    return retarget_motion(walking_person(30, 30.0), robot, QUICK)


@pytest.mark.parametrize("rpy", TURNS)
def test_a_base_with_other_axes_moves_in_the_same_way(rpy: tuple[float, float, float]) -> None:
    robot, straight = plain()
    turned = _walk(turn_link(robot, robot.base, rpy))
    np.testing.assert_allclose(turned.q, straight.q, atol=0.02)
    np.testing.assert_allclose(turned.base[:, :3], straight.base[:, :3], atol=0.005)
    rotations = matrix_from_quaternion(turned.base[:, 3:]) @ matrix_from_rpy(rpy).T
    np.testing.assert_allclose(rotations, matrix_from_quaternion(straight.base[:, 3:]), atol=0.02)


def test_feet_with_other_axes_stand_in_the_same_way() -> None:
    robot, straight = plain()
    for side in ("left", "right"):
        robot = turn_link(robot, f"{side}_ankle_link", (0.0, np.pi / 2, 0.0))
    np.testing.assert_allclose(_walk(robot).q, straight.q, atol=0.02)


def test_a_robot_without_names_follows_a_walk() -> None:
    result = _walk(by_number(open_robot("g1")))
    assert result.infeasible.mean() < 0.1
    up = matrix_from_quaternion(result.base[:, 3:])[:, 2, 2]
    assert up.min() > 0.95
    assert result.base[-1, 0] - result.base[0, 0] > 0.2
