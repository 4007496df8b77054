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
    keep_camera,
)
from corporeal.calibration.guidance import NextView, guessed_lens, next_views
from corporeal.calibration.views import FoundViews, find_views
from corporeal.cli import (
    calibration_checks,
    calibration_guide,
    calibration_hand,
    calibration_rig,
)
from corporeal.cli.calibration_guide import (
    BoardOption,
    DistanceOption,
    LensOption,
    RmsOption,
    SquareOption,
)
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
from corporeal.errors import CorporealError

_app = group("Calibrate cameras, hand and eye, and force sensors, with stated uncertainty.")

_Station = Annotated[
    Path | None,
    option("The calibration document to write the result into; made where there is none.",
           "--out", "-o"),
]  # fmt: skip
_Report = Annotated[Path | None, option("A picture of the result: .png, .pdf or .svg.")]
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
    board: BoardOption = "charuco_a4",
    lens: LensOption = "pinhole",
    stream: Annotated[str | None, option("Which camera of an episode.")] = None,
    every: Annotated[int, option("Of a movie, every so many pictures.", min=1)] = 15,
    square_mm: SquareOption = None,
    distance: DistanceOption = None,
    max_rms: RmsOption = 0.3,
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


_app.command("hand-eye")(calibration_hand.hand_eye)
for _run in (
    calibration_hand.force, calibration_rig.rig, calibration_rig.simulate,
    calibration_guide.guide, calibration_checks.reference, calibration_checks.verify,
    calibration_checks.checks, calibration_checks.lift,
):  # fmt: skip
    _app.command()(_run)

COMMAND = Command(_app, panel="Record")
