"""Draws moments of a preview with MuJoCo, without a display, by a camera that sees both whole."""

from __future__ import annotations

import atexit
from dataclasses import dataclass
from math import cos, degrees, radians, sin, tan
from typing import Any, Self

import numpy as np

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Shape
from corporeal.embodiment.engines import import_mujoco
from corporeal.embodiment.kinematics import Kinematics, placement_of
from corporeal.geometry import Array
from corporeal.retargeting.motion import POINTS, SIDES
from corporeal.retargeting.preview import look
from corporeal.retargeting.preview.look import Picture
from corporeal.retargeting.preview.stage import (
    HEAD_RADIUS,
    STATURE_M,
    PreviewMoment,
    Stage,
    bones,
    camera_level,
    complete_points,
    limbs,
    stature,
)
from corporeal.simulation.rendering import open_context

# No humanoid comes near: a document with more is not drawn in full.
MOST_SHAPES, MOST_RODS = 300, 150


@dataclass(frozen=True, eq=False)
class Solid:
    """A shape at `pose` (3, 4) on a link; `end` is the end of its limb, a number in ENDS."""

    link: int
    end: int | None
    kind: str
    size: tuple[float, ...]
    pose: Array


@dataclass(frozen=True, eq=False)
class Rod:
    """From the origin of a link to a point (3,) on another, or on the same."""

    link: int
    other: int
    tip: Array
    end: int | None


def solids_of(robot: Embodiment) -> tuple[Solid, ...]:
    """All shapes, with MuJoCo's sizes."""
    ends = limbs(robot)
    solids = [
        Solid(number, ends.get(link.name), shape.type, _halves(shape), placement_of(shape))
        for number, link in enumerate(robot.links)
        for shape in link.collision
    ]
    return tuple(solids[:MOST_SHAPES])


def rods_of(robot: Embodiment) -> tuple[Rod, ...]:
    """From joint to joint and on to the end effectors, which shapes alone leave unconnected."""
    kinematics, ends = Kinematics(robot), limbs(robot)
    at = {name: number for number, name in enumerate(kinematics.names)}
    rods = [
        Rod(at[joint.parent], at[joint.child], np.zeros(3), ends.get(joint.child))
        for joint in robot.joints
    ]
    for place in robot.end_effectors.values():
        link, pose = kinematics.place(place)
        rods.append(Rod(link, link, pose[:, 3], ends.get(kinematics.names[link])))
    return tuple(rods[:MOST_RODS])


def _halves(shape: Shape) -> tuple[float, ...]:
    if shape.type == "box":
        return tuple(extent / 2 for extent in shape.size)
    radius = shape.size[0]
    return radius, radius if shape.type == "sphere" else shape.size[1] / 2, radius


FIELD_OF_VIEW_DEG = 28.0
# Seen from the front, from a little to the side and above.
DOWN_DEG = 9.0
# The part of the picture's height, and width, that the bodies may fill: captions need room.
CLEAR_HEIGHT, CLEAR_WIDTH = 0.84, 0.94
LEAST_DISTANCE_M = 1.0


@dataclass(frozen=True, eq=False)
class PreviewCamera:
    """`right` (3,) is the picture's, `away` (3,) level from the camera to what it looks at."""

    right: Array
    away: Array
    distance_m: float

    @property
    def azimuth_deg(self) -> float:
        """The direction of `away` about z."""
        return degrees(float(np.arctan2(self.away[1], self.away[0])))


def camera_for(
    stage: Stage, size: tuple[int, int], *, clear: float = CLEAR_HEIGHT
) -> PreviewCamera:
    """The camera that has both bodies in a picture of this size at every moment."""
    down, level = radians(DOWN_DEG), camera_level(stage.forward)
    right = np.cross(level, (0.0, 0.0, 1.0))
    away = cos(down) * level - np.array([0.0, 0.0, sin(down)])
    up = np.cross(right, away)
    half = tan(radians(FIELD_OF_VIEW_DEG) / 2)
    wide, high = half * size[1] / size[0] * CLEAR_WIDTH, half * clear
    needed, first = LEAST_DISTANCE_M, 0
    for points, radii in stage.outlines():
        seen = points - stage.centres[first : first + len(points), None]
        across, above = np.abs(seen @ right) + radii, np.abs(seen @ up) + radii
        wanted = np.maximum(across / wide, above / high) - seen @ away
        needed, first = max(needed, float(np.nanmax(wanted))), first + len(points)
    return PreviewCamera(right, level, needed)


MOST_SOLIDS = 1000
MARK_M = 0.006
# Off: drawn in software they cost more than the rest of the picture.
OFF = ("mjRND_SHADOW", "mjRND_REFLECTION")
# The light comes from behind the camera's left shoulder; in the picture's right, away, up.
SUN = (0.45, 0.30, -1.0)
# A shadow is the body again, pressed to the ground but for this part of its height.
PRESSED = 0.0005
GLOW = 5.0
# The rods that hold a robot's shapes together where these leave gaps.
ROD_M = 0.024
_WORLD = """
<mujoco>
  <visual>
    <headlight ambient="0.42 0.42 0.42" diffuse="0.22 0.22 0.22" specular="0 0 0"/>
    <map znear="0.3" zfar="60" fogstart="4" fogend="14"/>
    <rgba haze="{paper} 1" fog="{paper} 1"/>
    <global fovy="{fovy}"/>
  </visual>
  <statistic extent="1" center="0 0 0"/>
  <asset>
    <texture name="sky" type="skybox" builtin="flat" rgb1="{paper}" rgb2="{paper}"
      width="8" height="8"/>
    <texture name="grid" type="2d" builtin="flat" rgb1="{ground}" rgb2="{ground}" mark="edge"
      markrgb="{line}" width="256" height="256"/>
    <material name="grid" texture="grid" texrepeat="2 2" texuniform="true" specular="0"/>
  </asset>
  <worldbody>
    <light name="sun" type="directional" pos="0 0 5" dir="{sun}" diffuse="0.55 0.55 0.55"
      specular="0.12 0.12 0.12" castshadow="false"/>
    <geom name="ground" type="plane" size="0 0 0.5" material="grid"/>
  </worldbody>
</mujoco>
"""


class PreviewScene:
    """Draws both bodies of a stage; one OpenGL context. Use it with `with`, or call `close`.

    `clear` is the part of the height that the bodies may fill. `smooth` edges take as long again
    as all the rest.
    """

    def __init__(
        self,
        stage: Stage,
        *,
        size: tuple[int, int],
        clear: float = CLEAR_HEIGHT,
        smooth: bool = True,
    ) -> None:
        mujoco = self._mujoco = import_mujoco()
        self.size = size
        self._stage = stage
        self._solids, self._rods = solids_of(stage.result.robot), rods_of(stage.result.robot)
        self._bones = bones()
        self._thickness = stature(stage.result.human) / STATURE_M
        self._camera = camera_for(stage, size, clear=clear)
        sun = SUN[0] * self._camera.right + SUN[1] * self._camera.away + (0.0, 0.0, SUN[2])
        self._press = np.array([[1.0, 0.0, sun[0]], [0.0, 1.0, sun[1]], [0.0, 0.0, PRESSED]])
        self._model = mujoco.MjModel.from_xml_string(_world(sun))
        _set_quality(self._model.vis, size, smooth=smooth)
        self._data = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, self._data)
        self._renderer: Any = None
        self._context = open_context(mujoco, size)
        # Before OpenGL itself is taken down, should the program end while pictures are drawn.
        atexit.register(self.close)
        self._context.make_current()
        self._renderer = mujoco.MjrContext(self._model, int(mujoco.mjtFontScale.mjFONTSCALE_100))
        mujoco.mjr_setBuffer(int(mujoco.mjtFramebuffer.mjFB_OFFSCREEN), self._renderer)
        self._scene = mujoco.MjvScene(self._model, maxgeom=MOST_SOLIDS)
        for flag in OFF:
            self._scene.flags[getattr(mujoco.mjtRndFlag, flag)] = False
        self._scene.flags[mujoco.mjtRndFlag.mjRND_HAZE] = True
        self._view = mujoco.MjrRect(0, 0, size[1], size[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give the OpenGL context back; closing twice is harmless."""
        atexit.unregister(self.close)
        if self._renderer is not None:
            self._context.make_current()
            self._renderer.free()
            self._context.free()
            self._renderer = None

    def draw(self, moment: PreviewMoment, centre: Array) -> Picture:
        """The picture (height, width, 3) of one moment with `centre` (3,) in its middle."""
        mujoco = self._mujoco
        camera = mujoco.MjvCamera()
        camera.type = mujoco.mjtCamera.mjCAMERA_FREE
        camera.lookat, camera.distance = centre, self._camera.distance_m
        camera.azimuth, camera.elevation = self._camera.azimuth_deg, -DOWN_DEG
        mujoco.mjv_updateScene(
            self._model, self._data, mujoco.MjvOption(), None, camera,
            int(mujoco.mjtCatBit.mjCAT_ALL), self._scene,
        )  # fmt: skip
        self._add_marks(moment)
        self._add_rods(moment)
        first = self._scene.ngeom
        self._add_robot(moment)
        self._add_person(moment)
        self._add_shadows(first)
        self._context.make_current()
        mujoco.mjr_render(self._view, self._scene, self._renderer)
        pixels: Picture = np.empty((*self.size, 3), np.uint8)
        mujoco.mjr_readPixels(pixels, None, self._view, self._renderer)
        return np.ascontiguousarray(pixels[::-1])

    def _add_rods(self, moment: PreviewMoment) -> None:
        for rod in self._rods:
            tip = moment.rotations[rod.other] @ rod.tip + moment.positions[rod.other]
            colour = _colour(moment, rod.end, look.ROBOT_TRUNK)
            self._add_rod(ROD_M, moment.positions[rod.link], tip, colour)

    def _add_robot(self, moment: PreviewMoment) -> None:
        for solid in self._solids:
            rotation = moment.rotations[solid.link]
            place = rotation @ solid.pose[:, 3] + moment.positions[solid.link]
            colour = _colour(moment, solid.end, look.ROBOT)
            self._add(solid.kind, solid.size, place, rotation @ solid.pose[:, :3], colour)

    def _add_person(self, moment: PreviewMoment) -> None:
        points = complete_points(moment.points)
        for bone in self._bones:
            ends = points[POINTS.index(bone.first)], points[POINTS.index(bone.second)]
            self._add_rod(bone.radius * self._thickness, *ends, look.PERSON)
        head = points[POINTS.index("head")]
        if np.isfinite(head).all():
            radius = HEAD_RADIUS * self._thickness
            self._add("sphere", (radius, radius, radius), head, np.eye(3), look.PERSON)

    def _add_marks(self, moment: PreviewMoment) -> None:
        """Discs under what stands; where a hand or foot was to be, if it is far from there."""
        for side, name in enumerate(SIDES):
            if moment.contacts[side].any():
                self._add_disc(moment.soles[side], 0.13)
                ends = [moment.points[POINTS.index(f"{name}_{end}")] for end in ("heel", "toe")]
                known = [end for end in ends if np.isfinite(end).all()]
                if known:
                    self._add_disc(np.mean(known, axis=0), 0.15 * self._thickness)
        for goal, far in zip(moment.goals, moment.far, strict=True):
            if far and np.isfinite(goal).all():
                self._add("sphere", (0.035, 0.035, 0.035), goal, np.eye(3), look.FAR)

    def _add_shadows(self, first: int) -> None:
        """Of all solids from number `first` on, upon the ground."""
        for number in range(first, self._scene.ngeom):
            solid = self._scene.geoms[number]
            place, rotation = self._press @ solid.pos, self._press @ solid.mat
            shadow = self._add("sphere", (1.0, 1.0, 1.0), place, rotation, look.SHADOW)
            shadow.type, shadow.size = solid.type, solid.size
            shadow.pos[2] += MARK_M / 3
            # Of its own light, for normals on a pressed body's rim are wild.
            shadow.specular, shadow.emission = 0.0, GLOW
            shadow.rgba[:3] = np.array(look.fractions(look.SHADOW)) / (1.0 + GLOW)

    def _add_disc(self, place: Array, radius: float) -> None:
        if np.isfinite(place).all():
            ground = np.array([place[0], place[1], MARK_M / 2])
            self._add("cylinder", (radius, MARK_M / 2, radius), ground, np.eye(3), look.CONTACT)

    def _add_rod(self, radius: float, first: Array, second: Array, colour: look.Rgb) -> None:
        if np.isfinite(first).all() and np.isfinite(second).all():
            geom = self._add("capsule", (radius, radius, radius), first, np.eye(3), colour)
            kind = int(self._mujoco.mjtGeom.mjGEOM_CAPSULE)
            self._mujoco.mjv_connector(geom, kind, radius, first, second)

    def _add(
        self, kind: str, size: tuple[float, ...], place: Array, rotation: Array, colour: look.Rgb
    ) -> Any:
        mujoco, number = self._mujoco, self._scene.ngeom
        geom = self._scene.geoms[number]
        shape = int(getattr(mujoco.mjtGeom, f"mjGEOM_{kind.upper()}"))
        rgba = np.array([*look.fractions(colour), 1.0], np.float32)
        mujoco.mjv_initGeom(geom, shape, np.array(size), place, rotation.ravel(), rgba)
        geom.specular, geom.shininess = 0.25, 0.35
        self._scene.ngeom = number + 1
        return geom


def _colour(moment: PreviewMoment, end: int | None, limb: look.Rgb) -> look.Rgb:
    """The colour of a part: that of its limb, unless it is of the trunk or far from its goal."""
    if end is None:
        return look.ROBOT_TRUNK
    return look.FAR if moment.far[end] else limb


def _set_quality(visual: Any, size: tuple[int, int], *, smooth: bool) -> None:
    visual.global_.offheight, visual.global_.offwidth = size
    visual.quality.shadowsize, visual.quality.offsamples = 0, 4 if smooth else 0
    visual.quality.numslices, visual.quality.numstacks = 22, 11


def _world(sun: Array) -> str:
    def text(parts: Any) -> str:
        return " ".join(f"{part:.4f}" for part in parts)

    return _WORLD.format(
        paper=text(look.fractions(look.PAPER)),
        ground=text(look.fractions(look.GROUND)),
        line=text(look.fractions(look.GROUND_LINE)),
        sun=text(sun),
        fovy=FIELD_OF_VIEW_DEG,
    )
