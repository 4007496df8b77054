"""The world holds our robot, its grippers, sensors and cameras under their promised names."""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np
import pytest

from corporeal.embodiment import open_robot
from corporeal.errors import ModelError
from corporeal.simulation.arm_motion import ArmSolver, HandPose, hand_rotation, minimum_jerk
from corporeal.simulation.balance import standing_start
from corporeal.simulation.gripper import OPENING_M
from corporeal.simulation.physics import ContactSorter, Physics
from corporeal.simulation.variation import FIXED, SceneLayout, vary
from corporeal.simulation.world import World, build_world

SENSORS = {
    *(f"{place}_imu_{kind}" for place in ("pelvis", "head") for kind in ("acc", "gyro")),
    *(
        f"{side}_{part}_{kind}"
        for side in ("left", "right")
        for part in ("wrist", "ankle")
        for kind in ("force", "torque")
    ),
}
CAMERAS = {"head_left", "head_right", "head_depth", "external_front", "external_side"}


@pytest.fixture(scope="module")
def world() -> World:
    return build_world(vary(SceneLayout(), 3, ranges=FIXED))


def test_the_sensors_and_cameras_have_their_names(world: World) -> None:
    assert set(world.sensors) == SENSORS
    assert all(part.stop - part.start == 3 for part in world.sensors.values())
    assert set(world.cameras) == CAMERAS
    assert world.model.site("lidar").id >= 0


def test_the_joints_are_in_the_order_of_the_document(world: World) -> None:
    names = open_robot("g1").joint_names
    for name, position, rate, servo in zip(
        names, world.joint_qpos, world.joint_qvel, world.servos, strict=True
    ):
        assert world.model.joint(name).qposadr[0] == position
        assert world.model.joint(name).dofadr[0] == rate
        assert world.model.actuator(name).id == servo


def test_the_servos_keep_the_effort_limits_of_the_document(world: World) -> None:
    limits = [joint.effort or 0.0 for joint in world.embodiment.actuated]
    np.testing.assert_allclose(world.model.actuator_forcerange[world.servos, 1], limits)


def test_the_robot_weighs_what_the_document_says_and_its_fingers(world: World) -> None:
    pelvis = world.model.body("pelvis").id
    fingers = 4 * 0.04
    assert world.model.body_subtreemass[pelvis] == pytest.approx(
        world.embodiment.mass + fingers, rel=1e-3
    )


def test_the_eyes_are_six_centimetres_apart(world: World) -> None:
    left, right = (world.model.camera(f"head_{side}").pos for side in ("left", "right"))
    assert np.linalg.norm(left - right) == pytest.approx(0.06)


def test_nothing_is_stuck_in_anything_at_the_start(world: World) -> None:
    for seed in range(15):
        scene = build_world(vary(SceneLayout(shapes=("box", "cylinder", "ball")), seed))
        data: Any = mujoco.MjData(scene.model)
        data.qpos[:] = standing_start(scene)
        mujoco.mj_forward(scene.model, data)
        assert data.contact.dist.min(initial=0.0) > -0.003


def test_a_robot_without_wrists_is_refused() -> None:
    with pytest.raises(ModelError, match="no link"):
        build_world(vary(SceneLayout(), 1), robot="h1")


def test_the_gripper_closes_evenly_and_squeezes_what_is_between(world: World) -> None:
    physics = Physics(world, standing_start(world))
    rest = physics.last.copy()
    for _ in range(40):
        physics.act(rest, np.array([0.03, OPENING_M]))
    near, far = (float(physics.data.joint(f"left_gripper_{f}").qpos[0]) for f in ("near", "far"))
    assert near == pytest.approx(far, abs=1e-3)
    assert near + far == pytest.approx(0.03, abs=2e-3)


def test_the_hand_finds_a_pose_within_reach(world: World) -> None:
    solver = ArmSolver(world, "right")
    goal = HandPose(np.array([0.34, -0.2, 0.8]), hand_rotation(pitch_rad=0.2, yaw_rad=0.2))
    angles, far_m, turn_rad = solver.solve(standing_start(world), solver.rest, goal)
    assert far_m < 1e-3
    assert turn_rad < 0.02
    assert (angles >= solver.lower).all()
    assert (angles <= solver.upper).all()


def test_the_hand_says_when_a_pose_is_out_of_reach(world: World) -> None:
    solver = ArmSolver(world, "left")
    goal = HandPose(np.array([1.0, 0.2, 0.9]), hand_rotation(pitch_rad=0.0))
    assert solver.solve(standing_start(world), solver.rest, goal)[1] > 0.3


def test_minimum_jerk_starts_and_stops_softly() -> None:
    steps = np.diff([minimum_jerk(t) for t in np.linspace(0, 1, 101)])
    assert minimum_jerk(0.0) == 0.0
    assert minimum_jerk(1.0) == 1.0
    assert max(steps[0], steps[-1]) < 1e-4 < steps[50]
    assert minimum_jerk(0.01, abruptness=0.5) > 50 * minimum_jerk(0.01)


def test_an_object_on_the_table_is_seen_there_and_in_no_hand(world: World) -> None:
    physics = Physics(world, standing_start(world))
    physics.act(physics.last.copy(), physics.gripper.copy())
    seen = ContactSorter(world).sort(physics.data)
    assert seen.on_table
    assert not seen.on_floor
    assert not seen.hands.any()
