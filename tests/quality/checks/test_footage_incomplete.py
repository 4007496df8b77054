"""Pictures and stamps are counted against each other."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.quality.scene import CAMERA, blind, filmed, movie, pictures

from corporeal.episode.recording import Defect
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.footage_incomplete import CHECK


def seen(path: Path, *, shown: int, stamps: int) -> Subject:
    recording = filmed(stamps)
    footage = replace(movie(path, pictures(shown)), time_ns=recording.signals[CAMERA].time_ns)
    return Subject(replace(recording, signals={**recording.signals, CAMERA: footage}))


def test_as_many_pictures_as_stamps_pass(tmp_path: Path) -> None:
    assert list(CHECK.find(seen(tmp_path / "good.mp4", shown=20, stamps=20))) == []


@pytest.mark.parametrize(
    ("shown", "frames", "what"), [(15, (15, 20), "missing"), (23, (20, 23), "too many")]
)
def test_a_difference_is_found(tmp_path: Path, shown: int, frames: tuple, what: str) -> None:  # type: ignore[type-arg]
    (finding,) = CHECK.find(seen(tmp_path / "short.mp4", shown=shown, stamps=20))
    assert finding.stream == CAMERA
    assert finding.frames == (frames,)
    assert what in finding.message


def test_what_the_reader_found_is_reported_once(tmp_path: Path) -> None:
    one = seen(tmp_path / "short.mp4", shown=15, stamps=20)
    defect = Defect("footage_incomplete", "5 pictures are missing", stream=CAMERA, value=5, limit=0)
    other = Defect("index_wrong", "not mine")
    recording = replace(one.recording, defects=(defect, other))
    (finding,) = CHECK.find(Subject(recording))
    assert finding.message == "5 pictures are missing"


def test_a_recording_without_a_camera_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no video"):
        list(CHECK.find(blind()))
