"""Hands that are too fast are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.standing import altered, column, standing, without

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.hand_too_fast import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


def test_a_hand_that_jumps_is_found_at_its_frame() -> None:
    def jump(values: np.ndarray) -> None:
        values[400, column("right_shoulder_pitch_joint")] += 0.4

    (finding,) = found(altered("observations/joint_position", jump))
    assert finding.frames == ((400, 402),)
    assert "right_hand" in finding.message
    assert "left_hand" not in finding.message


def swing(values: np.ndarray, *, samples: int, angle: float) -> None:
    course = 0.5 - 0.5 * np.cos(np.linspace(0, 2 * np.pi, 2 * samples))
    values[300 : 300 + 2 * samples, column("right_shoulder_pitch_joint")] -= angle * course


def test_a_quick_swing_that_builds_up_is_what_the_motors_can_do() -> None:
    def quick(values: np.ndarray) -> None:
        swing(values, samples=30, angle=2.4)

    subject = altered("observations/joint_position", quick)
    assert found(subject) == []
    # It is above the customary speed, and would be found of a robot that states none.
    assert CHECK.limits["max_speed_m_s"] == 5.0
    assert len(list(CHECK.find(subject, max_speed_m_s=2.0, max_acceleration_m_s2=10.0))) == 1


def test_a_swing_that_no_motor_could_push_is_found() -> None:
    def thrown(values: np.ndarray) -> None:
        swing(values, samples=10, angle=2.4)

    (finding,) = found(altered("observations/joint_position", thrown))
    assert 295 <= finding.frames[0][0] <= 325


def test_the_speed_is_asked_about_where_the_robot_states_none() -> None:
    def thrown(values: np.ndarray) -> None:
        swing(values, samples=16, angle=2.6)

    recording = altered("observations/joint_position", thrown).recording
    robot = recording.embodiment
    assert robot is not None
    silent = robot.model_copy(
        update={
            "joints": tuple(each.model_copy(update={"velocity": None}) for each in robot.joints)
        }
    )
    findings = list(
        CHECK.find(Subject(replace(recording, embodiment=silent)), max_acceleration_m_s2=1e6)
    )
    assert [finding.severity for finding in findings] == ["quarantine"]


def test_an_arm_is_looked_at_though_the_waist_is_not_in_the_data() -> None:
    def jump(values: np.ndarray) -> None:
        values[400, column("right_shoulder_pitch_joint")] += 0.4

    recording = altered("observations/joint_position", jump).recording
    signals = dict(recording.signals)
    joints = signals["observations/joint_position"]
    names = Subject(recording).tracks["observations/joint_position"].names
    kept = [n for n, name in enumerate(names) if "waist" not in name]
    spec = joints.spec.model_copy(
        update={
            "components": tuple(names[n] for n in kept),
            "shape": (len(kept),),
        }
    )
    signals["observations/joint_position"] = ArraySignal(
        spec, np.asarray(joints.time_ns), np.asarray(joints[:])[:, kept]
    )
    (finding,) = found(Subject(replace(recording, signals=signals)))
    assert finding.frames == ((400, 402),)


def test_a_recording_without_joints_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no joint_position"):
        found(without("joint_position"))
