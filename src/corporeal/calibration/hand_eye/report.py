"""Hand and eye on one page: where hand and camera were, and what a pair left out is missed by."""

from __future__ import annotations

from textwrap import fill
from typing import Any

import numpy as np

from corporeal.calibration.hand_eye.left_out import LeftOut
from corporeal.calibration.hand_eye.pairs import PosePairs, turning_axes
from corporeal.calibration.hand_eye.solution import HandEyeSolution
from corporeal.geometry import Array

_AXES = ("tab:red", "tab:green", "tab:blue")


def plot_hand_eye(
    pairs: PosePairs, solution: HandEyeSolution, left_out: LeftOut, title: str
) -> Any:
    """A figure of four parts: poses in 3-D, residuals, pairs left out, and spreads in words."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 8.4), layout="constrained")
    figure.suptitle(title)
    space = figure.add_subplot(2, 2, 1, projection="3d")
    _draw_poses(space, pairs, solution)
    numbers = np.arange(len(pairs))
    left: Any = figure.add_subplot(2, 2, 2)
    left.bar(numbers - 0.2, left_out.position_m * 1e3, 0.4, color="C0", label="left out")
    left.bar(numbers + 0.2, solution.residual_m * 1e3, 0.4, color="0.7", label="taking part")
    left.set(title="error of each pair, mm", xlim=(-1, len(pairs)))
    left.legend()
    turned: Any = figure.add_subplot(2, 2, 4)
    turned.bar(numbers - 0.2, np.degrees(left_out.rotation_rad), 0.4, color="C1")
    turned.bar(numbers + 0.2, np.degrees(solution.residual_rad), 0.4, color="0.7")
    turned.set(title="error of each pair, degrees", xlim=(-1, len(pairs)))
    for axes in (left, turned):
        axes.set_xticks(numbers, pairs.names, rotation=90, fontsize=6)
    words: Any = figure.add_subplot(2, 2, 3)
    words.set_axis_off()
    text = "\n".join(fill(line, 64) for line in _sentences(pairs, solution, left_out))
    words.text(0, 1, text, va="top", fontsize=10, transform=words.transAxes)
    return figure


def draw_frame(axes: Any, pose: Array, size_m: float, name: str = "") -> None:
    """A pose (4, 4) as three short lines, red, green and blue, with its name."""
    for number, colour in enumerate(_AXES):
        tip = pose[:3, 3] + size_m * pose[:3, number]
        ends = np.stack([pose[:3, 3], tip])
        axes.plot(*ends.T, color=colour, linewidth=1.2)
    if name:
        axes.text(*pose[:3, 3], f" {name}", fontsize=7)


def _draw_poses(axes: Any, pairs: PosePairs, solution: HandEyeSolution) -> None:
    effectors = pairs.adjusted(solution.offsets)
    in_hand = solution.mount == "eye_in_hand"
    cameras = effectors @ solution.camera if in_hand else solution.camera[None]
    boards = solution.board[None] if in_hand else effectors @ solution.board
    for group, size, colour in ((effectors, 0.03, "0.5"), (cameras, 0.05, "C0"),
                                (boards, 0.05, "C3")):  # fmt: skip
        axes.scatter(*group[:, :3, 3].T, s=12, color=colour)
        for pose in group:
            draw_frame(axes, pose, size)
    axes.set(title="hand (grey), camera (blue), board (red), in the base", xlabel="x, m",
             ylabel="y, m", zlabel="z, m")  # fmt: skip
    axes.set_aspect("equal")


def _sentences(pairs: PosePairs, solution: HandEyeSolution, left_out: LeftOut) -> list[str]:
    place = ", ".join(f"{value * 1e3:.2f}" for value in solution.camera[:3, 3])
    sure = ", ".join(f"{value * 1e3:.2f}" for value in solution.sigma_m)
    turns = ", ".join(f"{value:.3f}" for value in np.degrees(solution.sigma_rad))
    lines = [
        f"{len(pairs)} pairs, {int((solution.weights < 0.3).sum())} of them hardly counted",
        f"camera at {place} mm", f"one sigma {sure} mm and {turns} degrees",
        f"left out: {left_out.rms_m * 1e3:.2f} mm, {np.degrees(left_out.rms_rad):.3f} degrees rms",
        describe_errors(solution), describe_observability(pairs, solution),
        f"size of the board as solved: {solution.scale:.4f} +- {solution.scale_sigma:.4f}",
    ]  # fmt: skip
    names = () if pairs.adjustable is None else pairs.adjustable.names
    for name, value, sigma in zip(names, solution.offsets, solution.offset_sigma, strict=True):
        lines.append(f"{name}: {describe_offset(name, float(value), float(sigma))}")
    return lines


def describe_errors(solution: HandEyeSolution) -> str:
    """How far the robot is off by itself, and the board's poses where no corners told them."""
    robot = np.degrees(solution.robot_rad)
    if not solution.board_rad:
        return (
            f"the robot itself is wrong by {solution.robot_m * 1e3:.2f} mm and {robot:.3f} degrees"
        )
    return (f"robot and board are wrong by {solution.robot_m * 1e3:.2f} mm together, the robot by "
            f"{robot:.3f} degrees, the board's poses by {np.degrees(solution.board_rad):.3f}"
            )  # fmt: skip


def describe_observability(pairs: PosePairs, solution: HandEyeSolution) -> str:
    """About how much the hand turned, and how well that tells the camera at worst."""
    longest, across = np.degrees(turning_axes(pairs))
    return (
        f"the hand turned by {longest:.0f} degrees, and by {across:.0f} about an axis across that; "
        f"smallest singular value {solution.smallest_singular_value:.0f} per m"
    )


def describe_offset(name: str, value: float, sigma: float) -> str:
    """An offset of a clock in ms, or of a joint in degrees, with its spread."""
    if name == "clock_s":
        return f"{value * 1e3:.1f} +- {sigma * 1e3:.1f} ms"
    return f"{np.degrees(value):.3f} +- {np.degrees(sigma):.3f} degrees"
