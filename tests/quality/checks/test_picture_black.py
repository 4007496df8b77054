"""Black pictures are found, dark and letterboxed ones are not."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.scene import CAMERA, blind, subject, within

from corporeal.errors import NotAssessed
from corporeal.quality.checks.picture_black import CHECK


def test_a_good_movie_passes() -> None:
    assert list(CHECK.find(subject(60))) == []


def test_one_black_picture_is_found() -> None:
    (finding,) = CHECK.find(subject(60, change=within(20, 21, np.zeros_like)))
    assert finding.stream == CAMERA
    assert finding.frames == ((20, 21),)


def test_black_bars_are_not_a_black_picture() -> None:
    def letterbox(picture: np.ndarray) -> np.ndarray:
        barred = picture.copy()
        barred[:40] = barred[80:] = 0
        return barred

    assert list(CHECK.find(subject(30, change=within(0, 30, letterbox)))) == []


def test_a_recording_without_a_camera_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no video"):
        list(CHECK.find(blind()))
