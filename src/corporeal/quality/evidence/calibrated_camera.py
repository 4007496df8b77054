"""What an episode's calibration says of its cameras, and where the joints carry them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.verification import camera_pose
from corporeal.embodiment.kinematics import Poses
from corporeal.errors import CorporealError, NotAssessed
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import CameraCalibration
from corporeal.quality.subject import Subject
from corporeal.signal.track import Array

# A pelvis that moves by more than this does not stand still.
_STANDING_M = 0.01


def read_calibration(subject: Subject) -> Calibration:
    """The calibration document that the episode carries."""
    text = subject.recording.documents.get("calibration")
    if text is None:
        raise NotAssessed("the episode carries no calibration document")
    try:
        return Calibration.parse(text, source="calibration", suffix=".json")
    except CorporealError as error:
        raise NotAssessed(f"its calibration cannot be read: {error}") from None


def postures_at(subject: Subject, time_ns: NDArray[np.int64]) -> tuple[Array, Array | None]:
    """The robot's joints (N, J), and its base in the world (N, 7) where that was recorded."""
    posture = subject.posture
    stamps, at = posture.time_ns / 1e9, np.asarray(time_ns) / 1e9
    q = np.column_stack([np.interp(at, stamps, column) for column in posture.q.T])
    if posture.base is None:
        return q, None
    base = np.column_stack([np.interp(at, stamps, column) for column in posture.base.T])
    base[:, 3:] /= np.linalg.norm(base[:, 3:], axis=1, keepdims=True)
    return q, base


def links_and_camera(
    subject: Subject, camera: CameraCalibration, time_ns: NDArray[np.int64]
) -> tuple[Poses, Array]:
    """Every link, and the camera (N, 4, 4), at these times.

    Both are in the robot's base; in the world where the camera stands there and the base is known.
    """
    q, base = postures_at(subject, time_ns)
    if camera.xyz is None:
        raise NotAssessed(f"the calibration does not say where {camera.name} is")
    if camera.frame in (None, "world"):
        links = subject.kinematics.link_poses(q, base)
        return links, np.tile(camera_pose(camera), (len(q), 1, 1))
    frame = str(camera.frame)
    known = {*subject.kinematics.names, *(each.name for each in subject.robot.frames)}
    if frame not in known:
        raise NotAssessed(f"{camera.name} sits on {frame}, which {subject.robot.name} has not")
    carry = carried_by(subject, frame, q)
    return subject.kinematics.link_poses(q), np.asarray(carry @ camera_pose(camera))


def carried_by(subject: Subject, frame: str, q: Array) -> Array:
    """The poses (N, 4, 4) of a link or frame in the robot's base."""
    poses = subject.kinematics.place_poses({frame: frame}, q)
    carry = np.tile(np.eye(4), (len(q), 1, 1))
    carry[:, :3, :3], carry[:, :3, 3] = poses.rotation(frame), poses.position(frame)
    return carry


def stands_still(subject: Subject) -> bool:
    """Whether the robot's base keeps its place, or is not recorded to have one."""
    base = subject.posture.base
    if base is None:
        return True
    away = np.linalg.norm(base[:, :3] - np.nanmedian(base[:, :3], axis=0), axis=1)
    return bool(np.nanmax(away) <= _STANDING_M)
