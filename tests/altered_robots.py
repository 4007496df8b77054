"""The same robot told otherwise: without names, or with the axes of a link turned."""

from __future__ import annotations

from typing import Any

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.description.anatomy import infer_anatomy
from corporeal.embodiment.embodiment import Placed
from corporeal.embodiment.kinematics import placement_of
from corporeal.geometry import matrix_from_rpy, rpy_from_matrix

Vector = tuple[float, float, float]


def by_number(robot: Embodiment) -> Embodiment:
    """Joints and links called by number only, and the anatomy inferred anew."""
    links = {link.name: f"link_{number}" for number, link in enumerate(robot.links)}
    joints = [
        joint.model_copy(
            update={
                "name": f"joint_{number}",
                "parent": links[joint.parent],
                "child": links[joint.child],
                "mimic": None,
            }
        )
        for number, joint in enumerate(robot.joints)
    ]
    renamed = [link.model_copy(update={"name": links[link.name]}) for link in robot.links]
    anatomy = infer_anatomy(joints, renamed)
    return Embodiment(
        document="embodiment",
        name="numbered",
        version="1.0.0",
        base=links[robot.base],
        floating=robot.floating,
        links=tuple(renamed),
        joints=tuple(joints),
        groups=anatomy.groups,
        end_effectors=anatomy.end_effectors,
        feet=anatomy.feet,
    )


def turn_link(robot: Embodiment, link: str, rpy: Vector) -> Embodiment:
    """The same robot with the axes of a link turned: nothing moves, everything is told anew."""
    turn = matrix_from_rpy(rpy)

    def placed(thing: Placed) -> dict[str, Any]:
        own = placement_of(thing)
        rotation, origin = turn.T @ own[:, :3], turn.T @ own[:, 3]
        return {"xyz": tuple(origin), "rpy": tuple(rpy_from_matrix(rotation))}

    joints = []
    for joint in robot.joints:
        if joint.parent == link:
            joint = joint.model_copy(update=placed(joint))
        if joint.child == link:
            rotation = matrix_from_rpy(joint.rpy) @ turn
            axis = tuple(turn.T @ np.array(joint.axis))
            rpy_of = tuple(rpy_from_matrix(rotation))
            joint = joint.model_copy(update={"rpy": rpy_of, "axis": axis})
        joints.append(joint)
    links = []
    for body in robot.links:
        if body.name == link:
            shapes = tuple(shape.model_copy(update=placed(shape)) for shape in body.collision)
            body = body.model_copy(update={"collision": shapes, "inertia": None})
        links.append(body)
    frames = [
        frame.model_copy(update=placed(frame)) if frame.link == link else frame
        for frame in robot.frames
    ]
    told = {"joints": tuple(joints), "links": tuple(links), "frames": tuple(frames)}
    return robot.model_copy(update={**told, "name": "turned"})
