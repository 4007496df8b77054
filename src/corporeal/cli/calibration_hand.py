"""`corporeal calibrate hand-eye`: where a camera sits on a robot's hand, or beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np

from corporeal.calibration.board import open_board
from corporeal.calibration.files import (
    keep_pose,
    plain_name,
    read_effector_poses,
    read_joint_pairs,
    read_pose_pairs,
    read_pose_track,
)
from corporeal.calibration.hand_eye import (
    HandEyeSolution,
    LeftOut,
    PosePairs,
    describe_errors,
    describe_offset,
    find_mistakes,
    inverse,
    leave_out,
    next_hand_poses,
    pairs_of_tracks,
    pairs_of_views,
    plot_hand_eye,
    solve_hand_eye,
)
from corporeal.calibration.rig import MOUNTS
from corporeal.calibration.verification import camera_of, lens_of
from corporeal.calibration.views import find_views, moment_of
from corporeal.cli.calibration_outcome import (
    KeepOption,
    NameOption,
    Outcome,
    OutOption,
    ReportOption,
)
from corporeal.cli.command import argument, option
from corporeal.cli.output import (
    AsJson,
    check_picture,
    console,
    emphasise,
    make_table,
    print_json,
    save_picture,
    show_progress,
)
from corporeal.embodiment import open_robot
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.protocol import Calibration

# What a corner is taken to scatter by where the document does not say how well the lens fits.
_USUAL_PX = 0.2


def hand_eye(
    pairs: Annotated[
        Path,
        argument("Pairs of poses (.json, .csv, a folder of .json), a track, or pictures."),
    ],
    mount: Annotated[
        str, option("Where the camera is: in-hand (on the arm) or to-hand (beside the robot).")
    ] = "in-hand",
    poses: Annotated[
        Path | None, option("With pictures: the table of the hand's pose in each of them.")
    ] = None,
    board: Annotated[str, option("With pictures: the board, by name or document.")] = "charuco_a4",
    boards: Annotated[
        Path | None, option("With a track of the hand: the track of the board, on its own clock.")
    ] = None,
    robot: Annotated[
        str | None, option("With joints in the table: the robot they are of; --frame: its link.")
    ] = None,
    inverted: Annotated[
        bool, option("The boards' poses are those of the camera in the board.", "--inverted")
    ] = False,
    max_position_mm: Annotated[float, option("Largest spread of the position.", min=0)] = 2.0,
    max_rotation_deg: Annotated[float, option("Largest spread of the rotation.", min=0)] = 0.5,
    frame: Annotated[str | None, option("The link that the camera sits on; world beside it.")] = (
        None
    ),
    name: NameOption = None,
    out: OutOption = None,
    keep_anyway: KeepOption = False,
    report: ReportOption = None,
    as_json: AsJson = False,
) -> None:
    """Where a camera sits on an arm, or beside it, with its spread and a leave-one-out error.

    Pictures are solved by their corners, with the lens that the document of --out states for the
    camera of --name. Tracks (t x y z qx qy qz qw) may have two clocks: their offset is solved.
    Exit 1 when it is not as sure as asked, or a mistake in the data is found; then nothing is
    written unless --keep-anyway says so.

    Example: [bold]corporeal calibrate hand-eye pairs.json --mount in-hand -o cell.yaml[/bold]
    """
    if mount not in MOUNTS:
        raise UnknownNameError("mount", mount, tuple(MOUNTS))
    if report is not None:
        check_picture(report)
    given = _given(pairs, poses=poses, board=board, boards=boards, robot=robot, frame=frame,
                   name=name, out=out)  # fmt: skip
    if inverted:
        given = replace(given, boards=inverse(given.boards))
    solution = solve_hand_eye(given, MOUNTS[mount])
    mistakes = find_mistakes(given, solution)
    with show_progress("leaving out one pair after another"):
        left_out = leave_out(given, MOUNTS[mount])
    spread_mm = float(np.linalg.norm(solution.sigma_m)) * 1e3
    spread_deg = float(np.degrees(np.linalg.norm(solution.sigma_rad)))
    is_good = not mistakes and spread_mm <= max_position_mm and spread_deg <= max_rotation_deg
    called = name or pairs.stem
    outcome = Outcome(out, report, is_good=is_good, keep_anyway=keep_anyway)
    if outcome.is_written:
        assert out is not None
        sigma = np.concatenate([solution.sigma_rad, solution.sigma_m])
        link = frame or ("world" if mount == "to-hand" else "hand")
        keep_pose(out, called, link, solution.camera, sigma)
    if report is not None:
        save_picture(plot_hand_eye(given, solution, left_out, f"{called}, {mount}"), report)
    wanted = [] if is_good or mistakes else _next_poses(given, solution, board, name, out)
    if as_json:
        print_json({**_values(given, solution, left_out), "camera": called, "mount": mount,
                    "mistakes": mistakes, "next": wanted, **outcome.values()})  # fmt: skip
    else:
        _show_hand_eye(given, solution, left_out)
        for mistake in mistakes:
            console().print(mistake, style="yellow")
        _show_verdict(is_good, f"{max_position_mm:g} mm, {max_rotation_deg:g} degrees", wanted)
        outcome.show()
    outcome.end()


def _given(
    source: Path, *, poses: Path | None, board: str, boards: Path | None, robot: str | None,
    frame: str | None, name: str | None, out: Path | None,
) -> PosePairs:  # fmt: skip
    """The pairs that a source holds: of poses, joints, tracks or pictures."""
    if not source.exists():
        raise CorporealError(f"{source} does not exist; expected pairs, a track or pictures.")
    if boards is not None:
        return pairs_of_tracks(read_pose_track(source), read_pose_track(boards))
    if robot is not None:
        if frame is None:
            raise CorporealError("--frame, got none; expected the link whose pose joints give.")
        return read_joint_pairs(source, open_robot(robot), frame)
    if poses is None:
        return read_pose_pairs(source)
    if out is None or name is None or not out.exists():
        raise CorporealError(
            "pictures, got no lens; expected --name CAMERA and --out FILE with its lens. Make it: "
            "corporeal calibrate camera PICTURES --name CAMERA -o FILE."
        )
    camera = camera_of(Calibration.load(out), plain_name(name))
    lens, target = lens_of(camera), open_board(board)
    with show_progress("looking for the board") as bar:
        seen = find_views(source, target, progress=bar.advance)
    if (seen.width, seen.height) != (lens.width, lens.height):
        raise CorporealError(
            f"{source} has pictures of {seen.width} x {seen.height}; {camera.name} was calibrated "
            f"at {lens.width} x {lens.height}. Use pictures that were not resized."
        )
    named = [replace(view, name=moment_of(view.name)) for view in seen.views]
    scatter = _USUAL_PX if camera.reprojection_px is None else camera.reprojection_px / np.sqrt(2)
    return pairs_of_views(named, read_effector_poses(poses), lens, target, float(scatter))


def _next_poses(
    pairs: PosePairs, solution: HandEyeSolution, board: str, name: str | None, out: Path | None
) -> list[str]:
    """Three poses of the hand that would help most, where the lens is known."""
    if out is None or name is None or not out.exists():
        return []
    try:
        lens = lens_of(camera_of(Calibration.load(out), plain_name(name)))
    except CorporealError:
        return []
    away = float(np.median(np.linalg.norm(pairs.boards[:, :3, 3], axis=1)))
    asked = next_hand_poses(solution.camera, solution.board, lens, open_board(board),
                            mount=solution.mount, taken=list(pairs.boards), count=3,
                            distance_m=away)  # fmt: skip
    return [each.words for each in asked]


def _values(pairs: PosePairs, solution: HandEyeSolution, left_out: LeftOut) -> dict[str, object]:
    names = () if pairs.adjustable is None else pairs.adjustable.names
    return {
        "pairs": len(pairs), "pose": solution.camera.tolist(),
        "sigma_m": solution.sigma_m.tolist(), "sigma_rad": solution.sigma_rad.tolist(),
        "board": solution.board.tolist(), "board_sigma_m": solution.board_sigma_m.tolist(),
        "left_out": {"rms_m": left_out.rms_m, "rms_rad": left_out.rms_rad},
        "robot": {"position_m": solution.robot_m, "rotation_rad": solution.robot_rad},
        "board_error_rad": solution.board_rad,
        "scale": solution.scale, "scale_sigma": solution.scale_sigma,
        "offsets": {name: {"value": float(value), "sigma": float(sigma)} for name, value, sigma in
                    zip(names, solution.offsets, solution.offset_sigma, strict=True)},
    }  # fmt: skip


def _show_hand_eye(given: PosePairs, solution: HandEyeSolution, left_out: LeftOut) -> None:
    place, spread = solution.camera[:3, 3] * 1e3, solution.sigma_m * 1e3
    where = "on the hand" if solution.mount == "eye_in_hand" else "in the robot's base"
    console().print(f"{len(given)} pairs; the camera {where}:")
    table = make_table("", "mm", "one sigma", right=("mm", "one sigma"))
    for label, value, sigma in zip("xyz", place, spread, strict=True):
        table.add_row(label, f"{value:.2f}", f"{sigma:.2f}")
    console().print(table)
    turns = ", ".join(f"{value:.3f}" for value in np.degrees(solution.sigma_rad))
    console().print(f"rotation known to {turns} degrees")
    names = () if given.adjustable is None else given.adjustable.names
    for name, value, spread in zip(names, solution.offsets, solution.offset_sigma, strict=True):
        console().print(f"{name}: off by {describe_offset(name, float(value), float(spread))}")
    console().print(
        f"a pair that is left out is told to {left_out.rms_m * 1e3:.2f} mm and "
        f"{np.degrees(left_out.rms_rad):.3f} degrees; {describe_errors(solution)}"
    )


def _show_verdict(is_good: bool, limits: str, wanted: list[str]) -> None:
    verdict = "good" if is_good else "not good enough"
    style = "green" if is_good else "red"
    console().print(emphasise(verdict, f" (asked for: {limits})", style=style))
    for number, words in enumerate(wanted, 1):
        console().print(f"take next, {number}: the board {words}")
