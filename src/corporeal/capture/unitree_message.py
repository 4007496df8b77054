"""LowState and LowCmd of Unitree's humanoids (unitree_hg): the DDS types and their wire layout."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from corporeal.capture.driver import DriverError
from corporeal.errors import MissingExtraError

MOTORS = 35
LOW_STATE_TOPIC = "rt/lowstate"
LOW_CMD_TOPIC = "rt/lowcmd"
_CDR_HEADER = 4
# The order of the motors of a 29-dof G1 in both messages; the 23-dof one leaves places empty.
G1_MOTORS = (
    *(f"left_{part}_joint" for part in (
        "hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")),
    *(f"right_{part}_joint" for part in (
        "hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")),
    "waist_yaw_joint", "waist_roll_joint", "waist_pitch_joint",
    *(f"left_{part}_joint" for part in (
        "shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch",
        "wrist_yaw")),
    *(f"right_{part}_joint" for part in (
        "shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow", "wrist_roll", "wrist_pitch",
        "wrist_yaw")),
)  # fmt: skip

_IMU = np.dtype([
    ("quaternion", "<f4", 4), ("gyroscope", "<f4", 3), ("accelerometer", "<f4", 3),
    ("rpy", "<f4", 3), ("temperature", "<i2"),
])  # fmt: skip
_MOTOR_STATE = np.dtype([
    ("q", "<f4"), ("dq", "<f4"), ("ddq", "<f4"), ("tau_est", "<f4"), ("temperature", "<i2", 2),
    ("vol", "<f4"), ("sensor", "<u4", 2), ("motorstate", "<u4"), ("reserve", "<u4", 4),
    # The next motor's mode and its padding, so that each record starts on its q.
    ("next_mode", "u1", 4),
])  # fmt: skip
_MOTOR_CMD = np.dtype([
    ("q", "<f4"), ("dq", "<f4"), ("tau", "<f4"), ("kp", "<f4"), ("kd", "<f4"), ("reserve", "<u4"),
    ("next_mode", "u1", 4),
])  # fmt: skip
# Offsets into the body: CDR aligns each number to its size. The last motor's filler would run
# over the end of its array, but not of the message.
_LOW_STATE = np.dtype({
    "names": [
        "version", "mode_pr", "mode_machine", "tick", "imu_state", "motor_state",
        "wireless_remote", "crc",
    ],
    "formats": [
        ("<u4", 2), "u1", "u1", "<u4", _IMU, (_MOTOR_STATE, MOTORS), ("u1", 40), "<u4",
    ],
    "offsets": [0, 8, 9, 12, 16, 72, 2028, 2084], "itemsize": 2088,
})  # fmt: skip
_LOW_CMD = np.dtype({
    "names": ["mode_pr", "mode_machine", "motor_cmd", "crc"],
    "formats": ["u1", "u1", (_MOTOR_CMD, MOTORS), "<u4"],
    "offsets": [0, 1, 4, 996], "itemsize": 1000,
})  # fmt: skip


def read_low_state(data: bytes) -> Any:
    """One LowState from its CDR bytes, as a numpy record: `["motor_state"]["q"]` is (35,)."""
    return _record(data, _LOW_STATE, "LowState")


def read_low_cmd(data: bytes) -> Any:
    """One LowCmd from its CDR bytes, as a numpy record: `["motor_cmd"]["q"]` is (35,)."""
    return _record(data, _LOW_CMD, "LowCmd")


def _record(data: bytes, layout: np.dtype[Any], what: str) -> Any:
    # The second byte of the header tells little from big endian; its last, how much is filler.
    filler = data[3] & 3 if len(data) >= _CDR_HEADER else 0
    if len(data) - filler != _CDR_HEADER + layout.itemsize or data[0] != 0 or data[1] > 1:
        raise DriverError(
            f"{what} message, got {len(data)} bytes; expected {_CDR_HEADER + layout.itemsize} of "
            "plain CDR. Check that the robot speaks unitree_hg (G1, H1-2)."
        )
    order = layout if data[1] == 1 else layout.newbyteorder(">")
    return np.frombuffer(data, order, count=1, offset=_CDR_HEADER)[0]


@cache
def dds_types() -> SimpleNamespace:
    """The DDS types by name: IMUState, MotorState, LowState, MotorCmd, LowCmd."""
    types = _idl("types")
    floats, words = types.float32, types.uint32
    imu = _struct(
        "IMUState_", quaternion=types.array[floats, 4], gyroscope=types.array[floats, 3],
        accelerometer=types.array[floats, 3], rpy=types.array[floats, 3], temperature=types.int16,
    )  # fmt: skip
    motor_state = _struct(
        "MotorState_", mode=types.uint8, q=floats, dq=floats, ddq=floats, tau_est=floats,
        temperature=types.array[types.int16, 2], vol=floats, sensor=types.array[words, 2],
        motorstate=words, reserve=types.array[words, 4],
    )  # fmt: skip
    low_state = _struct(
        "LowState_", version=types.array[words, 2], mode_pr=types.uint8, mode_machine=types.uint8,
        tick=words, imu_state=imu, motor_state=types.array[motor_state, MOTORS],
        wireless_remote=types.array[types.uint8, 40], reserve=types.array[words, 4], crc=words,
    )  # fmt: skip
    motor_cmd = _struct(
        "MotorCmd_", mode=types.uint8, q=floats, dq=floats, tau=floats, kp=floats, kd=floats,
        reserve=words,
    )  # fmt: skip
    low_cmd = _struct(
        "LowCmd_", mode_pr=types.uint8, mode_machine=types.uint8,
        motor_cmd=types.array[motor_cmd, MOTORS], reserve=types.array[words, 4], crc=words,
    )  # fmt: skip
    return SimpleNamespace(
        IMUState=imu, MotorState=motor_state, LowState=low_state, MotorCmd=motor_cmd, LowCmd=low_cmd
    )


def _idl(part: str) -> Any:
    try:
        return import_module(f"cyclonedds.idl.{part}")
    except ImportError:
        raise MissingExtraError("cyclonedds", "live") from None


def _struct(name: str, **fields: Any) -> Any:
    from cyclonedds.idl import make_idl_struct

    annotations = _idl("annotations")
    struct = make_idl_struct(name, f"unitree_hg::msg::dds_::{name}", fields)
    return annotations.autoid("sequential")(annotations.final(struct))
