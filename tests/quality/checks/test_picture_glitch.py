"""A disturbed picture among good ones is found."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.scene import CAMERA, HEIGHT, WIDTH, blind, subject, wall, within

from corporeal.errors import NotAssessed
from corporeal.quality.checks.picture_glitch import CHECK


def green(picture: np.ndarray) -> np.ndarray:
    spoilt = picture.copy()
    spoilt[HEIGHT // 2 :] = (0, 135, 0)
    return spoilt


def torn(picture: np.ndarray) -> np.ndarray:
    spoilt = picture.copy()
    spoilt[HEIGHT // 2 :] = np.roll(spoilt[HEIGHT // 2 :], WIDTH // 3, axis=1)
    return spoilt


def another(picture: np.ndarray) -> np.ndarray:
    return wall(seed=9)


def blue(picture: np.ndarray) -> np.ndarray:
    return picture[:, :, ::-1]


def test_a_good_movie_passes() -> None:
    assert list(CHECK.find(subject(60))) == []


@pytest.mark.parametrize("spoil", [green, torn, another, blue])
@pytest.mark.parametrize("length", [1, 3])
def test_a_disturbed_picture_is_found(spoil, length: int) -> None:  # type: ignore[no-untyped-def]
    (finding,) = CHECK.find(subject(60, change=within(30, 30 + length, spoil)))
    assert finding.stream == CAMERA
    assert finding.frames == ((30, 30 + length),)


def test_a_change_that_stays_is_not_a_glitch() -> None:
    assert list(CHECK.find(subject(60, change=within(30, 60, another)))) == []


def test_a_recording_without_a_camera_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no video"):
        list(CHECK.find(blind()))
