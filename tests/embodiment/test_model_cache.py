"""A robot's models are made once in a process, also for a copy of the robot."""

from __future__ import annotations

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.embodiment import _MOST, model_of
from corporeal.embodiment.kinematics import Kinematics


def test_equal_robots_share_a_model_and_others_have_their_own() -> None:
    robot = open_robot("g1")
    copy = Embodiment.model_validate(robot.model_dump())
    assert copy is not robot
    assert model_of(copy, Kinematics) is model_of(robot, Kinematics)
    assert model_of(open_robot("h1"), Kinematics) is not model_of(robot, Kinematics)


def test_every_kind_of_model_is_kept_beside_the_others() -> None:
    robot = open_robot("g1")
    made = []

    def build(given: Embodiment) -> str:
        made.append(given)
        return given.name

    assert [model_of(robot, build), model_of(robot, build)] == ["g1", "g1"]
    assert made == [robot]
    assert isinstance(model_of(robot, Kinematics), Kinematics)


def test_many_robots_do_not_fill_the_memory_and_are_never_mistaken() -> None:
    robot = open_robot("g1")
    for number in range(2 * _MOST):
        other = robot.model_copy(update={"name": f"robot_{number}"})
        assert model_of(other, Kinematics).embodiment.name == f"robot_{number}"
    assert model_of(robot, Kinematics).embodiment.name == "g1"
