"""A camera's calibration on one page: where corners were, how sure the pixels are, what is left."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from corporeal.calibration.camera import CameraSolution
from corporeal.calibration.certainty.uncertainty import HalvesDifference, UncertaintyMap
from corporeal.geometry import Array
from corporeal.words import counted

# How much longer the arrows of residuals are than what they stand for.
_ENLARGED = 60
_CORNERS = (("upper left", 0, 0), ("upper right", 0, -1), ("lower left", -1, 0),
            ("lower right", -1, -1))  # fmt: skip


def describe_camera(solution: CameraSolution, stated: UncertaintyMap) -> list[str]:
    """What is known of a camera, in sentences."""
    spread = stated.worst_px.reshape(stated.rows, stated.columns)
    name, row, column = max(_CORNERS, key=lambda corner: float(spread[corner[1], corner[2]]))
    outliers = sum(map(len, solution.outliers))
    kept = sum(map(len, solution.views))
    lines = [
        f"{counted(len(solution.views), 'view')}, {kept} corners, "
        f"{outliers} left out; rms {solution.rms_px:.3f} px",
        f"at {stated.distance_m:.2f} m a pixel is known to {stated.middle_px:.2f} px in the "
        f"middle, {stated.mean_px:.2f} px on average and {spread[row, column]:.2f} px in the "
        f"{name} corner",
    ]
    bend = float(np.abs(solution.warp_m).max())
    if bend > 5e-4:
        lines.append(f"the board is bent by {bend * 1e3:.1f} mm; glue it to something stiff")
    return lines


def describe_halves(halves: HalvesDifference) -> str:
    """What halves of the pictures say that contradict each other."""
    if halves.in_order:
        return (
            f"the first and the last half of the pictures differ by {halves.mean_px:.2f} px, where "
            f"they claim {halves.claimed_px:.2f} and halves drawn at random agree better: another "
            "camera, or another focus or zoom, from somewhere on"
        )
    return (
        f"halves of the pictures that are drawn at random differ by {halves.mean_px:.2f} px, where "
        f"they claim {halves.claimed_px:.2f}: blurred pictures, a lens with autofocus, a bent "
        "board, or too few pictures of what is far from the middle"
    )


def plot_camera(
    solution: CameraSolution, stated: UncertaintyMap, wanted: Sequence[Array], title: str
) -> Any:
    """A figure of four parts: coverage, uncertainty, residuals, and the error of each view.

    `wanted` are outlines (4, 2) of where to hold the board next.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 8.4), layout="constrained")
    ((covered, unsure), (left, each)) = figure.subplots(2, 2)
    figure.suptitle(title)
    width, height = solution.lens.width, solution.lens.height
    for number, view in enumerate(solution.views):
        covered.plot(*view.pixels.T, ".", markersize=2.5, color=f"C{number % 10}")
    for outline in wanted:
        closed = np.concatenate([outline, outline[:1]])
        covered.plot(*closed.T, "--", color="0.35", linewidth=1)
    covered.set_title(
        "corners seen" + (", and where to hold the board next" if len(wanted) else "")
    )
    _draw_uncertainty(figure, unsure, stated)
    _draw_residuals(left, solution)
    for axes in (covered, unsure, left):
        axes.set(xlim=(0, width), ylim=(height, 0), aspect="equal", xlabel="px", ylabel="px")
    rms = solution.view_rms_px()
    each.barh(np.arange(len(rms)), rms, color="C0")
    each.set(title="rms of each view, px", ylim=(len(rms) - 0.5, -0.5))
    each.set_yticks(np.arange(len(rms)), [view.name for view in solution.views], fontsize=6)
    return figure


def _draw_uncertainty(figure: Any, axes: Any, stated: UncertaintyMap) -> None:
    shape = stated.rows, stated.columns
    x, y = (stated.pixels[:, axis].reshape(shape) for axis in (0, 1))
    levels = [0, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10]
    spread = np.clip(stated.spread_px.reshape(shape), 0, levels[-1])
    drawn = axes.contourf(x, y, spread, levels=levels, cmap="viridis_r", norm=_steps(levels))
    figure.colorbar(drawn, ax=axes, ticks=levels, label="px")
    axes.set_title(f"how sure a pixel is at {stated.distance_m:.2f} m (one sigma)")


def _steps(levels: list[float]) -> Any:
    from matplotlib.colors import BoundaryNorm

    return BoundaryNorm(levels, 256)


def _draw_residuals(axes: Any, solution: CameraSolution) -> None:
    pixels = np.concatenate([view.pixels for view in solution.views])
    residual = np.concatenate(solution.residuals)
    axes.quiver(*pixels.T, *(_ENLARGED * residual).T, angles="xy", scale_units="xy", scale=1,
                width=0.002, color="C3")  # fmt: skip
    axes.set_title(f"what is left over, {_ENLARGED} times as long")
