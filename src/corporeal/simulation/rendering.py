"""What the cameras of a run see, drawn without a display after the physics is done."""

from __future__ import annotations

import atexit
import copy
import os
import sys
from functools import cache
from statistics import NormalDist
from types import ModuleType, TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment.engines import import_mujoco
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.simulation.run import SimulatedRun
from corporeal.simulation.sensor import DepthNoise, PictureNoise, stream_rng
from corporeal.simulation.trajectory import Trajectory
from corporeal.simulation.world import World

Picture = NDArray[np.uint8]
Depth = NDArray[np.uint16]

SIZE = (480, 640)
MM = 1000.0
# Off: drawn in software they cost far more than the rest of the picture.
DARK_FLAGS = ("mjRND_SHADOW", "mjRND_REFLECTION")
# Room for the noise field to be shifted in, so that no two pictures share their grain.
MARGIN = 64


class CameraError(CorporealError):
    """Pictures cannot be drawn on this machine."""


class WorldPositions(Protocol):
    """Where everything in a world is at an instant."""

    def qpos(self, time_s: NDArray[np.float64]) -> NDArray[np.float64]:
        """MuJoCo's positions (T, nq)."""
        ...


class SimulatedCameras:
    """Draws pictures of one size at any instant of a run; one OpenGL context, reused.

    A resource: use it with `with`, or call `close`. `seed` decides the grain of the pictures.
    `poses` say where everything is in a world that is still running.
    """

    def __init__(
        self,
        run: SimulatedRun | World,
        *,
        size: tuple[int, int] = SIZE,
        seed: int = 0,
        poses: WorldPositions | None = None,
    ) -> None:
        self._mujoco = import_mujoco()
        self.size = size
        world = run if isinstance(run, World) else run.world
        # A copy: the quality of drawing is ours to set, the world's model is not.
        self._model = _lean(world.model, size)
        self._data = self._mujoco.MjData(self._model)
        if poses is None:
            assert not isinstance(run, World), "a world alone does not say where things are"
            poses = Trajectory(run)
        self._trajectory = poses
        self._numbers = {self._model.camera(n).name: n for n in range(self._model.ncam)}
        self._posed_at: float | None = None
        self._renderer: Any = None
        self._context = open_context(self._mujoco, size)
        # Before OpenGL itself is taken down, should the program end while pictures are drawn.
        atexit.register(self.close)
        self._context.make_current()
        self._renderer = self._mujoco.MjrContext(
            self._model, int(self._mujoco.mjtFontScale.mjFONTSCALE_100)
        )
        self._mujoco.mjr_setBuffer(int(self._mujoco.mjtFramebuffer.mjFB_OFFSCREEN), self._renderer)
        self._renderer.readDepthMap = self._mujoco.mjtDepthMap.mjDEPTH_ZEROFAR
        _ease_textures(self._renderer)
        self._scene = self._mujoco.MjvScene(self._model, maxgeom=self._model.ngeom + 100)
        for flag in DARK_FLAGS:
            self._scene.flags[getattr(self._mujoco.mjtRndFlag, flag)] = False
        self._view = self._mujoco.MjrRect(0, 0, size[1], size[0])
        room = (size[0] + MARGIN, size[1] + MARGIN, 3)
        self._grain = stream_rng(seed, "grain", "").normal(size=room).astype(np.float32)
        self._levels = grain_levels(self._grain)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Give the OpenGL context back; closing twice is harmless."""
        atexit.unregister(self.close)
        if self._renderer is not None:
            self._context.make_current()
            self._renderer.free()
            self._context.free()
            self._renderer = None

    def picture(
        self,
        camera: str,
        time_s: float,
        *,
        noise: PictureNoise | None = None,
        rng: np.random.Generator | None = None,
    ) -> Picture:
        """What a camera sees: (height, width, 3) RGB."""
        pixels: Picture = np.empty((*self.size, 3), np.uint8)
        self._draw(camera, time_s, flat=False)
        self._mujoco.mjr_readPixels(pixels, None, self._view, self._renderer)
        pixels = pixels[::-1]
        if noise is None or rng is None:
            return np.ascontiguousarray(pixels)
        return grainy(pixels, self._crop(self._levels, rng), noise)

    def depth(
        self,
        camera: str,
        time_s: float,
        *,
        noise: DepthNoise | None = None,
        rng: np.random.Generator | None = None,
    ) -> Depth:
        """Distance along the optical axis: (height, width) millimetres, 0 where not measured."""
        number = self._number(camera)
        self._draw(camera, time_s, flat=True)
        buffer = np.empty(self.size, np.float32)
        self._mujoco.mjr_readPixels(None, buffer, self._view, self._renderer)
        extent, scale = self._model.stat.extent, self._model.vis.map
        near, far = scale.znear * extent, scale.zfar * extent
        # MuJoCo's buffer is 1 at the near and 0 at the far plane, linear in 1 / distance.
        distance = (near * far / (far - near)) / (buffer[::-1] + near / (far - near))
        limits = noise or DepthNoise()
        hole = (distance < limits.near_m) | (distance > limits.far_m)
        if noise is not None and rng is not None:
            focal_px = self.size[0] / 2 / np.tan(np.radians(self._model.cam_fovy[number]) / 2)
            spread = noise.disparity_px / (focal_px * noise.baseline_m)
            grain = self._crop(self._grain, rng)
            distance += spread * distance * distance * grain[..., 0]
            # The tails of a second grain are as good as dice, and cheaper.
            hole |= np.abs(grain[..., 1]) > NormalDist().inv_cdf(1 - noise.holes / 2)
        distance[hole] = 0.0
        measured: Depth = np.clip(np.rint(distance * MM), 0, 65535).astype(np.uint16)
        return measured

    def _draw(self, camera: str, time_s: float, *, flat: bool) -> None:
        mujoco, data = self._mujoco, self._data
        if self._renderer is None:
            raise CameraError(
                "the cameras, got a call after close; expected an open resource. "
                "Draw inside the `with` block."
            )
        view = mujoco.MjvCamera()
        view.type, view.fixedcamid = mujoco.mjtCamera.mjCAMERA_FIXED, self._number(camera)
        if time_s != self._posed_at:
            data.qpos[:] = self._trajectory.qpos(np.array([time_s]))[0]
            mujoco.mj_kinematics(self._model, data)
            mujoco.mj_camlight(self._model, data)
            self._posed_at = time_s
        visible = int(mujoco.mjtCatBit.mjCAT_ALL)
        mujoco.mjv_updateScene(
            self._model, data, mujoco.MjvOption(), None, view, visible, self._scene
        )
        # Flat colours: for depth, light and texture would be computed in vain.
        self._scene.flags[mujoco.mjtRndFlag.mjRND_SEGMENT] = flat
        self._context.make_current()
        mujoco.mjr_render(self._view, self._scene, self._renderer)

    def _number(self, camera: str) -> int:
        if camera not in self._numbers:
            raise UnknownNameError("camera", camera, self._numbers)
        return self._numbers[camera]

    def _crop(self, field: NDArray[Any], rng: np.random.Generator) -> NDArray[Any]:
        row, column = rng.integers(0, MARGIN, 2)
        return field[row : row + self.size[0], column : column + self.size[1]]


def open_context(mujoco: ModuleType, size: tuple[int, int]) -> Any:
    """An OpenGL context without a window: what MUJOCO_GL says, else EGL on Linux without display.

    EGL is opened here and not by `mujoco` itself, which reads MUJOCO_GL only when it is imported.
    """
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    bare = sys.platform.startswith("linux") and not display
    backend = os.environ.get("MUJOCO_GL", "").strip().lower() or ("egl" if bare else "")
    try:
        if backend != "egl":
            return mujoco.GLContext(size[1], size[0])
        from mujoco.egl import GLContext

        return GLContext(size[1], size[0])
    except (ImportError, AttributeError, RuntimeError, OSError) as error:
        raise CameraError(
            f"no OpenGL to draw pictures with, got: {error}; expected EGL for drawing without a "
            "display. Install it with: apt-get install libegl1 libgl1-mesa-dri; "
            "or leave the pictures out."
        ) from error


def check_rendering() -> None:
    """Raise CameraError, with what to install, where no picture can be drawn."""
    context = open_context(import_mujoco(), (16, 16))
    context.free()


def _ease_textures(renderer: Any) -> None:
    """Look textures up in one level of detail instead of two: a fifth of the time of a picture."""
    from OpenGL import GL  # type: ignore[import-untyped]

    for number in range(renderer.ntexture):
        # Type 0 is a plain picture; the cube of the sky keeps its filter.
        if renderer.textureType[number] == 0:
            GL.glBindTexture(GL.GL_TEXTURE_2D, int(renderer.texture[number]))
            GL.glTexParameteri(
                GL.GL_TEXTURE_2D, GL.GL_TEXTURE_MIN_FILTER, GL.GL_LINEAR_MIPMAP_NEAREST
            )


def grain_levels(grain: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Standard normal grain in 64 steps of a tenth, as the high byte of `grainy`'s table."""
    steps = np.clip(np.rint(grain * 10) + 32, 0, 63)
    levels: NDArray[np.uint16] = steps.astype(np.uint16) << 8
    return levels


def grainy(pixels: Picture, levels: NDArray[np.uint16], noise: PictureNoise) -> Picture:
    """Pixels with noise that grows with the light, by a table: one look-up for each value."""
    grown: Picture = _grain_table(noise).take(levels | pixels)
    return grown


@cache
def _grain_table(noise: PictureNoise) -> Picture:
    light = np.arange(256)
    spread = np.sqrt(noise.read**2 + noise.shot * light)
    values = light + (np.arange(64)[:, None] - 32) / 10 * spread
    table: Picture = np.clip(np.rint(values), 0, 255).astype(np.uint8).ravel()
    return table


def _lean(model: Any, size: tuple[int, int]) -> Any:
    lean = copy.copy(model)
    quality, screen = lean.vis.quality, lean.vis.global_
    quality.shadowsize, quality.offsamples = 0, 0
    quality.numslices, quality.numstacks = 16, 10
    # No larger than the pictures: clearing the rest of a buffer takes time too.
    screen.offheight, screen.offwidth = size
    return lean
