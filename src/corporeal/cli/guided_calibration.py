"""Cameras calibrated one after the other by views that are asked for, on a page or in words."""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal import catalog
from corporeal.calibration.board import Board
from corporeal.calibration.camera import CameraSettings
from corporeal.calibration.files import camera_record, keep_camera
from corporeal.calibration.guidance import (
    CaptureGoal,
    GuidedCapture,
    Sighting,
    ViewDraft,
    drop_draft,
    keep_draft,
    read_draft,
)
from corporeal.errors import CorporealError
from corporeal.studio.guide_feed import GuideCommand, GuideFeed
from corporeal.studio.settings import StudioSettings

_SHOWN_S, _SEEN_S = 0.1, 2.0
_TENTH_PX = 1
_Picture = NDArray[np.uint8]
Pictures = Generator[tuple[int, _Picture]]
"""Stamps in ns and pictures of one camera."""


@dataclass(frozen=True)
class GuidedCamera:
    """A camera to be calibrated; `pictures` opens it, given what is asked of it."""

    name: str
    pictures: Callable[[Callable[[], GuidedCapture | None]], Pictures]
    is_recorded: bool = False


@dataclass(frozen=True)
class GuideTerms:
    """What is calibrated how, and where it goes."""

    board: Board
    settings: CameraSettings
    goal: CaptureGoal
    out: Path


@dataclass(frozen=True)
class GuidedResult:
    """What became of a camera; `is_good` where the goal was met, `is_written` where it was kept."""

    camera: str
    views: int
    mean_px: float | None
    rms_px: float | None
    is_good: bool
    is_written: bool


class Guide:
    """Walks through the cameras; `feed` is where a page looks, `say` where words go."""

    def __init__(
        self, cameras: Sequence[GuidedCamera], terms: GuideTerms, *, feed: GuideFeed,
        say: Callable[[str], object],
    ) -> None:  # fmt: skip
        self._cameras, self._terms, self._feed, self._say = cameras, terms, feed, say
        self.results: list[GuidedResult] = []
        self._camera = cameras[0]
        self._capture: GuidedCapture | None = None
        self._said = ""
        self._shown_s = 0.0
        self.stopping = threading.Event()

    def run(self) -> list[GuidedResult]:
        """Every camera; ends early where somebody stops it, and what was taken is kept."""
        for camera in self._cameras:
            if self.stopping.is_set():
                break
            self._camera, self._capture = camera, None
            self._publish("guiding", f"opening {camera.name}")
            with closing(camera.pictures(lambda: self._capture)) as pictures:
                is_asked_for = self._guide(pictures)
            self._end_camera(is_asked_for=is_asked_for)
        self._publish("over", self._said)
        return self.results

    def _guide(self, pictures: Pictures) -> bool:
        """Until the goal is met, the pictures end or somebody stops; whether one said finish."""
        for time_ns, picture in pictures:
            if self.stopping.is_set():
                return False
            capture = self._capture or self._begin(picture)
            commands = self._feed.take_commands()
            self._obey(capture, commands)
            if "finish" in commands and capture.solution is not None:
                return True
            sighting = capture.see(picture, time_ns)
            if sighting.is_taken:
                self._keep(capture, f"view {len(capture.views)} taken")
            self._show(sighting, picture)
            if capture.is_done:
                return False
        return False

    def _begin(self, picture: _Picture) -> GuidedCapture:
        height, width = picture.shape[:2]
        terms, name = self._terms, self._camera.name
        views = read_draft(terms.out, name, terms.board, terms.settings.model, (width, height))
        capture = GuidedCapture(
            terms.board, width, height, settings=terms.settings, goal=terms.goal, views=views,
            is_recorded=self._camera.is_recorded,
        )  # fmt: skip
        self._capture = capture
        said = f"{name}: {len(views)} views of an earlier capture" if views else f"{name}: begin"
        self._publish("guiding", said)
        return capture

    def _obey(self, capture: GuidedCapture, commands: Sequence[GuideCommand]) -> None:
        for command in commands:
            if command == "skip":
                capture.skip()
                self._publish("guiding", "another view is asked for")
            elif command == "undo" and capture.undo():
                self._keep(capture, "the last view was given back")
            elif command == "take":
                taken = capture.take()
                if taken:
                    self._keep(capture, f"view {len(capture.views)} taken by hand")
                else:
                    self._publish("guiding", "no board in the picture: nothing was taken")

    def _keep(self, capture: GuidedCapture, said: str) -> None:
        size = (capture.width, capture.height)
        keep_draft(self._terms.out, ViewDraft.of(
            self._camera.name, self._terms.board, self._terms.settings.model, size, capture.views
        ))  # fmt: skip
        if capture.stated is not None:
            said += f": a pixel is known to {capture.stated.mean_px:.2f} px on average"
        self._publish("guiding", said)

    def _end_camera(self, *, is_asked_for: bool) -> None:
        capture, name = self._capture, self._camera.name
        solution = None if capture is None else capture.solution
        stated = None if capture is None else capture.stated
        is_good = capture is not None and capture.is_done
        is_written = solution is not None and (is_good or is_asked_for)
        if is_written and solution is not None and stated is not None:
            keep_camera(self._terms.out, camera_record(name, solution, stated))
            drop_draft(self._terms.out, name)
        self.results.append(GuidedResult(
            name, 0 if capture is None else len(capture.views),
            None if stated is None else stated.mean_px,
            None if solution is None else solution.rms_px, is_good, is_written,
        ))  # fmt: skip
        if is_written:
            said = f"{name} is written to {self._terms.out}"
        else:
            said = f"{name}: the goal is not met; the views are kept, call the same command again"
        self._publish("written" if is_written else "over", said)
        if self._feed.is_watched and not self.stopping.is_set():
            # Long enough to be seen before the next camera takes its place.
            self.stopping.wait(_SEEN_S)

    def _show(self, sighting: Sighting, picture: _Picture) -> None:
        moment = time.monotonic()
        if sighting.is_taken or moment - self._shown_s >= _SHOWN_S:
            self._shown_s = moment
            self._feed.show(_sight(sighting), picture)

    def _publish(self, state: str, said: str) -> None:
        if said != self._said:
            self._said = said
            self._say(said)
            asked = None if self._capture is None else self._capture.asked
            if state == "guiding" and asked is not None:
                self._say(f"next: {asked.words}")
        self._feed.publish({
            "state": state, "said": said, "camera": self._camera.name,
            "cameras": [camera.name for camera in self._cameras],
            "done": [vars(result) for result in self.results],
            "board": self._terms.board.reference, "out": self._terms.out.name,
            "goal_px": self._terms.goal.uncertainty_px, "goal_rms_px": self._terms.goal.rms_px,
            **_progress(self._capture),
        })  # fmt: skip


def _progress(capture: GuidedCapture | None) -> dict[str, Any]:
    if capture is None:
        return {"width": 0, "height": 0, "views": [], "asked": None, "map": None, "rms_px": None,
                "mean_px": None, "trouble": ""}  # fmt: skip
    asked, stated = capture.asked, capture.stated
    return {
        "width": capture.width, "height": capture.height,
        "views": [np.round(view.pixels, _TENTH_PX).tolist() for view in capture.views],
        "asked": None if asked is None else {
            "outline": np.round(asked.outline, _TENTH_PX).tolist(), "words": asked.words,
            "leaves_px": asked.mean_px,
        },
        "map": None if stated is None else {
            "rows": stated.rows, "columns": stated.columns,
            "spread_px": [float(f"{value:.3g}") for value in stated.spread_px],
        },
        "mean_px": None if stated is None else stated.mean_px,
        "rms_px": None if capture.solution is None else capture.solution.rms_px,
        "trouble": capture.trouble,
    }  # fmt: skip


def _sight(sighting: Sighting) -> dict[str, Any]:
    def finite(value: float, digits: int = 3) -> float | None:
        return round(float(value), digits) if np.isfinite(value) else None

    outline = sighting.outline
    return {
        "words": sighting.words,
        "outline": None if outline is None else np.round(outline, _TENTH_PX).tolist(),
        "place": finite(sighting.place), "distance": finite(sighting.distance),
        "angle_deg": finite(np.degrees(sighting.angle_rad), 1),
        "is_matched": sighting.is_matched, "is_still": sighting.is_still,
        "is_sharp": sighting.is_sharp, "is_taken": sighting.is_taken,
        "is_good": sighting.is_good,
    }  # fmt: skip


def run_with_page(
    guide: Guide, feed: GuideFeed, settings: StudioSettings, root: Path | None, *,
    on_ready: Callable[[str], None],
) -> list[GuidedResult]:  # fmt: skip
    """Serve the page while the guide walks through the cameras in a thread of its own."""
    from corporeal.studio.server import serve

    over = threading.Event()
    failures: list[BaseException] = []

    def walk() -> None:
        try:
            guide.run()
            if feed.is_watched:
                guide.stopping.wait(_SEEN_S)
        except BaseException as error:  # Told in the main thread.
            failures.append(error)
        finally:
            over.set()

    walker = threading.Thread(target=walk, name="guided calibration", daemon=True)
    with ExitStack() as stack:
        workspace = stack.enter_context(_workspace(root, stack))

        def ready(address: str) -> None:
            on_ready(f"{address}/guide")
            walker.start()

        serve(workspace, settings, on_ready=ready, guide=feed, until=over)
        guide.stopping.set()
        if walker.ident is not None:
            walker.join(timeout=5)
    if failures:
        raise failures[0]
    return guide.results


def _workspace(root: Path | None, stack: ExitStack) -> Any:
    """The workspace here; without one, an empty one that is gone afterwards."""
    if root is not None or catalog.workspace.is_here():
        return catalog.workspace.open_workspace(root)
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="corporeal-guide-"))
    return catalog.workspace.make_workspace(Path(folder) / "calibration")


def latest_of(pictures: Pictures) -> Pictures:
    """The newest picture of a live camera whenever one is asked for; those in between are lost."""
    changed = threading.Condition()
    newest: list[tuple[int, _Picture]] = []
    failures: list[BaseException] = []
    is_over = threading.Event()

    def read() -> None:
        try:
            with closing(pictures):
                for stamp, picture in pictures:
                    with changed:
                        # The driver may use its memory again as soon as it goes on.
                        newest[:] = [(stamp, np.array(picture))]
                        changed.notify_all()
                    if is_over.is_set():
                        return
        except BaseException as error:
            failures.append(error)
        finally:
            is_over.set()
            with changed:
                changed.notify_all()

    reader = threading.Thread(target=read, name="camera of the guide", daemon=True)
    reader.start()
    try:
        while True:
            with changed:
                changed.wait_for(lambda: bool(newest) or is_over.is_set())
                if not newest:
                    break
                found = newest.pop()
            yield found
    finally:
        is_over.set()
        reader.join(timeout=10)
    if failures:
        raise failures[0]


def check_out(out: Path) -> None:
    """Raise, before anybody holds a board, where the result could not be written."""
    if out.suffix not in (".yaml", ".yml"):
        raise CorporealError(f"--out, got {out}; expected a name that ends in .yaml.")
    if not out.parent.is_dir():
        raise CorporealError(f"--out, got {out}; expected a folder that is there. Make it first.")
