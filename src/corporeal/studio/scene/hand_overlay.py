"""A person's hands on the pictures of a camera: where its lens shows them, picture by picture."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.verification import PointsInTime, pixels_in_time, pixels_of
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.geometry import matrix_from_quaternion, slerp
from corporeal.protocol.calibration import Calibration, CameraCalibration

SIDES = ("left", "right")
JOINTS = 26
TRAIL_S, _TRAIL_POINTS = 1.0, 16
_HEAD = "debug/head_pose"
_INDEX_TIP = 10
# Samples before the first and behind the last picture that are needed too.
_AROUND_NS = 1_200_000_000


@dataclass(frozen=True, eq=False)
class HandOverlay:
    """For n pictures: `pixels` (n, 2, 26, 2) of left and right, NaN where not seen; `state` (n, 2)
    is 0 not seen, 1 seen, 2 between two samples; `confidence` and `distance_m` (n, 2, 26);
    `trail` (n, 2, k, 2) is where the index finger's tip was in the last second.
    """

    pixels: NDArray[np.float32]
    state: NDArray[np.uint8]
    confidence: NDArray[np.float32]
    distance_m: NDArray[np.float32]
    trail: NDArray[np.float32]


def has_hands(episode: Episode) -> bool:
    """Whether the episode has hands that a picture could show."""
    return any(_joints_path(side) in episode for side in SIDES)


def calibrated_camera(episode: Episode, name: str) -> CameraCalibration:
    """The camera of a stream, with its lens and its place on the head; raises CorporealError."""
    text = episode.documents.get("calibration")
    if text is None:
        raise CorporealError(
            "hands on pictures, got an episode without a calibration; expected one with the lens "
            "and the camera's place on the head. Name it in the rig: follows: {calibration: FILE}."
        )
    cameras = Calibration.parse(text, source="calibration of the episode").cameras
    camera = next((each for each in cameras if each.name == name), None)
    if camera is None or camera.focal_px is None:
        raise CorporealError(
            f"hands on pictures, got no lens of {name} in the calibration; expected one. "
            "Calibrate it: corporeal calibrate camera."
        )
    if camera.frame != "head" or camera.xyz is None:
        raise CorporealError(
            f"hands on pictures, got {name} in the frame {camera.frame}; expected its xyz and rpy "
            "in the frame head, which the hands are in. Add them to the calibration."
        )
    return camera


def hands_on_pictures(
    episode: Episode, camera: CameraCalibration, when_ns: NDArray[np.int64]
) -> HandOverlay:
    """The hands of an episode as the camera shows them in the pictures of these times (n,)."""
    count = len(when_ns)
    pixels = np.full((count, 2, JOINTS, 2), np.nan, np.float32)
    state = np.zeros((count, 2), np.uint8)
    confidence = np.ones((count, 2, JOINTS), np.float32)
    distance = np.full((count, 2, JOINTS), np.nan, np.float32)
    trail = np.full((count, 2, _TRAIL_POINTS, 2), np.nan, np.float32)
    for number, side in enumerate(SIDES):
        track, sure = _track(episode, side, when_ns)
        if track is None:
            continue
        seen, state[:, number] = pixels_in_time(track, camera, when_ns)
        pixels[:, number] = seen
        places = track.at(when_ns)[0] - np.array(camera.xyz)
        distance[:, number] = np.linalg.norm(places, axis=2)
        if sure is not None:
            rows = np.clip(np.searchsorted(track.time_ns, when_ns), 0, len(sure) - 1)
            confidence[:, number] = sure[rows]
        trail[:, number] = _trail(episode, track, camera, when_ns)
    return HandOverlay(pixels, state, confidence, distance, trail)


def _joints_path(side: str) -> str:
    return f"observations/{side}_hand_joints"


def _track(
    episode: Episode, side: str, when_ns: NDArray[np.int64]
) -> tuple[PointsInTime | None, NDArray[np.float32] | None]:
    """The samples of a hand around these times, and how sure the device was of each joint."""
    path = _joints_path(side)
    if path not in episode or episode[path].spec.shape != (JOINTS, 3) or not len(when_ns):
        return None, None
    reader = episode[path]
    times = np.asarray(reader.time_ns)
    first, last = np.searchsorted(
        times, [int(when_ns[0]) - _AROUND_NS, int(when_ns[-1]) + _AROUND_NS]
    )
    if last - first < 2:
        return None, None
    track = PointsInTime(times[first:last], np.asarray(reader[first:last], np.float64))
    name = f"observations/{side}_hand_confidence"
    sure = None
    if name in episode and len(episode[name]) == len(reader):
        sure = np.asarray(episode[name][first:last], np.float32)
    return track, sure


def _trail(
    episode: Episode, track: PointsInTime, camera: CameraCalibration, when_ns: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Where (n, k, 2) the finger was before, in the room, as the camera of now would show it."""
    steps = np.round(np.linspace(-TRAIL_S, 0, _TRAIL_POINTS) * 1e9).astype(np.int64)
    earlier = (when_ns[:, None] + steps).ravel()
    tip = PointsInTime(track.time_ns, track.points[:, _INDEX_TIP : _INDEX_TIP + 1])
    places = tip.at(earlier)[0][:, 0]
    then, now = (_heads(episode, times) for times in (earlier, np.repeat(when_ns, len(steps))))
    if then is not None and now is not None:
        room = np.einsum("nij,nj->ni", then[0], places) + then[1]
        places = np.einsum("nji,nj->ni", now[0], room - now[1])
    return pixels_of(camera, places).reshape(len(when_ns), len(steps), 2)


def _heads(
    episode: Episode, when_ns: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Rotations (n, 3, 3) and places (n, 3) of the head; None where nobody told them."""
    if _HEAD not in episode or len(episode[_HEAD]) < 2:
        return None
    reader = episode[_HEAD]
    times = np.asarray(reader.time_ns)
    first, last = np.searchsorted(times, [int(when_ns.min()), int(when_ns.max())])
    low, high = max(int(first) - 1, 0), min(int(last) + 2, len(times))
    if high - low < 2:
        return None
    stamps, poses = times[low:high], np.asarray(reader[low:high], np.float64)
    after = np.clip(np.searchsorted(stamps, when_ns), 1, len(stamps) - 1)
    gap = np.maximum(stamps[after] - stamps[after - 1], 1).astype(np.float64)
    part = np.clip((when_ns - stamps[after - 1]) / gap, 0.0, 1.0)
    place = poses[after - 1, :3] + part[:, None] * (poses[after, :3] - poses[after - 1, :3])
    turn = slerp(poses[after - 1, 3:], poses[after, 3:], part)
    return matrix_from_quaternion(turn), place
