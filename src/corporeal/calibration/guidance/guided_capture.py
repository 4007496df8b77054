"""Views of a board asked for one after the other, taken when matched, still and sharp.

A view that helps nearly as much as the one that was asked for is taken as well: what counts is
what it tells of the camera, not that somebody followed. The end is a goal, not a count.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.board import Board
from corporeal.calibration.camera import (
    FEWEST_VIEWS,
    CameraSettings,
    CameraSolution,
    board_pose,
    calibrate_camera,
    transform,
)
from corporeal.calibration.certainty.uncertainty import UncertaintyMap, uncertainty_map
from corporeal.calibration.detection import BoardView, detect, grey_of
from corporeal.calibration.guidance.next_view import (
    NextView,
    ViewPlan,
    board_outline,
    guessed_lens,
    plan_views,
)
from corporeal.calibration.lens import Lens, project_with_slopes
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_vector, rotation_angle
from corporeal.units import SECOND_NS

# What counts as held where it was asked for: shares of the picture and of the distance, and a turn.
PLACE_SHARE, DISTANCE_SHARE, ANGLE_RAD = 0.05, 0.05, float(np.radians(10))
STILL_S = 0.3
# A board that is held by hand sways by this share of the picture's width; a picture that is
# sharper than this has edges as narrow as the sub-pixel search needs.
_SWAY_SHARE, _EDGE_PX = 0.002, 1.8
# The board was moved on once its corners are so far from where they were taken.
_MOVED_SHARE = 0.03
# How much of what the asked view would help another one must help to be taken instead.
# In a recording nothing can be asked for: what helps a tenth as much is taken, also in motion.
_AS_GOOD, _GOOD_ENOUGH = 0.7, 0.1
_SHOWN = 0.02
_LEAST_HELP = 0.02


@dataclass(frozen=True)
class CaptureGoal:
    """How sure a pixel has to be, on average over the picture and at the worst view's rms."""

    uncertainty_px: float = 0.25
    rms_px: float = 0.3
    distance_m: float | None = None


@dataclass(frozen=True)
class Sighting:
    """What one picture shows, beside what was asked for; shares and angles from 0 (matched).

    `outline` (4, 2) is the board's edge in the picture, None where it is not seen. `place` and
    `distance` are shares, `distance` signed: above 0 is too far. `help` is what the view would
    help, beside the one that was asked for; `is_good` where it is matched or helps as much.
    `words` say what to do.
    """

    words: str
    corners: Array
    outline: Array | None = None
    place: float = np.inf
    distance: float = np.inf
    angle_rad: float = np.inf
    help: float = 0.0
    is_matched: bool = False
    is_good: bool = False
    is_still: bool = False
    is_sharp: bool = False
    is_taken: bool = False


class GuidedCapture:
    """One camera: give it pictures (`see`), show what it asks (`asked`), until `is_done`."""

    def __init__(
        self, board: Board, width: int, height: int, *,
        settings: CameraSettings | None = None, goal: CaptureGoal | None = None,
        views: Sequence[BoardView] = (), is_recorded: bool = False,
    ) -> None:  # fmt: skip
        self.board, self.width, self.height = board, width, height
        self.settings, self.goal = settings or CameraSettings(), goal or CaptureGoal()
        self.is_recorded = is_recorded
        self.views: list[BoardView] = list(views)
        self.solution: CameraSolution | None = None
        self.stated: UncertaintyMap | None = None
        self.trouble = ""
        self._done_with: list[Array] = []
        self._recent: deque[tuple[int, BoardView]] = deque(maxlen=256)
        self._last: BoardView | None = None
        self._taken: BoardView | None = None
        self._solve()

    @property
    def asked(self) -> NextView | None:
        """The view to take next; None where no pose helps any more."""
        return self._asked

    @property
    def lens(self) -> Lens:
        """The lens that outlines are drawn with: solved, or a guess at first."""
        return self._plan.lens

    @property
    def is_done(self) -> bool:
        """Whether the camera is as sure as asked."""
        return (
            self.solution is not None and self.stated is not None
            and self.stated.mean_px <= self.goal.uncertainty_px
            and self.solution.rms_px <= self.goal.rms_px
        )  # fmt: skip

    def see(self, picture: NDArray[np.uint8], time_ns: int) -> Sighting:
        """Look at a picture; the view is taken where it is matched or as good, still and sharp."""
        if picture.shape[:2] != (self.height, self.width):
            high, wide = picture.shape[:2]
            raise CorporealError(
                f"picture, got {wide} x {high}; expected {self.width} x {self.height} as the "
                "first. Keep the camera's size while it is calibrated."
            )
        view = detect(picture, self.board, name=f"view {len(self.views) + 1}")
        self._last = view
        if view is None:
            self._recent.clear()
            self._taken = None
            return Sighting("show the board to the camera", np.zeros((0, 2)))
        self._recent.append((time_ns, view))
        sighting = self._beside_asked(view)
        is_still, is_sharp = self._is_still(time_ns), edge_px(picture, view) <= _EDGE_PX
        is_good = sighting.is_matched or sighting.help >= (
            _GOOD_ENOUGH if self.is_recorded else _AS_GOOD
        )
        if (
            self._taken is not None
            and self._shift_px(self._taken, view) > _MOVED_SHARE * self.width
        ):
            self._taken = None
        sighting = replace(sighting, is_good=is_good, is_still=is_still, is_sharp=is_sharp)
        may_move = is_still or self.is_recorded
        if is_good and may_move and is_sharp and self._taken is None and not self.is_done:
            if sighting.is_matched and self._asked is not None:
                self._done_with.append(self._asked.pose)
            self._take(view)
            return replace(sighting, is_taken=True, words="taken")
        return replace(sighting, words=self._in_words(sighting))

    def take(self) -> bool:
        """Take what was seen last, whatever was asked for; False where there was no board."""
        if self._last is None:
            return False
        self._take(self._last)
        return True

    def skip(self) -> None:
        """Ask for another view: this one cannot be held."""
        if self._asked is not None:
            self._done_with.append(self._asked.pose)
            self._ask()

    def undo(self) -> bool:
        """Give back the last view."""
        if not self.views:
            return False
        self.views.pop()
        self._solve()
        return True

    def _take(self, view: BoardView) -> None:
        self.views.append(view)
        # The board has to be moved before the next view is another one.
        self._taken = view
        self._recent.clear()
        self._solve()

    def _solve(self) -> None:
        self.solution = self.stated = None
        self.trouble = ""
        if len(self.views) >= FEWEST_VIEWS:
            try:
                solution = calibrate_camera(self.views, self.board, self.width, self.height,
                                            self.settings)  # fmt: skip
                self.stated = uncertainty_map(solution, self.goal.distance_m)
                self.solution = solution
            except (CorporealError, np.linalg.LinAlgError) as error:
                self.trouble = str(error)
        lens = guessed_lens(self.settings.model, self.width, self.height)
        self._plan: ViewPlan = plan_views(self.solution, self.board, lens, views=self.views,
                                          distance_m=self.goal.distance_m)  # fmt: skip
        self._ask()

    def _ask(self) -> None:
        wanted = self._plan.best(without=self._done_with)
        self._asked: NextView | None = wanted[0] if wanted else None

    def _beside_asked(self, view: BoardView) -> Sighting:
        lens = self.lens
        pose = board_pose(lens, view, self.board)
        if pose is None:
            return Sighting("show more of the board", view.pixels)
        outline = board_outline(lens, self.board, pose)
        if self._asked is None:
            return Sighting("no view helps any more", view.pixels, outline)
        asked = self._asked.pose
        middle = self.board.points.mean(axis=0)
        placed = transform(np.stack([pose, asked]), middle)
        if (placed[:, 2] <= _SHOWN).any():
            return Sighting("show more of the board", view.pixels, outline)
        seen = project_with_slopes(lens, placed)[0]
        place = float(np.linalg.norm(seen[0] - seen[1])) / self.width
        distance = float(np.log(placed[0, 2] / placed[1, 2]))
        turns = matrix_from_vector(np.stack([pose[:3], asked[:3]]))
        angle = float(rotation_angle(turns[0], turns[1]))
        now = self._plan.now_px
        could = max(now - self._asked.mean_px, _LEAST_HELP * now)
        help_ = (now - self._plan.left_px(pose, view.corners)) / could
        is_matched = place <= PLACE_SHARE and abs(distance) <= DISTANCE_SHARE and angle <= ANGLE_RAD
        return Sighting("", view.pixels, outline, place, distance, angle, float(help_), is_matched)

    def _is_still(self, time_ns: int) -> bool:
        """Whether the corners kept their place for so long."""
        since = time_ns - round(STILL_S * SECOND_NS)
        if not self._recent or self._recent[0][0] > since:
            return False
        last = self._recent[-1][1]
        for at, view in reversed(self._recent):
            if self._shift_px(view, last) > _SWAY_SHARE * self.width:
                return False
            if at <= since:
                break
        return True

    @staticmethod
    def _shift_px(before: BoardView, now: BoardView) -> float:
        """How far corners moved from one view to another; without limit where none are the same."""
        _, ours, theirs = np.intersect1d(before.corners, now.corners, return_indices=True)
        if not len(ours):
            return np.inf
        moved = np.linalg.norm(before.pixels[ours] - now.pixels[theirs], axis=1)
        return float(np.median(moved))

    def _in_words(self, seen: Sighting) -> str:
        if self.is_done:
            return "the goal is met"
        if self._taken is not None:
            return "taken; move on to the next view"
        if seen.is_good and not seen.is_still:
            return "hold still"
        if seen.is_good and not seen.is_sharp:
            return "the picture is blurred: more light, or nearer to where the lens is focused"
        return seen.words or move_words(seen, self._asked, self.lens, self.board)


def move_words(seen: Sighting, asked: NextView | None, lens: Lens, board: Board) -> str:
    """How to get from what is seen to what was asked for: one thing at a time."""
    if asked is None or seen.outline is None:
        return "show the board to the camera"
    target = board_outline(lens, board, asked.pose)
    across, along = (target.mean(axis=0) - seen.outline.mean(axis=0)) / lens.width
    if seen.place > 2 * PLACE_SHARE:
        ways = [("right" if across > 0 else "left") if abs(across) > PLACE_SHARE else "",
                ("down" if along > 0 else "up") if abs(along) > PLACE_SHARE else ""]  # fmt: skip
        return f"move the board {' and '.join(way for way in ways if way)} in the picture"
    if abs(seen.distance) > DISTANCE_SHARE:
        return "bring the board nearer" if seen.distance > 0 else "take the board farther away"
    if seen.angle_rad > ANGLE_RAD:
        return f"turn the board by {np.degrees(seen.angle_rad):.0f} degrees: {asked.words}"
    return "a little more to the outline"


def edge_px(picture: NDArray[np.uint8], view: BoardView) -> float:
    """How wide edges are about the corners: one sigma of the blur in pixels."""
    grey = grey_of(picture)
    low = np.maximum(view.pixels.min(axis=0).astype(int) - 4, 0)
    high = view.pixels.max(axis=0).astype(int) + 5
    part = grey[low[1] : high[1], low[0] : high[0]].astype(np.float32)
    if min(part.shape) < 8:
        return np.inf
    dark, light = np.percentile(part, (5, 95))
    if light - dark < 20:
        return np.inf
    down, across = np.gradient(part)
    steepest = float(np.percentile(np.hypot(down, across), 99.5))
    # A step that was blurred by sigma is steepest in its middle, with height / (sigma sqrt(2 pi)).
    return float((light - dark) / (max(steepest, 1e-6) * np.sqrt(2 * np.pi)))
