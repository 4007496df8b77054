"""The robot itself, moving: transforms of its links and simple shapes, for 3D panels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Placed, Shape
from corporeal.embodiment.kinematics import placement_of
from corporeal.exchange.link_poses import RobotPoses
from corporeal.exchange.mcap_messages.message_type import (
    Bytes,
    Stencil,
    encode,
    header,
    make_message,
    time,
)
from corporeal.exchange.mcap_messages.numeric import WORLD
from corporeal.geometry import quaternion_from_matrix

TRANSFORMS, SHAPES = "tf2_msgs/msg/TFMessage", "visualization_msgs/msg/MarkerArray"
_CUBE, _SPHERE, _CYLINDER = 1, 2, 3
_COLOUR = (0.62, 0.66, 0.72, 1.0)


def moving_transforms(posture: RobotPoses, stamp_ns: NDArray[np.uint64]) -> Bytes:
    """One message (T, size) for each posture: where all links are in the world."""
    names = posture.links
    numbers = np.concatenate([posture.positions, posture.quaternions[..., [1, 2, 3, 0]]], axis=2)

    def build(stamp: int, values: NDArray[Any]) -> bytes:
        rows = values.reshape(len(names), 7)
        listed = [_transform(stamp, WORLD, name, row[:3], row[3:])
                  for name, row in zip(names, rows, strict=True)]  # fmt: skip
        return encode(make_message(TRANSFORMS, listed), TRANSFORMS)

    stencil = Stencil(build, 7 * len(names), "float64")
    return stencil.pack(stamp_ns, numbers.reshape(len(numbers), -1))


def fixed_transforms(robot: Embodiment, stamp_ns: int) -> bytes:
    """Where sensors and other named places are on their links."""
    listed = [
        _transform(stamp_ns, frame.link, frame.name, np.array(frame.xyz), _xyzw(frame))
        for frame in robot.frames
        if frame.name != frame.link
    ]
    return encode(make_message(TRANSFORMS, listed), TRANSFORMS)


def shapes(robot: Embodiment, stamp_ns: int) -> bytes:
    """The collision shapes of all links, drawn once: they follow their links."""
    markers: list[Any] = []
    for link in robot.links:
        for shape in link.collision:
            for kind, offset, scale in _primitives(shape):
                markers.append(_marker(len(markers), link.name, shape, kind, offset, scale,
                                       stamp_ns))  # fmt: skip
    return encode(make_message(SHAPES, markers), SHAPES)


def _primitives(shape: Shape) -> Iterator[tuple[int, float, tuple[float, float, float]]]:
    """Kind, distance along the shape's own z, and size; a capsule is three of them."""
    size = shape.size
    if shape.type == "box":
        yield _CUBE, 0.0, (size[0], size[1], size[2])
        return
    across = 2 * size[0]
    if shape.type in ("capsule", "cylinder"):
        yield _CYLINDER, 0.0, (across, across, size[1])
    if shape.type == "sphere":
        yield _SPHERE, 0.0, (across, across, across)
    if shape.type == "capsule":
        for end in (-0.5 * size[1], 0.5 * size[1]):
            yield _SPHERE, end, (across, across, across)


def _marker(
    number: int,
    link: str,
    shape: Shape,
    kind: int,
    offset: float,
    scale: tuple[float, float, float],
    stamp_ns: int,
) -> Any:
    placement = placement_of(shape)
    centre = placement[:, 3] + placement[:, 2] * offset
    zero = make_message("builtin_interfaces/msg/Duration", 0, 0)
    no_picture = make_message("sensor_msgs/msg/CompressedImage", header(0, ""), "",
                         np.zeros(0, np.uint8))  # fmt: skip
    no_mesh = make_message("visualization_msgs/msg/MeshFile", "", np.zeros(0, np.uint8))
    return make_message(
        "visualization_msgs/msg/Marker", header(stamp_ns, link), "robot", number, kind, 0,
        _pose(centre, _xyzw(shape)), make_message("geometry_msgs/msg/Vector3", *scale),
        make_message("std_msgs/msg/ColorRGBA", *_COLOUR), zero, True, [], [], "", no_picture, [],
        "", "", no_mesh, False,
    )  # fmt: skip


def _pose(position: NDArray[Any], xyzw: NDArray[Any]) -> Any:
    return make_message(
        "geometry_msgs/msg/Pose",
        make_message("geometry_msgs/msg/Point", *map(float, position)),
        make_message("geometry_msgs/msg/Quaternion", *map(float, xyzw)),
    )


def _transform(
    stamp_ns: int, parent: str, child: str, position: NDArray[Any], xyzw: NDArray[Any]
) -> Any:
    moved = make_message(
        "geometry_msgs/msg/Transform",
        make_message("geometry_msgs/msg/Vector3", *map(float, position)),
        make_message("geometry_msgs/msg/Quaternion", *map(float, xyzw)),
    )
    head = make_message("std_msgs/msg/Header", time(stamp_ns), parent)
    return make_message("geometry_msgs/msg/TransformStamped", head, child, moved)


def _xyzw(placed: Placed) -> NDArray[np.float64]:
    return np.asarray(quaternion_from_matrix(placement_of(placed)[:, :3]))[[1, 2, 3, 0]]
