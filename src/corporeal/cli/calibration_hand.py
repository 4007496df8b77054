"""`corporeal calibrate hand-eye` and `force`: what hangs at a robot's hand, and where."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from corporeal.calibration.board import open_board
from corporeal.calibration.files import (
    force_record,
    keep_force,
    keep_pose,
    plain_name,
    read_effector_poses,
    read_joint_pairs,
    read_pose_pairs,
    read_pose_track,
    read_standing_forces,
    read_static_poses,
)
from corporeal.calibration.force import (
    USUAL_RESTS,
    ZEROED_S,
    ForceSolution,
    leave_out_force,
    next_rests,
    solve_force,
    standing_drift,
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
from corporeal.calibration.rig import MOUNTS, plot_force
from corporeal.calibration.verification import camera_of, lens_of
from corporeal.calibration.views import find_views, moment_of
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
from corporeal.geometry import Array
from corporeal.protocol import Calibration

_Station = Annotated[
    Path | None,
    option("The calibration document to write the result into; made where there is none.",
           "--out", "-o"),
]  # fmt: skip
_Report = Annotated[Path | None, option("A picture of the result: .png, .pdf or .svg.")]
_Name = Annotated[str | None, option("What the result is of: the name of its stream.")]
# What a corner is taken to scatter by where the document does not say how well the lens fits.
_USUAL_PX = 0.2
# A condition beyond this says no more than that directions are missing.
_TOLD_BELOW = 100.0


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
    name: _Name = None,
    out: _Station = None,
    report: _Report = None,
    as_json: AsJson = False,
) -> None:
    """Where a camera sits on an arm, or beside it, with its spread and a leave-one-out error.

    Pictures are solved by their corners, with the lens that the document of --out states for the
    camera of --name. Tracks (t x y z qx qy qz qw) may have two clocks: their offset is solved.
    Exit 1 when it is not as sure as asked, or a mistake in the data is found.

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
    if out is not None:
        sigma = np.concatenate([solution.sigma_rad, solution.sigma_m])
        link = frame or ("world" if mount == "to-hand" else "hand")
        keep_pose(out, called, link, solution.camera, sigma)
    if report is not None:
        save_picture(plot_hand_eye(given, solution, left_out, f"{called}, {mount}"), report)
    wanted = [] if is_good or mistakes else _next_poses(given, solution, board, name, out)
    if as_json:
        print_json({**_values(given, solution, left_out), "camera": called, "mount": mount,
                    "is_good": is_good, "mistakes": mistakes, "next": wanted, "out": out,
                    "report": report})  # fmt: skip
    else:
        _show_hand_eye(given, solution, left_out)
        for mistake in mistakes:
            console().print(mistake, style="yellow")
        _show_verdict(is_good, f"{max_position_mm:g} mm, {max_rotation_deg:g} degrees", wanted)
        _show_written(out, report)
    if not is_good:
        raise typer.Exit(1)


def force(
    poses: Annotated[
        Path | None, argument("Poses at rest: .csv with qw qx qy qz fx fy fz tx ty tz.")
    ] = None,
    guide: Annotated[
        int | None,
        option(f"Say so many poses to take ({USUAL_RESTS}), after those given.", min=1, max=20),
    ] = None,
    standing: Annotated[
        Path | None, option("A tool that hangs still for a while: .csv with t fx fy fz.")
    ] = None,
    max_drift_n: Annotated[
        float,
        option(
            "Largest change of the force between two equal poses, or in 3 minutes, in N.", min=0
        ),
    ] = 0.5,
    name: _Name = None,
    out: _Station = None,
    report: _Report = None,
    as_json: AsJson = False,
) -> None:
    """A force sensor from poses at rest: tool, bias, mounting and sign, each with its spread.

    Exit 1 when the sensor drifted between the first pose and the same one taken last, or creeps
    while it stands still.

    Example: [bold]corporeal calibrate force rests.csv --name right_wrist_wrench -o cell.yaml[/bold]
    Example: [bold]corporeal calibrate force --guide 12[/bold]
    Example: [bold]corporeal calibrate force --standing still.csv[/bold]
    """
    if report is not None:
        check_picture(report)
    if standing is not None:
        if any(each is not None for each in (poses, guide, name, out, report)):
            raise CorporealError("--standing, got more beside it; expected --max-drift-n at most.")
        _judge_standing(standing, max_drift_n, as_json=as_json)
        return
    if poses is None:
        _show_rests(np.zeros((0, 3, 3)), guide, as_json=as_json)
        return
    given = read_static_poses(poses)
    if guide is not None:
        _show_rests(given.rotations, guide, as_json=as_json)
        return
    solution = solve_force(given)
    left_out = leave_out_force(given)
    called = name or poses.stem
    record = force_record(called, solution, left_out)
    drifts = solution.drift_n is not None and solution.drift_n > max_drift_n
    if out is not None:
        keep_force(out, record)
    if report is not None:
        save_picture(plot_force(given, solution, left_out, called), report)
    if as_json:
        print_json({
            "sensor": record.model_dump(mode="json", exclude_none=True),
            "sigma": solution.sigma.tolist(), "condition": solution.condition,
            "sign_margin": solution.sign_margin, "drift_n": solution.drift_n,
            "is_good": not drifts, "out": out, "report": report,
        })  # fmt: skip
    else:
        _show_force(solution, left_out, len(given))
        if drifts:
            console().print(
                f"it drifted by more than {max_drift_n:g} N: let it warm up, and zero it before "
                "every episode", style="yellow",
            )  # fmt: skip
        _show_written(out, report)
    if drifts:
        raise typer.Exit(1)


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


def _judge_standing(path: Path, max_drift_n: float, *, as_json: bool) -> None:
    drift = standing_drift(*read_standing_forces(path), max_drift_n=max_drift_n)
    if as_json:
        print_json({"seconds": drift.seconds, "drift_n": drift.drift_n.tolist(),
                    "sigma_n": drift.sigma_n, "alarm_s": drift.alarm_s,
                    "is_good": drift.alarm_s is None})  # fmt: skip
    else:
        parts = ", ".join(f"{value:.2f}" for value in drift.drift_n)
        console().print(
            f"in {drift.seconds:.0f} s at rest the force moved by {drift.worst_n:.2f} N ({parts}; "
            f"+- {drift.sigma_n:.2f} N)"
        )
        if drift.alarm_s is None:
            console().print("good: no creep beyond its noise and the limit")
        else:
            console().print(
                f"it creeps, certain after {drift.alarm_s:.0f} s: beyond {max_drift_n:g} N in "
                f"{ZEROED_S / 60:.0f} minutes. Let it warm up, and zero it before every episode",
                style="yellow",
            )  # fmt: skip
    if drift.alarm_s is not None:
        raise typer.Exit(1)


def _show_rests(taken: Array, guide: int | None, *, as_json: bool) -> None:
    asked = next_rests(taken, guide or USUAL_RESTS)
    if as_json:
        print_json({"next": [{"words": each.words, "quaternion": each.quaternion.tolist()}
                             for each in asked]})  # fmt: skip
        return
    for number, each in enumerate(asked, 1):
        even = f" (condition {each.condition:.1f})" if each.condition < _TOLD_BELOW else ""
        console().print(f"{number}: {each.words}{even}")
    console().print("stand still for 2 s in each; take the first one again at the end")


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


def _show_force(solution: ForceSolution, left_out: tuple[float, float], count: int) -> None:
    sigma = solution.sigma
    console().print(f"{count} poses at rest")
    table = make_table("", "value", "one sigma")
    table.add_row("mass", f"{solution.mass_kg * 1e3:.1f} g", f"{sigma[0] * 1e3:.1f} g")
    for label, values, spread, unit, factor in (
        ("middle of mass", solution.centre_m, sigma[7:10], "mm", 1e3),
        ("bias of the force", solution.force_bias, sigma[4:7], "N", 1.0),
        ("bias of the torque", solution.torque_bias, sigma[10:13], "N m", 1.0),
    ):
        shown = ", ".join(f"{value * factor:.3f}" for value in values)
        unsure = ", ".join(f"{value * factor:.3f}" for value in spread)
        table.add_row(label, f"{shown} {unit}", f"{unsure} {unit}")
    console().print(table)
    _, off = solution.nearest_mounting()
    reports = "on the tool" if solution.sign > 0 else "by the tool"
    console().print(
        f"the mounting is {np.degrees(off):.2f} degrees off a turn by right angles; the sensor "
        f"reports the force {reports} ({solution.sign_margin:.0f} times more likely)"
    )
    console().print(
        f"a pose that is left out is told to {left_out[0]:.3f} N and {left_out[1]:.4f} N m"
    )
    if solution.drift_n is not None:
        console().print(
            f"first and last pose, which are the same, differ by {solution.drift_n:.2f} N"
        )


def _show_verdict(is_good: bool, limits: str, wanted: list[str]) -> None:
    verdict = "good" if is_good else "not good enough"
    style = "green" if is_good else "red"
    console().print(emphasise(verdict, f" (asked for: {limits})", style=style))
    for number, words in enumerate(wanted, 1):
        console().print(f"take next, {number}: the board {words}")


def _show_written(out: Path | None, report: Path | None) -> None:
    for path in (out, report):
        if path is not None:
            console().print(f"wrote {path}")
