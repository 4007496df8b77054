"""Where the soles of robots are: edges, corners, and what stands in for a foot without shapes."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.embodiment import Shape
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import ModelError
from corporeal.retargeting.goal.soles import corner_heights, soles_of

ROBOTS = ("g1", "g1_23dof", "gr1", "h1", "walker_s2")


@pytest.mark.parametrize("name", ROBOTS)
def test_a_standing_robot_stands_on_all_corners_of_both_soles(name: str) -> None:
    robot = open_robot(name)
    assert robot.standing is not None
    base = np.array([[0, 0, robot.standing.height, 1, 0, 0, 0]])
    poses = Kinematics(robot).transforms(standing_positions(robot)[None], base)
    heights = corner_heights(soles_of(robot), poses)
    assert np.ptp(heights) < 0.005
    assert abs(heights.mean()) < 0.02


@pytest.mark.parametrize("name", ROBOTS)
def test_left_and_right_soles_mirror_each_other_and_point_ahead(name: str) -> None:
    soles = soles_of(open_robot(name))
    np.testing.assert_allclose(soles.heel[0] * [1, -1, 1], soles.heel[1], atol=1e-6)
    np.testing.assert_allclose(soles.toe[0] * [1, -1, 1], soles.toe[1], atol=1e-6)
    ahead = np.einsum("fij,fi->fj", soles.rotations, soles.toe - soles.heel)
    np.testing.assert_allclose(ahead[:, 1:], 0, atol=1e-6)
    assert 0.15 < soles.length < 0.35
    assert (soles.toe[:, 0] > soles.heel[:, 0]).all()


def test_corners_are_rear_left_rear_right_front_left_front_right() -> None:
    soles = soles_of(open_robot("g1"))
    signs = np.sign(soles.corners - soles.corners.mean(axis=1, keepdims=True))[..., :2]
    np.testing.assert_array_equal(signs[0], [[-1, 1], [-1, -1], [1, 1], [1, -1]])
    np.testing.assert_allclose(soles.corners[:, :2].mean(axis=1), soles.heel)
    np.testing.assert_allclose(soles.corners[:, 2:].mean(axis=1), soles.toe)


def _with_foot(robot: Embodiment, *shapes: Shape) -> Embodiment:
    """The robot with other shapes on both feet."""
    feet = set(soles_of(robot).link.tolist())
    links = tuple(
        link.model_copy(update={"collision": shapes}) if number in feet else link
        for number, link in enumerate(robot.links)
    )
    return robot.model_copy(update={"links": links})


def test_a_foot_without_shapes_has_a_usual_sole_at_its_named_place() -> None:
    robot = open_robot("g1")
    soles = soles_of(_with_foot(robot))
    assert soles.length == pytest.approx(0.2)
    np.testing.assert_allclose(soles.corners.mean(axis=1), soles.centre)


@pytest.mark.parametrize(
    ("shape", "length", "width", "below"),
    [
        (Shape(type="box", size=(0.3, 0.1, 0.04)), 0.3, 0.1, 0.02),
        (Shape(type="box", size=(0.3, 0.1, 0.04), rpy=(0, 0, np.pi / 2)), 0.1, 0.3, 0.02),
        (Shape(type="sphere", size=(0.07,)), 0.14, 0.14, 0.07),
        (Shape(type="capsule", size=(0.03, 0.2), rpy=(0, np.pi / 2, 0)), 0.26, 0.06, 0.03),
        (Shape(type="cylinder", size=(0.03, 0.2), rpy=(0, np.pi / 2, 0)), 0.2, 0.06, 0.03),
    ],
)
def test_a_sole_is_as_large_as_the_shape_that_stands(
    shape: Shape, length: float, width: float, below: float
) -> None:
    soles = soles_of(_with_foot(open_robot("g1"), shape))
    spread = np.ptp(soles.corners, axis=1)
    np.testing.assert_allclose(spread, [[length, width, 0]] * 2, atol=1e-9)
    np.testing.assert_allclose(soles.corners[..., 2], -below)


def test_a_robot_without_a_foot_is_told_to_declare_it() -> None:
    robot = open_robot("g1")
    lame = robot.model_copy(update={"feet": {"left": robot.feet["left"]}})
    with pytest.raises(ModelError, match=r"has no right foot, got \['left'\].*Declare them"):
        soles_of(lame)
