"""No command breaks a bound, whatever is asked for, and the robot's hands get where they can."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.collision import CollisionModel
from corporeal.embodiment.embodiment import Shape
from corporeal.geometry import Array
from corporeal.teleoperation.arm_model import ArmModel, arm_columns
from corporeal.teleoperation.clearance import Clearance, Obstacle, floor
from corporeal.teleoperation.hand_objective import HandGoal, HandObjective, JointObjective
from corporeal.teleoperation.limits import CommandLimits
from corporeal.teleoperation.safety_filter import Objective, SafetyFilter

pytest.importorskip("daqp", reason="needs the extra robot")

DT_S = 0.01


@pytest.fixture(scope="module")
def robot() -> Embodiment:
    return open_robot("g1")


@dataclass
class _Bench:
    limb: SafetyFilter
    rest: Array

    def run(self, objectives: Iterator[Objective | None]) -> tuple[Array, Array]:
        """Positions (T, n) and speeds (T, n) of a sequence, from rest."""
        self.limb.start_at(self.rest)
        commands = [self.limb.step(objective, DT_S) for objective in objectives]
        return (
            np.array([command.positions for command in commands]),
            np.array([command.rates for command in commands]),
        )


@pytest.fixture(scope="module")
def bench(robot: Embodiment) -> _Bench:
    arms = ArmModel(robot)
    limb = SafetyFilter(arms, Clearance(arms, [floor()]))
    return _Bench(limb, limb.positions.copy())


def _hostile(bench: _Bench, kind: str, steps: int) -> Iterator[Objective | None]:
    rng = np.random.default_rng(len(kind))
    arms = bench.limb.arms
    turned = {side: arms.hand(side)[1] for side in arms.hands}
    for step in range(steps):
        if kind == "leaps":
            yield HandObjective(
                {side: HandGoal(rng.normal(0, 5, 3), turned[side], rng.normal(0, 50, 3))
                 for side in arms.hands}, bench.rest,
            )  # fmt: skip
        elif kind == "into the chest":
            inside = np.array([0.02, 0.0, 1.0])
            yield HandObjective(
                {side: HandGoal(inside, turned[side]) for side in arms.hands}, bench.rest
            )
        elif kind == "hands cross":
            across = 0.25 * np.sin(0.05 * step)
            yield HandObjective(
                {"left": HandGoal(np.array([0.25, -across, 0.95]), turned["left"]),
                 "right": HandGoal(np.array([0.25, across, 0.95]), turned["right"])}, bench.rest,
            )  # fmt: skip
        elif kind == "joints anywhere":
            yield JointObjective(rng.normal(0, 3, len(bench.rest)), rng.normal(0, 20, 14))
        elif kind == "through the floor":
            below = {"left": np.array([0.3, 0.2, -1.0]), "right": np.array([0.3, -0.2, -1.0])}
            yield HandObjective(
                {side: HandGoal(below[side], turned[side]) for side in arms.hands}, bench.rest
            )
        else:
            nowhere = np.full(3, np.nan if step % 2 else np.inf)
            yield HandObjective({"left": HandGoal(nowhere, turned["left"])}, bench.rest)


@pytest.mark.parametrize(
    "kind",
    ["leaps", "into the chest", "hands cross", "joints anywhere", "through the floor", "nowhere"],
)
def test_no_bound_is_broken_whatever_is_asked_for(
    robot: Embodiment, bench: _Bench, kind: str
) -> None:
    limb = bench.limb
    positions, rates = bench.run(_hostile(bench, kind, 250))
    assert np.isfinite(positions).all()
    assert (positions <= limb.arms.upper).all()
    assert (positions >= limb.arms.lower).all()
    assert np.abs(rates).max() <= limb.speed.max() + 1e-9
    gains = np.diff(rates, axis=0, prepend=0.0) / DT_S
    assert np.abs(gains).max() <= limb.acceleration.max() + 1e-6
    # Looked at by somebody else: coal over all pairs, and not what the filter itself measured.
    body = np.tile(limb.arms.body, (len(positions), 1))
    body[:, limb.arms.columns] = positions
    assert CollisionModel(robot).distances(body).minimum_m.min() >= 0.005
    if kind != "nowhere":
        assert np.abs(positions - bench.rest).max() > 0.1, "it moved where it could"
    else:
        assert np.abs(positions - bench.rest).max() < 1e-9


def test_a_way_to_rest_is_always_left(bench: _Bench) -> None:
    limb = bench.limb
    limb.start_at(bench.rest)
    for step, objective in enumerate(_hostile(bench, "joints anywhere", 120)):
        limb.step(objective, DT_S)
        if step % 40 == 39:
            for _ in range(40):
                last = limb.step(None, DT_S)
            assert np.abs(last.rates).max() < 1e-12
            assert last.clearance_m >= 0.005


def test_hands_follow_what_they_can_reach(bench: _Bench) -> None:
    limb, arms = bench.limb, bench.limb.arms
    limb.start_at(bench.rest)
    arms.place(bench.rest)
    start = {side: arms.hand(side) for side in arms.hands}
    errors = []
    for step in range(300):
        time_s = step * DT_S
        out = 0.06 * (1 - np.cos(2 * np.pi * 0.4 * time_s))
        speed = 0.06 * 2 * np.pi * 0.4 * np.sin(2 * np.pi * 0.4 * time_s)
        goals = {
            side: HandGoal(
                place + np.array([out, 0, out / 2]), axes, np.array([speed, 0, speed / 2])
            )
            for side, (place, axes) in start.items()
        }
        command = limb.step(HandObjective(goals, bench.rest), DT_S)
        arms.place(command.positions)
        errors += [
            float(np.linalg.norm(arms.hand(side)[0] - goal.position))
            for side, goal in goals.items()
        ]
    assert np.median(errors) < 0.003
    assert np.percentile(errors, 95) < 0.01


def test_a_body_that_moves_into_an_arm_makes_it_go_away(robot: Embodiment) -> None:
    arms = ArmModel(robot)
    limb = SafetyFilter(arms, Clearance(arms))
    bent = arms.body.copy()
    hip = robot.joint_names.index("left_hip_roll_joint")
    nearest = [limb.step(None, DT_S).clearance_m]
    for step in range(60):
        bent[hip] = min(0.02 * step, 0.6)
        limb.arms.move_body(bent)
        nearest.append(limb.step(None, DT_S).clearance_m)
    for _ in range(100):
        nearest.append(limb.step(None, DT_S).clearance_m)
    assert nearest[-1] >= 0.005


def test_a_table_is_not_touched(robot: Embodiment) -> None:
    arms = ArmModel(robot)
    shape = Shape(type="box", size=(0.6, 1.0, 0.04), xyz=(0.55, 0.0, 0.8))
    limb = SafetyFilter(arms, Clearance(arms, [Obstacle("table", shape)]))
    rest = limb.positions.copy()
    turned = arms.hand("right")[1]
    touched = np.inf
    for height in (1.05, 0.7):
        goal = HandGoal(np.array([0.4, -0.2, height]), turned)
        for _ in range(120):
            command = limb.step(HandObjective({"right": goal}, rest), DT_S)
            touched = min(touched, command.clearance_m)
    arms.place(limb.positions)
    assert touched >= 0.005
    assert arms.hand("right")[0][2] > 0.8


def test_a_hand_does_not_bow_out_of_its_space_between_two_places_in_it(robot: Embodiment) -> None:
    arms, rng = ArmModel(robot), np.random.default_rng(19)
    highest = (float(rng.uniform(0.3, 0.5)), 0.5, float(rng.uniform(0.2, 0.4)))
    limits = CommandLimits(lowest_m=(float(rng.uniform(-0.2, 0.0)), -0.5, -0.3), highest_m=highest)
    limb, rng = SafetyFilter(arms, Clearance(arms, [floor()]), limits), np.random.default_rng(119)
    beyond = 0.0
    for step in range(200):
        if step % 40 == 0:
            goal = rng.uniform(arms.lower - 1, arms.upper + 1)
        command = limb.step(JointObjective(goal, rng.normal(0, 20, len(goal))), DT_S)
        arms.place(command.positions)
        for side in arms.hands:
            place = arms.base_rotation.T @ (arms.hand(side)[0] - arms.base[:3])
            beyond = max(beyond, float((place - limits.highest_m).max()))
            beyond = max(beyond, float((limits.lowest_m - place).max()))
    assert beyond < 1e-4


def test_limits_can_be_a_share_of_themselves() -> None:
    limits = CommandLimits().scaled(0.3)
    assert limits.speed_rad_s == pytest.approx(0.3 * CommandLimits().speed_rad_s)
    assert limits.clearance_m == CommandLimits().clearance_m


@pytest.mark.parametrize("name", ["g1", "g1_23dof", "h1", "gr1", "walker_s2"])
def test_every_humanoid_has_arms_that_can_be_driven(name: str) -> None:
    robot = open_robot(name)
    arms = ArmModel(robot)
    assert len(arms.columns) == len(arm_columns(robot)) >= 8
    assert set(arms.hands) == {"left", "right"}
    limb = SafetyFilter(arms, Clearance(arms))
    for _ in range(20):
        command = limb.step(JointObjective(limb.positions + 0.5, np.zeros(len(arms.columns))), DT_S)
    assert np.abs(command.rates).max() > 0.05
