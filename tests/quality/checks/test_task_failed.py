"""A success that the signals do not contradict, and failures that are named."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.demonstrations import (
    BASE,
    GRIPPER,
    OBJECT,
    demonstration,
    edited,
    told,
    without,
)

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.task_failed import find


def test_passes_on_a_success_that_shows() -> None:
    assert not list(find(Subject(demonstration())))


def test_finds_a_failure_that_the_metadata_states() -> None:
    failed = told(demonstration(), outcome={"success": False, "failure": "drop"})
    (found,) = find(Subject(failed))
    assert found.message == "the demonstration failed: drop"
    assert found.severity == "fail"


@pytest.mark.parametrize("word", ["failure", False, "slip"])
def test_finds_a_failure_however_it_is_written(word: object) -> None:
    assert len(list(find(Subject(told(demonstration(), outcome=word))))) == 1


def test_finds_an_object_that_falls() -> None:
    good = demonstration()
    pose = np.array(good.signals[OBJECT][:])
    start = 230
    fall_s = np.arange(len(pose) - start) / 50.0
    pose[start:, 2] = np.maximum(pose[start, 2] - 4.905 * fall_s**2, 0.75)
    found = list(find(Subject(edited(good, OBJECT, pose))))
    assert [each.stream for each in found] == [OBJECT]
    assert abs(found[0].frames[0][0] - start) < 12
    assert "labelled a success, but the object falls at 4.6" in found[0].message


def test_finds_an_object_that_never_moves() -> None:
    good = demonstration()
    pose = np.array(good.signals[OBJECT][:])
    pose[:] = pose[0]
    idle = edited(edited(good, OBJECT, pose), GRIPPER, np.full((len(pose), 1), 0.08))
    (found,) = find(Subject(idle))
    assert "never moves" in found.message
    assert "no gripper closes" in found.message


def test_finds_an_object_that_ends_beside_its_marked_goal() -> None:
    marked = {"goal": [0.45, 0.0, 0.75], "mark": True}
    assert not list(find(Subject(told(demonstration(), variation=marked))))
    beside = {"goal": [0.45, 0.2, 0.75], "mark": True}
    (found,) = find(Subject(told(demonstration(), variation=beside)))
    assert "ends 20 cm from its goal" in found.message
    assert found.stream == OBJECT


def test_finds_a_robot_that_lies_down() -> None:
    good = demonstration()
    base = np.array(good.signals[BASE][:])
    base[300:, 2] = 0.2
    found = list(find(Subject(edited(good, BASE, base))))
    assert found[0].stream == BASE
    assert found[0].frames == ((300, len(base)),)


def test_finds_events_that_tell_another_story() -> None:
    events = [{"name": "grasp", "time_s": 2.0}, {"name": "slip", "time_s": 3.0}]
    (found,) = find(Subject(told(demonstration(), events=events)))
    assert "slip at 3.0 s" in found.message


def test_an_unstated_outcome_and_unseen_things_are_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="not stated"):
        list(find(Subject(told(demonstration(), outcome=None))))
    with pytest.raises(NotAssessed, match="neither"):
        list(find(Subject(without(demonstration(), OBJECT, BASE))))
