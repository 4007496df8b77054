"""A camera that is knocked, turned or recoloured within the episode is found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.scene import CAMERA, blind, subject, wall, within

from corporeal.errors import NotAssessed
from corporeal.quality.checks.view_changed import CHECK


def test_a_good_movie_passes() -> None:
    assert list(CHECK.find(subject(90))) == []


@pytest.mark.parametrize(
    ("spoil", "what"),
    [
        (lambda picture: np.roll(picture, (3, 8), (0, 1)), "jumps by"),
        (lambda picture: picture[::-1, ::-1], "upside down"),
        (lambda picture: picture[:, ::-1], "mirrored"),
        (lambda picture: picture[:, :, ::-1], "red and blue"),
        (lambda _: wall(seed=7), "another view"),
    ],
)
def test_a_change_of_view_that_stays_is_found_and_named(spoil, what: str) -> None:  # type: ignore[no-untyped-def]
    (finding,) = CHECK.find(subject(90, change=within(40, 90, spoil)))
    assert what in finding.message
    assert finding.stream == CAMERA
    assert finding.frames == ((40, 90),)


def test_the_size_of_a_jump_is_measured() -> None:
    move = within(40, 90, lambda picture: np.roll(picture, 16, 1))
    (finding,) = CHECK.find(subject(90, change=move))
    assert finding.value == pytest.approx(0.1, abs=0.01)


def test_a_single_disturbed_picture_is_left_to_another_check() -> None:
    glitch = within(40, 41, lambda picture: picture[::-1, ::-1])
    assert list(CHECK.find(subject(90, change=glitch))) == []


def test_a_recording_without_a_camera_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no video"):
        list(CHECK.find(blind()))
