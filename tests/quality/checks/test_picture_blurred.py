"""A camera out of focus is found, quick motion blur is not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from tests.quality.scene import CAMERA, blind, overlap, subject, within

from corporeal.errors import NotAssessed
from corporeal.quality.checks.picture_blurred import CHECK


def blurred(sigma: float, first: int, stop: int):  # type: ignore[no-untyped-def]
    return within(first, stop, lambda picture: gaussian_filter(picture, (sigma, sigma, 0)))


def test_a_good_movie_passes() -> None:
    assert list(CHECK.find(subject(60))) == []


@pytest.mark.parametrize("sigma", [2.0, 4.0])
def test_a_blurred_stretch_is_found(sigma: float) -> None:
    (finding,) = CHECK.find(subject(60, change=blurred(sigma, 20, 40)))
    assert finding.stream == CAMERA
    assert overlap(finding.frames, 20, 40) >= 18
    assert finding.value is not None
    assert finding.limit is not None
    assert finding.value < finding.limit


def test_an_episode_that_is_blurred_throughout_is_found() -> None:
    (finding,) = CHECK.find(subject(30, change=blurred(3.0, 0, 30)))
    assert finding.frames == ((0, 30),)


def test_three_blurred_pictures_are_motion_blur() -> None:
    assert list(CHECK.find(subject(60, change=blurred(2.0, 20, 23)))) == []


def test_plain_pictures_are_not_called_blurred() -> None:
    assert list(CHECK.find(subject(30, change=within(0, 30, np.zeros_like)))) == []


def test_a_recording_without_a_camera_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no video"):
        list(CHECK.find(blind()))
