"""What a subject says of itself, and why it cannot where it cannot."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from corporeal.episode.recording import ArraySignal, Recording
from corporeal.errors import NotAssessed
from corporeal.quality.subject import Subject
from corporeal.schema import Stream


def _subject(*commands: str) -> Subject:
    streams = [
        Stream(name="joint_position", group="observations", shape=(2,), rate_hz=50, unit="rad"),
        *(Stream(name=name, group="actions", shape=(2,), rate_hz=50) for name in commands),
    ]
    stamps = np.arange(50, dtype=np.int64) * 20_000_000
    signals = {each.path: ArraySignal(each, stamps, np.zeros((50, 2))) for each in streams}
    return Subject(Recording("made", Path("made"), 0, signals))


@pytest.mark.parametrize("name", ["joint_velocity_target", "joint_torque_target"])
def test_targets_that_are_no_positions_are_named_as_the_reason(name: str) -> None:
    with pytest.raises(NotAssessed, match=f"the action is {name}, which positions cannot be held"):
        _ = _subject(name).action


def test_targets_of_positions_are_the_action_whatever_else_was_told() -> None:
    subject = _subject("joint_velocity_target", "joint_position_target")
    assert subject.action.spec.name == "joint_position_target"


def test_without_any_target_the_streams_that_would_do_are_named() -> None:
    with pytest.raises(NotAssessed, match="no joint_position_target or action"):
        _ = _subject().action
