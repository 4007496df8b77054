"""Efforts as shares of what motors have: their derivatives are what small steps show."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from tests.retargeting.made_results import RATE_HZ
from tests.retargeting.overloads import WALK_HZ, leaning, tasks_of, walked
from tests.retargeting.test_chain import chain_of

from corporeal.geometry import Array
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.solver.chain import BASE, Chain, MotionState, Numbers
from corporeal.retargeting.solver.effort import Motors, Shares, efforts_of

STEP = 1e-5
# Frames to both sides that decide the efforts of one: no more than its neighbours.
AROUND = 3


def walking(name: str = "g1") -> tuple[Motors, MotionState]:
    """The motors of a robot that walks as a person does, its ankles too hard at times."""
    walk = walked(name)
    return Motors(chain_of(name), WALK_HZ, walk.goals.contacts), MotionState(walk.base, walk.q)


@cache
def all_shares(name: str) -> Shares:
    """Every effort of the walk that is not nothing."""
    motors, state = walking(name)
    return motors.shares(state, motors.load(state), 1e-6)


def by_steps(motors: Motors, state: MotionState, frame: int, joints: Numbers) -> Array:
    """Derivatives (n, 3, size) of the shares of joints in a frame, by small steps."""
    span = slice(frame - AROUND, frame + AROUND + 1)
    near = Motors(motors.chain, motors.rate_hz, motors.stands[span])
    part, size = state.part(span), motors.chain.size
    found = np.empty((len(joints), 3, size))
    for beside in range(3):
        for unknown in range(size):
            step = np.zeros((len(part), size))
            step[AROUND - 1 + beside, unknown] = STEP
            ahead, behind = (
                near.load(part.stepped(sign * step, motors.chain.columns)).shares[AROUND, joints]
                for sign in (1, -1)
            )
            found[:, beside, unknown] = (ahead - behind) / (2 * STEP)
    return found


def frame_with(motors: Motors, heels: tuple[int, int], toes: tuple[int, int]) -> int:
    """A frame in the midst of a walk with these heels and toes on the ground."""
    wanted = np.stack([heels, toes], axis=1).astype(bool)
    same = np.flatnonzero((motors.stands == wanted).all(axis=(1, 2)))
    inner = same[(same >= AROUND) & (same < len(motors.stands) - AROUND - 1)]
    return int(inner[len(inner) // 2])


def apart(found: Array, exact: Array, columns: slice) -> float:
    """How far derivatives of some unknowns are from those of steps, as a share of them."""
    off = np.linalg.norm((found - exact)[:, :, columns])
    return float(off / np.linalg.norm(exact[:, :, columns]))


@pytest.mark.parametrize(
    ("name", "heels", "toes", "close"),
    [
        ("g1", (1, 0), (1, 0), 1e-5),
        ("h1", (0, 1), (0, 1), 5e-5),
        ("sliding", (1, 0), (1, 0), 1e-5),
        # How two feet or a toe share a load depends on where they are: that is left out.
        ("g1", (0, 1), (1, 1), 0.015),
        ("g1", (0, 0), (1, 0), 0.015),
    ],
)
def test_derivatives_in_a_walk_are_those_of_small_steps(
    name: str, heels: tuple[int, int], toes: tuple[int, int], close: float
) -> None:
    motors, state = walking(name)
    frame = frame_with(motors, heels, toes)
    shares = all_shares(name)
    own = shares.frames == frame
    joints = np.flatnonzero(np.abs(motors.load(state).shares[frame]) >= 1e-6)
    rows = shares.rows[own].reshape(len(joints), 3, -1)
    exact = by_steps(motors, state, frame, joints)
    assert apart(rows, exact, slice(BASE, None)) < close
    assert apart(rows, exact, slice(0, 3)) < 1e-6
    assert apart(rows, exact, slice(3, BASE)) < 0.015


def test_derivatives_on_two_flat_feet_are_close_to_those_of_small_steps() -> None:
    state = leaning(40, (5, 35))
    motors = Motors(chain_of("g1"), RATE_HZ, tasks_of(state).footholds.stands)
    load = motors.load(state)
    shares = motors.shares(state, load, 1e-6)
    joints = np.flatnonzero(np.abs(load.shares[15]) >= 1e-6)
    rows = shares.rows[shares.frames == 15].reshape(len(joints), 3, -1)
    exact = by_steps(motors, state, 15, joints)
    for columns, close in ((slice(0, 3), 1e-6), (slice(3, BASE), 0.02), (slice(BASE, None), 0.04)):
        assert apart(rows, exact, columns) < close


def test_shares_are_efforts_by_their_limits_and_none_at_both_ends() -> None:
    motors, state = walking()
    robot = motors.chain.robot.robot
    load = motors.load(state)
    efforts = efforts_of(robot, WALK_HZ, state.q, state.base, motors.stands)
    assert efforts is not None
    limits = np.array([joint.effort for joint in robot.actuated])
    np.testing.assert_array_equal(load.shares[1:-1], efforts[1:-1] / limits)
    assert not load.shares[[0, -1]].any()
    assert np.abs(load.shares).max() > 1.2


def test_only_shares_that_reach_the_least_are_given_frame_by_frame() -> None:
    motors, state = walking()
    load = motors.load(state)
    shares = motors.shares(state, load, 0.5)
    assert len(shares.values) == np.count_nonzero(np.abs(load.shares) >= 0.5) > 50
    assert np.abs(shares.values).min() >= 0.5
    assert (np.diff(shares.frames) >= 0).all()
    every = all_shares("g1")
    kept = np.abs(every.values) >= 0.5
    np.testing.assert_array_equal(shares.frames, every.frames[kept])
    np.testing.assert_allclose(shares.rows, every.rows[kept], rtol=1e-9, atol=1e-9)
    none = motors.shares(state, load, 99.0)
    assert none.rows.shape == (0, 3 * motors.chain.size)


@pytest.mark.parametrize("name", ["gr1", "sliding", "walker_s2", "g1_23dof"])
def test_followers_and_motors_without_limits_give_numbers(name: str) -> None:
    motors, state = walking(name)
    load = motors.load(state)
    shares = motors.shares(state, load, 0.3)
    assert np.isfinite(load.shares).all()
    assert np.isfinite(shares.rows).all()
    # The document of GR1 states no effort at all.
    assert (len(shares.values) == 0) == (name == "gr1")


def test_a_joint_without_a_stated_limit_is_never_among_them() -> None:
    motors, state = walking()
    robot = motors.chain.robot.robot
    ankles = [name for name in robot.joint_names if "ankle_pitch" in name]
    for stated in (None, 0.0):
        joints = tuple(
            joint.model_copy(update={"effort": stated if joint.name in ankles else joint.effort})
            for joint in robot.joints
        )
        chain = Chain(robot_map(robot.model_copy(update={"joints": joints})))
        load = Motors(chain, WALK_HZ, motors.stands).load(state)
        columns = [robot.joint_names.index(name) for name in ankles]
        assert not load.shares[:, columns].any()
        assert np.abs(motors.load(state).shares[:, columns]).max() > 1
        shares = Motors(chain, WALK_HZ, motors.stands).shares(state, load, 0.5)
        assert 0 < len(shares.values) < len(motors.shares(state, motors.load(state), 0.5).values)
        assert np.isfinite(shares.rows).all()
