"""One look at a station's markers: pictures of every camera, and where its link was meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.board import Board
from corporeal.calibration.detection import BoardView, detect
from corporeal.calibration.verification.marker import MarkerSight, see_marker
from corporeal.calibration.verification.marker_check import (
    CannotVerifyError,
    MarkerShift,
    compare,
    expected_pose,
    find_causes,
    lens_of,
    make_reference,
)
from corporeal.calibration.views import find_camera, read_pictures
from corporeal.embodiment.kinematics import Kinematics
from corporeal.episode import Episode
from corporeal.errors import CorporealError
from corporeal.geometry import Array
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import CameraCalibration
from corporeal.protocol.verification import MarkerReference, VerificationPlan
from corporeal.schema import roles

When = Literal["start", "end"]
# An arm that moves its camera by more than this during a look is not at rest.
_REST_M = 0.0005

Picture = NDArray[np.uint8]


@dataclass(frozen=True)
class CameraLook:
    """What one camera showed; `carry` (4, 4) takes its link into the base of the robot, where the
    source says how the joints stood, and `base` names that base."""

    camera: str
    pictures: Sequence[Picture]
    source: str
    carry: Array | None = None
    base: str | None = None


def look_at(
    source: Path, camera: CameraCalibration, *, frames: int, when: When = "end"
) -> CameraLook:
    """The first or the last pictures of an image, a folder, a movie or an episode."""
    if source.suffix == ".h5":
        return _look_at_episode(source, camera, frames, when)
    pictures = (each.pixels for each in read_pictures(source))
    taken = list(islice(pictures, frames) if when == "start" else deque(pictures, frames))
    if not taken:
        raise CorporealError(f"{source} holds no pictures.")
    return CameraLook(camera.name, taken, source.name)


def see_in_look(look: CameraLook, board: Board, camera: CameraCalibration, *,
                near: Array | None = None) -> MarkerSight:  # fmt: skip
    """The marker as this look shows it; raises CorporealError where it is not in view."""
    lens = lens_of(camera)
    height, width = look.pictures[0].shape[:2]
    if (width, height) != (lens.width, lens.height):
        raise CorporealError(
            f"{look.source} has pictures of {width} x {height}; {camera.name} was calibrated at "
            f"{lens.width} x {lens.height}. Give pictures of that camera, not resized."
        )
    views = list(_views(look.pictures, board))
    if not views:
        raise CannotVerifyError(
            f"{look.source}: {board.name} is not in view of {camera.name} (looked at "
            f"{len(look.pictures)} pictures). Bring it into view, and light it."
        )
    return see_marker(views, lens, board, near=near)


def compare_looks(
    calibration: Calibration, looks: Iterable[CameraLook], references: Iterable[MarkerReference]
) -> tuple[MarkerShift, ...]:
    """Every marker of these references beside where it was, and what moved."""
    plan = calibration.verification
    assert plan is not None
    by_camera = {look.camera: look for look in looks}
    shifts = []
    for reference in references:
        camera = camera_of(calibration, reference.camera)
        look = by_camera[reference.camera]
        carry = carry_of(look, camera, reference)
        near = expected_pose(reference, camera, np.eye(4) if carry is None else carry)
        sight = see_in_look(look, open_embedded(reference), camera, near=near)
        shifts.append(compare(reference, plan, camera, sight, carry))
    return find_causes(shifts)


def reference_from(
    looks: Sequence[CameraLook], name: str, board: Board, camera: CameraCalibration
) -> MarkerReference:
    """The reference that some looks give; with joints it is in the base of the robot."""
    sights = [see_in_look(look, board, camera) for look in looks]
    carries = [look.carry for look in looks if look.carry is not None]
    if len(carries) == len(looks) and camera.xyz is not None:
        frame = looks[0].base or ""
        return make_reference(name, board, camera, sights, carries, frame=frame)
    return make_reference(name, board, camera, sights)


def with_reference(
    plan: VerificationPlan | None, reference: MarkerReference, settings: Mapping[str, float]
) -> VerificationPlan:
    """The plan with this reference in place of the one before of the same camera and marker."""
    key = (reference.camera, reference.name)
    others = () if plan is None else plan.markers
    kept = [each for each in others if (each.camera, each.name) != key]
    stated = {} if plan is None else plan.model_dump(exclude={"markers"})
    return VerificationPlan.model_validate(
        {**stated, **settings, "markers": [each.model_dump() for each in (*kept, reference)]}
    )


def camera_of(calibration: Calibration, name: str) -> CameraCalibration:
    """The camera of a calibration by name."""
    for camera in calibration.cameras:
        if camera.name == name:
            return camera
    known = ", ".join(camera.name for camera in calibration.cameras) or "none"
    raise CorporealError(
        f"camera, got {name!r}; expected one of the calibration {calibration.reference}: {known}."
    )


def open_embedded(reference: MarkerReference) -> Board:
    """The board that a reference holds."""
    return Board.model_validate(reference.board)


def carry_of(
    look: CameraLook, camera: CameraCalibration, reference: MarkerReference
) -> Array | None:
    """What takes the camera's frame into the reference's; None where they are one."""
    if reference.frame in ("camera", camera.frame):
        return None
    if look.carry is None or look.base != reference.frame:
        raise CannotVerifyError(
            f"{camera.name} sits on {camera.frame}, and {look.source} does not say where that was; "
            f"the reference of {reference.name} is in {reference.frame}. Verify from an episode "
            "with joint positions."
        )
    return look.carry


def _views(pictures: Sequence[Picture], board: Board) -> Iterator[BoardView]:
    for number, picture in enumerate(pictures):
        view = detect(picture, board, name=str(number))
        if view is not None:
            yield view


def _look_at_episode(path: Path, camera: CameraCalibration, frames: int, when: When) -> CameraLook:
    with Episode.open(path) as episode:
        stream = find_camera(episode, camera.name, path)
        reader = episode[stream]
        first = 0 if when == "start" else max(0, len(reader) - frames)
        numbers = range(first, min(first + frames, len(reader)))
        pictures = [np.asarray(reader[number]) for number in numbers]
        if not pictures:
            raise CorporealError(f"{path}: {stream} holds no pictures.")
        times = np.asarray(reader.time_ns)[first : first + len(pictures)]
        carry, base = _link_pose(episode, camera, times, path)
    return CameraLook(camera.name, pictures, path.name, carry, base)


def _link_pose(
    episode: Episode, camera: CameraCalibration, time_ns: NDArray[np.int64], path: Path
) -> tuple[Array | None, str | None]:
    """Where the camera's link was in the robot's base during a look; None where nobody says."""
    joints = f"observations/{roles.JOINT_POSITION}"
    if camera.frame in (None, "world") or episode.robot is None or joints not in episode:
        return None, None
    model = Kinematics(episode.embodiment)
    known = {*model.names, *(frame.name for frame in episode.embodiment.frames)}
    if camera.frame not in known:
        return None, None
    reader = episode[joints]
    stamps, values = np.asarray(reader.time_ns), np.asarray(reader[:], np.float64)
    nearest = np.clip(np.searchsorted(stamps, time_ns), 0, len(stamps) - 1)
    poses = model.place_poses({"camera": str(camera.frame)}, values[nearest])
    places = poses.position("camera")
    swing = float(np.linalg.norm(places - np.median(places, axis=0), axis=1).max())
    if swing > _REST_M:
        raise CannotVerifyError(
            f"{path.name}: {camera.frame} moves by {swing * 1e3:.1f} mm while {camera.name} looks; "
            "expected it at rest. Let the arm stand still for a second at the start or the end."
        )
    pose = np.eye(4)
    middle = len(places) // 2
    pose[:3, :3], pose[:3, 3] = poses.rotation("camera")[middle], np.median(places, axis=0)
    return pose, episode.embodiment.base
