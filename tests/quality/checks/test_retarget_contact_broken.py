"""A foot that is meant to stand and hovers or drifts is found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.standing import standing
from tests.retargeting.made_results import result_of, squatting

from corporeal.embodiment import open_robot
from corporeal.errors import NotAssessed
from corporeal.geometry import Array
from corporeal.quality import Subject
from corporeal.quality.check import Finding
from corporeal.quality.checks.retarget_contact_broken import CHECK
from corporeal.retargeting.robot_episode import recording_of

NAMES = open_robot("g1").joint_names


def found(q: Array, base: Array, contacts: Array | None = None) -> list[Finding]:
    return list(CHECK.find(Subject(recording_of(result_of(q, base, contacts=contacts)))))


def _lift(q: Array, side: str, angle: Array) -> None:
    for part, gain in (("hip_pitch", -1.0), ("knee", 2.0), ("ankle_pitch", -1.0)):
        q[:, NAMES.index(f"{side}_{part}_joint")] += gain * angle


def _bump(frames: int) -> Array:
    return 0.5 * np.exp(-(((np.arange(frames) - 120) / 12.0) ** 2))


def test_feet_that_stand_pass() -> None:
    assert found(*squatting()) == []


def test_a_foot_that_is_lifted_passes_when_its_contacts_say_so() -> None:
    q, base = squatting()
    _lift(q, "right", _bump(len(q)))
    contacts = np.ones((len(q), 2, 2))
    contacts[80:160, 1] = 0
    assert found(q, base, contacts) == []


def test_a_foot_that_hovers_while_it_is_meant_to_stand_is_found() -> None:
    q, base = squatting()
    _lift(q, "right", _bump(len(q)))
    hover = [each for each in found(q, base) if "above the ground" in each.message]
    (finding,) = hover
    assert finding.message.startswith("the right foot is meant to stand and is 0.163 m")
    assert 90 < finding.frames[0][0] < 120 < finding.frames[0][1] < 150
    assert finding.limit == 0.02


def test_a_foot_that_drifts_while_it_is_meant_to_stand_is_found() -> None:
    q, base = squatting()
    base[:, 0] += np.linspace(0.0, 0.05, len(base))
    messages = [each.message for each in found(q, base)]
    assert len(messages) == 2
    assert messages[0].startswith("the left foot is meant to stand and moves 0.050 m")


def test_an_episode_without_contacts_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no foot_contact stream"):
        list(CHECK.find(Subject(standing())))
