"""Joints that are suddenly elsewhere are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.reaching import (
    POSITION,
    TARGET,
    altered,
    changed,
    column,
    reaching,
    table,
    without,
)

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.joint_jumps import CHECK


def jump(first: int, number: int, size: float = 0.3) -> object:
    def edit(values: np.ndarray) -> None:
        values[first:, number] += size

    return edit


def test_smooth_motions_pass() -> None:
    assert list(CHECK.find(Subject(reaching()))) == []
    assert list(CHECK.find(Subject(table()))) == []


@pytest.mark.parametrize(
    ("role", "label", "first"),
    [("joint_position", POSITION, 400), ("joint_position_target", TARGET, 200)],
)
def test_a_jump_is_found_where_it_happens(role: str, label: str, first: int) -> None:
    (finding,) = CHECK.find(altered(**{role: jump(first, column("right_elbow"))}))  # type: ignore[arg-type]
    assert finding.stream == label
    assert finding.frames == ((first - 1, first + 1),)
    assert "right_elbow_joint" in finding.message


def test_a_jump_in_a_table_at_thirty_hertz_is_found() -> None:
    spoilt = changed(table(), joint_position=jump(150, 3))  # type: ignore[arg-type]
    (finding,) = CHECK.find(Subject(spoilt))
    assert finding.frames == ((149, 151),)


def test_lost_frames_of_a_motion_are_no_jump() -> None:
    def lose(values: np.ndarray) -> None:
        values[:-6] = np.concatenate([values[:100], values[106:]])

    spoilt = changed(table(), joint_position=lose, joint_position_target=lose)
    assert [f for f in CHECK.find(Subject(spoilt)) if f.frames[0][0] == 99] == []


def test_a_target_that_the_joint_follows_is_no_jump() -> None:
    def both(values: np.ndarray) -> None:
        half = len(values) // 2
        values[half:, column("right_elbow")] += 0.25

    def follow(values: np.ndarray) -> None:
        values[:, column("right_elbow")] += 0.25 * np.clip((np.arange(800) - 400) / 15, 0, 1)

    assert list(CHECK.find(altered(joint_position_target=both, joint_position=follow))) == []


def test_a_recording_without_joints_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(CHECK.find(without(reaching(), "joint_position", "joint_position_target")))
