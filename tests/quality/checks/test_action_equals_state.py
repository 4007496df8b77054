"""An action that is a copy of the state is found; the next state as action is a note."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.quality.reaching import changed, table

from corporeal.episode.recording import Recording
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.action_equals_state import CHECK


def _copied(ahead: int, joints: slice = slice(None)) -> Recording:
    made = table(0)
    state = np.asarray(made.signals["observation.state"][:], np.float64)
    later = np.concatenate((state[ahead:], np.repeat(state[-1:], ahead, axis=0)))

    def copy(values: np.ndarray) -> None:
        values[:, joints] = later[:, joints]

    return changed(made, joint_position_target=copy)


def test_an_action_of_its_own_passes() -> None:
    for seed in range(3):
        assert list(CHECK.find(Subject(table(seed)))) == []


def test_an_action_that_is_the_state_is_found() -> None:
    (finding,) = CHECK.find(Subject(_copied(0)))
    assert finding.stream == "action"
    assert finding.value == 1.0
    assert finding.severity is None
    assert "in every sample of all" in finding.message


@pytest.mark.parametrize(("ahead", "words"), [(1, "of 1 sample later"), (3, "of 3 samples later")])
def test_the_next_state_as_action_is_a_note(ahead: int, words: str) -> None:
    (finding,) = CHECK.find(Subject(_copied(ahead)))
    assert finding.severity == "note"
    assert words in finding.message


def test_a_few_entries_that_are_the_same_pass_and_most_of_them_do_not() -> None:
    assert list(CHECK.find(Subject(_copied(0, slice(2, 4))))) == []
    (finding,) = CHECK.find(Subject(_copied(0, slice(0, 11))))
    assert finding.value is not None
    assert 0.5 < finding.value < 1.0


def test_a_robot_that_stands_still_is_not_assessed() -> None:
    def stand(values: np.ndarray) -> None:
        values[:] = values[0]

    still = changed(table(0), joint_position_target=stand, joint_position=stand)
    with pytest.raises(NotAssessed, match="does not move"):
        list(CHECK.find(Subject(still)))


def test_a_retargeted_motion_has_no_other_action() -> None:
    motion = replace(_copied(1), metadata={"mode": "retargeted mocap"})
    with pytest.raises(NotAssessed, match="was retargeted"):
        list(CHECK.find(Subject(motion)))
