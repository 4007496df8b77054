"""LowState and LowCmd of Unitree's humanoids, both families: DDS types, wire layout, motors."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from corporeal.dds.link import DdsError
from corporeal.errors import MissingExtraError

MOTORS, GO_MOTORS = 35, 20
LOW_STATE_TOPIC = "rt/lowstate"
LOW_CMD_TOPIC = "rt/lowcmd"
ARM_TOPIC = "rt/arm_sdk"
"""Commands of the arms alone: the robot's own controller keeps the legs."""
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

# Of an H1 (20 places, one of them empty) and of an H1-2, by the names of their descriptions.
_H1_LEG = ("hip_roll", "hip_pitch", "knee")
_SHOULDER = ("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow")
H1_MOTORS = (
    *(f"right_{part}_joint" for part in _H1_LEG), *(f"left_{part}_joint" for part in _H1_LEG),
    "torso_joint", "left_hip_yaw_joint", "right_hip_yaw_joint", "", "left_ankle_joint",
    "right_ankle_joint", *(f"right_{part}_joint" for part in _SHOULDER),
    *(f"left_{part}_joint" for part in _SHOULDER),
)  # fmt: skip
_H1_2_LEG = ("hip_yaw", "hip_pitch", "hip_roll", "knee", "ankle_pitch", "ankle_roll")
_ARM = (*_SHOULDER, "wrist_roll", "wrist_pitch", "wrist_yaw")
H1_2_MOTORS = (
    *(f"left_{part}_joint" for part in _H1_2_LEG), *(f"right_{part}_joint" for part in _H1_2_LEG),
    "torso_joint", *(f"left_{part}_joint" for part in _ARM),
    *(f"right_{part}_joint" for part in _ARM),
)  # fmt: skip

Family = Literal["unitree_hg", "unitree_go"]
# The bits of the remote's two bytes of buttons, the lowest first.
REMOTE_BUTTONS = ("R1", "L1", "start", "select", "R2", "L2", "F1", "F2", "A", "B", "X", "Y",
                  "up", "right", "down", "left")  # fmt: skip


@dataclass(frozen=True)
class UnitreeModel:
    """One robot of Unitree: which messages it speaks, the order of its motors, where its IMU is.

    `arm_weight` is the place without a motor whose position is the share, 0 to 1, that commands of
    the arms have of them; None: it takes none.
    """

    title: str
    family: Family
    motors: tuple[str, ...]
    imu: str
    imu_frame: str
    arm_weight: int | None = None


MODELS = (
    UnitreeModel("G1", "unitree_hg", G1_MOTORS, "pelvis", "imu_in_pelvis", 29),
    UnitreeModel("H1", "unitree_go", H1_MOTORS, "torso", "imu_link", 9),
    UnitreeModel("H1-2", "unitree_hg", H1_2_MOTORS, "pelvis", "imu_link"),
)


def unitree_model(name: str, joints: Sequence[str]) -> UnitreeModel:
    """Which robot of Unitree one is, told from its joints; raises DdsError where it is none."""
    for model in MODELS:
        if set(joints) <= set(model.motors):
            return model
    titles = ", ".join(model.title for model in MODELS)
    nearest = max(MODELS, key=lambda model: len(set(joints) & set(model.motors)))
    stranger = next(joint for joint in joints if joint not in nearest.motors)
    raise DdsError(
        f"robot {name!r}, got the joint {stranger!r}; expected the joints of a Unitree "
        f"{titles}. Set robot=g1, g1_23dof or h1, or the file of its description without hands."
    )


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


# The same of unitree_go, which the first H1 shares with Unitree's four-legged robots.
_GO_IMU = np.dtype([
    ("quaternion", "<f4", 4), ("gyroscope", "<f4", 3), ("accelerometer", "<f4", 3),
    ("rpy", "<f4", 3), ("temperature", "u1"),
])  # fmt: skip
_GO_MOTOR_STATE = np.dtype([
    ("q", "<f4"), ("dq", "<f4"), ("ddq", "<f4"), ("tau_est", "<f4"), ("raw", "<f4", 3),
    ("temperature", "u1"), ("filler", "u1", 3), ("lost", "<u4"), ("reserve", "<u4", 2),
    ("next_mode", "u1", 4),
])  # fmt: skip
_GO_MOTOR_CMD = np.dtype([
    ("q", "<f4"), ("dq", "<f4"), ("tau", "<f4"), ("kp", "<f4"), ("kd", "<f4"),
    ("reserve", "<u4", 3), ("next_mode", "u1", 4),
])  # fmt: skip
_GO_LOW_STATE = np.dtype({
    "names": ["imu_state", "motor_state", "tick", "wireless_remote", "power_v", "power_a", "crc"],
    "formats": [_GO_IMU, (_GO_MOTOR_STATE, GO_MOTORS), "<u4", ("u1", 40), "<f4", "<f4", "<u4"],
    "offsets": [24, 80, 1096, 1100, 1152, 1156, 1172], "itemsize": 1176,
})  # fmt: skip
_GO_LOW_CMD = np.dtype({
    "names": ["motor_cmd", "crc"], "formats": [(_GO_MOTOR_CMD, GO_MOTORS), "<u4"],
    "offsets": [24, 804], "itemsize": 808,
})  # fmt: skip
_LAYOUTS = {
    "unitree_hg": (_LOW_STATE, _LOW_CMD),
    "unitree_go": (_GO_LOW_STATE, _GO_LOW_CMD),
}


def read_low_state(data: bytes, family: Family = "unitree_hg") -> Any:
    """One LowState from its CDR bytes, as a numpy record: `["motor_state"]["q"]` is (motors,)."""
    return _record(data, _LAYOUTS[family][0], "LowState", family)


def read_low_cmd(data: bytes, family: Family = "unitree_hg") -> Any:
    """One LowCmd from its CDR bytes, as a numpy record: `["motor_cmd"]["q"]` is (motors,)."""
    return _record(data, _LAYOUTS[family][1], "LowCmd", family)


# The same command as Unitree's own programs have it in memory, over which its checksum goes.
_NATIVE_CMD: dict[str, np.dtype[Any]] = {
    "unitree_hg": np.dtype(
        [
            ("mode_pr", "u1"), ("mode_machine", "u1"),
            ("motor_cmd", np.dtype([("mode", "u1"), *((name, "<f4") for name in (
                "q", "dq", "tau", "kp", "kd")), ("reserve", "<u4")], align=True), MOTORS),
            ("reserve", "<u4", 4), ("crc", "<u4"),
        ], align=True,
    ),
    "unitree_go": np.dtype(
        [
            ("head", "u1", 2), ("level_flag", "u1"), ("frame_reserve", "u1"), ("sn", "<u4", 2),
            ("version", "<u4", 2), ("bandwidth", "<u2"),
            ("motor_cmd", np.dtype([("mode", "u1"), *((name, "<f4") for name in (
                "q", "dq", "tau", "kp", "kd")), ("reserve", "<u4", 3)], align=True), GO_MOTORS),
            ("bms_cmd", "u1", 4), ("wireless_remote", "u1", 40), ("led", "u1", 12),
            ("fan", "u1", 2), ("gpio", "u1"), ("reserve", "<u4"), ("crc", "<u4"),
        ], align=True,
    ),
}  # fmt: skip
# Where the motors begin on the wire, which has less filler before the first one than memory has.
_FIRST_MOTOR = {"unitree_hg": 2, "unitree_go": 22}
_LITTLE_CDR = b"\x00\x01\x00\x00"
_MIRRORED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


@dataclass(frozen=True, eq=False)
class MotorCommand:
    """What motors are told, each (m,): angle, speed, torque on top, stiffness and damping."""

    q: NDArray[np.float64]
    dq: NDArray[np.float64]
    tau: NDArray[np.float64]
    kp: NDArray[np.float64]
    kd: NDArray[np.float64]


def write_arm_command(
    model: UnitreeModel, motors: Sequence[int], command: MotorCommand, weight: float
) -> bytes:
    """A LowCmd for the arms as CDR bytes; `motors` are their places in the message."""
    if model.arm_weight is None:
        raise DdsError(f"Unitree {model.title}, got a command of its arms; expected G1 or H1.")
    record = np.zeros((), _NATIVE_CMD[model.family])
    rows = record["motor_cmd"]
    for name in ("q", "dq", "tau", "kp", "kd"):
        rows[name][list(motors)] = getattr(command, name)
    rows["mode"][list(motors)] = 1
    rows["q"][model.arm_weight] = weight
    if model.family == "unitree_go":
        record["head"], record["level_flag"] = (0xFE, 0xEF), 0xFF
    record["crc"] = _checksum(record.tobytes()[:-4])
    first = _FIRST_MOTOR[model.family]
    native = record.tobytes()
    return _LITTLE_CDR + native[:first] + native[first + 2 : first + 4] + native[first + 6 :]


def is_intact(data: bytes, family: Family = "unitree_hg") -> bool:
    """Whether a LowCmd's own checksum is that of its content."""
    body, first = data[_CDR_HEADER:], _FIRST_MOTOR[family]
    native = body[:first] + b"\0\0" + body[first : first + 2] + b"\0\0" + body[first + 2 :]
    size = _NATIVE_CMD[family].itemsize
    native = native[:size]
    return len(native) == size and _checksum(native[:-4]) == int.from_bytes(native[-4:], "little")


def blank_low_state(family: Family = "unitree_hg") -> Any:
    """A LowState of zeros as a numpy record, to be filled and sent by `write_low_state`."""
    return np.zeros((), _LAYOUTS[family][0])


def write_low_state(record: Any) -> bytes:
    """A LowState as CDR bytes."""
    return _LITTLE_CDR + bytes(record.tobytes())


def is_remote_pressed(remote: Any, button: str) -> bool:
    """Whether a button of the hand-held remote is down, in the 40 bytes that a state has of it."""
    keys = int(remote[2]) | int(remote[3]) << 8
    return bool(keys >> REMOTE_BUTTONS.index(button) & 1)


def press_remote(remote: Any, button: str) -> None:
    """Have a button of the remote be down in the bytes of a state."""
    bit = REMOTE_BUTTONS.index(button)
    remote[2 + bit // 8] |= 1 << bit % 8


def _checksum(words: bytes) -> int:
    """CRC-32 with the polynomial 04C11DB7, the highest bit of every word first, as Unitree's is."""
    swapped = np.frombuffer(words, "<u4").astype(">u4").tobytes()
    mirrored = zlib.crc32(swapped.translate(_MIRRORED)) ^ 0xFFFFFFFF
    return int.from_bytes(mirrored.to_bytes(4, "little").translate(_MIRRORED), "big")


def _record(data: bytes, layout: np.dtype[Any], what: str, family: Family) -> Any:
    # The second byte of the header tells little from big endian; its last, how much is filler.
    filler = data[3] & 3 if len(data) >= _CDR_HEADER else 0
    if len(data) - filler != _CDR_HEADER + layout.itemsize or data[0] != 0 or data[1] > 1:
        raise DdsError(
            f"{what} message, got {len(data)} bytes; expected {_CDR_HEADER + layout.itemsize} of "
            f"plain CDR. Check that the robot speaks {family}: {_speakers(family)}."
        )
    order = layout if data[1] == 1 else layout.newbyteorder(">")
    return np.frombuffer(data, order, count=1, offset=_CDR_HEADER)[0]


def _speakers(family: Family) -> str:
    return ", ".join(model.title for model in MODELS if model.family == family)


@cache
def dds_types(family: Family = "unitree_hg") -> SimpleNamespace:
    """The DDS types by name: IMUState, MotorState, LowState, MotorCmd, LowCmd, and their parts."""
    return _hg_types() if family == "unitree_hg" else _go_types()


def _hg_types() -> SimpleNamespace:
    types = _idl("types")
    floats, words = types.float32, types.uint32
    imu = _imu_type("unitree_hg", types.int16)
    motor_state = _struct(
        "unitree_hg", "MotorState_", mode=types.uint8, q=floats, dq=floats, ddq=floats,
        tau_est=floats, temperature=types.array[types.int16, 2], vol=floats,
        sensor=types.array[words, 2], motorstate=words, reserve=types.array[words, 4],
    )  # fmt: skip
    low_state = _struct(
        "unitree_hg", "LowState_", version=types.array[words, 2], mode_pr=types.uint8,
        mode_machine=types.uint8, tick=words, imu_state=imu,
        motor_state=types.array[motor_state, MOTORS],
        wireless_remote=types.array[types.uint8, 40], reserve=types.array[words, 4], crc=words,
    )  # fmt: skip
    motor_cmd = _struct(
        "unitree_hg", "MotorCmd_", mode=types.uint8, q=floats, dq=floats, tau=floats, kp=floats,
        kd=floats, reserve=words,
    )  # fmt: skip
    low_cmd = _struct(
        "unitree_hg", "LowCmd_", mode_pr=types.uint8, mode_machine=types.uint8,
        motor_cmd=types.array[motor_cmd, MOTORS], reserve=types.array[words, 4], crc=words,
    )  # fmt: skip
    return SimpleNamespace(
        IMUState=imu, MotorState=motor_state, LowState=low_state, MotorCmd=motor_cmd, LowCmd=low_cmd
    )


def _go_types() -> SimpleNamespace:
    types = _idl("types")
    floats, words, byte, short = types.float32, types.uint32, types.uint8, types.uint16
    family = "unitree_go"
    imu = _imu_type(family, byte)
    motor_state = _struct(
        family, "MotorState_", mode=byte, q=floats, dq=floats, ddq=floats, tau_est=floats,
        q_raw=floats, dq_raw=floats, ddq_raw=floats, temperature=byte, lost=words,
        reserve=types.array[words, 2],
    )  # fmt: skip
    battery = _struct(
        family, "BmsState_", version_high=byte, version_low=byte, status=byte, soc=byte,
        current=types.int32, cycle=short, bq_ntc=types.array[byte, 2],
        mcu_ntc=types.array[byte, 2], cell_vol=types.array[short, 15],
    )  # fmt: skip
    battery_cmd = _struct(family, "BmsCmd_", off=byte, reserve=types.array[byte, 3])
    head = {
        "head": types.array[byte, 2], "level_flag": byte, "frame_reserve": byte,
        "sn": types.array[words, 2], "version": types.array[words, 2], "bandwidth": short,
    }  # fmt: skip
    low_state = _struct(
        family, "LowState_", **head, imu_state=imu,
        motor_state=types.array[motor_state, GO_MOTORS], bms_state=battery,
        foot_force=types.array[types.int16, 4], foot_force_est=types.array[types.int16, 4],
        tick=words, wireless_remote=types.array[byte, 40], bit_flag=byte, adc_reel=floats,
        temperature_ntc1=byte, temperature_ntc2=byte, power_v=floats, power_a=floats,
        fan_frequency=types.array[short, 4], reserve=words, crc=words,
    )  # fmt: skip
    motor_cmd = _struct(
        family, "MotorCmd_", mode=byte, q=floats, dq=floats, tau=floats, kp=floats, kd=floats,
        reserve=types.array[words, 3],
    )  # fmt: skip
    low_cmd = _struct(
        family, "LowCmd_", **head, motor_cmd=types.array[motor_cmd, GO_MOTORS],
        bms_cmd=battery_cmd, wireless_remote=types.array[byte, 40], led=types.array[byte, 12],
        fan=types.array[byte, 2], gpio=byte, reserve=words, crc=words,
    )  # fmt: skip
    return SimpleNamespace(
        IMUState=imu, MotorState=motor_state, LowState=low_state, MotorCmd=motor_cmd,
        LowCmd=low_cmd, BmsState=battery, BmsCmd=battery_cmd,
    )  # fmt: skip


def _imu_type(family: str, temperature: Any) -> Any:
    types = _idl("types")
    return _struct(
        family, "IMUState_", quaternion=types.array[types.float32, 4],
        gyroscope=types.array[types.float32, 3], accelerometer=types.array[types.float32, 3],
        rpy=types.array[types.float32, 3], temperature=temperature,
    )  # fmt: skip


def _idl(part: str) -> Any:
    try:
        return import_module(f"cyclonedds.idl.{part}")
    except ImportError:
        raise MissingExtraError("cyclonedds", "live") from None


def _struct(family: str, name: str, **fields: Any) -> Any:
    from cyclonedds.idl import make_idl_struct

    annotations = _idl("annotations")
    struct = make_idl_struct(name, f"{family}::msg::dds_::{name}", fields)
    return annotations.autoid("sequential")(annotations.final(struct))
