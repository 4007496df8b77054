from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import mujoco
import numpy as np
import pytest

from corporeal.errors import UnknownNameError
from corporeal.simulation.rendering import (
    CameraError,
    SimulatedCameras,
    grain_levels,
    grainy,
    open_context,
)
from corporeal.simulation.run import SimulatedRun
from corporeal.simulation.sensor import DepthNoise, PictureNoise

SIZE = (120, 160)


@pytest.fixture(scope="module")
def cameras(tiny_run: SimulatedRun) -> Iterator[SimulatedCameras]:
    with SimulatedCameras(tiny_run, size=SIZE) as opened:
        yield opened


def _rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def _data(run: SimulatedRun, time_s: float) -> Any:
    data = mujoco.MjData(run.world.model)
    data.qpos[:] = run.qpos[round(time_s / run.step_s)]
    mujoco.mj_kinematics(run.world.model, data)
    mujoco.mj_camlight(run.world.model, data)
    return data


def _rays(run: SimulatedRun, data: Any, camera: str) -> Any:
    """Directions (height, width, 3) in the world through the centres of the pixels, depth one."""
    height, width = SIZE
    fovy = np.radians(run.world.model.camera(camera).fovy[0])
    focal = height / 2 / np.tan(fovy / 2)
    x = (np.arange(width) + 0.5 - width / 2) / focal
    y = (height / 2 - np.arange(height) - 0.5) / focal
    local = np.stack([*np.meshgrid(x, y), -np.ones(SIZE)], axis=-1)
    return local @ data.camera(camera).xmat.reshape(3, 3).T


def _red(picture: Any) -> Any:
    red, green, blue = picture.astype(int).transpose(2, 0, 1)
    return (red > 60) & (red > 3 * green) & (red > 3 * blue)


def test_a_camera_sees_the_ball_where_it_is_at_that_instant(
    cameras: SimulatedCameras, tiny_run: SimulatedRun
) -> None:
    for camera in ("head_left", "external_front"):
        for time_s in (0.1, 0.5, 0.9):
            data = _data(tiny_run, time_s)
            rays = _rays(tiny_run, data, camera)
            offset = data.body("ball").xpos - data.camera(camera).xpos
            along = rays / np.linalg.norm(rays, axis=-1, keepdims=True)
            beside = np.linalg.norm(np.cross(along, offset), axis=-1)
            expected = np.argwhere(beside < 0.05).mean(axis=0)
            seen = np.argwhere(_red(cameras.picture(camera, time_s))).mean(axis=0)
            assert seen == pytest.approx(expected, abs=1.0)


def test_the_ball_moves_between_logged_steps_too(cameras: SimulatedCameras) -> None:
    columns = [
        np.argwhere(_red(cameras.picture("head_left", time_s)))[:, 1].mean()
        for time_s in np.arange(0.1, 0.9, 0.0973)
    ]
    steps = np.diff(columns)
    assert (steps < 0).all(), "it flies to the left"
    assert np.ptp(steps) < 3


def test_the_two_eyes_see_the_ball_with_the_disparity_of_its_distance(
    cameras: SimulatedCameras, tiny_run: SimulatedRun
) -> None:
    left, right = (
        np.argwhere(_red(cameras.picture(f"head_{eye}", 0.5)))[:, 1].mean()
        for eye in ("left", "right")
    )
    data = _data(tiny_run, 0.5)
    eye = data.camera("head_left")
    distance = -(data.body("ball").xpos - eye.xpos) @ eye.xmat.reshape(3, 3)[:, 2]
    focal = SIZE[0] / 2 / np.tan(np.radians(60) / 2)
    assert left - right == pytest.approx(focal * 0.06 / distance, abs=0.7)


def test_depth_agrees_with_rays_cast_in_the_world(
    cameras: SimulatedCameras, tiny_run: SimulatedRun
) -> None:
    depth_mm = cameras.depth("head_depth", 0.2).astype(np.float64)
    data = _data(tiny_run, 0.2)
    rays = _rays(tiny_run, data, "head_depth")
    compared = 0
    for row in range(3, SIZE[0], 9):
        for column in range(3, SIZE[1], 9):
            around = depth_mm[row - 1 : row + 2, column - 1 : column + 2]
            if np.ptp(around) > 30:
                continue  # On an edge the two may fall on different sides.
            ray, hit = rays[row, column], np.zeros(1, np.int32)
            place = data.camera("head_depth").xpos
            cast = mujoco.mj_ray(tiny_run.world.model, data, place, ray, None, True, -1, hit)
            assert depth_mm[row, column] == pytest.approx(1000 * cast, abs=2.0)
            compared += 1
    assert compared > 100


def test_depth_noise_grows_with_the_square_of_the_distance(cameras: SimulatedCameras) -> None:
    clean = cameras.depth("head_depth", 0.2).astype(np.float64)
    noise = DepthNoise(disparity_px=0.05, holes=0.05)
    noisy = [cameras.depth("head_depth", 0.2, noise=noise, rng=_rng(n)) for n in range(6)]
    stack = np.array(noisy, np.float64)
    focal = SIZE[0] / 2 / np.tan(np.radians(60) / 2)
    for low, high in ((500, 900), (2000, 3000)):
        where = np.broadcast_to((clean > low) & (clean < high), stack.shape) & (stack > 0)
        error = (stack - clean)[where]
        expected = 0.05 / (focal * 0.05) * (np.broadcast_to(clean, stack.shape)[where] / 1000) ** 2
        assert np.std(error / (1000 * expected)) == pytest.approx(1.0, abs=0.1)
    assert (stack[:, clean > 0] == 0).mean() == pytest.approx(0.05, abs=0.01)


def test_depth_beyond_the_range_is_not_measured(cameras: SimulatedCameras) -> None:
    limited = cameras.depth("head_depth", 0.2, noise=DepthNoise(0.0, far_m=1.0), rng=_rng())
    assert 0 < limited.max() <= 1000
    assert (limited == 0).any()


def test_grain_has_the_deviation_of_the_light() -> None:
    levels = grain_levels(_rng().normal(size=(200, 200, 3)).astype(np.float32))
    for light in (40, 200):
        flat = np.full((200, 200, 3), light, np.uint8)
        seen = grainy(flat, levels, PictureNoise(read=1.5, shot=0.05)).astype(np.float64)
        assert seen.std() == pytest.approx(np.sqrt(1.5**2 + 0.05 * light), rel=0.05)
        assert seen.mean() == pytest.approx(light, abs=0.1)


def test_a_picture_is_the_same_for_the_same_dice_and_grainy_for_others(
    cameras: SimulatedCameras,
) -> None:
    def draw(seed: int) -> Any:
        return cameras.picture("head_left", 0.3, noise=PictureNoise(), rng=_rng(seed))

    assert np.array_equal(draw(1), draw(1))
    assert not np.array_equal(draw(1), draw(2))


def test_pictures_have_the_size_that_was_asked_for(tiny_run: SimulatedRun) -> None:
    with SimulatedCameras(tiny_run, size=(600, 720)) as large:
        picture = large.picture("external_side", 0.0)
        assert picture.shape == (600, 720, 3)
        assert picture.flags.c_contiguous
        assert large.depth("head_depth", 0.0).dtype == np.uint16


def test_an_unknown_camera_is_named_with_the_known_ones(cameras: SimulatedCameras) -> None:
    with pytest.raises(UnknownNameError, match=r"'head_middle'.*head_left"):
        cameras.picture("head_middle", 0.0)


def test_closed_cameras_say_so_and_close_twice(tiny_run: SimulatedRun) -> None:
    opened = SimulatedCameras(tiny_run, size=(16, 16))
    opened.close()
    opened.close()
    with pytest.raises(CameraError, match="after close"):
        opened.picture("head_left", 0.0)


def test_without_egl_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUJOCO_GL", "egl")
    monkeypatch.setitem(sys.modules, "mujoco.egl", None)
    with pytest.raises(CameraError, match="apt-get install libegl1 libgl1-mesa-dri"):
        open_context(mujoco, (16, 16))
