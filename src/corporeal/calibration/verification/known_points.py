"""Markers in single pictures, held against where the calibration and the joints have them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from corporeal.calibration.detection import BoardView, detect
from corporeal.calibration.lens import project
from corporeal.calibration.verification.look import open_embedded
from corporeal.calibration.verification.marker import middle_of
from corporeal.calibration.verification.marker_check import (
    CannotVerifyError,
    expected_pose,
    lens_of,
)
from corporeal.geometry import Array
from corporeal.protocol.calibration import CameraCalibration
from corporeal.protocol.verification import MarkerReference


def misses_of(
    reference: MarkerReference, camera: CameraCalibration, carry: Array, view: BoardView
) -> Array:
    """How far (N, 2) in px the corners of a marker are from where the calibration has them.

    `carry` (4, 4) takes the camera's link into the frame of the reference.
    """
    board = open_embedded(reference)
    pose = expected_pose(reference, camera, carry)
    points = (board.points[view.corners] - middle_of(board)) @ pose[:3, :3].T + pose[:3, 3]
    return view.pixels - project(lens_of(camera), points)


def markers_in(
    pictures: Sequence[NDArray[np.uint8]], reference: MarkerReference, camera: CameraCalibration
) -> dict[int, BoardView]:
    """The marker in each picture that shows it, by the picture's number.

    Raises CorporealError where the pictures have another size than the calibration has.
    """
    lens, board = lens_of(camera), open_embedded(reference)
    seen: dict[int, BoardView] = {}
    for number, picture in enumerate(pictures):
        height, width = picture.shape[:2]
        if (width, height) != (lens.width, lens.height):
            raise CannotVerifyError(
                f"{camera.name} has pictures of {width} x {height}; it was calibrated at "
                f"{lens.width} x {lens.height}."
            )
        view = detect(picture, board, name=str(number))
        if view is not None:
            seen[number] = view
    return seen
