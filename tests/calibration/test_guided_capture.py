"""A capture that asks for views: what it takes, what it says, when it ends, how it goes on."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np
import pytest
from numpy.typing import NDArray
from tests.calibration.marker_pictures import FOCAL, HEIGHT, WIDTH, draw

from corporeal.calibration.board import open_board
from corporeal.calibration.camera import transform
from corporeal.calibration.guidance import (
    CaptureGoal,
    GuidedCapture,
    Sighting,
    ViewDraft,
    draft_of,
    drop_draft,
    keep_draft,
    move_words,
    read_draft,
)
from corporeal.calibration.verification import middle_of
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_vector

BOARD = open_board("charuco_a4")
FRAME_NS = 100_000_000


def picture_of(pose: Array, rng: np.random.Generator) -> NDArray[np.uint8]:
    """What a camera of focal length 600 sees of the board at `pose` (6,)."""
    placed = np.eye(4)
    placed[:3, :3] = matrix_from_vector(pose[None, :3])[0]
    placed[:3, 3] = transform(pose[None], middle_of(BOARD))[0]
    return draw([(BOARD, placed)], rng)


def held(capture: GuidedCapture, rng: np.random.Generator) -> Array:
    """Where the outline is when it is drawn by eye: as near in the picture as a hand gets.

    The guess of the lens is wrong, and so the board is held where it looks as asked.
    """
    assert capture.asked is not None
    outline = capture.asked.outline
    width, height = BOARD.size_m
    edges = np.array([[0, 0, 0], [width, 0, 0], [width, height, 0], [0, height, 0]])
    camera = np.array([[FOCAL, 0, WIDTH / 2], [0, FOCAL, HEIGHT / 2], [0, 0, 1]])
    fits, turn, place = cv2.solvePnP(edges, outline, camera, None, flags=cv2.SOLVEPNP_IPPE)
    assert fits
    pose = np.concatenate([turn.ravel(), place.ravel()])
    pose[:3] += rng.normal(0, 0.03, 3)
    pose[3:] *= 1 + rng.normal(0, 0.005, 3)
    return pose


def hold(capture: GuidedCapture, pose: Array, rng: np.random.Generator, start: int) -> bool:
    """Hold the board still for half a second; whether a view was taken."""
    return any(
        capture.see(picture_of(pose, rng), (start + frame) * FRAME_NS).is_taken
        for frame in range(6)
    )


@pytest.fixture(scope="module")
def captured() -> GuidedCapture:
    """A capture that an operator followed to the end."""
    rng = np.random.default_rng(11)
    capture = GuidedCapture(BOARD, WIDTH, HEIGHT, goal=CaptureGoal(uncertainty_px=0.25))
    for turn in range(25):
        if capture.is_done:
            break
        if not hold(capture, held(capture, rng), rng, 100 * turn):
            capture.skip()
    return capture


def test_following_it_meets_the_goal_in_ten_views_or_fewer(captured: GuidedCapture) -> None:
    assert captured.is_done
    assert captured.stated is not None
    assert captured.stated.mean_px <= 0.25
    assert len(captured.views) <= 10
    assert captured.lens.values[:2] == pytest.approx([FOCAL, FOCAL], rel=0.01)


def test_it_takes_no_view_that_moves_is_blurred_or_was_taken() -> None:
    rng = np.random.default_rng(3)
    capture = GuidedCapture(BOARD, WIDTH, HEIGHT)
    pose = held(capture, rng)
    moving = [pose + np.array([0, 0, 0, 0.004 * step, 0, 0]) for step in range(6)]
    seen = [capture.see(picture_of(each, rng), step * FRAME_NS)
            for step, each in enumerate(moving)]  # fmt: skip
    assert not any(sighting.is_taken for sighting in seen)
    assert not seen[-1].is_still
    for step in range(6):
        blurred = cv2.GaussianBlur(picture_of(pose, rng), (0, 0), 2.4).astype(np.uint8)
        sighting = capture.see(blurred, (20 + step) * FRAME_NS)
    assert sighting.is_still
    assert not sighting.is_sharp
    assert not capture.views
    assert hold(capture, pose, rng, 40)
    assert not hold(capture, pose, rng, 46)
    assert len(capture.views) == 1


def test_it_says_how_to_get_to_the_outline() -> None:
    capture = GuidedCapture(BOARD, WIDTH, HEIGHT)
    assert capture.see(np.full((HEIGHT, WIDTH, 3), 90, np.uint8), 0).words == (
        "show the board to the camera"
    )
    asked = capture.asked
    assert asked is not None

    def words(shift: tuple[float, float], place: float, distance: float, angle: float) -> str:
        seen = Sighting("", np.zeros((0, 2)), asked.outline + shift, place, distance, angle)
        return move_words(seen, asked, capture.lens, BOARD)

    assert words((-200, 0), 0.3, 0, 0) == "move the board right in the picture"
    assert words((200, -150), 0.4, 0, 0) == "move the board left and down in the picture"
    assert words((0, 0), 0.01, 0.2, 0) == "bring the board nearer"
    assert words((0, 0), 0.01, -0.2, 0) == "take the board farther away"
    assert words((0, 0), 0.01, 0.0, 0.5) == f"turn the board by 29 degrees: {asked.words}"


def test_a_view_is_taken_by_hand_and_given_back() -> None:
    rng = np.random.default_rng(4)
    capture = GuidedCapture(BOARD, WIDTH, HEIGHT)
    assert not capture.take()
    first = capture.asked
    capture.see(picture_of(held(capture, rng), rng), 0)
    assert capture.take()
    assert len(capture.views) == 1
    assert capture.undo()
    assert not capture.undo()
    assert capture.asked is not None
    assert first is not None
    assert capture.asked.words == first.words
    capture.skip()
    assert not np.allclose(capture.asked.pose, first.pose)


def test_a_draft_goes_on_where_it_was_and_belongs_to_its_board_and_lens(
    captured: GuidedCapture, tmp_path: Path
) -> None:
    cell = tmp_path / "cell.yaml"
    size = (WIDTH, HEIGHT)
    keep_draft(cell, ViewDraft.of("left", BOARD, "pinhole", size, captured.views))
    keep_draft(cell, ViewDraft.of("right", BOARD, "pinhole", size, captured.views[:3]))
    again = GuidedCapture(BOARD, *size, goal=captured.goal,
                          views=read_draft(cell, "left", BOARD, "pinhole", size))  # fmt: skip
    assert again.is_done
    assert read_draft(cell, "left", BOARD, "fisheye", size) == []
    assert read_draft(cell, "left", open_board("charuco_a2"), "pinhole", size) == []
    drop_draft(cell, "left")
    assert len(read_draft(cell, "right", BOARD, "pinhole", size)) == 3
    drop_draft(cell, "right")
    assert not draft_of(cell).exists()


@pytest.mark.parametrize("text", ["{", '{"cameras": {"a": 1}}', '{"cameras": {}, "b": 1}', "[]"])
def test_a_draft_that_is_none_is_refused_in_a_sentence(text: str, tmp_path: Path) -> None:
    cell = tmp_path / "cell.yaml"
    draft_of(cell).write_text(text)
    with pytest.raises(CorporealError, match="expected the views of a guided capture"):
        read_draft(cell, "left", BOARD, "pinhole", (WIDTH, HEIGHT))


def test_a_camera_that_changes_its_size_is_refused() -> None:
    capture = GuidedCapture(BOARD, WIDTH, HEIGHT)
    with pytest.raises(CorporealError, match="320 x 240; expected 640 x 480"):
        capture.see(np.zeros((240, 320, 3), np.uint8), 0)
