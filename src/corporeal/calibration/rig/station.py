"""One solve of a whole station from its recordings: lenses, poses of cameras, force sensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from corporeal.calibration.board import Board, open_board
from corporeal.calibration.camera import CameraSettings, CameraSolution, calibrate_camera
from corporeal.calibration.certainty import (
    HalvesDifference,
    UncertaintyMap,
    compare_halves,
    describe_halves,
    uncertainty_map,
)
from corporeal.calibration.files import (
    camera_record,
    force_record,
    keep_camera,
    keep_force,
    keep_pose,
    read_effector_poses,
    read_static_poses,
)
from corporeal.calibration.force import (
    ForceLimits,
    ForceSolution,
    StaticPoses,
    WrongRest,
    find_wrong_rests,
    force_problems,
    leave_out_force,
    solve_force,
)
from corporeal.calibration.hand_eye import (
    HandEyeSolution,
    LeftOut,
    Mount,
    PosePairs,
    find_mistakes,
    leave_out,
    pairs_of_views,
    solve_hand_eye,
)
from corporeal.calibration.rig.cameras_together import CamerasTogether, KnownLens, solve_cameras
from corporeal.calibration.rig.recordings import BesideRecording, CameraRecording, RigRecordings
from corporeal.calibration.views import FoundViews, find_views, moment_of
from corporeal.errors import CorporealError
from corporeal.geometry import Array
from corporeal.protocol import Calibration
from corporeal.words import counted

MOUNTS: Mapping[str, Mount] = {"in-hand": "eye_in_hand", "to-hand": "eye_to_hand"}
# A picture of another camera placed the board: how far this one's corners may be from there.
_TOGETHER_PX = 1.0


@dataclass(frozen=True)
class RigLimits:
    """What is good enough: of pixels, of a camera's place, of a force."""

    rms_px: float = 0.3
    uncertainty_px: float = 0.5
    position_m: float = 0.002
    rotation_rad: float = 0.0087
    force: ForceLimits = field(default_factory=ForceLimits)


@dataclass(frozen=True)
class HandPart:
    """A camera's place by the robot's hand."""

    recording_frame: str
    pairs: PosePairs
    solution: HandEyeSolution
    left_out: LeftOut
    mistakes: tuple[str, ...]


@dataclass(frozen=True)
class CameraPart:
    """One camera of the station: its lens, and its place by the hand or by another camera.

    `pose` (4, 4) is in `frame`, `sigma` (6,) of its turn and shift; None where nothing says it.
    """

    name: str
    seen: FoundViews
    solution: CameraSolution
    stated: UncertaintyMap
    halves: HalvesDifference | None
    hand: HandPart | None = None
    together: CamerasTogether | None = None
    frame: str = ""
    pose: Array | None = None
    sigma: Array | None = None


@dataclass(frozen=True)
class ForcePart:
    """One force sensor of the station."""

    name: str
    rests: StaticPoses
    solution: ForceSolution
    left_out: tuple[float, float]
    wrong: tuple[WrongRest, ...] = ()


@dataclass(frozen=True)
class RigSolution:
    """Everything that the recordings of a station say of it."""

    name: str
    board: Board
    cameras: tuple[CameraPart, ...]
    forces: tuple[ForcePart, ...]
    limits: RigLimits = field(default_factory=RigLimits)

    def problems(self) -> list[str]:
        """One sentence for whatever is not as good as asked, or wrong."""
        found = [
            sentence for part in self.cameras for sentence in _camera_problems(part, self.limits)
        ]
        for force in self.forces:
            problems = force_problems(force.solution, force.left_out, force.wrong,
                                      self.limits.force)  # fmt: skip
            found += [f"{force.name}: {sentence}" for sentence in problems]
        return found

    def keep(self, path: Path) -> Calibration:
        """Write all parts into the station's document, each a version higher."""
        document: Calibration | None = None
        for part in self.cameras:
            document = keep_camera(path, camera_record(part.name, part.solution, part.stated))
            if part.pose is not None and part.sigma is not None:
                document = keep_pose(path, part.name, part.frame, part.pose, part.sigma)
        for force in self.forces:
            record = force_record(force.name, force.solution, force.left_out)
            document = keep_force(path, record)
        assert document is not None
        return document


def calibrate_rig(
    recordings: RigRecordings, folder: Path, limits: RigLimits | None = None,
    progress: Callable[[], object] = lambda: None,
) -> RigSolution:  # fmt: skip
    """Solve every camera and force sensor that the recordings are of."""
    beside = folder / recordings.board
    board = open_board(str(beside) if beside.is_file() else recordings.board)
    parts: dict[str, CameraPart] = {}
    for recording in recordings.cameras:
        parts[recording.name] = _camera(recording, folder, board, progress)
    for recording in recordings.cameras_beside():
        assert recording.beside is not None
        parts[recording.name] = _placed_beside(recording, recording.beside, parts, folder, board,
                                               progress)  # fmt: skip
    forces = []
    for sensor in recordings.force_sensors:
        rests = read_static_poses(folder / sensor.rests)
        forces.append(ForcePart(sensor.name, rests, solve_force(rests), leave_out_force(rests),
                                tuple(find_wrong_rests(rests))))  # fmt: skip
        progress()
    return RigSolution(recordings.name, board, tuple(parts.values()), tuple(forces),
                       limits or RigLimits())  # fmt: skip


def _camera(
    recording: CameraRecording, folder: Path, board: Board, progress: Callable[[], object]
) -> CameraPart:
    settings = CameraSettings(recording.lens)
    seen = find_views(folder / recording.pictures, board, every=recording.every, progress=progress)
    try:
        solution = calibrate_camera(seen.views, board, seen.width, seen.height, settings)
    except CorporealError as error:
        raise CorporealError(f"{recording.name}: {error}") from None
    part = CameraPart(
        recording.name, seen, solution, uncertainty_map(solution, recording.distance_m),
        compare_halves(seen.views, board, seen.width, seen.height, settings),
    )  # fmt: skip
    if recording.hand is None:
        return part
    hand = recording.hand
    views = _views_like(folder / hand.pictures, board, seen, recording.name, progress)
    effectors = read_effector_poses(folder / hand.poses)
    pairs = pairs_of_views(views.views, effectors, solution.lens, board, solution.sigma_px)
    solved = solve_hand_eye(pairs, MOUNTS[hand.mount])
    placed = HandPart(hand.frame, pairs, solved, leave_out(pairs, solved.mount),
                      tuple(find_mistakes(pairs, solved)))  # fmt: skip
    sigma = np.concatenate([solved.sigma_rad, solved.sigma_m])
    return replace(part, hand=placed, frame=hand.frame, pose=solved.camera, sigma=sigma)


def _views_like(
    source: Path, board: Board, seen: FoundViews, name: str, progress: Callable[[], object]
) -> FoundViews:
    """Views of other pictures of the same camera, of the same size, named by their moments."""
    views = find_views(source, board, progress=progress)
    if (views.width, views.height) != (seen.width, seen.height):
        raise CorporealError(
            f"{source} has pictures of {views.width} x {views.height}; the lens of {name} was "
            f"solved at {seen.width} x {seen.height}. Use pictures that were not resized."
        )
    named = tuple(replace(view, name=moment_of(view.name)) for view in views.views)
    return replace(views, views=named)


def _placed_beside(
    recording: CameraRecording, beside: BesideRecording, parts: Mapping[str, CameraPart],
    folder: Path, board: Board, progress: Callable[[], object],
) -> CameraPart:  # fmt: skip
    part, other = parts[recording.name], parts[beside.camera]
    ours = _views_like(folder / beside.pictures, board, part.seen, part.name, progress)
    theirs = _views_like(folder / beside.others, board, other.seen, other.name, progress)
    lenses = {each.name: KnownLens(each.solution.lens, each.solution.sigma_px)
              for each in (other, part)}  # fmt: skip
    solved = solve_cameras({other.name: theirs.views, part.name: ours.views}, lenses, board)
    between, spread = solved.poses[part.name], solved.covariance[part.name]
    sigma = np.sqrt(np.diag(spread))
    if part.pose is not None:
        return replace(part, together=solved)
    if other.pose is None or other.sigma is None:
        return replace(part, together=solved, frame=other.name, pose=between, sigma=sigma)
    # The other camera's own turn moves this one by the lever between them.
    lever = float(np.linalg.norm(between[:3, 3])) * float(other.sigma[:3].max())
    total = np.hypot(sigma, np.concatenate([other.sigma[:3], np.hypot(other.sigma[3:], lever)]))
    return replace(part, together=solved, frame=other.frame, pose=other.pose @ between,
                   sigma=total)  # fmt: skip


def _camera_problems(part: CameraPart, limits: RigLimits) -> list[str]:
    found = []
    if part.solution.rms_px > limits.rms_px:
        found.append(f"{part.name}: rms {part.solution.rms_px:.2f} px; asked for "
                     f"{limits.rms_px:g} px.")  # fmt: skip
    if part.stated.mean_px > limits.uncertainty_px:
        found.append(f"{part.name}: a pixel is known to {part.stated.mean_px:.2f} px; asked for "
                     f"{limits.uncertainty_px:g} px. Take the views that calibrate camera asks "
                     "for.")  # fmt: skip
    if part.halves is not None and not part.halves.is_explained:
        found.append(f"{part.name}: {describe_halves(part.halves)}.")
    if part.hand is not None:
        found += [f"{part.name}: {sentence}" for sentence in part.hand.mistakes]
    if part.sigma is not None:
        place, turn = np.linalg.norm(part.sigma[3:]), np.linalg.norm(part.sigma[:3])
        if place > limits.position_m or turn > limits.rotation_rad:
            found.append(f"{part.name}: its place is known to {place * 1e3:.2f} mm and "
                         f"{np.degrees(turn):.2f} degrees; asked for "
                         f"{limits.position_m * 1e3:g} mm and "
                         f"{np.degrees(limits.rotation_rad):.2g} degrees.")  # fmt: skip
    if part.together is not None and part.together.left_out_px[part.name].size:
        off = float(np.median(part.together.left_out_px[part.name]))
        if off > _TOGETHER_PX:
            found.append(
                f"{part.name}: boards that {part.together.first} places are {off:.1f} px off "
                f"({counted(len(part.together.moments), 'moment')}): were both pictures taken at "
                "the same moment, with the board at rest?"
            )
    return found
