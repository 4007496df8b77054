"""Derivatives of points, rotations and tasks are what small steps of the robot show."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.embodiment import Mimic
from corporeal.geometry import (
    Array,
    matrix_from_quaternion,
    normalise,
    quaternion_from_vector,
    quaternion_product,
    rotation_vectors,
)
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.solver.chain import BASE, Chain, MotionState
from corporeal.retargeting.solver.clip_solver import ClipProblem, SolverRoom, normal_equations
from corporeal.retargeting.solver.tasks import (
    FloorTask,
    LevelTask,
    LimbTask,
    PointTask,
    RotationTask,
    Task,
    pick_frames,
)

STEP = 1e-6
ROBOTS = ("g1", "walker_s2", "sliding")


def sliding_robot() -> Embodiment:
    """A G1 with an elbow that slides, a wrist that follows it, and a knee that follows a knee."""
    g1 = open_robot("g1")
    changed: dict[str, dict[str, Any]] = {
        "left_elbow_joint": {"type": "prismatic", "lower": -0.1, "upper": 0.1},
        "left_wrist_roll_joint": {"mimic": Mimic(joint="left_elbow_joint", multiplier=-3.0)},
        "right_knee_joint": {"mimic": Mimic(joint="left_knee_joint", multiplier=0.5, offset=0.1)},
    }
    joints = tuple(joint.model_copy(update=changed.get(joint.name, {})) for joint in g1.joints)
    return g1.model_copy(update={"joints": joints})


@cache
def chain_of(name: str) -> Chain:
    """The chain of a robot by name."""
    return Chain(robot_map(sliding_robot() if name == "sliding" else open_robot(name)))


def somewhere(chain: Chain, frames: int = 5) -> MotionState:
    """Frames anywhere and any way up, with joints all over their limits."""
    rng = np.random.default_rng(2)
    base = rng.normal(size=(frames, 7))
    base[:, 3:] = normalise(base[:, 3:])
    q = np.tile(chain.standing, (frames, 1))
    lower, upper = (np.clip(limit, -1.0, 1.0) for limit in chain.limits)
    q[:, chain.columns] = rng.uniform(lower, upper, (frames, len(chain.columns)))
    return MotionState(base, q)


def slopes(chain: Chain, state: MotionState, value: Callable[[MotionState], Array]) -> Array:
    """Derivatives (T, ..., size) of a value (T, ...) by small steps of every unknown."""
    found = []
    for unknown in range(chain.size):
        step = np.zeros((len(state), chain.size))
        step[:, unknown] = STEP
        ahead = value(state.stepped(step, chain.columns))
        behind = value(state.stepped(-step, chain.columns))
        found.append((ahead - behind) / (2 * STEP))
    return np.stack(found, axis=-1)


def filled(chain: Chain, tasks: Sequence[Task], state: MotionState) -> tuple[Array, Array]:
    """What tasks write one after the other: derivatives (T, R, size) and residuals (T, R)."""
    posed = chain.posed(state)
    jacobian, rest = list[Array](), list[Array]()
    for task in tasks:
        pulls = [np.zeros((task.rows, 6, len(state))) for _ in task.links]
        rest.append(np.zeros((len(state), task.rows)))
        task.fill(posed, slice(0, len(state)), pulls, rest[-1])
        rows = np.zeros((task.rows, chain.size, len(state)))
        for link, own in zip(task.links, pulls, strict=True):
            rows += chain.derivatives(posed.motions, link, own)
        jacobian.append(rows.transpose(2, 0, 1))
    return np.concatenate(jacobian, axis=1), np.concatenate(rest, axis=1)


def turned_a_little(rotations: Array) -> Array:
    """Turns (T, 3, 3) that are a hundredth of a degree away."""
    rng = np.random.default_rng(3)
    away = quaternion_from_vector(rng.normal(size=(len(rotations), 3)) * 1e-4)
    return np.asarray(matrix_from_quaternion(away) @ rotations)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("end", ["left_hand", "right"])
def test_the_derivatives_of_all_aims_are_those_of_small_steps(name: str, end: str) -> None:
    chain = chain_of(name)
    robot = chain.robot.robot
    state = somewhere(chain)
    link, place = chain.kinematics.place({**robot.end_effectors, **robot.feet}[end])
    rng = np.random.default_rng(1)
    weight = rng.uniform(0.5, 3.0, (len(state), 3))
    posed = chain.posed(state)
    own = matrix_from_quaternion(normalise(rng.normal(size=4)))
    near = turned_a_little(posed.rotation(link) @ own)
    tasks: list[Task] = [
        PointTask(link, place[:, 3], rng.normal(size=(len(state), 3)), weight),
        RotationTask(link, own, near, weight[:, 0]),
        LevelTask(link, own[:, 1], weight[:, 0]),
        FloorTask(link, rng.normal(size=(3, 3)), 2.0),
    ]
    jacobian, rest = filled(chain, tasks, state)
    shown = slopes(chain, state, lambda at: filled(chain, tasks, at)[1])
    np.testing.assert_allclose(jacobian, shown, atol=1e-3)
    exact = [0, 1, 2, 6, 7, 8, 9]
    np.testing.assert_allclose(jacobian[:, exact], shown[:, exact], atol=1e-6)
    assert (np.abs(rest).max(axis=0) > 0).all()


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize(("near", "far"), [("left_shoulder", "hand"), ("left_knee", "left_ankle")])
def test_the_derivatives_of_a_limb_are_those_of_small_steps(name: str, near: str, far: str) -> None:
    chain = chain_of(name)
    robot = chain.robot
    places = {**robot.places, "hand": robot.robot.end_effectors["left_hand"]}
    (first, start), (link, end) = (chain.kinematics.place(places[each]) for each in (near, far))

    state = somewhere(chain)
    goal = normalise(np.random.default_rng(5).normal(size=(len(state), 3)))
    task = LimbTask(first, start[:, 3], link, end[:, 3], goal, np.full(len(state), 2.0))

    def way(state: MotionState) -> Array:
        posed = chain.posed(state)
        return np.asarray(posed.point(link, end[:, 3]) - posed.point(first, start[:, 3]))

    # Its length is taken as given: only a limb with a sliding joint changes it.
    length = np.linalg.norm(way(state), axis=1)[:, None, None]
    shown = slopes(chain, state, way) * 2.0 / length
    np.testing.assert_allclose(filled(chain, [task], state)[0], shown, atol=1e-6)


@pytest.mark.parametrize("name", ROBOTS)
def test_pulls_summed_along_the_tree_give_the_equations_of_all_rows(name: str) -> None:
    chain, rng = chain_of(name), np.random.default_rng(9)
    state, robot = somewhere(chain), chain.robot
    places = {**robot.places, **robot.robot.end_effectors, **robot.robot.feet}
    tasks: list[Task] = []
    for place in places.values():
        link, placed = chain.kinematics.place(place)
        goal, weight = rng.normal(size=(2, len(state), 3))
        tasks.append(PointTask(link, placed[:, 3], goal, weight))
        tasks.append(LevelTask(link, placed[:, 1], weight[:, 0]))
    (near, start), (link, end) = (
        chain.kinematics.place(robot.places[f"left_{part}"]) for part in ("knee", "ankle")
    )
    direction = normalise(rng.normal(size=(len(state), 3)))
    tasks.append(LimbTask(near, start[:, 3], link, end[:, 3], direction, np.ones(len(state))))
    still = np.zeros((len(state), len(chain.columns)))
    problem = ClipProblem(chain, 30.0, tasks, still, still[0], np.zeros(chain.size))
    room = SolverRoom.of(len(state), chain.size)
    matrix, slope, cost = normal_equations(problem, state, room)
    rows, rest = filled(chain, tasks, state)
    np.testing.assert_allclose(matrix, rows.swapaxes(1, 2) @ rows, atol=1e-9)
    np.testing.assert_allclose(slope, np.einsum("tri,tr->ti", rows, rest), atol=1e-9)
    assert cost >= float(np.vdot(rest, rest)) > 1


def test_a_limb_task_is_content_with_the_direction_it_is_given() -> None:
    chain, state = chain_of("g1"), somewhere(chain_of("g1"))
    (near, _), (link, _) = (
        chain.kinematics.place(chain.robot.places[f"left_{part}"]) for part in ("knee", "ankle")
    )
    posed, origin = chain.posed(state), np.zeros(3)
    along = normalise(posed.point(link, origin) - posed.point(near, origin))
    task = LimbTask(near, origin, link, origin, along, np.ones(len(state)))
    assert np.abs(filled(chain, [task], state)[1]).max() < 1e-9
    turned = LimbTask(near, origin, link, origin, -along, np.full(len(state), 3.0))
    np.testing.assert_allclose(np.linalg.norm(filled(chain, [turned], state)[1], axis=1), 6.0)


def test_joints_that_follow_another_are_no_unknowns_but_move_what_hangs_on_them() -> None:
    chain = chain_of("sliding")
    robot = chain.robot.robot
    assert len(chain.columns) == len(robot.joint_names) == 27
    knee = BASE + int(
        np.flatnonzero(chain.columns == robot.joint_names.index("left_knee_joint"))[0]
    )
    state = somewhere(chain)
    axes = np.eye(3)
    turned = RotationTask(
        int(chain.robot.soles.link[1]), axes, np.tile(axes, (5, 1, 1)), np.ones(5)
    )
    rows = filled(chain, [turned], state)[0]
    np.testing.assert_allclose(np.linalg.norm(rows[:, :, knee], axis=1), 0.5)


def test_joints_of_fingers_are_left_alone() -> None:
    chain = chain_of("walker_s2")
    moved = {chain.robot.robot.joint_names[column] for column in chain.columns}
    left_alone = set(chain.robot.robot.joint_names) - moved
    assert len(left_alone) > 10
    assert not {name for name in left_alone if "wrist" in name or "knee" in name}
    assert len(chain.speeds) == len(chain.limits[0]) == len(chain.columns)


def test_a_floor_aim_writes_nothing_for_what_is_above_the_ground() -> None:
    chain = chain_of("g1")
    state = somewhere(chain)
    state.base[:, 2] = 5.0
    jacobian, rest = filled(chain, [FloorTask(3, np.zeros((2, 3)), 100.0)], state)
    assert not jacobian.any()
    assert not rest.any()


def test_an_aim_picked_at_some_frames_is_the_aim_of_these_frames() -> None:
    chain = chain_of("g1")
    state = somewhere(chain)
    frames = np.array([0, 3, 4])
    rng = np.random.default_rng(4)
    rotations = matrix_from_quaternion(normalise(rng.normal(size=(len(state), 4))))
    for task in (
        PointTask(5, rng.normal(size=3), rng.normal(size=(len(state), 3)), rng.random((5, 3))),
        RotationTask(5, np.eye(3), rotations, rng.random(5)),
        LevelTask(5, np.array([0.0, 1.0, 0.0]), rng.random(5)),
        FloorTask(5, rng.normal(size=(4, 3)), 3.0),
    ):
        whole, rest = filled(chain, [task], state)
        part, part_rest = filled(chain, [pick_frames(task, frames)], state.part(frames))
        np.testing.assert_allclose(part, whole[frames], atol=1e-12)
        np.testing.assert_allclose(part_rest, rest[frames], atol=1e-12)


def test_a_step_moves_place_rotation_and_joints_as_it_says() -> None:
    chain = chain_of("g1")
    state = somewhere(chain)
    step = np.random.default_rng(6).normal(size=(len(state), chain.size)) * 0.3
    after = state.stepped(step, chain.columns)
    np.testing.assert_allclose(after.base[:, :3] - state.base[:, :3], step[:, :3], atol=1e-12)
    np.testing.assert_allclose(after.q - state.q, step[:, BASE:], atol=1e-12)
    before, now = (matrix_from_quaternion(each.base[:, 3:]) for each in (state, after))
    np.testing.assert_allclose(
        rotation_vectors(now @ before.swapaxes(1, 2)), step[:, 3:6], atol=1e-9
    )


def test_rotations_and_vectors_are_each_other_up_to_half_a_turn() -> None:
    axis = normalise(np.random.default_rng(7).normal(size=(60, 3)))
    angle = np.linspace(0.0, np.pi - 1e-3, 60)[:, None]
    rotations = matrix_from_quaternion(quaternion_from_vector(axis * angle))
    np.testing.assert_allclose(rotation_vectors(rotations), axis * angle, atol=1e-6)


def test_half_a_turn_is_not_taken_for_none() -> None:
    rotations = np.stack([np.diag([-1.0, -1.0, 1.0]), np.diag([1.0, -1.0, -1.0])])
    np.testing.assert_allclose(
        np.linalg.norm(rotation_vectors(rotations), axis=1), np.pi, atol=1e-6
    )


def test_the_second_quaternion_of_a_product_is_turned_by_the_first() -> None:
    first, second = normalise(np.random.default_rng(8).normal(size=(2, 9, 4)))
    product = matrix_from_quaternion(quaternion_product(first, second))
    expected = matrix_from_quaternion(first) @ matrix_from_quaternion(second)
    np.testing.assert_allclose(product, expected, atol=1e-12)
