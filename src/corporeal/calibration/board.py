"""A flat target whose corners are at known places: its document, its picture, a page to print."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from corporeal.calibration.opencv import import_opencv
from corporeal.errors import CorporealError
from corporeal.geometry import Array
from corporeal.schema import Document
from corporeal.schema.document import Library

_INCH_M = 0.0254
_MARGIN_M = 0.012
_RULER_M = 0.018
# Printed in true size: a wall of a hall.
_LARGEST_M = 5.0
# Widths and heights of pages in metres, smallest first; a larger board gets a page of its own.
PAGES = {"A4": (0.297, 0.210), "A3": (0.420, 0.297), "A2": (0.594, 0.420), "A1": (0.841, 0.594),
         "A0": (1.189, 0.841)}  # fmt: skip

Square = tuple[float, float, float]
Pattern = Literal["charuco", "chessboard", "aruco"]
DICTIONARIES = (
    "DICT_4X4_50", "DICT_4X4_100", "DICT_4X4_250", "DICT_4X4_1000",
    "DICT_5X5_50", "DICT_5X5_100", "DICT_5X5_250", "DICT_5X5_1000",
    "DICT_6X6_50", "DICT_6X6_100", "DICT_6X6_250", "DICT_6X6_1000",
    "DICT_7X7_50", "DICT_7X7_100", "DICT_7X7_250", "DICT_7X7_1000", "DICT_ARUCO_ORIGINAL",
)  # fmt: skip


class Board(Document):
    """A flat target; x runs along its columns, y along its rows, z away from who looks at it."""

    kind: ClassVar[str] = "board"

    pattern: Pattern
    columns: int = Field(ge=1, le=60, description="squares from left to right, or markers")
    rows: int = Field(ge=1, le=60, description="squares from top to bottom, or markers")
    square_m: float = Field(ge=1e-4, le=2, description="side of a square; of ArUco: marker and gap")
    marker_m: float | None = Field(default=None, ge=1e-4, le=2, description="side of a marker")
    dictionary: str | None = Field(default=None, description="such as DICT_5X5_250")
    first_marker: int | None = Field(default=None, ge=0, description="number of the first marker")
    legacy: bool | None = Field(
        default=None, description="made by OpenCV before 4.6: the first square holds a marker"
    )

    inverted: bool | None = Field(default=None, description="white on black")

    @model_validator(mode="after")
    def _can_be_made(self) -> Self:
        if max(self.size_m) > _LARGEST_M:
            raise ValueError(f"the board is {max(self.size_m):g} m large; expected "
                             f"{_LARGEST_M:g} m or less")  # fmt: skip
        if self.pattern == "chessboard":
            if self.columns < 3 or self.rows < 3:
                raise ValueError("a chessboard has 3 squares or more each way")
            return self
        if self.marker_m is None or self.marker_m >= self.square_m:
            got = "none" if self.marker_m is None else f"{self.marker_m:g} m"
            raise ValueError(f"marker_m, got {got}; expected less than square_m")
        if self.dictionary not in DICTIONARIES:
            known = ", ".join(DICTIONARIES)
            raise ValueError(f"dictionary, got {self.dictionary!r}; expected one of {known}")
        if self.pattern == "charuco" and (self.columns < 3 or self.rows < 3):
            raise ValueError("a ChArUco board has 3 squares or more each way")
        last = (self.first_marker or 0) + self.marker_count
        held = int(self.dictionary.rpartition("_")[2]) if self.dictionary[-1].isdigit() else 1024
        if last > held:
            raise ValueError(f"the board needs {last} markers; {self.dictionary} has {held}")
        return self

    @property
    def marker_count(self) -> int:
        """How many markers are on it."""
        if self.pattern == "chessboard":
            return 0
        squares = self.columns * self.rows
        return squares if self.pattern == "aruco" else squares // 2

    @property
    def size_m(self) -> tuple[float, float]:
        """Width and height of what is printed."""
        return self.columns * self.square_m, self.rows * self.square_m

    @property
    def corner_count(self) -> int:
        """How many corners a picture of the whole board shows."""
        if self.pattern == "aruco":
            return 4 * self.marker_count
        return (self.columns - 1) * (self.rows - 1)

    @property
    def points(self) -> Array:
        """Every corner (N, 3) in metres, by its number."""
        return _points(self.pattern, self.columns, self.rows, self.square_m, self.marker_m)

    def measured(self, *, square_m: float) -> Board:
        """The same board printed in another size, as somebody measured it."""
        share = square_m / self.square_m
        marker = None if self.marker_m is None else self.marker_m * share
        return self.model_copy(update={"square_m": square_m, "marker_m": marker})

    def opencv(self, *, legacy: bool | None = None) -> Any:
        """What OpenCV's detectors take; a chessboard needs none."""
        cv = import_opencv()
        dictionary = cv.aruco.getPredefinedDictionary(getattr(cv.aruco, self.dictionary or ""))
        first = self.first_marker or 0
        ids = np.arange(first, first + self.marker_count, dtype=np.int32)
        if self.pattern == "charuco":
            size = (self.columns, self.rows)
            board = cv.aruco.CharucoBoard(size, self.square_m, self.marker_m, dictionary, ids)
            board.setLegacyPattern(bool(self.legacy if legacy is None else legacy))
            return board
        if self.pattern == "aruco":
            corners = self.points.reshape(-1, 4, 3).astype(np.float32)
            return cv.aruco.Board(corners, dictionary, ids)
        raise CorporealError("a chessboard has no markers; expected a ChArUco or ArUco board.")


@cache
def _points(
    pattern: str, columns: int, rows: int, square_m: float, marker_m: float | None
) -> Array:
    if pattern != "aruco":
        x, y = np.meshgrid(np.arange(1.0, columns), np.arange(1.0, rows))
        flat = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1) * square_m
    else:
        margin = (square_m - (marker_m or 0.0)) / 2
        x, y = np.meshgrid(np.arange(columns) * square_m, np.arange(rows) * square_m)
        first = np.stack([x.ravel() + margin, y.ravel() + margin, np.zeros(x.size)], axis=1)
        side = marker_m or 0.0
        turn = np.array([[0, 0, 0], [side, 0, 0], [side, side, 0], [0, side, 0]])
        flat = (first[:, None] + turn).reshape(-1, 3)
    flat.setflags(write=False)
    return flat


_BOARDS = Library(Board, "corporeal.calibration", "boards")


def open_board(name_or_path: str) -> Board:
    """A ready board by name, or one by the path of its document."""
    return _BOARDS.open(name_or_path)


def board_names() -> tuple[str, ...]:
    """Names of the ready boards."""
    return _BOARDS.names


def black_squares(board: Board) -> Iterator[Square]:
    """Left, top and side in metres of all that is black, or white where it is inverted."""
    for row in range(board.rows):
        for column in range(board.columns):
            is_black = (row + column) % 2 == (1 if board.legacy and not board.rows % 2 else 0)
            if board.pattern != "aruco" and is_black:
                yield column * board.square_m, row * board.square_m, board.square_m
    for number, (left, top) in enumerate(_marker_places(board)):
        yield from _marker(board, number, left, top)


def draw_board(board: Board, pixels_per_m: float) -> NDArray[np.uint8]:
    """The board alone as a picture in grey, its upper left corner at the edge of pixel 0, 0."""
    width, height = (round(side * pixels_per_m) for side in board.size_m)
    picture = np.full((height, width), 255, np.uint8)
    for left, top, side in black_squares(board):
        first = np.round(np.array([left, top]) * pixels_per_m).astype(int)
        last = np.round(np.array([left + side, top + side]) * pixels_per_m).astype(int)
        picture[first[1] : last[1], first[0] : last[0]] = 0
    return 255 - picture if board.inverted else picture


def page_of(board: Board) -> str:
    """The smallest page that the board fits on with its margins, or its own size."""
    width, height = board.size_m
    for name, (wide, high) in PAGES.items():
        if width + 2 * _MARGIN_M <= wide and height + 2 * _MARGIN_M + _RULER_M <= high:
            return name
    return f"{width + 2 * _MARGIN_M:.3f} x {height + 2 * _MARGIN_M + _RULER_M:.3f} m"


def plot_page(board: Board) -> Any:
    """A figure of the page in its true size, with a ruler to measure the print by."""
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    width, height = board.size_m
    page = page_of(board)
    wide, high = PAGES.get(page, (width + 2 * _MARGIN_M, height + 2 * _MARGIN_M + _RULER_M))
    figure = Figure(figsize=(wide / _INCH_M, high / _INCH_M), facecolor="white")
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, wide), ylim=(high, 0))
    axes.set_axis_off()
    left, top = (wide - width) / 2, (high - _RULER_M - height) / 2
    ink, ground = ("white", "black") if board.inverted else ("black", "white")
    axes.add_patch(Rectangle((left, top), width, height, color=ground, linewidth=0))
    # One artist for all: a board of small markers has some 50,000 squares.
    x, y, side = np.array(list(black_squares(board))).T[..., None]
    around = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    places = np.stack([left + x + side * around[:, 0], top + y + side * around[:, 1]], axis=-1)
    axes.add_collection(PolyCollection(list(places), facecolors=ink, linewidths=0))
    _draw_ruler(axes, board, left, high - _MARGIN_M, width)
    return figure


def _draw_ruler(axes: Any, board: Board, left: float, bottom: float, width: float) -> None:
    """Centimetres along the bottom: a print at 97 % is the most common wrong board."""
    length = np.floor(width * 100) / 100
    axes.plot([left, left + length], [bottom - 0.008] * 2, color="black", linewidth=0.6)
    for step in range(round(float(length) * 100) + 1):
        x, tall = left + step / 100, 0.003 if step % 5 else 0.005
        axes.plot([x, x], [bottom - 0.008, bottom - 0.008 - tall], color="black", linewidth=0.6)
    words = (
        f"{board.reference}: {board.columns} x {board.rows}, square {board.square_m * 1e3:g} mm"
        + (f", marker {board.marker_m * 1e3:g} mm, {board.dictionary}" if board.marker_m else "")
        + f". Print at 100 %: the line is {length * 100:.0f} cm long; measure it."
    )
    axes.text(left, bottom, words, fontsize=7, va="bottom")


def _marker_places(board: Board) -> Iterator[tuple[float, float]]:
    if board.pattern == "chessboard":
        return
    margin = (board.square_m - (board.marker_m or 0.0)) / 2
    legacy = bool(board.legacy) and not board.rows % 2
    for row in range(board.rows):
        for column in range(board.columns):
            is_white = (row + column) % 2 == (0 if legacy else 1)
            if board.pattern == "aruco" or is_white:
                yield column * board.square_m + margin, row * board.square_m + margin


def _marker(board: Board, number: int, left: float, top: float) -> Iterator[Square]:
    cv = import_opencv()
    dictionary = board.opencv().getDictionary()
    cells = dictionary.markerSize + 2
    first = board.first_marker or 0
    bits = cv.aruco.generateImageMarker(dictionary, first + number, cells, borderBits=1)
    side = (board.marker_m or 0.0) / cells
    for row, column in zip(*np.nonzero(bits == 0), strict=True):
        yield left + column * side, top + row * side, side
