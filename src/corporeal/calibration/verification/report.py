"""Checks of markers as pictures: what a look showed, and how the checks of a station went on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corporeal.calibration.board import Board
from corporeal.calibration.lens import project
from corporeal.calibration.verification.check_log import LoggedCheck, LoggedShift, find_creeps
from corporeal.calibration.verification.look import (
    CameraLook,
    camera_of,
    carry_of,
    open_embedded,
)
from corporeal.calibration.verification.marker import middle_of
from corporeal.calibration.verification.marker_check import (
    MarkerShift,
    expected_pose,
    lens_of,
    reference_pose,
)
from corporeal.geometry import Array
from corporeal.protocol import Calibration
from corporeal.protocol.verification import MarkerReference

_MOST, _ACROSS = 6, 3
_GREEN, _RED, _BLUE = "#1a7f37", "#cf222e", "#0969da"
# Where CUSUM raises its alarm, in sigmas.
_CREPT = 5.0


def plot_looks(
    calibration: Calibration, looks: Sequence[CameraLook], references: Sequence[MarkerReference],
    shifts: Sequence[MarkerShift],
) -> Any:  # fmt: skip
    """A figure with a part for each marker: the picture around it, where it was, where it is."""
    from matplotlib.figure import Figure

    shown = list(zip(references, shifts, strict=True))[:_MOST]
    across = min(len(shown), _ACROSS)
    down = -(-len(shown) // across)
    figure = Figure(figsize=(5.2 * across, 4.6 * down), layout="constrained")
    by_camera = {look.camera: look for look in looks}
    for number, (reference, shift) in enumerate(shown, 1):
        look = by_camera[reference.camera]
        outlines = _outlines(calibration, look, reference, shift)
        axes = figure.add_subplot(down, across, number)
        axes.imshow(look.pictures[-1], cmap="gray")
        axes.plot(*outlines[0].T, "--", color=_GREEN, linewidth=1.5, label="where it was")
        colour = _RED if shift.is_shifted else _BLUE
        axes.plot(*outlines[1].T, "-", color=colour, linewidth=1.5, label="where it is")
        _zoom(axes, np.concatenate(outlines), look.pictures[-1].shape)
        axes.set_title(
            f"{shift.marker} by {shift.camera}: {shift.distance_m * 1e3:.2f} mm, "
            f"{np.degrees(shift.angle_rad):.2f} degrees\n"
            + (f"{shift.cause} was moved" if shift.is_shifted else "where it was"),
            fontsize=10,
        )
        axes.set(xticks=[], yticks=[])
        axes.legend(loc="lower right", fontsize=8)
    return figure


def plot_checks(entries: Sequence[LoggedCheck], title: str) -> Any:
    """A figure of every check: the shift of each marker beside its limit, and its CUSUM."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 6), layout="constrained")
    shifts, creeps = figure.subplots(2, 1, sharex=True)
    figure.suptitle(title)
    for number, (name, seen) in enumerate(_series(entries).items()):
        times = [entry.time for entry, _ in seen]
        colour = f"C{number}"
        shifts.plot(times, [1e3 * shift.distance_m for _, shift in seen], ".-", color=colour,
                    label=name)  # fmt: skip
        shifts.plot(times, [1e3 * shift.limit_m for _, shift in seen], "--", color=colour,
                    linewidth=1)  # fmt: skip
        halts = [(entry.time, 1e3 * shift.distance_m) for entry, shift in seen if not entry.passed]
        if halts:
            shifts.plot(*zip(*halts, strict=True), "o", color=_RED, markersize=8, fillstyle="none")
        creeps.plot(times, _sums(seen), ".-", color=colour)
    for entry in entries:
        if entry.what == "lift":
            for axes in (shifts, creeps):
                axes.axvline(entry.time, color="0.6", linestyle=":", linewidth=1)
    shifts.set(ylabel="shift, mm", title="dashed: from there on a check halts; dotted: a lift")
    creeps.axhline(_CREPT, color="0.3", linestyle="--", linewidth=1)
    creeps.set(ylabel="CUSUM, sigmas", title="above the line a marker creeps")
    if shifts.lines:
        shifts.legend(fontsize=8)
    shifts.set_ylim(bottom=0)
    creeps.set_ylim(0, max(creeps.get_ylim()[1], 1.2 * _CREPT))
    return figure


def _outlines(
    calibration: Calibration, look: CameraLook, reference: MarkerReference, shift: MarkerShift
) -> tuple[Array, Array]:
    """The edge of a marker in the picture (5, 2): where its reference has it, and where it is."""
    camera, board = camera_of(calibration, reference.camera), open_embedded(reference)
    carry = carry_of(look, camera, reference)
    before = expected_pose(reference, camera, np.eye(4) if carry is None else carry)
    # The move is in the reference's frame, the picture in the camera's.
    held = reference_pose(reference)
    now = before @ np.linalg.inv(held) @ shift.move @ held
    edge = _edge(board)
    first, second = (project(lens_of(camera), edge @ pose[:3, :3].T + pose[:3, 3])
                     for pose in (before, now))  # fmt: skip
    return first, second


def _edge(board: Board) -> Array:
    """The rectangle around a board's corners (5, 3), closed, about its middle."""
    (left, top), (right, bottom) = board.points[:, :2].min(axis=0), board.points[:, :2].max(axis=0)
    flat = [[left, top], [right, top], [right, bottom], [left, bottom], [left, top]]
    return np.column_stack([flat, np.zeros(5)]) - middle_of(board)


def _zoom(axes: Any, around: Array, shape: tuple[int, ...]) -> None:
    low, high = around.min(axis=0), around.max(axis=0)
    margin = 0.35 * float((high - low).max())
    axes.set_xlim(max(low[0] - margin, -0.5), min(high[0] + margin, shape[1] - 0.5))
    axes.set_ylim(min(high[1] + margin, shape[0] - 0.5), max(low[1] - margin, -0.5))


def _series(
    entries: Sequence[LoggedCheck],
) -> dict[str, list[tuple[LoggedCheck, LoggedShift]]]:
    found: dict[str, list[tuple[LoggedCheck, LoggedShift]]] = {}
    for entry in entries:
        for shift in entry.shifts:
            found.setdefault(f"{shift.marker} by {shift.camera}", []).append((entry, shift))
    return found


def _sums(seen: Sequence[tuple[LoggedCheck, LoggedShift]]) -> list[float]:
    """CUSUM after each check of one marker."""
    sums = []
    for count in range(1, len(seen) + 1):
        entry, shift = seen[count - 1]
        creeps = [creep for creep in find_creeps([one for one, _ in seen[:count]],
                                                 entry.calibration)
                  if (creep.camera, creep.marker) == (shift.camera, shift.marker)]  # fmt: skip
        sums.append(creeps[0].cusum if creeps else 0.0)
    return sums
