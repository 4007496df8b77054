"""The yardstick of retargeting: what it measures of a known motion, and what it refuses."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.retarget import table
from bench.retarget.limbs import limbs_off
from bench.retarget.measuring import Figures, added, figures_of
from bench.retarget.noise import Spoiling, spoilt
from bench.retarget.peers.joblib_arrays import read_arrays
from bench.retarget.peers.published import asap
from bench.retarget.peers.recipe import targets
from bench.retarget.robot_motion import RobotMotion, contacts_of, resampled

from corporeal.embodiment import open_robot
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import CorporealError
from corporeal.retargeting.goal.robot_map import robot_map
from corporeal.retargeting.motion import POINTS, SIDES, HumanMotion, Origin

ROBOT = open_robot("g1")
HEIGHT_M = ROBOT.standing.height if ROBOT.standing else 0.0


def standing(frames: int = 40) -> RobotMotion:
    base = np.tile([0.0, 0.0, HEIGHT_M, 1.0, 0.0, 0.0, 0.0], (frames, 1))
    return RobotMotion(ROBOT, 30.0, np.tile(standing_positions(ROBOT), (frames, 1)), base)


def person_like(
    motion: RobotMotion, *, scale: float = 1.3, heading_rad: float = 0.0
) -> HumanMotion:
    """A person whose joints are where the robot's are, larger and turned about the vertical."""
    places = {**robot_map(ROBOT).places}
    for side in SIDES:
        places[f"{side}_wrist"] = f"{side}_wrist_pitch_link"
        places[f"{side}_hand"] = ROBOT.end_effectors[f"{side}_hand"]
    poses = Kinematics(ROBOT).place_poses(places, motion.q, motion.base)
    cosine, sine = np.cos(heading_rad), np.sin(heading_rad)
    turn = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    positions = np.full((len(motion.q), len(POINTS), 3), np.nan)
    for name in places:
        positions[:, POINTS.index(name)] = scale * poses.position(name) @ turn.T
    hips = [POINTS.index(f"{side}_hip") for side in SIDES]
    shoulders = [POINTS.index(f"{side}_shoulder") for side in SIDES]
    positions[:, POINTS.index("pelvis")] = positions[:, hips].mean(axis=1)
    positions[:, POINTS.index("neck")] = positions[:, shoulders].mean(axis=1)
    known = np.isfinite(positions).all(axis=2).astype(np.float64)
    return HumanMotion("robot", motion.rate_hz, positions, known, Origin(Path("x"), "robot"))


def figures(**changed: Any) -> Figures:
    plain = figures_of(standing(), np.ones((40, 2, 2), bool))
    return replace(plain, **changed)


def test_a_robot_that_stands_still_has_no_fault() -> None:
    found = figures_of(standing(), np.ones((40, 2, 2), bool))
    assert found.drift_cm == 0.0
    assert found.hover_cm < 0.01
    assert found.depth_cm < 0.01
    assert (found.overlap_frames, found.limits, found.speeds, found.jumps) == (0, 0, 0, 0)


def test_a_robot_that_is_lifted_hovers_by_that_much() -> None:
    motion = standing()
    motion.base[:, 2] += 0.05
    assert figures_of(motion, np.ones((40, 2, 2), bool)).hover_cm == pytest.approx(5.0, abs=0.05)


@pytest.mark.parametrize("heading_rad", [0.0, 2.0])
def test_limbs_that_point_as_the_person_does_are_off_by_nothing(heading_rad: float) -> None:
    motion = standing()
    angles = limbs_off(person_like(motion, heading_rad=heading_rad), motion)
    assert max(angles.values()) < 1e-4


def test_a_bent_knee_is_seen_in_the_thigh_or_the_shank() -> None:
    motion = standing()
    person = person_like(motion)
    motion.q[:, ROBOT.joint_names.index("left_knee_joint")] += 0.5
    angles = limbs_off(person, motion)
    assert angles["left_shank"] == pytest.approx(np.degrees(0.5), abs=1.0)
    assert max(angles["left_thigh"], angles["right_shank"]) < 0.01


def test_soles_that_stand_still_on_the_ground_are_in_contact() -> None:
    assert contacts_of(standing()).all()


def test_contacts_at_another_rate_are_those_of_the_same_times() -> None:
    flags = np.arange(120) >= 60
    found = resampled(flags, 120.0, 30, 30.0)
    assert int(np.argmax(found)) == 15


def test_the_recipe_sends_the_limbs_of_a_robot_like_person_where_they_are() -> None:
    motion = standing()
    rotations = Kinematics(ROBOT).link_poses(motion.q, motion.base)
    found = targets(person_like(motion), ROBOT)
    for name in ("left_shoulder", "right_shoulder", "left_elbow", "right_elbow", "left_knee"):
        target = found[name]
        turn = rotations.rotation(target.name)[0].T @ target.rotations[0]
        # The links of the arms are not quite straight between their joints.
        assert np.degrees(np.arccos(np.clip((np.trace(turn) - 1) / 2, -1, 1))) < 20.0


def test_sums_weigh_by_frames_and_keep_the_worst() -> None:
    one = figures(frames=100, jerk=10.0, depth_cm=1.0, jumps=2, cpu_s=1.0)
    other = figures(frames=300, jerk=30.0, depth_cm=0.5, jumps=1, cpu_s=3.0)
    found = added([one, other])
    assert (found.jerk, found.depth_cm, found.jumps) == (25.0, 1.0, 3)
    assert found.frames_per_cpu_s == 100.0


def test_an_aim_that_is_missed_is_said_to_fail() -> None:
    text = table.aims(figures(cpu_s=1.0, jerk=800.0))
    rows = {row.split("|")[1].strip(): row for row in text.splitlines()}
    assert "FAILS" in rows["jerk, mean, rad/s3"]
    assert "FAILS" in rows["frames per CPU-second"]
    assert "holds" in rows["jumps"]
    assert "not measured" in rows["hand error, mean, cm"]


def test_spoiling_adds_the_noise_and_the_gaps_that_it_names() -> None:
    person = person_like(standing(400))
    bad = spoilt(person, Spoiling("both", 0.02, dropouts=0.2), np.random.default_rng(1))
    seen = person.confidence > 0
    moved = (bad.positions - person.positions)[seen & (bad.confidence > 0)]
    assert np.linalg.norm(moved, axis=1).mean() == pytest.approx(0.02, rel=0.1)
    assert np.mean(bad.confidence[seen] == 0) == pytest.approx(0.18, abs=0.04)
    assert not bad.rotations


class _Harm:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, ("harm",)


def test_a_file_that_names_a_function_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "motion.pkl"
    path.write_bytes(pickle.dumps({"dof": _Harm()}))
    with pytest.raises(CorporealError, match="mkdir"):
        read_arrays(path)
    assert not (tmp_path / "harm").exists()


def test_what_asap_published_is_a_motion_of_the_robot_with_still_wrists(
    shared_data: Path,
) -> None:
    paths = sorted((shared_data / "retarget" / "asap_g1_23dof").glob("*walk_level1*.pkl"))
    if not paths:
        pytest.skip("ASAP's motions are not among the sample data")
    motion = asap(paths[0], ROBOT)
    wrists = [number for number, name in enumerate(ROBOT.joint_names) if "wrist" in name]
    assert motion.q.shape == (152, 29)
    assert not motion.q[:, wrists].any()
    found = figures_of(motion, contacts_of(motion))
    assert found.limits == 0
    assert found.hover_cm > 1.0
