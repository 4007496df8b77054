"""Unitree's LowState and LowCmd in bags: motors by number, which the robot turns into joints."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.capture.ros.message import MessagePart, array_piece, field_names
from corporeal.dds.unitree_message import G1_MOTORS
from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import is_hand
from corporeal.schema import roles
from corporeal.schema.stream import Group
from corporeal.signal.recognition import IMU_NAMES, IMU_UNITS
from corporeal.units import SECOND_NS

_MEASURED = ("quaternion", "gyroscope", "accelerometer")
_TICK_NS = SECOND_NS // 1000
_LEG_H1_2 = ("hip_yaw", "hip_pitch", "hip_roll", "knee", "ankle_pitch", "ankle_roll")
_ARM = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
_WRIST = ("wrist_roll", "wrist_pitch", "wrist_yaw")


def _named(side: str, *parts: str) -> tuple[str, ...]:
    return tuple(f"{side}_{part}_joint" for part in parts)


# The order of motors by how many the message has a place for; a place of None has no motor.
_H1: tuple[str | None, ...] = (
    *_named("right", "hip_roll", "hip_pitch", "knee"),
    *_named("left", "hip_roll", "hip_pitch", "knee"), "torso_joint",
    "left_hip_yaw_joint", "right_hip_yaw_joint", None, "left_ankle_joint", "right_ankle_joint",
    *_named("right", *_ARM), *_named("left", *_ARM),
)  # fmt: skip
_H1_2: tuple[str | None, ...] = (
    *_named("left", *_LEG_H1_2), *_named("right", *_LEG_H1_2), "torso_joint",
    *_named("left", *_ARM, *_WRIST), *_named("right", *_ARM, *_WRIST),
)  # fmt: skip
_ORDERS: dict[int, tuple[tuple[str | None, ...], ...]] = {20: (_H1,), 35: (G1_MOTORS, _H1_2)}
# A robot with fewer of an order's joints is another robot.
_LEAST_SHARE = 0.75

_IMU_STATE = "float32[4] quaternion\nfloat32[3] gyroscope\nfloat32[3] accelerometer\nfloat32[3] rpy"
_MOTOR = "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 {}\nfloat32 {}"
_GO_HEAD = (
    "uint8[2] head\nuint8 level_flag\nuint8 frame_reserve\nuint32[2] sn\nuint32[2] version\n"
    "uint16 bandwidth"
)
DEFINITIONS = {
    "unitree_hg/msg/IMUState": f"{_IMU_STATE}\nint16 temperature",
    "unitree_hg/msg/MotorState": _MOTOR.format("ddq", "tau_est")
    + "\nint16[2] temperature\nfloat32 vol\nuint32[2] sensor\nuint32 motorstate\nuint32[4] reserve",
    "unitree_hg/msg/MotorCmd": _MOTOR.format("tau", "kp") + "\nfloat32 kd\nuint32 reserve",
    "unitree_hg/msg/LowState": "uint32[2] version\nuint8 mode_pr\nuint8 mode_machine\nuint32 tick\n"
    "IMUState imu_state\nMotorState[35] motor_state\nuint8[40] wireless_remote\n"
    "uint32[4] reserve\nuint32 crc",
    "unitree_hg/msg/LowCmd": "uint8 mode_pr\nuint8 mode_machine\nMotorCmd[35] motor_cmd\n"
    "uint32[4] reserve\nuint32 crc",
    "unitree_go/msg/IMUState": f"{_IMU_STATE}\nint8 temperature",
    "unitree_go/msg/MotorState": _MOTOR.format("ddq", "tau_est")
    + "\nfloat32 q_raw\nfloat32 dq_raw\nfloat32 ddq_raw\nint8 temperature\nuint32 lost\n"
    "uint32[2] reserve",
    "unitree_go/msg/MotorCmd": _MOTOR.format("tau", "kp") + "\nfloat32 kd\nuint32[3] reserve",
    "unitree_go/msg/BmsState": "uint8 version_high\nuint8 version_low\nuint8 status\nuint8 soc\n"
    "int32 current\nuint16 cycle\nint8[2] bq_ntc\nint8[2] mcu_ntc\nuint16[15] cell_vol",
    "unitree_go/msg/BmsCmd": "uint8 off\nuint8[3] reserve",
    "unitree_go/msg/LowState": f"{_GO_HEAD}\nIMUState imu_state\nMotorState[20] motor_state\n"
    "BmsState bms_state\nint16[4] foot_force\nint16[4] foot_force_est\nuint32 tick\n"
    "uint8[40] wireless_remote\nuint8 bit_flag\nfloat32 adc_reel\nint8 temperature_ntc1\n"
    "int8 temperature_ntc2\nfloat32 power_v\nfloat32 power_a\nuint16[4] fan_frequency\n"
    "uint32 reserve\nuint32 crc",
    "unitree_go/msg/LowCmd": f"{_GO_HEAD}\nMotorCmd[20] motor_cmd\nBmsCmd bms_cmd\n"
    "uint8[40] wireless_remote\nuint8[12] led\nuint8[2] fan\nuint8 gpio\nuint32 reserve\n"
    "uint32 crc",
}
"""The messages field by field, for bags that hold no definitions."""


def low_state(message: Any) -> list[MessagePart]:
    """Position, velocity and torque of every motor, the IMU, and all else for debugging."""
    fields = (
        ("q", "position", "rad", roles.JOINT_POSITION),
        ("dq", "velocity", "rad/s", roles.JOINT_VELOCITY),
        ("tau_est", "torque", "N m", roles.JOINT_TORQUE),
    )
    parts = _motor_parts(message.motor_state, fields, None)
    parts += _imu_parts(message.imu_state, True)
    status = _status(message, {"motor_state", "imu_state", "tick"})
    return [*parts, *status]


def low_cmd(message: Any) -> list[MessagePart]:
    """What every motor was told: position, velocity, torque and the gains; and all else."""
    fields = (
        ("q", "position", "rad", roles.JOINT_POSITION_TARGET),
        ("dq", "velocity", "rad/s", roles.JOINT_VELOCITY_TARGET),
        ("tau", "torque", "N m", roles.JOINT_TORQUE_TARGET),
        ("kp", "stiffness", "1", "joint_stiffness"),
        ("kd", "damping", "1", "joint_damping"),
    )
    return [*_motor_parts(message.motor_cmd, fields, "actions"), *_status(message, {"motor_cmd"})]


def imu_state(message: Any) -> list[MessagePart]:
    """An IMU of Unitree's alone on its topic."""
    return [
        *_imu_parts(message, False),
        *_status(message, {"quaternion", "gyroscope", "accelerometer"}),
    ]


CONVERTERS = {
    f"unitree_{family}/msg/{name}": convert
    for family in ("hg", "go")
    for name, convert in (("LowState", low_state), ("LowCmd", low_cmd), ("IMUState", imu_state))
}


def tick_ns(message: Any, message_type: str) -> int | None:
    """The stamp of a LowState: milliseconds since the robot started; None for other messages."""
    is_state = CONVERTERS.get(message_type) is low_state
    return int(message.tick) * _TICK_NS if is_state else None


def _motor_parts(
    motors: list[Any], fields: tuple[tuple[str, str, str, str], ...], group: Group | None
) -> list[MessagePart]:
    names = tuple(f"motor_{number}" for number in range(len(motors)))
    parts = [
        array_piece(suffix, np.array([getattr(motor, field) for motor in motors], np.float32), unit,
                    components=names, role=role, group=group, is_motor=True)
        for field, suffix, unit, role in fields
    ]  # fmt: skip
    taken = {field for field, *_ in fields}
    columns = [
        (field, np.array([getattr(motor, field) for motor in motors], np.float64))
        for field in (field_names(motors[0]) if motors else ())
        if field not in taken
    ]
    if columns:
        named = [name for field, values in columns for name in _column_names(field, values)]
        rest = np.column_stack([values for _, values in columns])
        parts.append(array_piece("motors", rest, components=tuple(named), group="debug"))
    return parts


def _column_names(field: str, values: NDArray[np.float64]) -> list[str]:
    if values.ndim == 1:
        return [field]
    return [f"{field}_{number}" for number in range(values.shape[1])]


def _imu_parts(imu: Any, is_motor: bool) -> list[MessagePart]:
    moving = np.array([*imu.accelerometer, *imu.gyroscope], np.float32)
    turned = np.asarray(imu.quaternion, np.float32)
    make = partial(array_piece, is_motor=is_motor)
    parts = [make("imu", moving, IMU_UNITS, components=IMU_NAMES, role=roles.IMU)]
    if turned.any():
        parts.append(
            make("orientation", turned, components=roles.QUATERNION, role=roles.ORIENTATION)
        )
    return parts


def _status(message: Any, taken: set[str]) -> list[MessagePart]:
    """Every number beside the motors and what the IMU measures, with its name."""
    numbers = dict(_numbers(message, taken))
    imu = getattr(message, "imu_state", None)
    if imu is not None:
        beside = _numbers(imu, set(_MEASURED))
        numbers |= {f"imu_state.{name}": value for name, value in beside}
    if not numbers:
        return []
    values = np.array(list(numbers.values()), np.float64)
    return [array_piece("status", values, components=tuple(numbers), group="debug")]


def _numbers(message: Any, taken: set[str]) -> Iterator[tuple[str, float]]:
    for name in field_names(message):
        value = getattr(message, name)
        if name in taken:
            continue
        if isinstance(value, int | float | np.generic):
            yield name, float(value)
        elif isinstance(value, np.ndarray | list | bytes):
            yield from ((f"{name}_{number}", float(entry)) for number, entry in enumerate(value))
        elif hasattr(value, "__dataclass_fields__") or isinstance(value, SimpleNamespace):
            yield from ((f"{name}.{inner}", entry) for inner, entry in _numbers(value, set()))


def motor_joints(count: int, robot: Embodiment) -> tuple[str | None, ...] | None:
    """The robot's joint at each place of a message for `count` motors; None for no joint there.

    None altogether where the robot is none of those whose order of motors is known.
    """
    body = [name for name in robot.joint_names if not is_hand(name, robot)]
    best: tuple[str | None, ...] | None = None
    most = 0
    for order in _ORDERS.get(count, ()):
        joints = [name if name in robot.joint_names else None for name in order]
        present = sum(joint is not None for joint in joints)
        whole = sum(name is not None for name in order)
        if not set(body) <= set(order) and present < whole:
            continue
        if present > max(most, _LEAST_SHARE * whole):
            best, most = (*joints, *[None] * (count - len(order))), present
    return best


def imu_frame(robot: Embodiment) -> tuple[str, str] | None:
    """Frame and link of the IMU that LowState has; None for a robot without a known one."""
    frames = {frame.name: frame.link for frame in robot.frames}
    for name in ("imu_in_pelvis", "imu_link"):
        if name in frames:
            return name, frames[name]
    return None
