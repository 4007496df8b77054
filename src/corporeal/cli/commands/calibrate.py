"""`corporeal calibrate`: boards, cameras, hand and eye, force sensors, volumes, checks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np

from corporeal.calibration.board import Board, board_names, open_board, page_of, plot_page
from corporeal.calibration.camera import (
    FEWEST_VIEWS,
    CameraSettings,
    CameraSolution,
    calibrate_camera,
    camera_settings,
)
from corporeal.calibration.certainty import (
    HalvesDifference,
    UncertaintyMap,
    compare_halves,
    describe_camera,
    describe_halves,
    plot_camera,
    uncertainty_map,
)
from corporeal.calibration.files import (
    camera_record,
    keep_camera,
)
from corporeal.calibration.guidance import NextView, guessed_lens, next_views
from corporeal.calibration.views import FoundViews, cameras_in, find_views, source_name
from corporeal.cli import (
    calibration_checks,
    calibration_force,
    calibration_guide,
    calibration_hand,
    calibration_rig,
    calibration_volume,
)
from corporeal.cli.calibration_guide import (
    BoardOption,
    DistanceOption,
    LensOption,
    RmsOption,
    SquareOption,
)
from corporeal.cli.calibration_outcome import (
    KeepOption,
    NameOption,
    Outcome,
    OutOption,
    ReportOption,
    halves_values,
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
from corporeal.protocol.calibration import CameraCalibration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_app = group("Calibrate cameras, hand and eye, and force sensors, with stated uncertainty.")


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
    source: Annotated[
        Path,
        argument(
            "A folder of pictures or 'FOLDER/left*' of it, a movie, an episode, or a folder with "
            "one for each camera."
        ),
    ],
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
    name: NameOption = None,
    out: OutOption = None,
    keep_anyway: KeepOption = False,
    report: ReportOption = None,
    as_json: AsJson = False,
) -> None:
    """Solve a camera from pictures of a board, and say how sure its pixels are, and where.

    Of a folder with a sub-folder or a movie for each camera all go into one document.
    Exit 1 when it is not as sure as asked, or halves of the pictures contradict each other; then
    nothing is written unless --keep-anyway says so. The answer says which pictures to take next.

    Example: [bold]corporeal calibrate camera photographs --board charuco_a4 -o cell.yaml[/bold]
    """
    if report is not None:
        check_picture(report)
    settings = camera_settings(lens)
    target = open_board(board)
    if square_mm is not None:
        target = target.measured(square_m=square_mm / 1e3)
    asked = _Asked(target, settings, lens, stream, every, distance, max_rms, max_uncertainty)
    several = cameras_in(source)
    if several and name is not None:
        raise CorporealError(
            f"--name, got {name} for {len(several)} cameras ({', '.join(several)}); expected none. "
            "Each goes by its folder or movie."
        )
    sources = several or {name or (stream or source_name(source)).rpartition("/")[2]: source}
    # All are solved before anything is written: a camera that cannot be leaves no half document.
    solved = [_solve(path, called, asked) for called, path in sources.items()]
    outcome = Outcome(out, report, is_good=all(each.is_good for each in solved),
                      keep_anyway=keep_anyway)  # fmt: skip
    for each in solved:
        if outcome.is_written:
            assert out is not None
            keep_camera(out, each.record)
        if report is not None:
            drawn = report.with_stem(f"{report.stem}_{each.called}") if several else report
            save_picture(_picture(each, lens), drawn)
    if as_json and several:
        parts = [{"source": path, **_values(each)}
                 for path, each in zip(sources.values(), solved, strict=True)]  # fmt: skip
        print_json({"cameras": parts, **outcome.values()})
    elif as_json:
        print_json({**_values(solved[0]), **outcome.values()})
    else:
        for each in solved:
            if several:
                console().print(f"{each.called}:")
            _show_camera(each)
            _show_verdict(each, f"rms {max_rms:g} px, uncertainty {max_uncertainty:g} px")
        outcome.show()
    outcome.end()


@dataclass(frozen=True)
class _Asked:
    """What a camera is solved with, and how sure it has to be."""

    board: Board
    settings: CameraSettings
    lens: str
    stream: str | None
    every: int
    distance_m: float | None
    max_rms_px: float
    max_uncertainty_px: float


@dataclass(frozen=True)
class _Solved:
    """A camera as it came out, and which views to take next where it is not as sure as asked."""

    called: str
    seen: FoundViews
    solution: CameraSolution
    stated: UncertaintyMap
    halves: HalvesDifference | None
    wanted: list[NextView]
    is_good: bool

    @property
    def record(self) -> CameraCalibration:
        return camera_record(self.called, self.solution, self.stated)


def _solve(source: Path, called: str, asked: _Asked) -> _Solved:
    board, settings = asked.board, asked.settings
    with show_progress(f"looking for the board of {called}") as bar:
        seen = find_views(source, board, stream=asked.stream, every=asked.every,
                          progress=bar.advance)  # fmt: skip
    if len(seen.views) < FEWEST_VIEWS:
        _say_what_to_take(source, seen, settings, board)
    solution = calibrate_camera(seen.views, board, seen.width, seen.height, settings)
    stated = uncertainty_map(solution, asked.distance_m)
    halves = compare_halves(seen.views, board, seen.width, seen.height, settings)
    is_sure = solution.rms_px <= asked.max_rms_px and stated.mean_px <= asked.max_uncertainty_px
    is_good = is_sure and (halves is None or halves.is_explained)
    wanted = [] if is_sure else next_views(solution, board, solution.lens, count=3,
                                           distance_m=asked.distance_m)  # fmt: skip
    return _Solved(called, seen, solution, stated, halves, wanted, is_good)


def _picture(solved: _Solved, lens: str) -> Figure:
    outlines = [view.outline for view in solved.wanted]
    title = f"{solved.called}: {lens} lens"
    figure: Figure = plot_camera(solved.solution, solved.stated, outlines, title)
    return figure


def _values(solved: _Solved) -> dict[str, Any]:
    stated, halves = solved.stated, solved.halves
    return {
        "camera": solved.record.model_dump(mode="json", exclude_none=True),
        "is_good": solved.is_good, "pictures": solved.seen.pictures,
        "views": len(solved.seen.views), "rms_px": solved.solution.rms_px,
        "uncertainty_px": {"middle": stated.middle_px, "mean": stated.mean_px,
                           "largest": stated.largest_px, "distance_m": stated.distance_m},
        "halves": halves_values(halves),
        "next": [view.words for view in solved.wanted],
    }  # fmt: skip


def _say_what_to_take(
    source: Path, seen: FoundViews, settings: CameraSettings, target: Board
) -> None:
    lens = guessed_lens(settings.model, seen.width, seen.height)
    asked = next_views(None, target, lens, views=seen.views, count=3)
    wanted = "; ".join(view.words for view in asked)
    raise CorporealError(
        f"{source}: {len(seen.views)} of {seen.pictures} pictures show {target.reference}; "
        f"expected {FEWEST_VIEWS} or more. Check the board's document, then take: {wanted}."
    )


def _show_camera(solved: _Solved) -> None:
    solution, stated, count = solved.solution, solved.stated, solved.seen.pictures
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
    if solved.halves is not None and not solved.halves.is_explained:
        console().print(describe_halves(solved.halves), style="yellow")


def _show_verdict(solved: _Solved, limits: str) -> None:
    colour: Literal["green", "red"] = "green" if solved.is_good else "red"
    verdict = "good" if solved.is_good else "not good enough"
    console().print(emphasise(verdict, f" (asked for: {limits})", style=colour))
    for number, view in enumerate(solved.wanted, 1):
        console().print(f"take next, {number}: {view.words} (leaves {view.mean_px:.2f} px)")


_app.command("hand-eye")(calibration_hand.hand_eye)
for _run in (
    calibration_force.force, calibration_rig.rig, calibration_rig.simulate,
    calibration_guide.guide, calibration_checks.reference, calibration_checks.verify,
    calibration_checks.checks, calibration_checks.lift, calibration_volume.volume,
):  # fmt: skip
    _app.command()(_run)

COMMAND = Command(_app, panel="Record")
