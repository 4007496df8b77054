"""What the robot and the room observe with: cameras, IMUs, force sensors, a place for a LiDAR."""

from __future__ import annotations

from math import cos, sin
from typing import Any
from xml.etree import ElementTree

import numpy as np

from corporeal.simulation.gripper import SIDES

Element = ElementTree.Element

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
