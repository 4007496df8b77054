"""The robot of our own document in a room, compiled for MuJoCo, with names for all its parts."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import cos, sin
from typing import Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment, open_robot
from corporeal.embodiment.engines import import_mujoco, to_mjcf
from corporeal.errors import ModelError
from corporeal.simulation.gripper import FINGERS, SIDES, add_gripper, pad_names
from corporeal.simulation.room import add_room
from corporeal.simulation.variation import Variation

# The head looks down at a table within arm's reach; two eyes 6 cm apart.
HEAD_PITCH_RAD, BASELINE_M = 0.83, 0.06
# Where the G1's document has its scanner (mid360_link), m on the torso, but level: whoever draws
# its points has no other place to put them.
LIDAR_PLACE = "0.0002835 0.00003 0.428434"


def add_cameras(world: Element, torso: Element) -> None:
    """Two eyes and a depth camera in the head, two cameras in the room."""
    down = (sin(HEAD_PITCH_RAD), 0.0, cos(HEAD_PITCH_RAD))
    axes = f"0 -1 0 {down[0]:.6f} 0 {down[2]:.6f}"
    for name, y in (("head_left", BASELINE_M / 2), ("head_right", -BASELINE_M / 2)):
        place = {"name": name, "pos": f"0.075 {y} 0.43", "xyaxes": axes, "fovy": "62"}
        ElementTree.SubElement(torso, "camera", place)
    place = {"name": "head_depth", "pos": "0.075 0 0.41", "xyaxes": axes, "fovy": "58"}
    ElementTree.SubElement(torso, "camera", place)
    for name, eye, aim in (
        ("external_front", (1.75, 0.5, 1.45), (0.1, 0.0, 0.75)),
        ("external_side", (0.85, -1.45, 1.30), (0.15, 0.0, 0.78)),
    ):
        forward = np.subtract(aim, eye) / np.linalg.norm(np.subtract(aim, eye))
        right = np.cross(forward, (0, 0, 1))
        right /= np.linalg.norm(right)
        both = " ".join(f"{value:.6f}" for value in (*right, *np.cross(right, forward)))
        spot = " ".join(str(value) for value in eye)
        ElementTree.SubElement(world, "camera", name=name, pos=spot, xyaxes=both, fovy="44")


def add_sensors(root: Element, bodies: dict[str, Element]) -> None:
    """IMUs of pelvis and head, force and torque through wrists and ankles, a place for a LiDAR.

    A force is what the link beyond the joint exerts on the one before it, in the axes of the
    link beyond.
    """
    sites = {
        "head_imu": ("torso_link", "0.01 0 0.42"),
        "lidar": ("torso_link", LIDAR_PLACE),
        **{f"{side}_wrist": (f"{side}_wrist_yaw_link", "0 0 0") for side in SIDES},
        **{f"{side}_ankle": (f"{side}_ankle_roll_link", "0 0 0") for side in SIDES},
    }
    for name, (body, place) in sites.items():
        fields = {"name": name, "pos": place, "size": "0.005", "group": "4"}
        ElementTree.SubElement(bodies[body], "site", fields)
    for element in root.iter("site"):
        element.set("group", "4")
    sensors = ElementTree.SubElement(root, "sensor")
    for name, site in (("pelvis_imu", "imu_in_pelvis"), ("head_imu", "head_imu")):
        ElementTree.SubElement(sensors, "accelerometer", name=f"{name}_acc", site=site)
        ElementTree.SubElement(sensors, "gyro", name=f"{name}_gyro", site=site)
    for part in ("wrist", "ankle"):
        for side in SIDES:
            for kind in ("force", "torque"):
                fields = {"name": f"{side}_{part}_{kind}", "site": f"{side}_{part}"}
                ElementTree.SubElement(sensors, kind, fields)


def sensor_slices(model: Any) -> dict[str, slice]:
    """Where each sensor is in MuJoCo's `sensordata`, by name."""
    sensors = (model.sensor(index) for index in range(model.nsensor))
    return {s.name: slice(int(s.adr[0]), int(s.adr[0] + s.dim[0])) for s in sensors}


Element = ElementTree.Element
Array = NDArray[np.float64]
Indices = NDArray[np.int64]

STEP_S = 0.002
# kg m2: rotor inertia behind the gears of the G1's motors, which the document does not hold.
# From the stiffness that makes the published servo gains a 10 Hz system.
ARMATURE = (
    (("hip_pitch", "hip_yaw", "waist_yaw"), 0.01018),
    (("hip_roll", "knee"), 0.0251),
    (("ankle", "waist_roll", "waist_pitch"), 0.00722),
    (("wrist_pitch", "wrist_yaw"), 0.00425),
    (("shoulder", "elbow", "wrist_roll"), 0.00361),
)
# Nm/rad and Nms/rad of the joint servos, by part of the joint's name.
GAINS = (
    (("hip_pitch", "hip_roll"), (300.0, 8.0)),
    (("hip_yaw",), (200.0, 5.0)),
    (("knee",), (350.0, 10.0)),
    (("ankle",), (250.0, 6.0)),
    (("waist",), (250.0, 6.0)),
    (("shoulder", "elbow"), (120.0, 3.5)),
    (("wrist_roll",), (60.0, 1.5)),
    (("wrist",), (40.0, 1.0)),
)


@dataclass(frozen=True, eq=False)
class World:
    """A compiled `mujoco.MjModel` and where its parts are.

    `joint_qpos` and `joint_qvel` (J,) index the robot's joints in the order of
    `embodiment.joint_names`; `servos` (J,) and `gripper_servos` (2,) its actuators. `base_qpos`
    and `base_qvel` are the first of 7 and 6 numbers of the pelvis. `gripper_qpos` (2,) is the
    driven finger of the left and right hand, at half the opening. `objects` are body names, the
    one that the task is about first. `pads` {geom id: (hand, finger)} are the fingertips.
    """

    embodiment: Embodiment
    variation: Variation
    model: Any
    joint_qpos: Indices
    joint_qvel: Indices
    servos: Indices
    base_qpos: int
    base_qvel: int
    gripper_qpos: Indices
    gripper_servos: Indices
    objects: tuple[str, ...]
    object_qpos: dict[str, int]
    pads: dict[int, tuple[int, int]]
    sensors: dict[str, slice]
    cameras: tuple[str, ...]
    xml: str = field(repr=False)

    def joints(self, group: str) -> Indices:
        """Columns of the joints of a group of the robot, such as `left_arm`."""
        names = self.embodiment.joint_names
        return np.array([names.index(name) for name in self.embodiment.groups[group]], np.int64)


def build_world(variation: Variation, *, robot: str = "g1") -> World:
    """The world of a variation; raises ModelError for a robot without the parts that it needs."""
    mujoco = import_mujoco()
    embodiment = open_robot(robot)
    xml = world_mjcf(embodiment, variation)
    try:
        model = mujoco.MjModel.from_xml_string(xml)
    except ValueError as error:
        raise ModelError(
            f"world with robot {robot!r} does not compile in MuJoCo, got: {error}; expected a "
            "humanoid with the links of the G1. Use a robot of that family."
        ) from None
    names = embodiment.joint_names
    things = tuple(thing.name for thing in variation.things)
    pads = {
        int(model.geom(pad).id): (hand, finger)
        for hand, side in enumerate(SIDES)
        for finger, pad in enumerate(pad_names(side))
    }
    near = [f"{side}_gripper_{FINGERS[0]}" for side in SIDES]
    return World(
        embodiment=embodiment,
        variation=variation,
        model=model,
        joint_qpos=_integers(model.joint(name).qposadr[0] for name in names),
        joint_qvel=_integers(model.joint(name).dofadr[0] for name in names),
        servos=_integers(model.actuator(name).id for name in names),
        base_qpos=int(model.joint("root_joint").qposadr[0]),
        base_qvel=int(model.joint("root_joint").dofadr[0]),
        gripper_qpos=_integers(model.joint(name).qposadr[0] for name in near),
        gripper_servos=_integers(model.actuator(f"{side}_gripper").id for side in SIDES),
        objects=things,
        object_qpos={name: int(model.joint(f"{name}_joint").qposadr[0]) for name in things},
        pads=pads,
        sensors=sensor_slices(model),
        cameras=tuple(model.camera(index).name for index in range(model.ncam)),
        xml=xml,
    )


def world_mjcf(embodiment: Embodiment, variation: Variation) -> str:
    """The world as MJCF text: our robot, grippers, servos, sensors, cameras and the room."""
    _require_links(embodiment)
    armature = {name: _by_name(name, ARMATURE) for name in embodiment.joint_names}
    root = ElementTree.fromstring(to_mjcf(embodiment, armature=armature))  # nosec B314
    bodies = {body.get("name", ""): body for body in root.iter("body")}
    _set_options(root)
    _paint(bodies)
    add_room(root, variation)
    _replace_motors(root, embodiment)
    for side in SIDES:
        add_gripper(root, bodies[f"{side}_wrist_yaw_link"], side)
        pair = {"body1": f"{side}_gripper_near", "body2": f"{side}_gripper_far"}
        ElementTree.SubElement(_find(root, "contact"), "exclude", pair)
        ElementTree.SubElement(
            _find(root, "contact"), "exclude",
            {"body1": f"{side}_wrist_pitch_link", "body2": f"{side}_wrist_yaw_link"},
        )  # fmt: skip
    add_cameras(_find(root, "worldbody"), bodies["torso_link"])
    add_sensors(root, bodies)
    return ElementTree.tostring(root, encoding="unicode")


def _require_links(embodiment: Embodiment) -> None:
    links = {link.name for link in embodiment.links}
    tips = (f"{side}_{part}_link" for side in SIDES for part in ("wrist_yaw", "ankle_roll"))
    for name in ("pelvis", "torso_link", *tips):
        if name not in links:
            raise ModelError(
                f"robot {embodiment.name!r}, got no link {name!r}; expected a G1 with wrists. "
                "Use the robot g1."
            )


def _set_options(root: Element) -> None:
    ElementTree.SubElement(
        root, "option", timestep=str(STEP_S), integrator="implicitfast", cone="elliptic",
        impratio="5", iterations="30", tolerance="1e-7",
    )  # fmt: skip
    visual = ElementTree.SubElement(root, "visual")
    # Shadows and multisampling are what makes software rendering slow.
    quality = {"shadowsize": "0", "offsamples": "0", "numslices": "12", "numstacks": "8"}
    ElementTree.SubElement(visual, "quality", quality)
    ElementTree.SubElement(visual, "global", offwidth="1280", offheight="960")
    lamp = {"ambient": "0.38 0.38 0.38", "diffuse": "0.25 0.25 0.25", "specular": "0 0 0"}
    ElementTree.SubElement(visual, "headlight", lamp)
    ElementTree.SubElement(visual, "map", znear="0.01", zfar="30")
    ElementTree.SubElement(root, "size", memory="16M")


def _paint(bodies: dict[str, Element]) -> None:
    dark = ("pelvis", "hip_roll", "ankle", "shoulder_pitch", "elbow", "wrist_roll", "wrist_yaw")
    for name, body in bodies.items():
        colour = "robot_dark" if any(part in name for part in dark) else "robot_light"
        for geom in body.findall("geom"):
            geom.set("material", colour)


def _replace_motors(root: Element, embodiment: Embodiment) -> None:
    # Position servos inside MuJoCo follow every physics step without any Python in between.
    motors = _find(root, "actuator")
    for motor in list(motors):
        motors.remove(motor)
    for joint in embodiment.actuated:
        kp, kd = _by_name(joint.name, GAINS)
        limit = joint.effort if joint.effort is not None else 25.0
        ElementTree.SubElement(
            motors, "position", name=joint.name, joint=joint.name, kp=str(kp), kv=str(kd),
            forcerange=f"{-limit} {limit}",
        )  # fmt: skip
    for element in root.iter("joint"):
        if element.get("type") == "hinge":
            element.set("damping", "0.05")


def _by_name(name: str, table: Any) -> Any:
    return next(value for parts, value in table if any(part in name for part in parts))


def _find(root: Element, tag: str) -> Element:
    found = root.find(tag)
    return ElementTree.SubElement(root, tag) if found is None else found


def _integers(values: Any) -> Indices:
    return np.array([int(value) for value in values], np.int64)
