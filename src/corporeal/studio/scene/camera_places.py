"""Where the cameras of an episode are and how far they see, as far as the episode says."""

from __future__ import annotations

import math
from typing import Any

from pydantic import BaseModel

from corporeal.embodiment import Embodiment
from corporeal.episode import Episode
from corporeal.episode.facts import read_facts
from corporeal.errors import CorporealError
from corporeal.protocol.calibration import Calibration, CameraCalibration

USUAL_FOV_RAD = math.radians(60)
FARTHEST_M = 100.0
HEAD = "head"


class CameraPlace(BaseModel):
    """A camera in the pose (xyz, rpy) on a link, or in the world without one.

    Pictures look along z with y down, or along x with z up where `looks_along` says so, as a link
    of a robot does. `is_fov_known` is false where the field of view is only the usual one.
    """

    stream: str
    link: str | None
    xyz: tuple[float, float, float]
    rpy: tuple[float, float, float]
    looks_along: str
    width_rad: float
    height_rad: float
    is_fov_known: bool


def find_cameras(
    episode: Episode, robot: Embodiment | None, *, on_head: bool = False
) -> list[CameraPlace]:
    """Cameras whose pose is in the calibration, in the metadata, or a frame of the robot.

    With `on_head` those in the frame of a person's head are on the link `head`.
    """
    known = {camera.name: camera for camera in _calibrated(episode)}
    stated = read_facts(episode.metadata).other.get("cameras")
    poses = stated if isinstance(stated, dict) else {}
    found = []
    for path in episode:
        spec = episode[path].spec
        if spec.kind not in ("video", "depth"):
            continue
        lens = known.get(spec.name)
        if on_head and lens is not None and lens.frame == HEAD:
            place = _worn(lens)
        elif lens is not None and lens.frame == HEAD and robot is None:
            continue
        else:
            place = _from_calibration(lens, robot) or _from_metadata(poses.get(spec.name), robot)
        place = place or _from_frame(spec.frame, robot)
        if place is None:
            continue
        width, height = _field(lens, spec.shape)
        is_known = lens is not None and lens.focal_px is not None
        found.append(CameraPlace(
            stream=path, **place, width_rad=width, height_rad=height, is_fov_known=is_known
        ))  # fmt: skip
    return found


def _worn(lens: CameraCalibration) -> dict[str, Any] | None:
    """A camera on a person's head, whose pose moves with it."""
    if lens.xyz is None or max(map(abs, lens.xyz)) > FARTHEST_M:
        return None
    return {"link": HEAD, "xyz": lens.xyz, "rpy": lens.rpy or (0.0, 0.0, 0.0), "looks_along": "z"}


def _calibrated(episode: Episode) -> tuple[CameraCalibration, ...]:
    text = episode.documents.get("calibration")
    if text is None:
        return ()
    try:
        return Calibration.parse(text, source="calibration of the episode").cameras
    except CorporealError:
        return ()


def _from_calibration(
    lens: CameraCalibration | None, robot: Embodiment | None
) -> dict[str, Any] | None:
    if lens is None or lens.xyz is None:
        return None
    return _placed(lens.frame, lens.xyz, lens.rpy or (0.0, 0.0, 0.0), "z", robot)


def _from_metadata(stated: object, robot: Embodiment | None) -> dict[str, Any] | None:
    """A pose that the metadata has for a camera; it is in the world unless it says a frame."""
    if not isinstance(stated, dict):
        return None
    xyz, rpy = (_three(stated.get(key, (0, 0, 0))) for key in ("xyz", "rpy"))
    frame = stated.get("frame")
    if xyz is None or rpy is None or "xyz" not in stated:
        return None
    return _placed(frame if isinstance(frame, str) else None, xyz, rpy, "z", robot)


def _from_frame(name: str | None, robot: Embodiment | None) -> dict[str, Any] | None:
    """A frame of the robot that the stream is in; those called optical look along z."""
    if robot is None or name is None or name not in {frame.name for frame in robot.frames}:
        return None
    along = "z" if "optical" in name else "x"
    return _placed(name, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), along, robot)


def _placed(
    frame: str | None,
    xyz: tuple[float, float, float],
    rpy: tuple[float, float, float],
    along: str,
    robot: Embodiment | None,
) -> dict[str, Any] | None:
    if max(map(abs, xyz)) > FARTHEST_M:
        return None
    names = () if robot is None else (*(link.name for link in robot.links),
                                      *(each.name for each in robot.frames))  # fmt: skip
    if frame not in (None, "world") and frame not in names:
        return None
    link = None if frame in (None, "world") else frame
    return {"link": link, "xyz": xyz, "rpy": rpy, "looks_along": along}


def _three(value: object) -> tuple[float, float, float] | None:
    if not isinstance(value, list | tuple) or len(value) != 3:
        return None
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in value):
        return None
    x, y, z = (float(each) for each in value)
    return x, y, z


def _field(lens: CameraCalibration | None, shape: tuple[Any, ...]) -> tuple[float, float]:
    """The angles that a picture is wide and high."""
    high, wide = (float(size) for size in shape[:2])
    if lens is not None and lens.focal_px is not None:
        focal_x, focal_y = lens.focal_px
        return (2 * math.atan((lens.width or wide) / 2 / focal_x),
                2 * math.atan((lens.height or high) / 2 / focal_y))  # fmt: skip
    return USUAL_FOV_RAD, 2 * math.atan(math.tan(USUAL_FOV_RAD / 2) * high / wide)
