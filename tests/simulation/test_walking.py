"""A walking policy from a file drives the legs, and a file that is none is refused in words."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.errors import CorporealError, ModelError
from corporeal.simulation.demonstration import simulate
from corporeal.simulation.variation import FIXED, SceneLayout, vary
from corporeal.simulation.walking import WalkingPolicy
from corporeal.simulation.world import build_world

pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def policy(shared_data: Path) -> Path:
    path = shared_data / "policies" / "g1_walk_holosoma" / "fastsac_g1_29dof.onnx"
    if not path.is_file():
        pytest.skip("the walking policy is not among the sample data")
    return path


def test_a_walk_goes_ahead_and_stops(policy: Path) -> None:
    run = simulate("walk", seed=1, randomise=False, policy=policy)
    assert run.outcome.success
    assert run.outcome.measures["distance_m"] > 1.0
    assert np.abs(run.base_velocity_target[:, 0]).max() > 0.3
    assert (run.base_velocity_target[-1] == 0.0).all()


def test_a_great_push_makes_a_walker_fall(policy: Path) -> None:
    run = simulate("walk", seed=1, fault="fall", policy=policy)
    assert run.outcome.failure == "fall"
    assert "fall" in [event.name for event in run.events]


@pytest.mark.slow
def test_an_object_is_carried_away_on_foot(policy: Path) -> None:
    runs = [simulate("walk_carry", seed=seed, policy=policy) for seed in range(3)]
    assert sum(run.outcome.success for run in runs) >= 2
    assert max(run.outcome.measures["carried_m"] for run in runs) > 0.8


def test_the_gains_and_the_order_come_from_the_file(policy: Path) -> None:
    world = build_world(vary(SceneLayout(table=False, objects=False), 1, ranges=FIXED))
    walker = WalkingPolicy(world, policy)
    knee = world.embodiment.joint_names.index("left_knee_joint")
    assert walker.stiffness[knee] == pytest.approx(99.098427777)
    assert walker.default[knee] == pytest.approx(0.669)


def test_a_walk_without_a_policy_is_refused() -> None:
    with pytest.raises(CorporealError, match="no walking policy"):
        simulate("walk", seed=1)


def test_a_file_that_is_no_policy_is_refused(tmp_path: Path) -> None:
    world = build_world(vary(SceneLayout(table=False, objects=False), 1))
    with pytest.raises(ModelError, match="expected an ONNX file"):
        WalkingPolicy(world, tmp_path / "absent.onnx")
    broken = tmp_path / "broken.onnx"
    broken.write_bytes(b"not a network")
    with pytest.raises(ModelError, match="cannot be read"):
        WalkingPolicy(world, broken)


def test_a_policy_for_something_else_is_refused(shared_data: Path) -> None:
    other = shared_data / "policies" / "g1_tracker_twist2" / "twist2_1017_25k.onnx"
    if not other.is_file():
        pytest.skip("the other policy is not among the sample data")
    world = build_world(vary(SceneLayout(table=False, objects=False), 1))
    with pytest.raises(ModelError, match="metadata"):
        WalkingPolicy(world, other)
