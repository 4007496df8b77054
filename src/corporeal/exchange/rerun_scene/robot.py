"""The robot in a scene: the shapes of its links, moving; its hands' paths; clouds and poses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Shape
from corporeal.embodiment.kinematics import placement_of
from corporeal.episode.recording import Signal
from corporeal.exchange.link_poses import RobotPoses
from corporeal.exchange.rerun_scene.timeline import RerunScene, rerun
from corporeal.geometry import quaternion_from_matrix

WORLD, ROBOT, PATHS, CLOUDS = "/world", "/world/robot", "/world/paths", "/clouds"
BODY, LEFT, RIGHT = (188, 196, 208), (86, 156, 224), (240, 150, 80)
_BLOCK = 64


def add_robot(scene: RerunScene, robot: Embodiment, posture: RobotPoses) -> None:
    """Every link with its shapes, at its place at every time; the paths of the end effectors."""
    rr = rerun()
    scene.fix(WORLD, rr.ViewCoordinates.RIGHT_HAND_Z_UP)
    by_name = {link.name: link for link in robot.links}
    for number, name in enumerate(posture.links):
        entity = f"{ROBOT}/{name}"
        columns = rr.Transform3D.columns(
            translation=posture.positions[:, number],
            quaternion=posture.quaternions[:, number][:, [1, 2, 3, 0]],
        )
        scene.add(entity, posture.time_ns, columns)
        _add_shapes(scene, entity, by_name[name].collision, _colour(name))
    for name, place in robot.end_effectors.items():
        path = _path(robot, posture, place)
        if path is not None and np.ptp(path, axis=0).max() > 0.02:
            strip = rr.LineStrips3D([path], radii=0.003, colors=[_colour(name)])
            scene.fix(f"{PATHS}/{name}", strip)


def _colour(name: str) -> tuple[int, int, int]:
    return LEFT if name.startswith("left") else RIGHT if name.startswith("right") else BODY


def _add_shapes(
    scene: RerunScene, entity: str, shapes: Sequence[Shape], colour: tuple[int, int, int]
) -> None:
    rr = rerun()
    for kind in dict.fromkeys(shape.type for shape in shapes):
        same = [shape for shape in shapes if shape.type == kind]
        placements = np.array([placement_of(shape) for shape in same])
        centres = placements[..., 3]
        turns = np.asarray(quaternion_from_matrix(placements[..., :3]))[:, [1, 2, 3, 0]]
        sizes = np.array([shape.size for shape in same])
        look = {"colors": [colour], "fill_mode": rr.components.FillMode.Solid}
        if kind == "box":
            value = rr.Boxes3D(sizes=sizes, centers=centres, quaternions=turns, **look)
        elif kind == "sphere":
            value = rr.Ellipsoids3D(half_sizes=np.repeat(sizes, 3, axis=1), centers=centres, **look)
        elif kind == "cylinder":
            value = rr.Cylinders3D(radii=sizes[:, 0], lengths=sizes[:, 1], centers=centres,
                                   quaternions=turns, **look)  # fmt: skip
        else:
            # The viewer's capsule begins in its origin.
            begins = centres - placements[..., 2] * sizes[:, 1:] / 2
            value = rr.Capsules3D(radii=sizes[:, 0], lengths=sizes[:, 1], translations=begins,
                                  quaternions=turns, **look)  # fmt: skip
        scene.fix(f"{entity}/{kind}", value)


def _path(robot: Embodiment, posture: RobotPoses, place: str) -> NDArray[np.float64] | None:
    """Where a link, or a named place on it, was over the whole episode."""
    frame = next((each for each in robot.frames if each.name == place), None)
    link = frame.link if frame is not None else place
    if link not in posture.links:
        return None
    return posture.positions[:, posture.links.index(link)]


def place_of(robot: Embodiment | None, frame: str | None) -> str | None:
    """The entity of a frame of the robot; None when the robot does not have it."""
    if robot is None or frame is None:
        return None
    if any(link.name == frame for link in robot.links):
        return f"{ROBOT}/{frame}"
    found = next((each for each in robot.frames if each.name == frame), None)
    return None if found is None else f"{ROBOT}/{found.link}/{frame}"


def add_frames(scene: RerunScene, robot: Embodiment) -> None:
    """Named places on the links, so that what is measured there stands in the right place."""
    rr = rerun()
    for frame in robot.frames:
        placement = placement_of(frame)
        pose = rr.Transform3D(translation=placement[:, 3], mat3x3=placement[:, :3])
        scene.fix(f"{ROBOT}/{frame.link}/{frame.name}", pose)


def add_points(scene: RerunScene, entity: str, signal: Signal) -> None:
    """Point clouds, coloured by height; the first three columns are x, y, z."""
    rr = rerun()
    # Below zero: of the screen, so that far points are seen too.
    scene.fix(entity, rr.Points3D.from_fields(radii=[-1.5]))
    for first in range(0, len(signal), _BLOCK):
        clouds = [np.asarray(each, np.float32)[:, :3] for each in signal[first : first + _BLOCK]]
        points = np.concatenate(clouds)
        columns = rr.Points3D.columns(positions=points, colors=_by_height(points))
        lengths = [len(cloud) for cloud in clouds]
        stamps = signal.time_ns[first : first + len(clouds)]
        scene.add(entity, stamps, columns.partition(lengths))


def _by_height(points: NDArray[np.float32]) -> NDArray[np.uint8]:
    level = np.clip((np.nan_to_num(points[:, 2]) + 1.0) / 2.5, 0, 1)
    low, high = np.array([52, 94, 200]), np.array([250, 200, 80])
    mixed: NDArray[np.uint8] = (low + level[:, None] * (high - low)).astype(np.uint8)
    return mixed


def add_pose(scene: RerunScene, entity: str, signal: Signal, order: Sequence[int]) -> None:
    """Axes that move; `order` finds x y z qw qx qy qz among the entries."""
    rr = rerun()
    rows: Any = np.asarray(signal[:], np.float64)[:, list(order)]
    columns = rr.Transform3D.columns(translation=rows[:, :3], quaternion=rows[:, [4, 5, 6, 3]])
    scene.add(entity, signal.time_ns, columns)
    scene.fix(entity, rr.TransformAxes3D(0.12))
