"""Forward, left and up of robots whose files have other conventions."""

from __future__ import annotations

import numpy as np
import pytest
from tests.altered_robots import turn_link

from corporeal.embodiment import open_robot
from corporeal.embodiment.collision import body_axes, foot_axes
from corporeal.geometry import matrix_from_rpy

TURNS = [(0.0, 0.0, np.pi / 2), (np.pi / 2, 0.0, 0.0), (-np.pi / 2, 0.0, -np.pi / 2)]
ROBOTS = ("g1", "g1_23dof", "gr1", "h1", "walker_s2")


@pytest.mark.parametrize("name", ROBOTS)
def test_built_in_robots_look_along_x_and_stand_along_z(name: str) -> None:
    robot = open_robot(name)
    np.testing.assert_allclose(body_axes(robot), np.eye(3), atol=1e-9)
    for side in ("left", "right"):
        np.testing.assert_allclose(foot_axes(robot, side)[:, 2], [0, 0, 1], atol=1e-6)


@pytest.mark.parametrize("rpy", TURNS)
def test_a_turned_base_is_told_from_hips_and_feet(rpy: tuple[float, float, float]) -> None:
    robot = open_robot("g1")
    turned = turn_link(robot, robot.base, rpy)
    np.testing.assert_allclose(matrix_from_rpy(rpy) @ body_axes(turned), np.eye(3), atol=1e-9)


@pytest.mark.parametrize("rpy", TURNS)
def test_a_turned_foot_has_the_same_sole(rpy: tuple[float, float, float]) -> None:
    robot = open_robot("h1")
    link = "left_ankle_link"
    turned = turn_link(robot, link, rpy)
    same = matrix_from_rpy(rpy) @ foot_axes(turned, "left")
    np.testing.assert_allclose(same, foot_axes(robot, "left"), atol=1e-6)


def test_two_arms_alone_stand_along_z() -> None:
    np.testing.assert_allclose(body_axes(open_robot("aloha"))[:, 2], [0, 0, 1], atol=1e-9)
