"""A movie that breaks off or is damaged is found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.quality.scene import CAMERA, blind, filmed, movie, pictures

from corporeal.episode.recording import VideoFile
from corporeal.episode.video import index_mp4
from corporeal.errors import NotAssessed
from corporeal.quality import Subject
from corporeal.quality.checks.video_damaged import CHECK


def seen(footage: VideoFile) -> Subject:
    recording = filmed(len(footage))
    return Subject(replace(recording, signals={**recording.signals, CAMERA: footage}))


def test_a_good_movie_passes(tmp_path: Path) -> None:
    assert list(CHECK.find(seen(movie(tmp_path / "good.mp4", pictures(30))))) == []


def test_a_damaged_packet_is_found_with_its_picture(tmp_path: Path) -> None:
    path = tmp_path / "damaged.mp4"
    footage = movie(path, pictures(30))
    index = index_mp4(path)
    data = bytearray(path.read_bytes())
    start, size = int(index.start[14]), int(index.size[14])
    data[start + size // 3 : start + size] = bytes(size - size // 3)
    path.write_bytes(data)
    (finding,) = CHECK.find(seen(footage))
    assert "damaged" in finding.message
    assert finding.frames[0][0] in (14, 15)


def test_a_file_that_is_no_movie_is_found(tmp_path: Path) -> None:
    path = tmp_path / "none.mp4"
    footage = movie(path, pictures(10))
    path.write_bytes(b"not a movie" * 100)
    (finding,) = CHECK.find(seen(footage))
    assert "breaks off after 0 of 10" in finding.message
    assert finding.stream == CAMERA


def test_a_recording_without_a_camera_is_not_assessed() -> None:
    with pytest.raises(NotAssessed, match="no video"):
        list(CHECK.find(blind()))
