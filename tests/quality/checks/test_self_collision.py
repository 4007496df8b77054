"""Links inside each other are found and named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.standing import G1, altered, column, standing, without

from corporeal.episode.recording import ArraySignal
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.self_collision import CHECK


def found(subject: Subject) -> list[Finding]:
    return list(CHECK.find(subject))


def test_a_robot_that_stands_and_sways_passes() -> None:
    assert found(Subject(standing())) == []


LABEL = "observations/joint_position"


def hug(values: np.ndarray, first: int = 300, stop: int = 400) -> None:
    """Turn the left forearm into the chest."""
    values[first:stop, column("left_shoulder_pitch_joint")] = 0.2
    values[first:stop, column("left_shoulder_roll_joint")] = 0.18
    values[first:stop, column("left_shoulder_yaw_joint")] = -1.32
    values[first:stop, column("left_elbow_joint")] = 0.23


def test_an_arm_in_the_chest_is_found_and_named() -> None:
    (finding,) = found(altered(LABEL, hug))
    assert finding.frames == ((300, 400),)
    assert "torso_link and left_" in finding.message
    assert finding.value is not None
    assert finding.value > 0.015


def test_arms_alone_are_looked_at_when_the_rest_is_not_in_the_data() -> None:
    signal = standing().signals[LABEL]
    arms = [number for number, name in enumerate(G1.joint_names) if number >= 15]
    values = np.array(signal[:])
    hug(values)
    names = tuple(G1.joint_names[number] for number in arms)
    spec = signal.spec.model_copy(update={"shape": (14,), "components": names})
    only = {LABEL: ArraySignal(spec, signal.time_ns, values[:, arms])}
    (finding,) = found(Subject(replace(standing(), signals=only)))
    assert "torso_link and left_" in finding.message


def test_a_touch_of_a_moment_is_no_overlap() -> None:
    assert found(altered(LABEL, lambda values: hug(values, 300, 304))) == []


def test_a_recording_without_joints_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no joint_position"):
        found(without("joint_position"))


def test_an_overlap_that_the_shapes_may_have_alone_asks_a_person() -> None:
    for least, severity in ((0.001, None), (0.5, "quarantine")):
        (finding,) = CHECK.find(altered(LABEL, hug), min_sure_m=least)
        assert finding.severity == severity
        assert ("rounder than the robot" in finding.message) is (severity is not None)
