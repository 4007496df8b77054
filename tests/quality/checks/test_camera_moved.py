"""A camera that no longer sees its markers where it was calibrated is found from the episode."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.calibration.marker_pictures import LEFT, RIGHT, draw, pose, station

from corporeal.calibration.board import Board
from corporeal.calibration.verification import CameraLook, camera_of, reference_from, with_reference
from corporeal.episode.recording import ImageSequence, Recording
from corporeal.errors import NotAssessed
from corporeal.geometry import Array
from corporeal.protocol import Calibration
from corporeal.quality import Subject
from corporeal.quality.checks.camera_moved import CHECK
from corporeal.schema import Stream

AT = [(LEFT, pose(-0.09, 0.0, 0.5)), (RIGHT, pose(0.1, 0.02, 0.5, (-0.3, 0.4, 0.0)))]
CAMERA = "observations/head_left"


def shown(places: list[tuple[Board, Array]], seed: int, count: int = 6) -> list[NDArray[np.uint8]]:
    rng = np.random.default_rng(seed)
    return [draw(places, rng) for _ in range(count)]


@pytest.fixture(scope="module")
def verified() -> Calibration:
    plan = None
    look = CameraLook("head_left", shown(AT, 1, 8), "made")
    for board in (LEFT, RIGHT):
        noted = reference_from([look], board.name, board, camera_of(station(), "head_left"))
        plan = with_reference(plan, noted, {"frames": 8})
    assert plan is not None
    return station(verification=plan.model_dump(mode="json"))


def episode(calibration: Calibration | None, places: list[tuple[Board, Array]]) -> Subject:
    """Six pictures of a camera, with the calibration that they were recorded with."""
    pictures = shown(places, 2)
    stamps = np.arange(len(pictures), dtype=np.int64) * 33_000_000
    spec = Stream(name="head_left", group="observations", kind="video", shape=(480, 640, 3),
                  dtype="uint8", rate_hz=30)  # fmt: skip
    documents = {} if calibration is None else {"calibration": calibration.canonical()}
    signal = ImageSequence(spec, stamps, pictures)
    return Subject(Recording("made", Path("made"), 0, {CAMERA: signal}, documents=documents))


def test_a_camera_that_kept_its_place_passes(verified: Calibration) -> None:
    assert list(CHECK.find(episode(verified, AT))) == []


def test_a_knocked_camera_is_found_and_measured(verified: Calibration) -> None:
    knocked = np.eye(4)
    knocked[0, 3] = 0.005
    findings = list(CHECK.find(episode(verified, [(b, knocked @ place) for b, place in AT])))
    assert {finding.stream for finding in findings} == {CAMERA}
    assert findings[0].value == pytest.approx(0.005, abs=0.001)
    assert "the camera was moved since the calibration" in findings[0].message


def test_a_kicked_marker_is_no_fault_of_the_camera(verified: Calibration) -> None:
    kicked = AT[0][1].copy()
    kicked[0, 3] += 0.005
    assert list(CHECK.find(episode(verified, [(LEFT, kicked), AT[1]]))) == []


def test_what_shows_no_marker_is_not_assessed(verified: Calibration) -> None:
    for calibration, places, said in (
        (None, AT, "no calibration document"),
        (station(), AT, "names no markers"),
        (verified, [], "not in view"),
    ):
        with pytest.raises(NotAssessed, match=said):
            list(CHECK.find(episode(calibration, places)))
