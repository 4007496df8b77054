"""A station's calibration in pictures: the whole, every camera, every hand, every sensor."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.calibration.certainty import plot_camera
from corporeal.calibration.force import GRAVITY, ForceSolution, StaticPoses
from corporeal.calibration.hand_eye import draw_frame, plot_hand_eye
from corporeal.calibration.rig.station import CameraPart, RigSolution


def write_report(solution: RigSolution, path: Path) -> int:
    """All pages in one .pdf; how many."""
    from matplotlib.backends.backend_pdf import PdfPages

    count = 0
    with PdfPages(path) as book:
        for page in plot_rig(solution):
            book.savefig(page)
            count += 1
    return count


def plot_rig(solution: RigSolution) -> Iterator[Any]:
    """One figure after another: the station, then its parts."""
    yield _overview(solution)
    for part in solution.cameras:
        model = part.solution.lens.model
        yield plot_camera(part.solution, part.stated, [], f"{part.name}: {model} lens")
        if part.hand is not None:
            yield plot_hand_eye(part.hand.pairs, part.hand.solution, part.hand.left_out,
                                f"{part.name}: its place by the robot's hand")  # fmt: skip
        if part.together is not None:
            yield _plot_together(part)
    for force in solution.forces:
        yield plot_force(force.rests, force.solution, force.left_out, force.name)


def describe_part(part: CameraPart) -> str:
    """One line: how sure lens and place are."""
    words = f"{part.name}: rms {part.solution.rms_px:.2f} px, a pixel to {part.stated.mean_px:.2f}"
    words += f" px at {part.stated.distance_m:.2f} m"
    if part.sigma is not None:
        place = float(np.linalg.norm(part.sigma[3:])) * 1e3
        turn = float(np.degrees(np.linalg.norm(part.sigma[:3])))
        words += f"; in {part.frame} to {place:.2f} mm, {turn:.3f} degrees"
    if part.hand is not None:
        out = part.hand.left_out
        words += (f"; a pair left out to {out.rms_m * 1e3:.2f} mm, "
                  f"{np.degrees(out.rms_rad):.2f} degrees")  # fmt: skip
    elif part.together is not None:
        off = float(np.sqrt((part.together.left_out_px[part.name] ** 2).mean()))
        words += f"; boards that {part.together.first} places to {off:.2f} px"
    return words


def _overview(solution: RigSolution) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 8.4), layout="constrained")
    figure.suptitle(f"{solution.name}: {len(solution.cameras)} cameras, "
                    f"{len(solution.forces)} force sensors")  # fmt: skip
    space, words = figure.subplots(1, 2, width_ratios=(3, 2),
                                   subplot_kw={"projection": None})  # fmt: skip
    space.remove()
    axes: Any = figure.add_subplot(1, 2, 1, projection="3d")
    draw_frame(axes, np.eye(4), 0.15, "base")
    for part in solution.cameras:
        if part.pose is None:
            continue
        pose = part.pose
        if part.hand is not None and part.hand.solution.mount == "eye_in_hand":
            # On the hand: drawn where it was when the first picture was taken.
            pose = part.hand.pairs.effectors[0] @ pose
        draw_frame(axes, pose, 0.1, part.name)
    axes.set(xlabel="x, m", ylabel="y, m", zlabel="z, m", title="cameras: blue looks ahead")
    axes.set_aspect("equal")
    words.set_axis_off()
    lines = [describe_part(part).replace("; ", "\n  ") for part in solution.cameras]
    lines += [f"{each.name}: {each.solution.mass_kg * 1e3:.0f} g; left out "
              f"{each.left_out[0]:.2f} N" for each in solution.forces]  # fmt: skip
    problems = solution.problems()
    lines += ["", "not good enough:" if problems else "all as good as asked", *problems]
    words.text(0, 1, "\n".join(lines), va="top", fontsize=8, wrap=True, transform=words.transAxes)
    return figure


def _plot_together(part: CameraPart) -> Any:
    from matplotlib.figure import Figure

    assert part.together is not None
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    figure.suptitle(f"{part.name} beside {part.together.first}")
    (corners, moments) = figure.subplots(1, 2)
    for name, distances in part.together.residual_px.items():
        corners.hist(distances, bins=40, alpha=0.6, label=name)
    corners.set(title="distance of corners in the joint solve", xlabel="px")
    corners.legend()
    for name, off in part.together.left_out_px.items():
        moments.plot(np.sort(off), ".-", label=name)
    moments.set(title="boards that only the other camera placed", xlabel="moments", ylabel="px rms")
    moments.set_ylim(0)
    moments.legend()
    return figure


def plot_force(
    rests: StaticPoses, solution: ForceSolution, left_out: tuple[float, float], name: str
) -> Any:
    """A figure of three parts: which way gravity pointed, forces, and what is left over."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.6), layout="constrained")
    figure.suptitle(
        f"{name}: {solution.mass_kg * 1e3:.1f} g; a rest that is left out is told to "
        f"{left_out[0]:.3f} N and {left_out[1]:.4f} N m"
    )
    axes: Any = figure.add_subplot(1, 3, 1, projection="3d")
    down = -rests.rotations[:, 2, :]
    axes.scatter(*down.T, color="C0")
    for number, each in zip(rests.names, down, strict=True):
        axes.text(*each, f" {number}", fontsize=7)
    axes.set(title=f"gravity in the flange (condition {solution.condition:.1f})",
             xlim=(-1, 1), ylim=(-1, 1), zlim=(-1, 1))  # fmt: skip
    axes.set_box_aspect((1, 1, 1))
    measured: Any = figure.add_subplot(1, 3, 2)
    length = np.linalg.norm(rests.forces - solution.force_bias, axis=1)
    measured.plot(length, "o", label="measured, less its bias")
    measured.axhline(solution.mass_kg * GRAVITY, color="0.5", label="weight of the tool")
    measured.set(title="force, N", xlabel="rest")
    measured.legend()
    rest: Any = figure.add_subplot(1, 3, 3)
    rest.bar(np.arange(len(rests)), solution.force_residual, color="C0")
    rest.set(title="what the solve leaves, N", xlabel="rest")
    return figure
