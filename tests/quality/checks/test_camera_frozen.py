"""Repeated pictures are found while the robot moves, and only then."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.quality.scene import CAMERA, blind, filmed, movie, overlap, pictures, subject

from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.camera_frozen import CHECK


def frozen(first: int, stop: int):  # type: ignore[no-untyped-def]
    def freeze(shown: list) -> list:  # type: ignore[type-arg]
        return [
            shown[first - 1] if first <= number < stop else each
            for number, each in enumerate(shown)
        ]

    return freeze


def test_a_good_movie_passes() -> None:
    assert list(CHECK.find(subject(120))) == []


@pytest.mark.parametrize("length", [1, 3, 5, 30])
def test_repeated_pictures_are_found(length: int) -> None:
    (finding,) = CHECK.find(subject(120, change=frozen(50, 50 + length)))
    assert finding.stream == CAMERA
    assert finding.frames == ((50, 50 + length),)


def test_they_are_found_after_coding_too(tmp_path: Path) -> None:
    recording = filmed(120)
    footage = movie(tmp_path / "frozen.mp4", frozen(50, 60)(pictures(120)))
    (finding,) = CHECK.find(
        Subject(replace(recording, signals={**recording.signals, CAMERA: footage}))
    )
    assert overlap(finding.frames, 50, 60) >= 8


def test_a_camera_that_freezes_until_the_end_is_found() -> None:
    (finding,) = CHECK.find(subject(120, change=frozen(80, 120)))
    assert overlap(finding.frames, 80, 120) == 40


def test_a_scene_in_which_nothing_moves_passes() -> None:
    assert list(CHECK.find(subject(120, moving=False, change=frozen(1, 120)))) == []


def test_a_camera_of_half_the_rate_gets_a_note_only() -> None:
    def halve(shown: list) -> list:  # type: ignore[type-arg]
        return [shown[number // 2 * 2] for number in range(len(shown))]

    findings = list(CHECK.find(subject(120, change=halve)))
    assert [finding.severity for finding in findings] == ["note"]
    assert "twice" in findings[0].message


def test_a_camera_of_half_the_rate_beside_one_that_keeps_up_asks_for_a_human() -> None:
    def halve(shown: list) -> list:  # type: ignore[type-arg]
        return [shown[number // 2 * 2] for number in range(len(shown))]

    slow, quick = filmed(120, change=halve), filmed(120)
    both = replace(slow, signals={**slow.signals, f"{CAMERA}_2": quick.signals[CAMERA]})
    findings = [each for each in CHECK.find(Subject(both)) if "twice" in each.message]
    assert [(each.stream, each.severity) for each in findings] == [(CAMERA, "quarantine")]


def test_a_recording_without_a_camera_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no video"):
        list(CHECK.find(blind()))


def test_one_picture_that_a_codec_left_out_is_tolerated(tmp_path: Path) -> None:
    recording = filmed(120)
    footage = movie(tmp_path / "frozen.mp4", frozen(50, 51)(pictures(120)))
    coded = replace(recording, signals={**recording.signals, CAMERA: footage})
    assert list(CHECK.find(Subject(coded))) == []
