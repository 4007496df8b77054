"""Links that come too near are pushed apart, along the slope that small steps show."""

from __future__ import annotations

import numpy as np
import pytest
from tests.retargeting.solver.test_chain import chain_of, somewhere

from corporeal.embodiment.collision import CollisionModel
from corporeal.geometry import Array, normalise
from corporeal.retargeting.solver.avoidance import Avoidance
from corporeal.retargeting.solver.chain import Chain, MotionState

STEP = 1e-6
WEIGHT = 7.0


def added(chain: Chain, avoidance: Avoidance, state: MotionState) -> tuple[Array, Array, float]:
    """Matrix, slope and cost of a state."""
    matrix = np.zeros((len(state), chain.size, chain.size))
    slope = np.zeros((len(state), chain.size))
    cost = avoidance.add(chain, chain.posed(state), matrix, slope)
    return matrix, slope, cost


def crossed(chain: Chain, frames: int) -> MotionState:
    """The robot standing tilted in the air, its joints a little beside where they stand."""
    rng = np.random.default_rng(5)
    lower, upper = chain.limits
    q = np.tile(chain.standing, (frames, 1))
    beside = q[:, chain.columns] + rng.normal(0, 0.25, (frames, len(chain.columns)))
    q[:, chain.columns] = np.clip(beside, lower, upper)
    base = rng.normal(size=(frames, 7))
    base[:, 3:] = normalise(base[:, 3:])
    base[:, 2] = 4.0
    return MotionState(base, q)


@pytest.mark.parametrize("name", ["g1", "gr1", "sliding"])
def test_the_slope_is_that_of_the_cost_by_small_steps(name: str) -> None:
    chain = chain_of(name)
    model = CollisionModel(chain.robot.robot)
    avoidance = Avoidance(model, WEIGHT, 0.05)
    checked = 0
    state = crossed(chain, 40)
    nearest = model.distances(state.q).minimum_m
    for frame in np.flatnonzero((nearest > 0.001) & (nearest < 0.045))[:2]:
        one = state.part(slice(frame, frame + 1))
        _, slope, _ = added(chain, avoidance, one)
        shown = np.empty(chain.size)
        for unknown in range(chain.size):
            step = np.zeros((1, chain.size))
            step[0, unknown] = STEP
            ahead = added(chain, avoidance, one.stepped(step, chain.columns))[2]
            behind = added(chain, avoidance, one.stepped(-step, chain.columns))[2]
            shown[unknown] = (ahead - behind) / (4 * STEP)
        np.testing.assert_allclose(slope[0], shown, atol=2e-3 * np.abs(shown).max())
        # Links against each other do not care where the robot is.
        np.testing.assert_allclose(slope[0, :6], 0, atol=1e-9 * np.abs(slope).max() + 1e-12)
        checked += 1
    assert checked == 2


def test_shapes_below_the_ground_are_lifted_along_their_slope() -> None:
    chain = chain_of("g1")
    avoidance = Avoidance(CollisionModel(chain.robot.robot), WEIGHT, -1.0)
    one = somewhere(chain).part(slice(0, 1))
    one.base[:, 2] = 0.1
    _, slope, cost = added(chain, avoidance, one)
    assert cost > 0
    assert slope[0, 2] < 0
    for unknown in range(chain.size):
        step = np.zeros((1, chain.size))
        step[0, unknown] = STEP
        ahead = added(chain, avoidance, one.stepped(step, chain.columns))[2]
        behind = added(chain, avoidance, one.stepped(-step, chain.columns))[2]
        shown = (ahead - behind) / (4 * STEP)
        assert slope[0, unknown] == pytest.approx(shown, abs=1e-4 * WEIGHT**2)


def test_soles_on_the_ground_are_not_lifted() -> None:
    chain = chain_of("g1")
    robot = chain.robot.robot
    assert robot.standing is not None
    base = np.array([[0, 0, robot.standing.height - 0.01, 1.0, 0, 0, 0]])
    avoidance = Avoidance(CollisionModel(robot), WEIGHT, 0.0)
    _, slope, cost = added(chain, avoidance, MotionState(base, chain.standing[None]))
    assert cost == 0
    assert not slope.any()


def test_frames_with_several_near_pairs_add_all_of_them() -> None:
    chain = chain_of("g1")
    model = CollisionModel(chain.robot.robot)
    state = crossed(chain, 30)
    avoidance = Avoidance(model, WEIGHT, 0.08)
    near = model.near(state.q, 0.08)
    assert np.bincount(near.frame).max() >= 3
    matrix, slope, cost = added(chain, avoidance, state)
    assert cost == pytest.approx(WEIGHT**2 * np.sum((near.distance - 0.08) ** 2))
    parts = [added(chain, avoidance, state.part(slice(f, f + 1))) for f in range(30)]
    np.testing.assert_allclose(np.concatenate([part[0] for part in parts]), matrix, atol=1e-9)
    np.testing.assert_allclose(np.concatenate([part[1] for part in parts]), slope, atol=1e-9)
    ranks = [np.linalg.matrix_rank(each, tol=1e-6) for each in matrix]
    assert max(ranks) >= 3


def test_a_step_against_the_slope_brings_links_apart() -> None:
    chain = chain_of("g1")
    model = CollisionModel(chain.robot.robot)
    state = crossed(chain, 40)
    near = model.distances(state.q).minimum_m
    one = state.part(np.flatnonzero(near < 0.0))
    assert len(one) > 3
    matrix, slope, _ = added(chain, Avoidance(model, WEIGHT, 0.005), one)
    eased = matrix + 1e-2 * np.eye(chain.size)
    step = np.asarray(-np.linalg.solve(eased, slope[..., None])[..., 0], np.float64)
    after = model.distances(one.stepped(step, chain.columns).q).minimum_m
    before = model.distances(one.q).minimum_m
    # One step of a round shape is a straight guess: most are nearly apart, a few need another.
    assert (after > before).mean() > 0.8
    assert np.median(after) > np.median(before) / 3
