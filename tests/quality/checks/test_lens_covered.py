"""A covered lens is found, whole or half."""

from __future__ import annotations

import numpy as np
import pytest
from tests.quality.scene import CAMERA, WIDTH, blind, overlap, subject, within

from corporeal.errors import NotAssessed
from corporeal.quality.checks.lens_covered import CHECK

HAND = (38, 24, 20)


def half(picture: np.ndarray) -> np.ndarray:
    covered = picture.copy()
    covered[:, : WIDTH // 2] = HAND
    return covered


def test_a_good_movie_passes() -> None:
    assert list(CHECK.find(subject(60))) == []


def test_half_a_lens_covered_for_a_while_is_found() -> None:
    (finding,) = CHECK.find(subject(90, change=within(30, 50, half)))
    assert finding.stream == CAMERA
    assert overlap(finding.frames, 30, 50) == 20
    assert finding.value == pytest.approx(0.5, abs=0.15)


def test_a_lens_covered_throughout_is_found() -> None:
    def cap(picture: np.ndarray) -> np.ndarray:
        return np.full_like(picture, HAND)

    (finding,) = CHECK.find(subject(30, change=within(0, 30, cap)))
    assert finding.frames == ((0, 30),)


def test_less_light_covers_nothing() -> None:
    def dim(picture: np.ndarray) -> np.ndarray:
        return (picture * 0.2).astype(np.uint8)

    assert list(CHECK.find(subject(60, change=within(20, 40, dim)))) == []


def test_a_recording_without_a_camera_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no video"):
        list(CHECK.find(blind()))
