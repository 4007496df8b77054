"""The start lies within what the protocol varies."""

from __future__ import annotations

import pytest
from tests.quality.ruled import judge, marked

from corporeal.errors import NotAssessed
from corporeal.protocol.protocol import Randomisation, State

NAME = "randomisation_off_protocol"
# The object of the demonstration starts at x 0.35 m, y 0.
NEAR = Randomisation(object_xyz=(0.32, 0.02, 0.75), object_position_m=0.06)
FAR = Randomisation(object_xyz=(0.20, 0.0, 0.75), object_position_m=0.06)


def test_passes_an_object_within_its_radius() -> None:
    assert not list(judge(NAME, marked(), randomisation=NEAR))


def test_finds_an_object_outside_its_radius() -> None:
    (found,) = judge(NAME, marked(), randomisation=FAR)
    assert "15 cm from the middle of its range" in found.message


def test_finds_an_object_that_is_not_where_it_was_asked_to_lie() -> None:
    asked = {"object_xyz": [0.31, 0.0, 0.75], "object_yaw_rad": 0.1}
    (found,) = judge(NAME, marked(asked=asked), randomisation=NEAR)
    assert "4 cm from where it was asked to lie" in found.message


def test_finds_an_object_that_is_turned_otherwise_than_asked() -> None:
    asked = {"object_xyz": [0.35, 0.0, 0.75], "object_yaw_rad": 0.5}
    (found,) = judge(NAME, marked(asked=asked), randomisation=NEAR)
    assert "turned by 29 degrees from what was asked" in found.message


def test_finds_a_joint_beyond_its_range() -> None:
    start = State(description="arms out", posture={"left_elbow_joint": 0.5})
    (found,) = judge(NAME, marked(), randomisation=Randomisation(joint_rad=0.2), start=start)
    assert "left_elbow_joint starts at" in found.message


def test_nonsense_in_the_metadata_does_no_harm() -> None:
    asked: dict[str, object] = {"object_xyz": ["a", None, []], "object_yaw_rad": "b"}
    assert not list(judge(NAME, marked(asked=asked), randomisation=NEAR))


def test_without_a_middle_it_is_not_assessed() -> None:
    with pytest.raises(NotAssessed):
        list(judge(NAME, marked()))
