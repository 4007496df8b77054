"""Postures that the robot cannot take are found."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.reaching import G1, POSITION, TARGET, altered, column, reaching

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.joint_beyond_limit import CHECK

ELBOW = next(joint for joint in G1.joints if joint.name == "left_elbow_joint")


def beyond(share: float, first: int, stop: int) -> object:
    def edit(values: np.ndarray) -> None:
        upper, lower = float(ELBOW.upper or 0), float(ELBOW.lower or 0)
        values[first:stop, column("left_elbow")] = upper + share * (upper - lower)

    return edit


def test_a_robot_within_its_limits_passes() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []


def test_three_percent_beyond_is_within_the_margin() -> None:
    assert list(CHECK.find(altered(joint_position=beyond(0.03, 100, 200)))) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("role", "label"), [("joint_position", POSITION), ("joint_position_target", TARGET)]
)
def test_six_percent_beyond_is_found_with_its_frames(role: str, label: str) -> None:
    (finding,) = CHECK.find(altered(**{role: beyond(0.06, 100, 200)}))  # type: ignore[arg-type]
    assert (finding.stream, finding.frames) == (label, ((100, 200),))
    assert finding.value == pytest.approx(0.06, abs=1e-3)
    assert "left_elbow_joint" in finding.message


def test_a_recording_of_an_unknown_robot_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="robot is not known"):
        list(CHECK.find(Subject(replace(reaching(), embodiment=None))))
