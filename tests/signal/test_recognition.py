"""Numbers of any origin are known by names, content and robot, not by one spelling."""

from __future__ import annotations

import numpy as np
import pytest

from corporeal.embodiment import open_robot
from corporeal.signal.recognition import (
    claim_joints,
    imu_columns,
    imu_units,
    says_command,
    sensor_name,
)

CANONICAL = ("ax", "ay", "az", "wx", "wy", "wz")


@pytest.mark.parametrize(
    "names",
    [
        ("accel_x", "accel_y", "accel_z", "gyro_x", "gyro_y", "gyro_z"),
        ("linear_acceleration.x", "linear_acceleration.y", "linear_acceleration.z",
         "angular_velocity.x", "angular_velocity.y", "angular_velocity.z"),
        ("imu_acc_x", "imu_acc_y", "imu_acc_z", "imu_gyro_x", "imu_gyro_y", "imu_gyro_z"),
        CANONICAL,
    ],
)  # fmt: skip
def test_an_imu_is_known_by_its_columns(names: tuple[str, ...]) -> None:
    assert imu_columns(names) == CANONICAL


@pytest.mark.parametrize("names", [("x", "y", "z"), ("accel_x", "accel_y"), ("ax",) * 3])
def test_other_columns_are_no_imu(names: tuple[str, ...]) -> None:
    assert imu_columns(names) is None


def test_the_size_of_gravity_tells_the_unit() -> None:
    values = np.tile([0.1, 0.2, 9.8, 0.0, 0.1, 0.2], (50, 1))
    assert imu_units(CANONICAL, values) == ("m/s2",) * 3 + ("1",) * 3
    assert set(imu_units(CANONICAL, values / 9.8)) == {"1"}


def test_half_of_the_columns_must_be_joints_of_the_robot() -> None:
    robot = open_robot("g1")
    claimed = claim_joints(["kLeftKnee", "kRightKnee", "battery"], "rad", robot)
    assert claimed is not None
    components, units = claimed
    assert components == ("left_knee_joint", "right_knee_joint", "battery")
    assert units == ("rad", "rad", "rad")
    assert claim_joints(["rotor_1", "rotor_2", "left_knee"], "rad", robot) is None


def test_a_sensor_is_named_by_topic_then_frame() -> None:
    assert sensor_name("/torso/imu", "imu_link", "_imu") == "torso_imu"
    assert sensor_name("/imu/data", "pelvis", "_imu") == "pelvis_imu"
    assert sensor_name("/imu/data", None, "_imu") == "body_imu"


def test_leading_arms_and_commands_command() -> None:
    assert says_command("/leader_left/joint_states")
    assert says_command("/arm_controller/commands")
    assert not says_command("/follower_left/joint_states")
