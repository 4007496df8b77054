"""Whether a calibration still holds: markers seen now beside where they were, in the base frame.

A shift halts collection when it could be as large as the limit: the limit less 2.6 sigma, so that
more than 99 % of shifts at the limit are found in one check. Where noise alone would reach that,
the marker cannot verify at that distance, and the answer says so instead of guessing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy

from corporeal.calibration.board import Board
from corporeal.calibration.lens import Lens
from corporeal.calibration.verification.marker import MarkerSight
from corporeal.errors import CorporealError
from corporeal.geometry import (
    Array,
    matrix_from_rpy,
    matrix_from_vector,
    rotation_angle,
    rotation_vectors,
    rpy_from_matrix,
)
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import CameraCalibration
from corporeal.protocol.verification import MarkerReference, VerificationPlan

Cause = Literal["nothing", "camera", "marker", "camera or marker"]
# Of two hundred shifts at the limit one is missed; noise reaches the limit in fewer checks than
# one in a hundred, also where two markers are judged by position and by rotation.
_MISSED_SIGMAS = 2.576
_FALSE_ALARMS = 0.0025
# Two shifts are one when they differ by no more than so many sigmas.
_SAME_SIGMAS = 4.0


class CannotVerifyError(CorporealError):
    """A marker that cannot resolve the limits, or a picture that says nothing of it."""


@dataclass(frozen=True)
class MarkerShift:
    """How far a marker is from its reference: (3,) m and (3,) rad along the axes of the camera."""

    marker: str
    camera: str
    shift_m: Array
    turn_rad: Array
    sigma_m: Array
    sigma_rad: Array
    limit_m: float
    limit_rad: float
    move: Array
    """What carries the reference to what is seen now (4, 4), in the reference's frame."""
    place: Array
    """Where the marker is seen now (3,), in the same frame."""
    frames: int = 0
    cause: Cause = "nothing"

    @property
    def distance_m(self) -> float:
        """How far it is shifted."""
        return float(np.linalg.norm(self.shift_m))

    @property
    def angle_rad(self) -> float:
        """How far it is turned."""
        return float(np.linalg.norm(self.turn_rad))

    @property
    def is_shifted(self) -> bool:
        """Whether it could have moved as far as the limit."""
        return self.distance_m >= self.limit_m or self.angle_rad >= self.limit_rad

    @property
    def is_still(self) -> bool:
        """Whether it is so near to where it was that neither camera nor marker can have moved."""
        return self.distance_m < self.limit_m / 2 and self.angle_rad < self.limit_rad / 2


@dataclass(frozen=True)
class CalibrationCheck:
    """What one look at a station's markers says of its calibration."""

    calibration: str
    shifts: tuple[MarkerShift, ...]
    at: str
    who: str = ""
    source: str = ""

    @property
    def passed(self) -> bool:
        """Whether every camera that was looked at is where it was."""
        return not any(shift.cause in ("camera", "camera or marker") for shift in self.shifts)

    @property
    def worst(self) -> MarkerShift:
        """The shift that is largest beside its limit."""
        return max(self.shifts, key=lambda each: max(each.distance_m / each.limit_m,
                                                     each.angle_rad / each.limit_rad))  # fmt: skip


def lens_of(camera: CameraCalibration) -> Lens:
    """The lens that a calibration document states; raises CorporealError where it states none."""
    if camera.focal_px is None or camera.centre_px is None or not camera.width or not camera.height:
        raise CorporealError(
            f"camera {camera.name}, got no lens in the calibration; expected width, height, "
            "focal_px and centre_px. Calibrate it: corporeal calibrate camera."
        )
    model = camera.lens or "pinhole"
    count = {"pinhole": 5, "rational": 8, "fisheye": 4}[model]
    bends = (*camera.distortion, *(0.0,) * count)[:count]
    values = np.array([*camera.focal_px, *camera.centre_px, *bends])
    return Lens(model, camera.width, camera.height, values)


def camera_pose(camera: CameraCalibration) -> Array:
    """The pose (4, 4) of a camera in its frame; its own where the calibration states none."""
    return _pose((0.0, 0.0, 0.0) if camera.xyz is None else camera.xyz,
                 (0.0, 0.0, 0.0) if camera.rpy is None else camera.rpy)  # fmt: skip


def make_reference(
    name: str, board: Board, camera: CameraCalibration, sights: Sequence[MarkerSight],
    frames: Sequence[Array] = (), *, frame: str = "",
) -> MarkerReference:  # fmt: skip
    """The reference of a marker from one look at it, or from several, between which things settle.

    `frames` (one (4, 4) for each look) carry the camera's own frame into the base, where it sits
    on a link that moved; without them the pose is in the frame of the camera's calibration.
    """
    seen = [_placed(camera, sight, carry) for sight, carry in
            zip(sights, frames or [np.eye(4)] * len(sights), strict=True)]  # fmt: skip
    for sight in sights:
        if sight.other is not None:
            raise CannotVerifyError(
                f"{name} looks the same at two tilts: cannot verify with this marker at this "
                "distance. Take a larger one, tilt it by 20 degrees, or bring it nearer."
            )
    first, turn = seen[0]
    offsets = np.array([_difference(first, pose, turn) for pose, _ in seen])
    settled = _moved(first, turn, offsets.mean(axis=0))
    sigma = np.array([sight.sigma for sight in sights]).max(axis=0)
    if len(sights) > 2:
        sigma = np.maximum(sigma, offsets.std(axis=0, ddof=1))
    else:
        # One look holds the noise of one look: the reference is no surer than a check.
        sigma = np.maximum(sigma, np.abs(offsets).max(axis=0))
    return MarkerReference(
        name=name, camera=camera.name, board=board.model_dump(mode="json", exclude_none=True),
        frame=frame or (camera.frame if camera.xyz is not None and camera.frame else "camera"),
        xyz=_three(settled[:3, 3]), rpy=_three(rpy_from_matrix(settled[:3, :3])),
        camera_rpy=_three(rpy_from_matrix(turn)),
        rotation_sigma_rad=_three(sigma[:3], 3), position_sigma_m=_three(sigma[3:], 3),
    )  # fmt: skip


def check_resolution(
    reference: MarkerReference, plan: VerificationPlan, sigma: Array | None = None
) -> tuple[float, float]:
    """From which shift and turn on a check halts; raises CannotVerifyError where noise gets there.

    `sigma` (6,) is that of the look itself, by default the reference's own.
    """
    held = np.array([*reference.rotation_sigma_rad, *reference.position_sigma_m])
    spread = np.hypot(held, held if sigma is None else sigma)
    limits = []
    for part, limit, unit, factor in (
        (spread[3:], plan.max_position_m, "mm", 1e3),
        (spread[:3], plan.max_rotation_rad, "degrees", float(np.degrees(1))),
    ):
        halts = limit - _MISSED_SIGMAS * float(part.max())
        noise = _largest_noise(part)
        if halts < noise:
            least = noise + _MISSED_SIGMAS * float(part.max())
            raise CannotVerifyError(
                f"{reference.name} seen by {reference.camera} is told to {factor * noise:.2g} "
                f"{unit} and tells shifts from {factor * least:.2g} {unit} on; asked for "
                f"{factor * limit:.3g} {unit}: cannot verify with this marker at this distance. "
                "Take a larger board, bring it nearer, look at more pictures, or raise the limit."
            )
        limits.append(halts)
    return limits[0], limits[1]


def compare(
    reference: MarkerReference, plan: VerificationPlan, camera: CameraCalibration,
    sight: MarkerSight, carry: Array | None = None,
) -> MarkerShift:  # fmt: skip
    """A marker as it is seen now beside its reference; `carry` (4, 4) takes the camera's frame
    into the reference's, where it sits on a link that moves."""
    limit_m, limit_rad = check_resolution(reference, plan, sight.sigma)
    before, turn = reference_pose(reference), matrix_from_rpy(reference.camera_rpy)
    usable = camera if reference.frame != "camera" else _without_pose(camera)
    now, _ = _placed(usable, sight, np.eye(4) if carry is None else carry)
    offset = _difference(before, now, turn)
    held = np.array([*reference.rotation_sigma_rad, *reference.position_sigma_m])
    sigma = np.hypot(held, sight.sigma)
    return MarkerShift(
        reference.name, reference.camera, offset[3:], offset[:3], sigma[3:], sigma[:3],
        limit_m, limit_rad, now @ np.linalg.inv(before), now[:3, 3], sight.frames,
    )  # fmt: skip


def reference_pose(reference: MarkerReference) -> Array:
    """Where the marker's middle was (4, 4), in the frame of the reference."""
    return _pose(reference.xyz, reference.rpy)


def expected_pose(reference: MarkerReference, camera: CameraCalibration, carry: Array) -> Array:
    """Where the camera should see the marker's middle (4, 4), were nothing moved."""
    usable = camera if reference.frame != "camera" else _without_pose(camera)
    return np.asarray(np.linalg.inv(carry @ camera_pose(usable)) @ reference_pose(reference))


def find_causes(shifts: Iterable[MarkerShift]) -> tuple[MarkerShift, ...]:
    """The same shifts, each with what moved: told by markers and cameras that did not."""
    seen = list(shifts)
    still = [shift for shift in seen if shift.is_still]
    cameras, markers = ({each.camera for each in still}, {each.marker for each in still})
    return tuple(replace(shift, cause=_cause(shift, seen, cameras, markers)) for shift in seen)


def _cause(
    shift: MarkerShift, seen: Sequence[MarkerShift], cameras: set[str], markers: set[str]
) -> Cause:
    if not shift.is_shifted:
        return "nothing"
    if shift.camera in cameras and shift.marker not in markers:
        return "marker"
    if shift.marker in markers and shift.camera not in cameras:
        return "camera"
    others = [each for each in seen if each is not shift]
    by_camera = [each for each in others if each.camera == shift.camera]
    by_marker = [each for each in others if each.marker == shift.marker]
    if by_camera and all(_is_one_move(shift, each) for each in by_camera):
        return "camera"
    if by_marker and all(_is_one_move(shift, each) for each in by_marker):
        return "marker"
    return "camera or marker"


def _is_one_move(first: MarkerShift, second: MarkerShift) -> bool:
    """Whether both were carried by one move: as the first says, the second is where it is seen."""
    between = first.move @ np.linalg.inv(second.move)
    turn = float(rotation_angle(between[:3, :3], np.eye(3)))
    shift = float(np.linalg.norm(between[:3, :3] @ second.place + between[:3, 3] - second.place))
    turn_sigma = float(np.hypot(first.sigma_rad.max(), second.sigma_rad.max()))
    shift_sigma = float(np.hypot(first.sigma_m.max(), second.sigma_m.max()))
    shift_sigma += turn_sigma * float(np.linalg.norm(first.place - second.place))
    times = _SAME_SIGMAS * np.sqrt(3)
    return bool(turn <= times * turn_sigma and shift <= times * shift_sigma)


def describe_check(check: CalibrationCheck) -> list[str]:
    """One sentence for each marker, and what to do where something moved."""
    lines = []
    for shift in check.shifts:
        off = f"{shift.distance_m * 1e3:.2f} mm and {np.degrees(shift.angle_rad):.2f} degrees"
        sure = (f"+- {float(shift.sigma_m.max()) * 1e3:.2f} mm, "
                f"{np.degrees(shift.sigma_rad.max()):.2f} degrees")  # fmt: skip
        lines.append(f"{shift.marker} by {shift.camera}: off by {off} ({sure}); "
                     f"{_CAUSES[shift.cause].format(shift=shift)}")  # fmt: skip
    return lines


_CAUSES: Mapping[Cause, str] = {
    "nothing": "holds",
    "camera": "{shift.camera} was moved: fasten it and calibrate it again",
    "marker": "the marker was moved, {shift.camera} was not: take its reference again",
    "camera or marker": (
        "{shift.camera} or the marker was moved; a second marker would tell which"
    ),
}


def markers_of(
    calibration: Calibration, cameras: Iterable[str] | None = None
) -> tuple[MarkerReference, ...]:
    """The references of some cameras, or of all; raises CorporealError where there are none."""
    plan = calibration.verification
    if plan is None:
        raise CorporealError(
            f"calibration {calibration.reference} names no markers; expected references to verify "
            "against. Take one: corporeal calibrate reference."
        )
    wanted = None if cameras is None else set(cameras)
    chosen = tuple(each for each in plan.markers if wanted is None or each.camera in wanted)
    if not chosen:
        known = ", ".join(sorted({each.camera for each in plan.markers}))
        raise CorporealError(
            f"camera, got {', '.join(sorted(wanted or ())) or 'none'}; expected one with a marker: "
            f"{known}."
        )
    return chosen


def _placed(camera: CameraCalibration, sight: MarkerSight, carry: Array) -> tuple[Array, Array]:
    """The marker in the reference's frame (4, 4), and how the camera is turned there (3, 3)."""
    base_from_camera = carry @ camera_pose(camera)
    return np.asarray(base_from_camera @ sight.pose), np.asarray(base_from_camera[:3, :3])


def _without_pose(camera: CameraCalibration) -> CameraCalibration:
    return camera.model_copy(update={"xyz": None, "rpy": None})


def _difference(before: Array, now: Array, turn: Array) -> Array:
    """Turn and shift (6,) from one pose to another, along the axes of the camera."""
    turned = rotation_vectors((now[:3, :3] @ before[:3, :3].T)[None])[0]
    return np.concatenate([turn.T @ turned, turn.T @ (now[:3, 3] - before[:3, 3])])


def _moved(pose: Array, turn: Array, offset: Array) -> Array:
    moved = pose.copy()
    moved[:3, :3] = matrix_from_vector((turn @ offset[:3])[None])[0] @ pose[:3, :3]
    moved[:3, 3] = pose[:3, 3] + turn @ offset[3:]
    return moved


def _largest_noise(sigma: Array) -> float:
    """The length that noise of these three spreads reaches in one of some hundred checks."""
    square = sigma**2
    scale = float((square**2).sum() / square.sum())
    freedom = float(square.sum() ** 2 / (square**2).sum())
    return float(np.sqrt(scale * scipy.special.chdtri(freedom, _FALSE_ALARMS)))


def _pose(xyz: Sequence[float], rpy: Sequence[float]) -> Array:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix_from_rpy(rpy), xyz
    return pose


def _three(values: Array, digits: int | None = None) -> tuple[float, float, float]:
    """Three numbers as documents have them: to a tenth of a micrometre, or to so many digits."""
    x, y, z = (float(f"{value:.{digits}g}") if digits else round(float(value), 7)
               for value in values)  # fmt: skip
    return x, y, z
