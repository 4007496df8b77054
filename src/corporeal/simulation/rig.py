"""The sensors of the simulated humanoid, with errors of the size that real parts have.

Published figures: IMU noise densities (175 ug/sqrt(Hz) and 0.014 deg/s/sqrt(Hz) as quoted for the
Bosch BMI088, 150 and 0.014 for the BMI055), over the 100 Hz that sampling at 200 Hz leaves; the
force resolution of the wrists, 1/16 N, as quoted for an ATI Mini45 of 145 N.

Everything else is our estimate of the order of magnitude, not taken from a data sheet nor measured
on a robot: encoders, speed and torque, biases and their walk, torque resolution of the wrists,
ankles, grippers, touch, pictures, depth, laser, tracker, all delays, and the offsets and drifts of
the clocks. Put in your own where you have measured them.
"""

from __future__ import annotations

from dataclasses import replace
from math import pi, radians, sqrt

# Elements are made here, nothing is parsed.
from xml.etree.ElementTree import Element  # nosec B405

import numpy as np

from corporeal.geometry import rpy_from_matrix
from corporeal.protocol import Calibration
from corporeal.schema import roles
from corporeal.simulation.sensor import (
    ClockSpread,
    DepthNoise,
    Noise,
    PictureNoise,
    RangeNoise,
    Sensor,
    SensorClock,
    SensorLatency,
)
from corporeal.simulation.world import add_cameras

GRAVITY = 9.80665
BANDWIDTH_HZ = 100.0

CLOCKS: dict[str, ClockSpread] = {
    # The recorder's own: everything that arrives is stamped with it, so it is the truth.
    "host": ClockSpread(),
    "robot": ClockSpread((-0.005, 0.005), 10.0),
    "operator": ClockSpread((-0.01, 0.01), 20.0),
    "tracker": ClockSpread((-0.02, 0.02), 10.0),
    "head_camera": ClockSpread((-0.1, 0.1), 30.0),
    "external_front": ClockSpread((-0.1, 0.1), 50.0),
    "external_side": ClockSpread((-0.1, 0.1), 50.0),
    "tactile_left": ClockSpread((-0.05, 0.05), 50.0),
    "tactile_right": ClockSpread((-0.05, 0.05), 50.0),
    # Counts from power-on.
    "lidar": ClockSpread((60.0, 3600.0), 20.0),
}

_BUS = SensorLatency(0.0012, 0.0003)
_USB_SERIAL = SensorLatency(0.006, 0.0015)
_ROOM_CAMERA = SensorLatency(0.055, 0.008)
_TRACKER = SensorLatency(0.005, 0.0005)
_LASER = SensorLatency(0.015, 0.002)
_OPERATOR = SensorLatency(0.003, 0.001)

_LOOP_S = 50e-6


def _imu(acceleration_density_ug: float, gyro_density_deg: float) -> Noise:
    accelerometer = acceleration_density_ug * 1e-6 * GRAVITY * sqrt(BANDWIDTH_HZ)
    gyro = radians(gyro_density_deg) * sqrt(BANDWIDTH_HZ)
    return Noise(
        white=(accelerometer,) * 3 + (gyro,) * 3,
        bias=(0.02,) * 3 + (0.002,) * 3,
        walk=(5e-4,) * 3 + (2e-5,) * 3,
        # 16 bits over +-6 g and +-1000 deg/s.
        quantum=(12 * GRAVITY / 65536,) * 3 + (radians(2000) / 65536,) * 3,
    )


def _wrench(force_n: float, torque_nm: float) -> Noise:
    """Noise of a transducer that resolves this much; the zero wanders as it warms up."""
    return Noise(
        white=(force_n,) * 3 + (torque_nm,) * 3,
        bias=(4 * force_n,) * 3 + (4 * torque_nm,) * 3,
        walk=(0.3 * force_n,) * 3 + (0.3 * torque_nm,) * 3,
        gain=0.005,
        quantum=(force_n,) * 3 + (torque_nm,) * 3,
    )


def _robot(name: str, rate_hz: float, noise: Noise, *, packet: str = "") -> Sensor:
    path = f"observations/{name}"
    return Sensor(path, "robot", rate_hz, _BUS, noise, wander_s=_LOOP_S, packet=packet)


def _head(name: str, noise: PictureNoise | DepthNoise, *, packet: str = "") -> Sensor:
    path = f"observations/{name}"
    return Sensor(path, "head_camera", 30, SensorLatency(0.040, 0.004), noise, packet=packet)


def _command(name: str) -> Sensor:
    path, packet = f"actions/{name}", "command"
    return Sensor(path, "operator", 50, _OPERATOR, wander_s=4 * _LOOP_S, packet=packet)


_JOINTS = "joint_state"
_WRIST, _ANKLE = _wrench(1 / 16, 1 / 752), _wrench(0.6, 0.02)
_GRIPPER = Noise(white=5e-5, bias=2e-4, quantum=1e-4)
# Pascal: the zero noise of a resistive skin, and its 10 bits over 200 kPa.
_TOUCH = Noise(white=100.0, gain=0.05, quantum=200e3 / 1024)
# Metres and the components of a quaternion, half of an angle in radians.
_MARKERS = Noise(white=(3e-4,) * 3 + (5e-4,) * 4)

_SENSORS = (
    _robot(roles.JOINT_POSITION, 100, Noise(1e-4, bias=1e-3, quantum=2 * pi / 2**14),
           packet=_JOINTS),
    _robot(roles.JOINT_VELOCITY, 100, Noise(0.02, quantum=2e-3), packet=_JOINTS),
    _robot(roles.JOINT_TORQUE, 100, Noise(0.08, bias=0.05, gain=0.03, quantum=0.01),
           packet=_JOINTS),
    _robot("pelvis_imu", 200, _imu(175, 0.014)),
    Sensor(
        "observations/head_imu", "head_camera", 200, SensorLatency(0.004, 0.001), _imu(150, 0.014),
        wander_s=_LOOP_S,
    ),
    _robot("left_wrist_wrench", 200, _WRIST),
    _robot("right_wrist_wrench", 200, _WRIST),
    _robot("left_ankle_wrench", 200, _ANKLE),
    _robot("right_ankle_wrench", 200, _ANKLE),
    _robot("left_gripper", 100, _GRIPPER),
    _robot("right_gripper", 100, _GRIPPER),
    Sensor("observations/left_tactile", "tactile_left", 60, _USB_SERIAL, _TOUCH),
    Sensor("observations/right_tactile", "tactile_right", 60, _USB_SERIAL, _TOUCH),
    # One trigger for both eyes; the depth image is made by another chip of the same camera.
    _head("head_left", PictureNoise(), packet="eyes"),
    _head("head_right", PictureNoise(), packet="eyes"),
    _head("head_depth", DepthNoise()),
    Sensor("observations/lidar", "lidar", 10, _LASER, RangeNoise()),
    _command(roles.JOINT_POSITION_TARGET),
    _command("left_gripper_target"),
    _command("right_gripper_target"),
    _command(roles.BASE_VELOCITY),
    Sensor("debug/base_pose", "tracker", 100, _TRACKER, _MARKERS, packet="markers"),
    Sensor("debug/object_pose", "tracker", 100, _TRACKER, _MARKERS, packet="markers"),
    Sensor("debug/external_front", "external_front", 30, _ROOM_CAMERA, PictureNoise(2.0)),
    Sensor("debug/external_side", "external_side", 30, _ROOM_CAMERA, PictureNoise(2.0)),
)  # fmt: skip

SENSORS: dict[str, Sensor] = {sensor.path: sensor for sensor in _SENSORS}
# Text has no sensor: it is said at the recorder itself.
TEXT = ("observations/instruction", "debug/outcome")


def clocks(seed: int) -> dict[str, SensorClock]:
    """The true clocks of all devices, by name: what an estimate is to be held against."""
    return {name: spread.draw(name, seed) for name, spread in CLOCKS.items()}


def stream_sources() -> dict[str, str]:
    """The clock that stamps each stream, by the stream's path."""
    return {path: sensor.clock for path, sensor in SENSORS.items()} | dict.fromkeys(TEXT, "host")


def exact_calibration(width: int = 640, height: int = 480) -> Calibration:
    """Where the robot's cameras are, and their lenses, for pictures of this size: the truth."""
    world, torso = Element("worldbody"), Element("body")
    add_cameras(world, torso)
    cameras = []
    for frame, parent in (("torso_link", torso), ("world", world)):
        for camera in parent.iter("camera"):
            right, up = np.array(camera.attrib["xyaxes"].split(), np.float64).reshape(2, 3)
            # MuJoCo's camera looks along -z with y up; ours along z with y down.
            axes = np.stack([right, -up, -np.cross(right, up)], axis=1)
            focal = height / 2 / np.tan(radians(float(camera.attrib["fovy"])) / 2)
            cameras.append({
                "name": camera.attrib["name"], "width": width, "height": height,
                "focal_px": (focal, focal), "centre_px": ((width - 1) / 2, (height - 1) / 2),
                "frame": frame, "xyz": tuple(map(float, camera.attrib["pos"].split())),
                "rpy": tuple(float(angle) for angle in rpy_from_matrix(axes)),
            })  # fmt: skip
    stated = {"document": "calibration", "name": "simulated_robot", "version": "1.0.0",
              "measured": "2026-01-01", "cameras": cameras}  # fmt: skip
    return Calibration.model_validate(stated)


def without_noise(sensors: dict[str, Sensor]) -> dict[str, Sensor]:
    """The same sensors with perfect readings; clocks and delays stay as they are."""
    return {path: replace(sensor, noise=None) for path, sensor in sensors.items()}
