"""Too much and too little light are found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.scene import CAMERA, blind, subject, within

from corporeal.errors import NotAssessed
from corporeal.quality.checks.exposure_wrong import CHECK


def test_a_good_movie_passes() -> None:
    assert list(CHECK.find(subject(60))) == []


@pytest.mark.parametrize(
    ("gain", "offset", "what"), [(2.5, 60, "over-exposed"), (0.15, 0, "under-exposed")]
)
def test_a_stretch_with_wrong_exposure_is_found(gain: float, offset: float, what: str) -> None:
    def light(picture: np.ndarray) -> np.ndarray:
        return np.clip(picture * gain + offset, 0, 255).astype(np.uint8)

    (finding,) = CHECK.find(subject(60, change=within(20, 30, light)))
    assert what in finding.message
    assert finding.stream == CAMERA
    assert finding.frames == ((20, 30),)


def test_black_is_left_to_the_check_that_names_it() -> None:
    assert list(CHECK.find(subject(60, change=within(20, 30, np.zeros_like)))) == []


def test_a_recording_without_a_camera_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no video"):
        list(CHECK.find(blind()))
