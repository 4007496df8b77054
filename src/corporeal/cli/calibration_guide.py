"""`corporeal calibrate guide`: a camera from views that are asked for one after the other."""

from __future__ import annotations

import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from corporeal.calibration.board import open_board
from corporeal.calibration.camera import camera_settings
from corporeal.calibration.guidance import CaptureGoal
from corporeal.cli.command import option
from corporeal.cli.guided_calibration import (
    Guide,
    GuidedCamera,
    GuidedResult,
    GuideTerms,
    Pictures,
    check_out,
    latest_of,
    run_with_page,
)
from corporeal.cli.live_pictures import live_cameras, live_samples
from corporeal.cli.output import AsJson, console, print_json, stderr
from corporeal.cli.workspaces import WorkspaceOption
from corporeal.errors import CorporealError
from corporeal.studio.guide_feed import GuideFeed
from corporeal.studio.settings import StudioSettings

BoardOption = Annotated[str, option("The board: a built-in name, or the path of its document.")]
LensOption = Annotated[str, option("The lens: pinhole, rational or fisheye.")]
SquareOption = Annotated[
    float | None, option("The side of a square as you measured it, in mm.", min=0.1)
]
DistanceOption = Annotated[
    float | None, option("The working distance in m; by default that of the boards.", min=0.01)
]
RmsOption = Annotated[float, option("Largest rms in px; 0.15 for precise work.", min=0)]


def guide(
    driver: Annotated[
        list[str] | None,
        option(
            "A live source: DRIVER, or CAMERA=DRIVER; several are done one after the other.",
            metavar="DRIVER",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None, option("An option of the driver, NAME=VALUE.", "--set")
    ] = (None),
    board: BoardOption = "charuco_a4",
    out: Annotated[
        Path, option("The station's calibration document; made where there is none.", "--out", "-o")
    ] = Path("cell.yaml"),
    lens: LensOption = "pinhole",
    square_mm: SquareOption = None,
    distance: DistanceOption = None,
    max_rms: RmsOption = 0.3,
    max_uncertainty: Annotated[
        float, option("Mean uncertainty of a pixel at which it ends, in px.", min=0)
    ] = 0.25,
    page: Annotated[bool, option("Show a page; without one, words in the terminal.")] = True,
    host: Annotated[str, option("Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, option("Port of the page; 0 takes a free one.", min=0, max=65535)] = 8701,
    open_browser: Annotated[bool, option("Open the page in the browser.", "--open")] = False,
    root: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Hold the board where a page shows it, until the camera is as sure as asked.

    A view is taken by itself once the board is where the outline is (within 5 % and 10 degrees),
    or anywhere it helps nearly as much, still for 0.3 s and sharp. The result goes into the
    station's document. What was taken is kept beside it: after a kill, the same command goes on.
    Exit 1 when the goal was not met.

    Example: [bold]corporeal calibrate guide --driver camera -o cell.yaml --open[/bold]
    """
    target = open_board(board)
    if square_mm is not None:
        target = target.measured(square_m=square_mm / 1e3)
    check_out(out)
    terms = GuideTerms(
        target, camera_settings(lens), CaptureGoal(max_uncertainty, max_rms, distance), out
    )
    cameras = _cameras(driver or ["camera"], settings)
    feed = GuideFeed()
    lines = stderr()

    def say(line: str) -> None:
        if not as_json:
            lines.print(line, soft_wrap=True, markup=False)

    walk = Guide(cameras, terms, feed=feed, say=say)
    if page:

        def ready(address: str) -> None:
            if as_json:
                print_json({"address": address})
            else:
                console().print(f"page: {address}  (Ctrl-C ends it; what was taken is kept)")
            if open_browser:
                webbrowser.open(address)

        results = run_with_page(
            walk, feed, StudioSettings(host=host, port=port), root, on_ready=ready
        )
    else:
        results = walk.run()
    _report(results, cameras, out, as_json=as_json)
    if len(results) < len(cameras) or not all(result.is_good for result in results):
        raise typer.Exit(1)


def _cameras(texts: list[str], settings: list[str] | None) -> list[GuidedCamera]:
    cameras = []
    for text in texts:
        called, _, driver = text.rpartition("=")
        streams, is_live = live_cameras(driver, settings, called)
        if called and len(streams) > 1:
            known = ", ".join(streams)
            raise CorporealError(
                f"driver {driver}, got the name {called} for {len(streams)} cameras ({known}); "
                "expected one. Leave the name out: each goes by its own."
            )
        for stream in streams:
            name = called or stream.rpartition("/")[2]
            cameras.append(GuidedCamera(
                name, _opener(driver, settings, called, stream, is_live=is_live),
                is_recorded=not is_live,
            ))  # fmt: skip
    names = [camera.name for camera in cameras]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise CorporealError(
            f"camera, got {twice[0]} twice; expected a name for each: --driver NAME=DRIVER."
        )
    return cameras


def _opener(
    driver: str, settings: list[str] | None, called: str, stream: str, *, is_live: bool
) -> Callable[[Any], Pictures]:
    def pictures() -> Pictures:
        for sample in live_samples(driver, settings, called):
            if sample.stream == stream:
                yield sample.source_ns, sample.value

    return lambda _: latest_of(pictures()) if is_live else pictures()


def _report(
    results: list[GuidedResult], cameras: list[GuidedCamera], out: Path, *, as_json: bool
) -> None:
    if as_json:
        print_json({"cameras": [vars(result) for result in results], "out": out})
        return
    for result in results:
        known = "" if result.mean_px is None else f", a pixel known to {result.mean_px:.2f} px"
        colour = "green" if result.is_good else "yellow"
        verdict = "good" if result.is_good else "not as sure as asked"
        console().print(f"{result.camera}: {result.views} views{known}; {verdict}", style=colour)
    left = [camera.name for camera in cameras[len(results) :]]
    if left:
        console().print(f"not begun: {', '.join(left)}")
    if any(result.is_written for result in results):
        console().print(f"wrote {out}")
        console().print(f"next: corporeal calibrate reference SOURCE -c {out}")
