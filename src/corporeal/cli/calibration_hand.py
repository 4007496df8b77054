"""`corporeal calibrate hand-eye`: where a camera sits on a robot's hand, or beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

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
    Mount,
    NextPose,
    PosePairs,
    describe_errors,
    describe_observability,
    describe_offset,
    find_mistakes,
    inverse,
    leave_out,
    next_hand_poses,
    pairs_of_tracks,
    pairs_of_views,
    plot_hand_eye,
    predict_pairs,
    solve_hand_eye,
    turning_axes,
)
from corporeal.calibration.rig import MOUNTS
from corporeal.calibration.verification import camera_of, camera_pose, lens_of
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
from corporeal.geometry import quaternion_from_matrix
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
    verify: Annotated[
        Path | None,
        option("Only hold the camera of this document against pairs that took no part in it."),
    ] = None,
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
    Example: [bold]corporeal calibrate hand-eye new.json --name wrist --verify cell.yaml[/bold]
    """
    if mount not in MOUNTS:
        raise UnknownNameError("mount", mount, tuple(MOUNTS))
    if report is not None:
        check_picture(report)
    if verify is not None and (out is not None or report is not None):
        raise CorporealError("--verify, got --out or --report beside it; expected neither.")
    given = _given(pairs, poses=poses, board=board, boards=boards, robot=robot, frame=frame,
                   name=name, out=verify or out)  # fmt: skip
    if inverted:
        given = replace(given, boards=inverse(given.boards))
    if verify is not None:
        limits = max_position_mm, max_rotation_deg
        _verify(given, verify, name or pairs.stem, MOUNTS[mount], limits, as_json=as_json)
        return
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
                    "mistakes": mistakes, "next": [_next_values(each) for each in wanted],
                    **outcome.values()})  # fmt: skip
    else:
        _show_hand_eye(given, solution, left_out)
        for mistake in mistakes:
            console().print(mistake, style="yellow")
        _show_verdict(is_good, f"{max_position_mm:g} mm, {max_rotation_deg:g} degrees")
        for number, each in enumerate(wanted, 1):
            console().print(f"take next, {number}: the board {each.words}; {_hand_words(each)}")
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
) -> list[NextPose]:
    """Three poses of the hand that would help most, where the lens is known."""
    if out is None or name is None or not out.exists():
        return []
    try:
        lens = lens_of(camera_of(Calibration.load(out), plain_name(name)))
    except CorporealError:
        return []
    away = float(np.median(np.linalg.norm(pairs.boards[:, :3, 3], axis=1)))
    return next_hand_poses(solution.camera, solution.board, lens, open_board(board),
                            mount=solution.mount, taken=list(pairs.boards), count=3,
                            distance_m=away)  # fmt: skip


def _values(pairs: PosePairs, solution: HandEyeSolution, left_out: LeftOut) -> dict[str, object]:
    names = () if pairs.adjustable is None else pairs.adjustable.names
    return {
        "pairs": len(pairs), "pose": solution.camera.tolist(),
        "sigma_m": solution.sigma_m.tolist(), "sigma_rad": solution.sigma_rad.tolist(),
        "covariance": solution.covariance[:6, :6].tolist(),
        "observability": dict(zip(("turned_rad", "across_rad"), turning_axes(pairs), strict=True))
        | {"smallest_singular_value": solution.smallest_singular_value},
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
    console().print(describe_observability(given, solution))


def _next_values(asked: NextPose) -> dict[str, object]:
    return {"words": asked.words, "effector": asked.effector.tolist(), "spread_m": asked.spread_m}


def _hand_words(asked: NextPose) -> str:
    place = ", ".join(f"{value * 1e3:.0f}" for value in asked.effector[:3, 3])
    turn = ", ".join(f"{value:.3f}" for value in quaternion_from_matrix(asked.effector[:3, :3]))
    return f"the hand at {place} mm, w x y z {turn}"


def _verify(
    pairs: PosePairs, document: Path, name: str, mount: Mount, limits: tuple[float, float], *,
    as_json: bool,
) -> None:  # fmt: skip
    """How far a known camera is from pairs that took no part in it; exit 1 beyond the limits."""
    known = camera_of(Calibration.load(document), plain_name(name))
    if known.xyz is None or known.position_sigma_m is None or known.rotation_sigma_rad is None:
        raise CorporealError(
            f"{document}, got {known.name} without a pose and its sigma; expected one that "
            "calibrate hand-eye or rig wrote."
        )
    sigma = np.array([*known.rotation_sigma_rad, *known.position_sigma_m])
    predicted = predict_pairs(pairs, camera_pose(known), sigma, mount)
    rms_mm, rms_deg = predicted.rms_m * 1e3, float(np.degrees(predicted.rms_rad))
    sure_mm = float(np.sqrt((predicted.sigma_m**2).mean())) * 1e3
    sure_deg = float(np.degrees(np.sqrt((predicted.sigma_rad**2).mean())))
    is_good = rms_mm <= limits[0] and rms_deg <= limits[1]
    worst = int(predicted.position_m.argmax())
    if as_json:
        print_json({
            "camera": known.name, "pairs": len(pairs), "is_good": is_good,
            "position_m": predicted.position_m.tolist(), "position_sigma_m": sure_mm / 1e3,
            "rotation_rad": predicted.rotation_rad.tolist(),
            "rotation_sigma_rad": float(np.radians(sure_deg)),
            "rms_m": predicted.rms_m, "rms_rad": predicted.rms_rad,
        })  # fmt: skip
    else:
        console().print(
            f"{len(pairs)} pairs that {known.name} was not solved of: told to {rms_mm:.2f} mm and "
            f"{rms_deg:.3f} degrees, by its own sigma {sure_mm:.2f} mm and {sure_deg:.3f} degrees; "
            f"worst {pairs.names[worst]}, {predicted.position_m[worst] * 1e3:.2f} mm"
        )
        _show_verdict(is_good, f"{limits[0]:g} mm, {limits[1]:g} degrees")
    if not is_good:
        raise typer.Exit(1)


def _show_verdict(is_good: bool, limits: str) -> None:
    verdict = "good" if is_good else "not good enough"
    style = "green" if is_good else "red"
    console().print(emphasise(verdict, f" (asked for: {limits})", style=style))
