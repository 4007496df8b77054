"""A camera is solved as mrcal solves it, says how sure it is, and which view helps most."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest
from PIL import Image

from corporeal.calibration.board import Board, draw_board, open_board
from corporeal.calibration.camera import (
    CameraSettings,
    board_pose,
    calibrate_camera,
    transform,
)
from corporeal.calibration.certainty import compare_halves, lens_difference, uncertainty_map
from corporeal.calibration.detection import BoardView, detect, is_legacy
from corporeal.calibration.guidance import guessed_lens, next_views, visible_corners
from corporeal.calibration.lens import (
    Lens,
    LensModel,
    pixel_grid,
    project,
    project_with_slopes,
    rays,
)
from corporeal.calibration.views import find_views, refuse_mixed_names
from corporeal.errors import CorporealError
from corporeal.geometry import Array

REAL = Path("../shared/data/calib/opencv_chessboard_stereo")
BOARD = open_board("charuco_a4")
TRUE = Lens("pinhole", 640, 480, np.array([520, 523, 322, 238, -0.28, 0.1, 1e-3, -5e-4, 0.01]))
BENT = {
    "pinhole": TRUE,
    "rational": Lens("rational", 640, 480,
                     np.array([420, 421, 318, 242, 0.2, 0.03, 1e-4, 2e-4, 0.0, 0.3, 0.05, 0.0])),
    "fisheye": Lens("fisheye", 640, 480, np.array([260, 261, 322, 238, 0.02, -0.01, 2e-3, -1e-3])),
}  # fmt: skip


def seen(lens: Lens, pose: Array, rng: np.random.Generator, noise_px: float = 0.2) -> BoardView:
    """What a lens shows of the board."""
    corners = visible_corners(lens, BOARD, pose)
    pixels = project(lens, transform(pose[None], BOARD.points[corners])[0])
    return BoardView("made", corners, pixels + rng.normal(0, noise_px, pixels.shape))


def guided_views(lens: Lens, count: int, rng: np.random.Generator) -> list[BoardView]:
    """Views at the poses that the guide asks for, each missed a little."""
    guess = guessed_lens(lens.model, lens.width, lens.height)
    views = []
    for asked in next_views(None, BOARD, guess, count=count):
        pose = asked.pose * (1 + rng.normal(0, 0.03, 6))
        views.append(seen(lens, pose, rng))
    return views


@pytest.mark.parametrize("model", ["pinhole", "rational", "fisheye"])
def test_a_lens_gives_back_the_pixels_that_its_rays_came_from(model: LensModel) -> None:
    pixels = pixel_grid(BENT[model])
    assert project(BENT[model], rays(BENT[model], pixels)) == pytest.approx(pixels, abs=1e-4)


@pytest.mark.parametrize("model", ["pinhole", "rational", "fisheye"])
def test_slopes_of_a_lens_are_those_of_small_steps(model: LensModel) -> None:
    lens = BENT[model]
    points = np.array([[0.0, 0, 1], [0.2, -0.3, 0.7], [-0.4, 0.1, 0.5]])
    _, by_lens, by_point = project_with_slopes(lens, points)
    for number in range(3):
        step = np.eye(3)[number] * 1e-6
        moved = (project(lens, points + step) - project(lens, points - step)) / 2e-6
        assert by_point[:, :, number] == pytest.approx(moved, rel=1e-5, abs=1e-5)
    for number in range(len(lens.values)):
        values = np.eye(len(lens.values))[number] * 1e-6
        ahead = project(lens.with_values(lens.values + values), points)
        behind = project(lens.with_values(lens.values - values), points)
        assert by_lens[:, :, number] == pytest.approx((ahead - behind) / 2e-6, rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("model", ["pinhole", "rational", "fisheye"])
def test_a_camera_comes_back_within_what_it_says_of_itself(model: LensModel) -> None:
    rng = np.random.default_rng(1)
    views = guided_views(BENT[model], 10, rng)
    solution = calibrate_camera(views, BOARD, 640, 480, CameraSettings(model))
    stated = uncertainty_map(solution)
    error = lens_difference(BENT[model], solution.lens, stated.distance_m)
    assert solution.sigma_px == pytest.approx(0.2, rel=0.15)
    assert error.mean() < 4 * stated.mean_px
    assert stated.mean_px < 0.5


def test_corners_that_were_mistaken_are_left_out() -> None:
    rng = np.random.default_rng(2)
    views = guided_views(TRUE, 8, rng)
    views[3].pixels[[5, 9]] += [6.0, -4.0]
    solution = calibrate_camera(views, BOARD, 640, 480)
    assert set(views[3].corners[[5, 9]]) <= set(solution.outliers[3])
    assert sum(map(len, solution.outliers)) < 8


def test_four_asked_views_are_worth_more_than_ten_at_random() -> None:
    rng = np.random.default_rng(3)
    guided = uncertainty_map(calibrate_camera(guided_views(TRUE, 4, rng), BOARD, 640, 480))
    flat: list[BoardView] = []
    while len(flat) < 10:
        pose = np.concatenate([rng.normal(0, 0.15, 3), [-0.12, -0.08, 0.55]])
        flat.append(seen(TRUE, pose + rng.normal(0, 0.02, 6), rng))
    random = uncertainty_map(calibrate_camera(flat, BOARD, 640, 480))
    assert guided.mean_px < random.mean_px / 2


def test_too_few_views_are_refused_in_a_sentence() -> None:
    views = guided_views(TRUE, 3, np.random.default_rng(4))
    with pytest.raises(CorporealError, match=r"3 of 3 pictures show the board; expected 4 or more"):
        calibrate_camera(views, BOARD, 640, 480)


def test_a_drawn_board_is_found_to_a_fraction_of_a_pixel() -> None:
    for name in ("charuco_a4", "charuco_a2", "verification_a4", "chessboard_a4"):
        board = open_board(name)
        picture = np.pad(draw_board(board, 2000), 40, constant_values=255)
        view = detect(picture, board, name=name)
        assert view is not None
        assert len(view) == board.corner_count
        expected = board.points[view.corners, :2] * 2000 + 39.5
        assert np.abs(view.pixels - expected).max() < 1.0, name
        assert detect(np.full((200, 300), 255, np.uint8), board) is None


def test_the_layout_of_older_opencv_is_told_from_the_new_one() -> None:
    for legacy in (False, True):
        board = BOARD.model_copy(update={"legacy": legacy})
        picture = np.pad(draw_board(board, 2000), 40, constant_values=255)
        assert is_legacy(picture, BOARD) is legacy


def chessboard_views(side: str) -> tuple[list[BoardView], Board]:
    """Thirteen photographs of a chessboard that nobody here took."""
    if not REAL.is_dir():
        pytest.skip("../shared/data/calib is not here")
    board = Board(document="board", name="photographed", version="1.0.0", pattern="chessboard",
                  columns=10, rows=7, square_m=0.025)  # fmt: skip
    views = []
    for path in sorted(REAL.glob(f"{side}[01]*.jpg")):
        view = detect(np.asarray(Image.open(path).convert("RGB")), board, name=path.stem)
        assert view is not None, path.stem
        views.append(view)
    return views, board


def test_opencvs_photographs_are_good_in_the_middle_and_not_in_the_corners() -> None:
    views, board = chessboard_views("left")
    solution = calibrate_camera(views, board, 640, 480)
    stated = uncertainty_map(solution)
    assert solution.rms_px < 0.2
    assert stated.middle_px < 0.1
    assert stated.mean_px == pytest.approx(0.5, abs=0.1)
    assert stated.largest_px > 4
    halves = compare_halves(views, board, 640, 480, CameraSettings())
    assert halves is not None
    assert halves.is_explained
    assert halves.mean_px > 0.3


@pytest.mark.slow
def test_pictures_of_two_cameras_contradict_each_other() -> None:
    rng = np.random.default_rng(3)
    other = TRUE.with_values(TRUE.values * [1.06, 1.06, 1, 1, 0.6, 1, 1, 1, 1])
    views = [*guided_views(TRUE, 5, rng), *guided_views(other, 5, rng)]
    settings = CameraSettings(with_warp=False, drop_outliers=False)
    both = compare_halves(views, BOARD, 640, 480, settings)
    assert both is not None
    assert both.in_order
    assert not both.is_explained


def test_a_short_movie_is_looked_at_more_often(tmp_path: Path) -> None:
    board = open_board("charuco_a4")
    still = np.pad(draw_board(board, 700), 30, constant_values=255)
    still = np.repeat(still[: len(still) // 2 * 2, : still.shape[1] // 2 * 2, None], 3, axis=2)
    with av.open(str(tmp_path / "short.mp4"), "w") as file:
        stream = file.add_stream("libx264", rate=10, options={"preset": "ultrafast"})
        stream.height, stream.width = still.shape[:2]
        stream.pix_fmt = "yuv420p"
        for _ in range(24):
            file.mux(stream.encode(av.VideoFrame.from_ndarray(still, "rgb24")))
        file.mux(stream.encode())
    seen = find_views(tmp_path / "short.mp4", board, every=15)
    assert (seen.pictures, len(seen.views)) == (8, 8)


@pytest.mark.parametrize(
    ("names", "is_mixed"),
    [
        ("left01 left02 left03 right01 right02 right03", True),
        ("IMG_1 IMG_2 IMG_3 IMG_4 IMG_5 IMG_6", False),
        ("1_left 2_left 3_left 1_right 2_right 3_right", True),
        ("cam0_01 cam0_02 cam0_03 cam1_01 cam1_02 cam1_03", True),
        ("day1_11 day1_12 day1_13 day2_45 day2_46 day2_47", False),
        ("left01 left02 left03 left04 left05 right01", False),
        ("a b c d e f", False),
    ],
)
def test_names_of_two_cameras_in_one_folder_are_refused(names: str, is_mixed: bool) -> None:
    files = [Path("cell", f"{name}.png") for name in names.split()]
    if not is_mixed:
        refuse_mixed_names(files)
        return
    with pytest.raises(CorporealError, match="or name them: 'cell/"):
        refuse_mixed_names(files)


def test_the_pose_of_a_board_is_that_of_the_solve() -> None:
    views, board = chessboard_views("right")
    solution = calibrate_camera(views, board, 640, 480)
    pose = board_pose(solution.lens, views[0], board)
    assert pose is not None
    assert pose[3:] == pytest.approx(solution.poses[0, 3:], abs=2e-3)
