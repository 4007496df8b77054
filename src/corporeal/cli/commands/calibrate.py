"""`corporeal calibrate`: boards to print, cameras, hand and eye, force sensors, checks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from corporeal.calibration.board import Board, board_names, open_board, page_of, plot_page
from corporeal.calibration.camera import (
    FEWEST_VIEWS,
    CameraSettings,
    CameraSolution,
    calibrate_camera,
    camera_settings,
)
from corporeal.calibration.certainty import (
    UncertaintyMap,
    compare_halves,
    describe_camera,
    plot_camera,
    uncertainty_map,
)
from corporeal.calibration.files import (
    camera_record,
    force_record,
    keep_camera,
    keep_force,
    keep_pose,
    read_pose_pairs,
    read_static_poses,
)
from corporeal.calibration.force import ForceSolution, leave_out_force, solve_force
from corporeal.calibration.guidance import NextView, guessed_lens, next_views
from corporeal.calibration.hand_eye import (
    HandEyeSolution,
    LeftOut,
    Mount,
    PosePairs,
    leave_out,
    solve_hand_eye,
)
from corporeal.calibration.mistakes import find_mistakes
from corporeal.calibration.views import FoundViews, find_views
from corporeal.cli import calibration_checks, calibration_guide
from corporeal.cli.command import Command, argument, group, option
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
from corporeal.errors import CorporealError, UnknownNameError

_app = group("Calibrate cameras, hand and eye, and force sensors, with stated uncertainty.")

_Station = Annotated[
    Path | None,
    option("The calibration document to write the result into; made where there is none.",
           "--out", "-o"),
]  # fmt: skip
_Report = Annotated[Path | None, option("A picture of the result: .png, .pdf or .svg.")]
_Board = Annotated[str, option("The board: a built-in name, or the path of its document.")]
_Name = Annotated[str | None, option("What the result is of: the name of its stream.")]


@_app.command()
def board(
    name: Annotated[
        str, argument(f"A ready board ({', '.join(board_names())}), or a document of yours.")
    ],
    out: Annotated[Path, option("The page: .pdf, .svg or .png.", "--out", "-o")] = Path(
        "board.pdf"
    ),
    as_json: AsJson = False,
) -> None:
    """Write a board to print in its true size, with a ruler to measure the print by.

    Example: [bold]corporeal calibrate board charuco_a4 -o board.pdf[/bold]
    """
    check_picture(out)
    opened = open_board(name)
    save_picture(plot_page(opened), out)
    width, height = opened.size_m
    values = {"board": opened.reference, "file": out, "page": page_of(opened),
              "width_m": width, "height_m": height, "corners": opened.corner_count}  # fmt: skip
    if as_json:
        print_json(values)
        return
    console().print(
        f"{opened.reference}: {width * 1e3:.0f} x {height * 1e3:.0f} mm on {page_of(opened)}, "
        f"{opened.corner_count} corners"
    )
    console().print(f"wrote {out}. Print it at 100 %, measure the ruler, glue it to a stiff plate.")


@_app.command()
def camera(
    source: Annotated[Path, argument("A folder of pictures, a movie, or an episode.")],
    board: _Board = "charuco_a4",
    lens: Annotated[str, option("The lens: pinhole, rational or fisheye.")] = "pinhole",
    stream: Annotated[str | None, option("Which camera of an episode.")] = None,
    every: Annotated[int, option("Of a movie, every so many pictures.", min=1)] = 15,
    square_mm: Annotated[
        float | None, option("The side of a square as you measured it, in mm.", min=0.1)
    ] = None,
    distance: Annotated[
        float | None, option("The working distance in m; by default that of the boards.", min=0.01)
    ] = None,
    max_rms: Annotated[float, option("Largest rms in px; 0.15 for precise work.", min=0)] = 0.3,
    max_uncertainty: Annotated[
        float, option("Largest mean uncertainty of a pixel in px.", min=0)
    ] = 0.5,
    name: _Name = None,
    out: _Station = None,
    report: _Report = None,
    as_json: AsJson = False,
) -> None:
    """Solve a camera from pictures of a board, and say how sure its pixels are, and where.

    Exit 1 when it is not as sure as asked; the answer says which pictures to take next.

    Example: [bold]corporeal calibrate camera photographs --board charuco_a4 -o cell.yaml[/bold]
    """
    if report is not None:
        check_picture(report)
    settings = camera_settings(lens)
    target = open_board(board)
    if square_mm is not None:
        target = target.measured(square_m=square_mm / 1e3)
    with show_progress("looking for the board") as bar:
        seen = find_views(source, target, stream=stream, every=every, progress=bar.advance)
    if len(seen.views) < FEWEST_VIEWS:
        _say_what_to_take(seen, settings, target)
    solution = calibrate_camera(seen.views, target, seen.width, seen.height, settings)
    stated = uncertainty_map(solution, distance)
    halves = compare_halves(seen.views, target, seen.width, seen.height, settings)
    is_good = solution.rms_px <= max_rms and stated.mean_px <= max_uncertainty
    wanted = [] if is_good else next_views(solution, target, solution.lens, count=3,
                                           distance_m=distance)  # fmt: skip
    called = name or (stream or source.stem).rpartition("/")[2]
    record = camera_record(called, solution, stated)
    if out is not None:
        keep_camera(out, record)
    if report is not None:
        save_picture(
            plot_camera(
                solution, stated, [view.outline for view in wanted], f"{called}: {lens} lens"
            ),
            report,
        )
    if as_json:
        print_json({
            "camera": record.model_dump(mode="json", exclude_none=True), "is_good": is_good,
            "pictures": seen.pictures, "views": len(seen.views), "rms_px": solution.rms_px,
            "uncertainty_px": {"middle": stated.middle_px, "mean": stated.mean_px,
                               "largest": stated.largest_px, "distance_m": stated.distance_m},
            "halves_px": None if halves is None else halves.mean_px,
            "next": [view.words for view in wanted], "out": out, "report": report,
        })  # fmt: skip
    else:
        _show_camera(solution, stated, seen.pictures)
        if halves is not None and not halves.is_explained:
            console().print(
                f"two halves of the pictures differ by {halves.mean_px:.2f} px, more than they "
                "explain: blurred pictures, a lens with autofocus, or a bent board",
                style="yellow",
            )
        _show_verdict(is_good, wanted, f"rms {max_rms:g} px, uncertainty {max_uncertainty:g} px")
        _show_written(out, report)
    if not is_good:
        raise typer.Exit(1)


@_app.command("hand-eye")
def hand_eye(
    pairs: Annotated[Path, argument("Pairs of poses: .json, .csv, or a folder of .json files.")],
    mount: Annotated[
        str, option("Where the camera is: in-hand (on the arm) or to-hand (beside the robot).")
    ] = "in-hand",
    max_position_mm: Annotated[float, option("Largest spread of the position.", min=0)] = 2.0,
    max_rotation_deg: Annotated[float, option("Largest spread of the rotation.", min=0)] = 0.5,
    frame: Annotated[str | None, option("The link that the camera sits on; world beside it.")] = (
        None
    ),
    name: _Name = None,
    out: _Station = None,
    as_json: AsJson = False,
) -> None:
    """Where a camera sits on an arm, or beside it, with its spread and a leave-one-out error.

    Exit 1 when it is not as sure as asked, or a mistake in the data is found.

    Example: [bold]corporeal calibrate hand-eye pairs.json --mount in-hand -o cell.yaml[/bold]
    """
    mounts: dict[str, Mount] = {"in-hand": "eye_in_hand", "to-hand": "eye_to_hand"}
    if mount not in mounts:
        raise UnknownNameError("mount", mount, tuple(mounts))
    given = read_pose_pairs(pairs)
    solution = solve_hand_eye(given, mounts[mount])
    mistakes = find_mistakes(given, solution)
    with show_progress("leaving out one pair after another"):
        left_out = leave_out(given, mounts[mount])
    spread_mm = float(np.linalg.norm(solution.sigma_m)) * 1e3
    spread_deg = float(np.degrees(np.linalg.norm(solution.sigma_rad)))
    is_good = not mistakes and spread_mm <= max_position_mm and spread_deg <= max_rotation_deg
    called = name or pairs.stem
    if out is not None:
        keep_pose(out, called, frame or ("world" if mount == "to-hand" else "hand"), solution)
    if as_json:
        print_json({
            "camera": called, "mount": mount, "is_good": is_good, "pairs": len(given),
            "pose": solution.camera.tolist(), "sigma_m": solution.sigma_m.tolist(),
            "sigma_rad": solution.sigma_rad.tolist(), "board": solution.board.tolist(),
            "left_out": {"rms_m": left_out.rms_m, "rms_rad": left_out.rms_rad},
            "robot": {"position_m": solution.robot_m, "rotation_rad": solution.robot_rad},
            "scale": solution.scale, "mistakes": mistakes, "out": out,
        })  # fmt: skip
    else:
        _show_hand_eye(given, solution, left_out)
        for mistake in mistakes:
            console().print(mistake, style="yellow")
        limits = f"{max_position_mm:g} mm, {max_rotation_deg:g} degrees"
        _show_verdict(is_good, [], limits)
        _show_written(out, None)
    if not is_good:
        raise typer.Exit(1)


@_app.command()
def force(
    poses: Annotated[Path, argument("Poses at rest: .csv with qw qx qy qz fx fy fz tx ty tz.")],
    name: _Name = None,
    out: _Station = None,
    as_json: AsJson = False,
) -> None:
    """A force sensor from poses at rest: tool, bias, mounting and sign, each with its spread.

    Example: [bold]corporeal calibrate force rests.csv --name right_wrist_wrench -o cell.yaml[/bold]
    """
    given = read_static_poses(poses)
    solution = solve_force(given)
    left_out = leave_out_force(given)
    called = name or poses.stem
    record = force_record(called, solution, left_out)
    if out is not None:
        keep_force(out, record)
    if as_json:
        print_json({
            "sensor": record.model_dump(mode="json", exclude_none=True),
            "sigma": solution.sigma.tolist(), "condition": solution.condition,
            "sign_margin": solution.sign_margin, "drift_n": solution.drift_n, "out": out,
        })  # fmt: skip
        return
    _show_force(solution, left_out, len(given))
    _show_written(out, None)


def _say_what_to_take(seen: FoundViews, settings: CameraSettings, target: Board) -> None:
    lens = guessed_lens(settings.model, seen.width, seen.height)
    asked = next_views(None, target, lens, views=seen.views, count=3)
    wanted = "; ".join(view.words for view in asked)
    raise CorporealError(
        f"{len(seen.views)} of {seen.pictures} pictures show {target.reference}; expected "
        f"{FEWEST_VIEWS} or more. Check the board's document, then take: {wanted}."
    )


def _show_camera(solution: CameraSolution, stated: UncertaintyMap, count: int) -> None:
    console().print(f"{len(solution.views)} of {count} pictures show {solution.board.reference}")
    for line in describe_camera(solution, stated):
        console().print(line)
    fx, fy, cx, cy = solution.lens.values[:4]
    sigma = np.sqrt(np.diag(solution.covariance))[:4]
    table = make_table("", "px", "one sigma", right=("px", "one sigma"))
    for label, value, spread in zip(("fx", "fy", "cx", "cy"), (fx, fy, cx, cy), sigma,
                                    strict=True):  # fmt: skip
        table.add_row(label, f"{value:.2f}", f"{spread:.2f}")
    console().print(table)
    bends = ", ".join(f"{value:.5f}" for value in solution.lens.distortion)
    console().print(f"distortion {bends}")


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
    console().print(
        f"a pair that is left out is told to {left_out.rms_m * 1e3:.2f} mm and "
        f"{np.degrees(left_out.rms_rad):.3f} degrees; the robot itself is wrong by "
        f"{solution.robot_m * 1e3:.2f} mm and {np.degrees(solution.robot_rad):.3f} degrees"
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


def _show_verdict(is_good: bool, wanted: list[NextView], limits: str) -> None:
    colour: Literal["green", "red"] = "green" if is_good else "red"
    verdict = "good" if is_good else "not good enough"
    console().print(emphasise(verdict, f" (asked for: {limits})", style=colour))
    for number, view in enumerate(wanted, 1):
        console().print(f"take next, {number}: {view.words} (leaves {view.mean_px:.2f} px)")


def _show_written(out: Path | None, report: Path | None) -> None:
    for path in (out, report):
        if path is not None:
            console().print(f"wrote {path}")


for _run in (
    calibration_guide.guide, calibration_checks.reference, calibration_checks.verify,
    calibration_checks.checks, calibration_checks.lift,
):  # fmt: skip
    _app.command()(_run)

COMMAND = Command(_app, panel="Record")
