"""Tracked points lie on pictures where the lens shows them, and an overlay that is off is told."""

from __future__ import annotations

import json
from typing import cast

import numpy as np
import pytest
from bench.egocentric_scene import EgoScene, calibration, make_scene
from numpy.typing import NDArray

from corporeal.calibration.lens import LensModel
from corporeal.calibration.opencv import import_opencv
from corporeal.calibration.verification import (
    PointsInTime,
    fit_overlay,
    pixels_in_time,
    pixels_of,
    rays_of,
)
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import CameraCalibration

LENSES = ("pinhole", "rational", "fisheye")


def _scene(lens: str = "fisheye", seconds: float = 6.0) -> EgoScene:
    return make_scene(seconds, lens=cast(LensModel, lens))


def _camera(scene: EgoScene) -> CameraCalibration:
    text = json.dumps(calibration(scene.lens))
    return Calibration.parse(text, source="made", suffix=".json").cameras[0]


def _track(scene: EgoScene) -> PointsInTime:
    turn = matrix_from_quaternion(scene.head[:, 3:])
    beside = scene.joints["left"] - scene.head[:, None, :3]
    stamps = np.round(scene.times_s * 1e9).astype(np.int64)
    return PointsInTime(stamps, np.einsum("tji,tkj->tki", turn, beside))


def _seen(scene: EgoScene, noise_px: float) -> tuple[NDArray[np.int64], Array]:
    """Times in ns of pictures, and what a detector saw in them."""
    pictures = scene.at(np.arange(int(scene.times_s[-1] * 30)) / 30)
    truth = pictures.pixels("left")
    rng = np.random.default_rng(5)
    when = np.round(pictures.times_s * 1e9).astype(np.int64)
    return when, truth + rng.normal(0, noise_px, truth.shape)


@pytest.mark.parametrize("lens", LENSES)
def test_points_lie_where_opencv_puts_them(lens: str) -> None:
    scene = _scene(lens, 1.0)
    camera = _camera(scene)
    points = _track(scene).points.reshape(-1, 3)
    cv = import_opencv()
    down = np.radians(35.0)
    turn = np.array([[0, -1, 0], [-np.sin(down), 0, -np.cos(down)],
                     [np.cos(down), 0, -np.sin(down)]])  # fmt: skip
    seen = ((points - np.array(camera.xyz)) @ turn.T).reshape(-1, 1, 3)
    still = np.zeros(3)
    if lens == "fisheye":
        theirs = cv.fisheye.projectPoints(
            seen, still, still, scene.lens.matrix, scene.lens.distortion
        )[0]
    else:
        theirs = cv.projectPoints(seen, still, still, scene.lens.matrix, scene.lens.distortion)[0]
    assert np.abs(pixels_of(camera, points) - theirs.reshape(-1, 2)).max() < 1e-6


@pytest.mark.parametrize("lens", LENSES)
def test_pixels_look_back_along_the_rays_of_their_points(lens: str) -> None:
    scene = _scene(lens, 0.5)
    camera = _camera(scene)
    points = _track(scene).points[::5].reshape(-1, 3)
    eye, ways = rays_of(camera, pixels_of(camera, points))
    straight = (points - eye) / np.linalg.norm(points - eye, axis=1, keepdims=True)
    assert np.abs(straight - ways).max() < 1e-6


def test_what_is_behind_a_camera_is_not_in_its_picture() -> None:
    camera = _camera(_scene("pinhole", 0.5))
    behind = np.array([[-1.0, 0.0, 0.3], [np.nan, 0, 0]])
    assert np.isnan(pixels_of(camera, behind)).all()
    assert np.isnan(rays_of(camera, np.full((1, 2), np.nan))[1]).all()


def test_a_point_that_was_away_for_long_is_nowhere() -> None:
    scene = _scene(seconds=2.0)
    track = _track(scene)
    kept = np.ones(len(track.time_ns), bool)
    kept[30:36] = False
    kept[90:120] = False
    cut = PointsInTime(track.time_ns[kept], track.points[kept])
    pixels, state = pixels_in_time(cut, _camera(scene), track.time_ns)
    assert (state[30:36] == 2).all()
    assert np.isfinite(pixels[30:36]).all()
    assert (state[90:120] == 0).all()
    assert np.isnan(pixels[90:120]).all()
    assert (state[:30] == 1).all()


@pytest.mark.parametrize("lens", LENSES)
def test_an_overlay_that_is_right_is_said_to_be(lens: str) -> None:
    scene = _scene(lens)
    fit = fit_overlay(_track(scene), _camera(scene), *_seen(scene, 2.0))
    assert fit is not None
    assert abs(fit.scale - 1) < 0.006
    assert abs(fit.lag_s) < 0.008
    assert np.hypot(*fit.shift_px) < 1.0


@pytest.mark.parametrize("lens", LENSES)
def test_two_percent_of_focal_length_and_one_picture_are_told(lens: str) -> None:
    scene = _scene(lens)
    camera, (when, seen) = _camera(scene), _seen(scene, 2.0)
    assert camera.focal_px is not None
    fx, fy = camera.focal_px
    short = camera.model_copy(update={"focal_px": (0.98 * fx, 0.98 * fy)})
    fit = fit_overlay(_track(scene), short, when, seen)
    assert fit is not None
    assert fit.scale == pytest.approx(1 / 0.98, abs=0.006)
    late = fit_overlay(_track(scene), camera, when - 33_333_333, seen)
    assert late is not None
    assert late.lag_s == pytest.approx(0.0333, abs=0.006)


def test_few_points_and_points_at_rest_tell_nothing() -> None:
    scene = _scene()
    when, seen = _seen(scene, 1.0)
    still = np.repeat(seen[:1], len(seen), axis=0)
    assert fit_overlay(_track(scene), _camera(scene), when, still) is None
    few = np.full_like(seen, np.nan)
    few[:5] = seen[:5]
    assert fit_overlay(_track(scene), _camera(scene), when, few) is None
