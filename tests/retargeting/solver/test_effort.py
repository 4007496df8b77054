"""Torques with the ground: what the feet carry, by two ways that must agree."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.retargeting.made_results import RATE_HZ, squatting, standing
from tests.retargeting.overloads import WALK_HZ, leaning, tasks_of, walked
from tests.retargeting.solver.test_chain import chain_of

from corporeal.embodiment import open_robot
from corporeal.embodiment.dynamics import Efforts, inverse_dynamics
from corporeal.embodiment.embodiment import model_of
from corporeal.embodiment.engines import compile_pinocchio
from corporeal.embodiment.kinematics import Kinematics
from corporeal.geometry import Array, quaternion_from_vector
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.goal.soles import soles_of
from corporeal.retargeting.measure.metrics import effort_violations
from corporeal.retargeting.solver import effort
from corporeal.retargeting.solver.chain import BASE, Chain, MotionState, Numbers
from corporeal.retargeting.solver.effort import (
    Demand,
    Motors,
    Shares,
    demand_of,
    efforts_of,
    grip_of,
    rates_of,
)

G1 = open_robot("g1")
WEIGHT_N = 9.81 * G1.mass


def still(frames: int = 5) -> tuple[Array, Array]:
    """A G1 that stands and does not move at all."""
    q, base = standing(frames)
    q[:] = q[0]
    return q, base


def touching(frames: int, *parts: tuple[int, int]) -> NDArray[np.bool_]:
    """Contacts (T, 2, 2) of some of (foot, heel or toe); of all of them if none is named."""
    contacts = np.full((frames, 2, 2), not parts)
    for foot, part in parts:
        contacts[:, foot, part] = True
    return contacts


def by_wrenches(found: Demand, q: Array, base: Array) -> Efforts:
    """The efforts by plain inverse dynamics, with the ground's forces as wrenches on the feet."""
    soles, rates = model_of(G1, soles_of), found.rates
    wrenches = {}
    for side, link in enumerate(soles.link):
        arms = found.corners[:, side] - found.poses[link][:, 3].T[:, None]
        moment = np.cross(arms, found.forces[:, side]).sum(axis=1)
        total = found.forces[:, side].sum(axis=1)
        wrenches[model_of(G1, Kinematics).names[link]] = np.concatenate([total, moment], axis=1)
    return inverse_dynamics(
        model_of(G1, compile_pinocchio),
        q,
        rates.speed,
        rates.gain,
        base=base,
        base_velocity=rates.base_speed,
        base_acceleration=rates.base_gain,
        wrenches=wrenches,
    )


def test_a_robot_at_rest_is_carried_by_its_feet_and_its_motors_give_little() -> None:
    q, base = still()
    found = demand_of(G1, RATE_HZ, q, base, touching(5))
    total = found.forces.sum(axis=(1, 2))
    assert total[:, 2] == pytest.approx(WEIGHT_N, rel=1e-4)
    assert np.abs(total[:, :2]).max() < 0.1
    assert (found.forces[..., 2] > 0).all()
    checked = by_wrenches(found, q, base)
    assert np.abs(checked.base).max() < 0.1
    assert found.efforts == pytest.approx(checked.joints, abs=1e-9)
    assert np.abs(found.efforts).max() < 20.0


def test_in_a_walk_whole_soles_carry_all_that_the_motion_takes() -> None:
    walk = walked()
    stands = walk.goals.contacts
    found = demand_of(G1, WALK_HZ, walk.q, walk.base, stands)
    checked = by_wrenches(found, walk.q, walk.base)
    assert found.efforts == pytest.approx(checked.joints, abs=1e-8)
    whole = np.any(np.all(stands, axis=2), axis=1)
    assert whole.sum() > 30
    assert np.abs(checked.base[whole]).max() < 0.5
    assert not found.forces[~np.repeat(stands, 2, axis=2)].any()


def test_a_leg_in_the_air_only_hangs_while_the_other_carries() -> None:
    q, base = still()
    efforts = efforts_of(G1, RATE_HZ, q, base, touching(5, (0, 0), (0, 1)))
    assert efforts is not None
    hanging = inverse_dynamics(model_of(G1, compile_pinocchio), q, 0 * q, 0 * q, base=base).joints
    left, right = (
        [G1.joint_names.index(name) for name in G1.groups[f"{side}_leg"]]
        for side in ("left", "right")
    )
    assert efforts[:, right] == pytest.approx(hanging[:, right], abs=1e-9)
    assert np.abs(efforts[:, left] - hanging[:, left]).max() > 10.0


def test_feet_may_pull_so_that_a_tipping_robot_asks_more_of_them_not_less() -> None:
    q, base = still()
    corners = demand_of(G1, RATE_HZ, q, base, touching(5)).corners
    # The weight is in front of all that the feet stand on.
    arms = corners - [0.2, 0, 0] - base[:, None, None, :3]
    grip = grip_of(arms, np.ones((5, 2, 4), bool))
    forces = np.einsum("tspkw,w->tspk", grip, np.array([0, 0, WEIGHT_N, 0, 0, 0]))
    assert forces[..., :2, 2].max() < 0 < forces[..., 2:, 2].min()
    assert forces[..., 2].sum(axis=(1, 2)) == pytest.approx(WEIGHT_N, rel=1e-3)
    moment = np.cross(arms, forces).sum(axis=(1, 2))
    assert np.abs(moment).max() < 0.1


@pytest.mark.parametrize("parts", [((0, 1), (1, 1)), ((0, 1),), ((0, 0), (1, 0))])
def test_edges_alone_are_not_asked_for_absurd_forces(parts: tuple[tuple[int, int], ...]) -> None:
    q, base = still()
    found = demand_of(G1, RATE_HZ, q, base, touching(5, *parts))
    assert np.linalg.norm(found.forces, axis=3).max() < WEIGHT_N
    assert 0.5 * WEIGHT_N < found.forces[..., 2].sum(axis=(1, 2)).min() < 1.1 * WEIGHT_N


def test_edges_as_firm_as_whole_soles_would_be_asked_for_absurd_forces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    q, base = still()
    edge = touching(5, (0, 1))
    calm = np.abs(demand_of(G1, RATE_HZ, q, base, edge).forces).max()
    monkeypatch.setattr(effort, "_EDGES", effort._FLAT)
    assert np.abs(demand_of(G1, RATE_HZ, q, base, edge).forces).max() > 3 * calm


def test_a_flight_takes_nothing_from_the_ground() -> None:
    q, base = still()
    found = demand_of(G1, RATE_HZ, q, base, np.zeros((5, 2, 2), bool))
    assert not found.forces.any()
    free = inverse_dynamics(model_of(G1, compile_pinocchio), q, 0 * q, 0 * q, base=base).joints
    assert found.efforts == pytest.approx(free, abs=1e-9)


def test_a_squat_is_within_the_motors_and_a_leap_is_not() -> None:
    q, base = squatting()
    contacts = touching(len(q))
    calm = efforts_of(G1, RATE_HZ, q, base, contacts)
    assert calm is not None
    assert effort_violations(G1, calm).count == 0
    base[100:, 2] += 0.05
    wild = efforts_of(G1, RATE_HZ, q, base, contacts)
    assert wild is not None
    found = effort_violations(G1, wild)
    assert found.frames >= 1
    assert found.worst > 0.05


@pytest.mark.parametrize("axis", [(1.0, 0, 0), (0, 1.0, 0), (0, 0, 1.0), (0.6, 0, -0.8)])
def test_a_base_that_turns_ever_faster_has_the_rates_that_it_turns_with(
    axis: tuple[float, float, float],
) -> None:
    frames, rate, gain, first = 60, 100.0, 3.0, -0.5
    time = np.arange(frames) / rate
    base = np.zeros((frames, 7))
    base[:, 3:] = quaternion_from_vector(np.outer(first * time + gain * time**2 / 2, axis))
    # A quaternion and its negative are the same turn.
    base[20:40, 3:] *= -1
    base[:, 0] = 0.2 + 1.5 * time - 2.0 * time**2
    rates = rates_of(np.outer(time**2, [1.0, -2.0]), base, rate)
    inner = slice(1, -1)
    speed = np.outer(first + gain * time, axis)
    np.testing.assert_allclose(rates.base_speed[inner, 3:], speed[inner], atol=1e-9)
    np.testing.assert_allclose(rates.base_gain[:, 3:], np.tile(axis, (frames, 1)) * gain, atol=1e-7)
    np.testing.assert_allclose(rates.base_speed[inner, 0], (1.5 - 4.0 * time)[inner], atol=1e-9)
    np.testing.assert_allclose(rates.base_gain[:, 0], -4.0, atol=1e-9)
    np.testing.assert_allclose(rates.gain, np.tile([2.0, -4.0], (frames, 1)), atol=1e-8)


def test_a_robot_without_masses_has_no_efforts() -> None:
    bare = G1.model_copy(
        update={"links": tuple(link.model_copy(update={"inertia": None}) for link in G1.links)}
    )
    q, base = squatting(10)
    assert efforts_of(bare, RATE_HZ, q, base, touching(10)) is None
    assert efforts_of(G1, RATE_HZ, q, base, touching(10)) is not None


@pytest.mark.parametrize("frames", [1, 2, 3])
def test_fewer_than_three_frames_have_no_efforts(frames: int) -> None:
    q, base = still(frames)
    found = efforts_of(G1, RATE_HZ, q, base, touching(frames))
    assert (found is None) == (frames < 3)


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
