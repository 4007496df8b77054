"""Torques with the ground: what the feet carry, by two ways that must agree."""

from __future__ import annotations

import numpy as np
import pytest
from tests.retargeting.made_results import RATE_HZ, squatting, standing

from corporeal.embodiment.dynamics import inverse_dynamics
from corporeal.embodiment.library import open_robot
from corporeal.retargeting.measure.contact_metrics import sole_corners
from corporeal.retargeting.measure.effort import effort_violations, efforts_of, ground_forces
from corporeal.retargeting.measure.robot_models import models_of

G1 = open_robot("g1")


def test_a_robot_at_rest_is_carried_by_its_feet_and_its_motors_give_little() -> None:
    q, base = standing(5)
    q[:] = q[0]
    efforts = efforts_of(G1, RATE_HZ, q, base, np.ones((5, 2, 2), bool))
    assert efforts is not None
    models = models_of(G1)
    poses = models.kinematics.transforms(q, base)
    forces = np.zeros((5, 2, 6))
    needed = inverse_dynamics(models.dynamics, q, 0 * q, 0 * q, base=base).base
    corners = sole_corners(models.soles, poses)
    shared = ground_forces(corners - base[:, None, None, :3], np.ones((5, 2, 4), bool), needed)
    assert shared[..., 2].sum(axis=(1, 2)) == pytest.approx(9.81 * G1.mass, rel=1e-4)
    assert (shared[..., 2] >= 0).all()
    wrenches = {}
    for side, name in enumerate(("left", "right")):
        link = int(models.soles.link[side])
        arms = corners[:, side] - poses[link][:, 3].T[:, None]
        forces[:, side, :3] = shared[:, side].sum(axis=1)
        forces[:, side, 3:] = np.cross(arms, shared[:, side]).sum(axis=1)
        wrenches[models.kinematics.names[link]] = forces[:, side]
        assert name in models.kinematics.names[link]
    checked = inverse_dynamics(models.dynamics, q, 0 * q, 0 * q, base=base, wrenches=wrenches)
    assert np.abs(checked.base).max() < 0.1
    assert efforts == pytest.approx(checked.joints, abs=1e-2)
    assert np.abs(efforts).max() < 20.0


def test_a_leg_in_the_air_only_hangs_while_the_other_carries() -> None:
    q, base = standing(5)
    q[:] = q[0]
    contacts = np.ones((5, 2, 2), bool)
    contacts[:, 1] = False
    efforts = efforts_of(G1, RATE_HZ, q, base, contacts)
    assert efforts is not None
    hanging = inverse_dynamics(models_of(G1).dynamics, q, 0 * q, 0 * q, base=base).joints
    left, right = ([G1.joint_names.index(name) for name in G1.groups[f"{side}_leg"]]
                   for side in ("left", "right"))  # fmt: skip
    assert efforts[:, right] == pytest.approx(hanging[:, right], abs=1e-9)
    assert np.abs(efforts[:, left] - hanging[:, left]).max() > 10.0


def test_a_squat_is_within_the_motors_and_a_leap_is_not() -> None:
    q, base = squatting()
    contacts = np.ones((len(q), 2, 2), bool)
    calm = efforts_of(G1, RATE_HZ, q, base, contacts)
    assert calm is not None
    assert effort_violations(G1, calm).count == 0
    base[100:, 2] += 0.05
    wild = efforts_of(G1, RATE_HZ, q, base, contacts)
    assert wild is not None
    found = effort_violations(G1, wild)
    assert found.frames >= 1
    assert found.worst > 0.05


def test_a_robot_without_masses_has_no_efforts() -> None:
    bare = G1.model_copy(
        update={"links": tuple(link.model_copy(update={"inertia": None}) for link in G1.links)}
    )
    q, base = squatting(10)
    assert efforts_of(bare, RATE_HZ, q, base, np.ones((10, 2, 2), bool)) is None
