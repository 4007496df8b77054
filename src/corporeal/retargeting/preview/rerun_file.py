"""A preview as a scene for the Rerun viewer: both bodies in 3D, goals, contacts and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.embodiment.embodiment import Shape
from corporeal.embodiment.kinematics import placement_of
from corporeal.errors import MissingExtraError, WriteError
from corporeal.geometry import Array, quaternion_from_matrix
from corporeal.retargeting.motion import POINTS
from corporeal.retargeting.preview import look
from corporeal.retargeting.preview.look import CM, clip_title, robot_title
from corporeal.retargeting.preview.stage import (
    BLOCK,
    PreviewMoment,
    Stage,
    bones,
    complete_points,
    limbs,
)
from corporeal.retargeting.result import ENDS, FAR_M

WORLD, ROBOT, PERSON, GOALS = "/world", "/world/robot", "/world/person", "/world/goals"
CONTACTS, MIDDLE, ERRORS, LIMIT = "/world/contacts", "/world/middle", "/error", "/limit"
TIME, FRAME = "time", "frame"
ROD_M, MARK_M = 0.018, (0.11, 0.11, 0.003)
_END_COLOURS = ((31, 119, 180), (123, 94, 167), (42, 157, 143), (242, 165, 65))


def write_rerun(stage: Stage, path: Path, *, progress: Callable[[int, int], None]) -> None:
    """Write an RRD with its layout inside; MissingExtraError says how to install Rerun."""
    rr = _rerun()
    try:
        with rr.RecordingStream("corporeal_retarget") as stream:
            stream.save(path)
            stream.set_log_time_enabled(False)
            stream.set_log_tick_enabled(False)
            stream.send_recording_name(f"{clip_title(stage.result)} to {robot_title(stage.result)}")
            stream.send_blueprint(_panels(rr, stage), make_active=True, make_default=True)
            _fix(rr, stream, stage)
            batch: list[PreviewMoment] = []
            for number, moment in enumerate(stage.moments(), 1):
                batch.append(moment)
                if len(batch) == BLOCK or number == len(stage):
                    _send(rr, stream, stage, batch, number - len(batch))
                    batch = []
                    progress(number, len(stage))
            stream.flush()
            stream.disconnect()
    except RuntimeError as error:
        # Rerun writes in a thread of its own, and says only that it is gone.
        reason = str(error).splitlines()[0]
        raise WriteError(f"{path}: Rerun cannot write it ({reason}). Is the disk full?") from error


def _rerun() -> Any:
    try:
        import rerun
        import rerun.blueprint
    except ImportError:
        raise MissingExtraError("rerun-sdk", "viz") from None
    return rerun


def _fix(rr: Any, stream: Any, stage: Stage) -> None:
    """What does not change: the robot's shapes, the ground's axes, how lines look."""
    stream.log(WORLD, rr.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    fill = rr.Ellipsoids3D.from_fields(fill_mode=rr.components.FillMode.Solid)
    stream.log(CONTACTS, fill, static=True)
    ends = limbs(stage.result.robot)
    for link in stage.result.robot.links:
        colour = look.ROBOT if link.name in ends else look.ROBOT_TRUNK
        for kind in dict.fromkeys(shape.type for shape in link.collision):
            same = [shape for shape in link.collision if shape.type == kind]
            shapes = _shapes(rr, kind, same, colour)
            stream.log(f"{ROBOT}/{link.name}/{kind}", shapes, static=True)
    for link in stage.result.robot.links:
        joints = [joint.xyz for joint in stage.result.robot.joints if joint.parent == link.name]
        rods = rr.LineStrips3D(
            [[(0.0, 0.0, 0.0), offset] for offset in joints], colors=[look.ROBOT_TRUNK], radii=ROD_M
        )
        stream.log(f"{ROBOT}/{link.name}/rods", rods, static=True)
    for end, colour in zip(ENDS, _END_COLOURS, strict=True):
        line = rr.SeriesLines(names=[_words(end)], colors=[colour], widths=[1.5])
        stream.log(f"{ERRORS}/{end}", line, static=True)
    limit = rr.SeriesLines(names=["out of reach"], colors=[look.FAR], widths=[1.0])
    stream.log(f"{ERRORS}{LIMIT}", limit, static=True)


def _send(rr: Any, stream: Any, stage: Stage, batch: Sequence[PreviewMoment], first: int) -> None:
    """Some moments, as columns."""
    times = np.array([moment.time_s for moment in batch])
    clocks = [
        rr.TimeColumn(TIME, duration=times),
        rr.TimeColumn(FRAME, sequence=np.arange(first, first + len(batch))),
    ]
    rotations = quaternion_from_matrix(np.stack([moment.rotations for moment in batch]))
    places = np.stack([moment.positions for moment in batch])
    for number, link in enumerate(stage.result.robot.links):
        columns = rr.Transform3D.columns(
            translation=places[:, number], quaternion=rotations[:, number][:, [1, 2, 3, 0]]
        )
        stream.send_columns(f"{ROBOT}/{link.name}", clocks, columns)
    _send_person(rr, stream, clocks, batch)
    goals = np.stack([moment.goals for moment in batch])
    far = np.stack([moment.far for moment in batch])
    colours = np.where(far[..., None], look.FAR, look.CONTACT)
    _send_points(rr, stream, clocks, GOALS, goals, colours, 0.03)
    _send_contacts(rr, stream, clocks, batch)
    middles = rr.Transform3D.columns(translation=stage.centres[first : first + len(batch)])
    stream.send_columns(MIDDLE, clocks, middles)
    errors = np.stack([moment.error_m for moment in batch]) * CM
    for number, end in enumerate(ENDS):
        columns = rr.Scalars.columns(scalars=errors[:, number])
        stream.send_columns(f"{ERRORS}/{end}", clocks, columns)
    limits = rr.Scalars.columns(scalars=np.full(len(batch), FAR_M * CM))
    stream.send_columns(f"{ERRORS}{LIMIT}", clocks, limits)


def _send_person(rr: Any, stream: Any, clocks: Any, batch: Sequence[PreviewMoment]) -> None:
    points = complete_points(np.stack([moment.points for moment in batch]))
    ends = [[POINTS.index(bone.first), POINTS.index(bone.second)] for bone in bones()]
    known = np.isfinite(points[:, ends]).all(axis=(2, 3))
    strips = points[:, ends][known]
    columns = rr.LineStrips3D.columns(
        strips=list(strips),
        colors=np.tile(look.PERSON, (len(strips), 1)),
        radii=np.full(len(strips), 0.022),
    ).partition(known.sum(axis=1).tolist())
    stream.send_columns(f"{PERSON}/bones", clocks, columns)
    colours = np.broadcast_to(look.PERSON, points.shape)
    _send_points(rr, stream, clocks, f"{PERSON}/joints", points, colours, 0.034)


def _send_contacts(rr: Any, stream: Any, clocks: Any, batch: Sequence[PreviewMoment]) -> None:
    """Flat marks under the robot's feet that stand."""
    soles = np.stack([moment.soles for moment in batch])
    stands = np.stack([moment.contacts.any(axis=1) for moment in batch])
    stands &= np.isfinite(soles).all(axis=2)
    centres = soles[stands] * (1.0, 1.0, 0.0)
    columns = rr.Ellipsoids3D.columns(
        centers=centres,
        half_sizes=np.tile(MARK_M, (len(centres), 1)),
        colors=np.tile(np.array(look.CONTACT, np.uint8), (len(centres), 1)),
    ).partition(stands.sum(axis=1).tolist())
    stream.send_columns(CONTACTS, clocks, columns)


def _send_points(
    rr: Any, stream: Any, clocks: Any, entity: str, points: Array, colours: Array, radius: float
) -> None:
    """Points (n, P, 3) of one size in their colours, without those that are not known."""
    known = np.isfinite(points).all(axis=2)
    columns = rr.Points3D.columns(
        positions=points[known],
        colors=colours[known].astype(np.uint8),
        radii=np.full(int(known.sum()), radius),
    ).partition(known.sum(axis=1).tolist())
    stream.send_columns(entity, clocks, columns)


def _shapes(rr: Any, kind: str, same: Sequence[Shape], colour: look.Rgb) -> Any:
    placements = np.array([placement_of(shape) for shape in same])
    centres, sizes = placements[..., 3], np.array([shape.size for shape in same])
    rotations = np.asarray(quaternion_from_matrix(placements[..., :3]))[:, [1, 2, 3, 0]]
    paint = {"colors": [colour], "fill_mode": rr.components.FillMode.Solid}
    if kind == "box":
        return rr.Boxes3D(sizes=sizes, centers=centres, quaternions=rotations, **paint)
    if kind == "sphere":
        return rr.Ellipsoids3D(half_sizes=np.repeat(sizes, 3, axis=1), centers=centres, **paint)
    lengths = {"radii": sizes[:, 0], "lengths": sizes[:, 1], "quaternions": rotations}
    if kind == "cylinder":
        return rr.Cylinders3D(centers=centres, **lengths, **paint)
    # The viewer's capsule begins in its origin.
    begins = centres - placements[..., 2] * sizes[:, 1:] / 2
    return rr.Capsules3D(translations=begins, **lengths, **paint)


def _panels(rr: Any, stage: Stage) -> Any:
    rrb = rr.blueprint
    centre = stage.centres[0]
    eye = centre + 3.0 * stage.forward + np.array([0.0, 0.0, 0.5])
    view = rrb.Spatial3DView(
        origin=WORLD,
        name=f"Person and {robot_title(stage.result)}",
        background=list(look.PAPER),
        eye_controls=rrb.EyeControls3D(
            position=eye, look_target=centre, eye_up=(0, 0, 1), tracking_entity=MIDDLE
        ),
    )
    legend = rrb.PlotLegend(corner=rrb.Corner2D.RightTop)
    plot = rrb.TimeSeriesView(
        origin=ERRORS,
        name="Distance from the goals, cm",
        plot_legend=legend,
        axis_y=rrb.ScalarAxis(range=(0.0, 1.1 * CM * _greatest(stage.result.error_m))),
    )
    return rrb.Blueprint(
        rrb.Vertical(view, plot, row_shares=[3, 1]),
        rrb.TimePanel(timeline=TIME, state="collapsed", play_state="playing", loop_mode="all"),
        rrb.SelectionPanel(state="collapsed"),
        rrb.BlueprintPanel(state="collapsed"),
        auto_views=False,
        auto_layout=False,
    )


def _greatest(error_m: Array) -> float:
    known = error_m[np.isfinite(error_m)]
    return float(max(FAR_M, known.max(initial=0.0)))


def _words(end: str) -> str:
    return end.replace("_", " ")
