"""The checker of adversarial commands counts each fault of one under its own name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("daqp", reason="needs the extra robot")
pytest.importorskip("mujoco", reason="needs the extra robot")

from bench.adversary import Checker, Tally, free_direction
from bench.hostile_commands import DT_S

from corporeal.geometry import Array
from corporeal.teleoperation.control_loop import open_session
from corporeal.teleoperation.hand_objective import JointObjective
from corporeal.teleoperation.robot_link import LinkOptions, RobotLink, robot_drivers
from corporeal.teleoperation.safety_filter import ArmCommand, SafetyFilter


@pytest.fixture(scope="module")
def link() -> RobotLink:
    return robot_drivers()["sim"].open(LinkOptions(seed=1))


@pytest.fixture
def limb(link: RobotLink) -> SafetyFilter:
    return open_session(link).limb


def _seen(link: RobotLink, limb: SafetyFilter, command: ArmCommand) -> dict[str, int]:
    checker, tally = Checker(link.robot, link.obstacles, limb), Tally()
    checker.look(command, tally)
    checker.finish(tally)
    return tally.violations


def _at(limb: SafetyFilter, **angles: float) -> Array:
    positions = limb.positions.copy()
    for name, angle in angles.items():
        positions[limb.arms.names.index(f"{name}_joint")] = angle
    return positions


def test_each_fault_is_counted_under_its_own_name(link: RobotLink, limb: SafetyFilter) -> None:
    rest = limb.step(None, DT_S)
    zero = np.zeros(len(rest.rates))
    assert _seen(link, limb, rest) == {}
    assert _seen(link, limb, replace(rest, positions=zero + np.nan)) == {"not finite": 1}
    beyond = _at(limb, left_elbow=2.5)
    assert "position" in _seen(link, limb, replace(rest, positions=beyond))
    assert _seen(link, limb, replace(rest, rates=zero + 0.3)) == {"acceleration": 1}
    fast = _seen(link, limb, replace(rest, rates=zero + 9.0))
    assert {"speed", "acceleration", "torque"} <= set(fast)
    crossed = _at(limb, left_shoulder_roll=-0.3, right_shoulder_roll=0.3)
    assert "self-collision" in _seen(link, limb, replace(rest, positions=crossed))
    ahead = _at(limb, left_shoulder_pitch=-0.2, left_elbow=0.7)
    assert "table or floor" in _seen(link, limb, replace(rest, positions=ahead))


def test_a_hand_out_of_its_space_is_seen(link: RobotLink, limb: SafetyFilter) -> None:
    limb.limits = limb.limits.model_copy(update={"highest_m": (0.8, 0.8, -0.5)})
    assert _seen(link, limb, limb.step(None, DT_S)) == {"workspace": 1}


def test_arms_that_rest_though_they_could_move_have_a_free_direction(limb: SafetyFilter) -> None:
    wanted = limb.positions.copy()
    assert free_direction(limb, JointObjective(wanted, np.zeros(len(wanted)))) is None
    wanted[3] += 0.4
    assert free_direction(limb, JointObjective(wanted, np.zeros(len(wanted)))) == limb.arms.names[3]
