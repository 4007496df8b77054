"""A result as an episode: what is in the file, and that every other part of the house takes it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.retargeting.made_results import result_of, squatting, unsure

from corporeal.episode import Episode
from corporeal.episode.facts import RETARGETED_MOCAP
from corporeal.episode.overview import verify
from corporeal.episode.recording import recording_of as read_back
from corporeal.quality import Subject
from corporeal.quality.assessment import assess
from corporeal.retargeting.measure.metrics import measure_result
from corporeal.retargeting.motion import POINTS
from corporeal.retargeting.result import ENDS
from corporeal.retargeting.robot_episode import RIG, recording_of, write_episode
from corporeal.schema import open_schema

FACTS = {"operator": "p01", "instruction": "wave with both arms", "consent": "c-17"}


def test_the_rig_names_the_points_and_ends_in_the_order_of_the_motion() -> None:
    rig = open_schema(RIG)
    assert rig.stream("debug/human_confidence").components == POINTS
    assert rig.stream("debug/human_points").shape == (len(POINTS), 3)
    for name in ("retarget_error", "retarget_confidence"):
        assert rig.stream(f"debug/{name}").components == ENDS


def test_an_episode_holds_the_motion_the_person_and_the_source(tmp_path: Path) -> None:
    clip = tmp_path / "wave.bvh"
    clip.write_bytes(b"HIERARCHY")
    result = result_of(*squatting(), off_m=0.01, path=clip)
    metrics = measure_result(result)
    path = write_episode(
        result, tmp_path / "e.h5", metrics=metrics, facts=FACTS, settings={"filter_hz": 5.0}
    )
    assert verify(path) == ()
    with Episode.open(path) as episode:
        said = episode.metadata
        assert said["mode"] == RETARGETED_MOCAP
        assert said["segments"][0]["motion_source"] == "wave.bvh"
        assert said["source_sha256"] == hashlib.sha256(b"HIERARCHY").hexdigest()
        assert said["source_format"] == "bvh"
        assert said["consent"] == "c-17"
        assert str(tmp_path) not in json.dumps(said)
        assert said["retargeting"]["converged"] is True
        assert said["retargeting"]["settings"] == {"filter_hz": 5.0}
        assert said["retargeting"]["metrics"]["frames"] == 200
        assert episode.missing_metadata == episode.missing_streams == ()
        assert episode["observations/joint_position"][:] == pytest.approx(result.q, abs=1e-6)
        assert episode["debug/base_pose"][:] == pytest.approx(result.base, abs=1e-6)
        assert episode["debug/retarget_error"][:] == pytest.approx(0.01, abs=1e-6)
        assert episode["debug/human_points"][:].shape == (200, len(POINTS), 3)
        assert episode["debug/foot_contact"][:].all()
        assert episode["observations/instruction"][0] == "wave with both arms"
        assert np.diff(episode["debug/base_pose"].time_ns).tolist() == [20_000_000] * 199


def test_a_good_episode_is_accepted_by_every_gate(tmp_path: Path) -> None:
    clip = tmp_path / "clip.bvh"
    clip.write_bytes(b"HIERARCHY")
    path = write_episode(result_of(*squatting(), path=clip), tmp_path / "e.h5", facts=FACTS)
    with Episode.open(path) as episode:
        judged = assess(Subject(read_back(episode)))
    assert [(each.check, each.message) for each in judged.findings] == []
    assert judged.verdict == "accepted"
    skipped = judged.not_assessed
    for name in ("foot_slides", "foot_below_ground", "self_collision", "joint_beyond_limit",
                 "joint_too_fast", "joint_jumps", "base_drifts", "base_height_wrong",
                 "retarget_off_goal", "retarget_not_converged",
                 "retarget_contact_broken"):  # fmt: skip
        assert name not in skipped, skipped.get(name)


def test_the_target_is_where_the_joint_is_one_sample_later() -> None:
    made = recording_of(result_of(*squatting(50)))
    state = made.signals["observations/joint_position"][:]
    target = made.signals["actions/joint_position_target"][:]
    assert (target[:-1] == state[1:]).all()
    assert (target[-1] == state[-1]).all()


def test_a_quaternion_that_changes_its_sign_is_written_without_a_leap() -> None:
    q, base = squatting(50)
    base[20:30, 3:] *= -1
    pose = recording_of(result_of(q, base)).signals["debug/base_pose"][:]
    assert np.abs(np.diff(pose[:, 3:], axis=0)).max() < 1e-6


def test_unknown_goals_and_points_are_zero_with_no_confidence_never_nan() -> None:
    result = unsure(result_of(*squatting(50), off_m=0.2), "left_hand")
    error = result.error_m.copy()
    error[:, 0] = np.nan
    made = recording_of(replace(result, error_m=error))
    for signal in made.signals.values():
        values = np.asarray(signal[:])
        assert values.dtype.kind in "OUb" or np.isfinite(values).all()
    assert (made.signals["debug/retarget_error"][:][:, 0] == 0).all()
    assert (made.signals["debug/retarget_confidence"][:][:, 0] == 0).all()
    assert (made.signals["debug/human_confidence"][:][:, POINTS.index("left_toe")] == 0).all()


def test_one_frame_makes_an_episode_too(tmp_path: Path) -> None:
    path = write_episode(result_of(*squatting(1)), tmp_path / "one.h5")
    with Episode.open(path) as episode:
        assert len(episode["observations/joint_velocity"]) == 1
        assert episode.missing_metadata == ("operator", "source_sha256")


def test_the_velocity_of_a_quick_motion_at_a_low_rate_keeps_its_size() -> None:
    q, base = squatting(120)
    time_s = np.arange(120) / 30.0
    q[:, 12] = 0.2 * np.sin(2 * np.pi * 5 * time_s)
    made = recording_of(result_of(q, base, rate_hz=30.0))
    speed = made.signals["observations/joint_velocity"][:][10:-10, 12]
    truth = 0.2 * 2 * np.pi * 5 * np.cos(2 * np.pi * 5 * time_s)[10:-10]
    assert np.abs(speed - truth).max() < 0.02 * np.abs(truth).max()
