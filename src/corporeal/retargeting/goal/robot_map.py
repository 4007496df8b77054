"""Which place of a robot corresponds to which point of a person: a short document, or drafted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from corporeal.embodiment import Embodiment
from corporeal.embodiment.collision import body_axes, shapes_of
from corporeal.embodiment.embodiment import Label, Vector, model_of
from corporeal.embodiment.joints import standing_positions
from corporeal.embodiment.kinematics import Kinematics
from corporeal.errors import ModelError
from corporeal.geometry import Array
from corporeal.retargeting.goal.places import (
    carrier_of_arm,
    chain_to,
    drafted_places,
    followed_points,
    names_part,
)
from corporeal.retargeting.goal.soles import Soles, soles_of
from corporeal.retargeting.motion import SIDES
from corporeal.schema import Document, Part
from corporeal.schema.document import Library

# Air between a hanging hand and the hips, m.
HAND_GAP_M = 0.012


class HandAxes(Part):
    """How a hand lies in the axes of its place: along the fingers, and out of its back."""

    fingers: Vector
    back: Vector

    @property
    def matrix(self) -> Array:
        """Axes (3, 3) of a person's hand in those of the place: x fingers, z out of the back."""
        fingers, back = np.array(self.fingers), np.array(self.back)
        return np.stack([fingers, np.cross(back, fingers), back], axis=1)


class RetargetingMap(Document):
    """The correspondence of one robot with a person; what is left out is found by names.

    A place is a link or a frame whose origin is the centre of that joint.
    """

    kind: ClassVar[str] = "retargeting_map"

    robot: Label = Field(description="the name of the embodiment")
    places: dict[Label, Label] = Field(
        default={}, description="left_hip, left_knee, left_ankle, left_shoulder, left_elbow ..."
    )
    chest: Label | None = Field(default=None, description="the link that carries the shoulders")
    head: Label | None = Field(default=None, description="the link that turns as the head does")
    hands: dict[Label, HandAxes] = Field(
        default={}, description="left, right; without them wrists are left at rest"
    )
    weights: dict[Label, Annotated[float, Field(ge=0, le=100)]] = Field(
        default={}, description="of a goal against the usual: {left_elbow: 0.5}"
    )


@dataclass(frozen=True, eq=False)
class RobotMap:
    """A robot with the places that follow a person: everything resolved, ready for arrays.

    `places` are links or frames by name of the point; `hands` the axes of a hand by side, where
    they are known.
    """

    robot: Embodiment
    places: Mapping[str, str]
    chest: str
    head: str | None
    hands: Mapping[str, HandAxes]
    weights: Mapping[str, float]

    @cached_property
    def kinematics(self) -> Kinematics:
        """Forward kinematics of the robot."""
        return model_of(self.robot, Kinematics)

    @cached_property
    def soles(self) -> Soles:
        """The soles of the robot."""
        return model_of(self.robot, soles_of)

    @cached_property
    def lengths(self) -> Mapping[str, float]:
        """Lengths of the robot's segments in m, left and right averaged.

        thigh, shank, sole (ankle above the ground), upper_arm, forearm (to the hand's place),
        trunk (from between the hips to between the shoulders), hip_width and shoulder_width.
        """
        at = self._zero
        both = {
            "thigh": ("hip", "knee"),
            "shank": ("knee", "ankle"),
            "upper_arm": ("shoulder", "elbow"),
            "forearm": ("elbow", "hand"),
        }
        lengths = {
            name: float(np.mean([np.linalg.norm(at[f"{s}_{b}"] - at[f"{s}_{a}"]) for s in SIDES]))
            for name, (a, b) in both.items()
        }
        up = self.axes[:, 2]
        above = [(at[f"{s}_ankle"] - at[f"{s}_foot"]) @ up for s in SIDES]
        lengths["sole"] = float(np.mean(above))
        for name, part in (("hip_width", "hip"), ("shoulder_width", "shoulder")):
            lengths[name] = float(np.linalg.norm(at[f"left_{part}"] - at[f"right_{part}"]))
        lengths["trunk"] = float(np.linalg.norm(self.trunk))
        return lengths

    @cached_property
    def axes(self) -> Array:
        """Columns forward, left and up (3, 3) in the axes of the base."""
        return model_of(self.robot, body_axes)

    @cached_property
    def chest_axes(self) -> Array:
        """Columns forward, left and up (3, 3) in the axes of the chest's link."""
        return self.axes_on(self.chest)

    @cached_property
    def pelvis(self) -> str:
        """The link that carries both legs: the base, or what a waist moves below a chest."""
        chains = [chain_to(self.robot, self.robot.feet[side]) for side in SIDES]
        shared = [a for a, b in zip(*chains, strict=False) if a.name == b.name]
        return shared[-1].child if shared else self.robot.base

    @cached_property
    def pelvis_point(self) -> Array:
        """The point between the hips in the axes of the pelvis."""
        link = self.kinematics.place(self.pelvis)[0]
        at = self.kinematics.transforms(np.zeros((1, len(self.robot.joint_names))))[link, ..., 0]
        return np.asarray(at[:, :3].T @ (self.hip_centre - at[:, 3]))

    def axes_on(self, place: str) -> Array:
        """Columns forward, left and up (3, 3) of the standing robot in the axes of a link."""
        link = self.kinematics.place(place)[0]
        standing = standing_positions(self.robot)[None]
        rotation = self.kinematics.transforms(standing)[link, :, :3, 0]
        return np.asarray(rotation.T @ self.axes)

    @cached_property
    def trunk(self) -> Array:
        """From between the hips to between the shoulders at zero, in the axes of the base."""
        at = self._zero
        return (at["left_shoulder"] + at["right_shoulder"] - at["left_hip"] - at["right_hip"]) / 2

    @cached_property
    def hip_centre(self) -> Array:
        """The point between the hips at zero, in the axes of the base."""
        return (self._zero["left_hip"] + self._zero["right_hip"]) / 2

    @cached_property
    def ankle_range(self) -> tuple[float, float]:
        """How far an ankle can lift and drop the toes against the shank, rad; drop is positive."""
        zero = self.kinematics.link_poses(np.zeros((1, len(self.robot.joint_names))))
        lift, drop = -np.inf, np.inf
        for side in SIDES:
            chain = chain_to(self.robot, self.robot.feet[side])
            named = {joint.name for joint in chain if names_part(joint, "ankle")}
            ankles = named or {joint.name for joint in chain[-2:]}
            for joint in chain:
                across = float((zero.rotation(joint.child)[0] @ joint.axis) @ self.axes[:, 1])
                if joint.name not in ankles or abs(across) < 0.9:
                    continue
                ends = sorted(
                    (np.sign(across) * joint.lower, np.sign(across) * joint.upper)
                    if joint.lower is not None and joint.upper is not None
                    else (-np.inf, np.inf)
                )
                lift, drop = max(lift, ends[0]), min(drop, ends[1])
        return lift, drop

    @cached_property
    def hand_room(self) -> float:
        """How far aside of the middle a hand hangs without touching the hips, m."""
        shapes = shapes_of(self.robot)
        if not len(shapes.link):
            return 0.0
        standing = standing_positions(self.robot)[None]
        located = shapes.located(self.kinematics.transforms(standing))[..., 0]
        across = np.einsum("sik,i->sk", located, self.axes[:, 1])
        outer = np.abs(across[:, 0]) + np.abs(across[:, 1]) + shapes.radii
        knees = {self.kinematics.place(self.places[f"{side}_knee"])[0] for side in SIDES}
        above = [chain_to(self.robot, self.places[f"{side}_knee"]) for side in SIDES]
        legs = {self.kinematics.names.index(joint.child) for chain in above for joint in chain}
        hips = np.isin(shapes.link, [*(legs - knees), self.kinematics.names.index(self.robot.base)])
        hands = [self.kinematics.place(self.robot.end_effectors[f"{s}_hand"])[0] for s in SIDES]
        thick = shapes.inner_radii[np.isin(shapes.link, hands)]
        return float(outer[hips].max(initial=0.0) + thick.max(initial=0.0) + HAND_GAP_M)

    @cached_property
    def _zero(self) -> dict[str, Array]:
        placed = {**self.places}
        for side in SIDES:
            placed[f"{side}_hand"] = self.robot.end_effectors[f"{side}_hand"]
            placed[f"{side}_foot"] = self.robot.feet[side]
        poses = self.kinematics.place_poses(placed, np.zeros((1, len(self.robot.joint_names))))
        return {name: poses.position(name)[0] for name in placed}


MAPS = Library(RetargetingMap, "corporeal.retargeting", "maps")


def robot_map(robot: Embodiment, document: RetargetingMap | None = None) -> RobotMap:
    """The map of a robot: from its document, a built-in one, and its joint names for the rest."""
    if document is None:
        document = _ready_map(robot)
    if document is not None and document.robot != robot.name:
        raise ModelError(
            f"retargeting map {document.name!r} is for robot {document.robot!r}, got "
            f"{robot.name!r}. Name the right robot or the right map."
        )
    absent = [f"{side}_hand" for side in SIDES if f"{side}_hand" not in robot.end_effectors]
    if absent:
        raise ModelError(
            f"robot {robot.name!r} has no {absent[0]}; expected left_hand and right_hand under "
            "end_effectors. Declare them in its document."
        )
    if lame := [side for side in SIDES if side not in robot.feet]:
        raise ModelError(
            f"robot {robot.name!r} has no {lame[0]} foot; expected left and right under feet. "
            "Declare them in its document, or take a robot with legs."
        )
    stated = {} if document is None else document.places
    places = {**drafted_places(robot, stated), **stated}
    if absent := [point for point in followed_points() if point not in places]:
        raise ModelError(
            f"robot {robot.name!r} has no joint that its name or place tells as the {absent[0]}; "
            "expected one. Give its link under places in a retargeting map; --draft-map prints "
            "what is known."
        )
    chest = document.chest if document is not None else None
    mapped = RobotMap(
        robot,
        places,
        chest or carrier_of_arm(robot, places["left_shoulder"]),
        None if document is None else document.head,
        {} if document is None else document.hands,
        {} if document is None else document.weights,
    )
    ends = [f"{side}_{end}" for side in SIDES for end in ("hand", "foot")]
    for what, given, known in (
        ("places", places, followed_points()),
        ("weighs", mapped.weights, [*followed_points(), *ends]),
        ("turns hand", mapped.hands, SIDES),
    ):
        wrong = [name for name in given if name not in known]
        if wrong:
            raise ModelError(
                f"retargeting map of {robot.name!r} {what} {wrong[0]!r}; expected one of "
                f"{', '.join(known)}."
            )
    for place in (*places.values(), mapped.chest, *([] if mapped.head is None else [mapped.head])):
        mapped.kinematics.place(place)
    return mapped


def _ready_map(robot: Embodiment) -> RetargetingMap | None:
    """The built-in map of a robot; another robot that has the same name has other links."""
    if robot.name not in MAPS.names:
        return None
    document = MAPS.open(robot.name)
    known = {link.name for link in robot.links} | {frame.name for frame in robot.frames}
    named = {*document.places.values(), document.chest, document.head} - {None}
    return document if named <= known else None


def open_map(path: Path) -> RetargetingMap:
    """The map in a file; raises DocumentError for one that is not valid."""
    return RetargetingMap.load(path)


@dataclass(frozen=True)
class MapDraft:
    """A map with everything that can be told, and a sentence on each thing that cannot."""

    document: RetargetingMap
    missing: tuple[str, ...]


def draft_map(robot: Embodiment) -> MapDraft:
    """A map with everything that joints and their tree tell, to be looked over by a person."""
    ready = _ready_map(robot)
    stated = {} if ready is None else ready.places
    places = {**drafted_places(robot, stated), **stated}
    shoulder = places.get("left_shoulder")
    chest = ready.chest if ready is not None else None
    if chest is None and shoulder is not None:
        chest = carrier_of_arm(robot, shoulder)
    document = RetargetingMap(
        document="retargeting_map",
        name=robot.name,
        version="1.0.0",
        robot=robot.name,
        places=places,
        chest=chest,
        head=None if ready is None else ready.head,
        hands={} if ready is None else ready.hands,
        weights={} if ready is None else ready.weights,
    )
    return MapDraft(document, tuple(_missing_of(robot, places)))


def _missing_of(robot: Embodiment, places: Mapping[str, str]) -> Iterator[str]:
    """What a robot or its map lacks to be retargeted to, each with what to do."""
    for side in SIDES:
        if side not in robot.feet:
            yield f"{side} foot: no leg is told; declare it under feet in the robot's document"
        if f"{side}_hand" not in robot.end_effectors:
            yield (
                f"{side}_hand: no arm is told; declare it under end_effectors in the robot's "
                "document"
            )
    for point in followed_points():
        if point not in places:
            yield f"{point}: no joint is told; give its link under places"
