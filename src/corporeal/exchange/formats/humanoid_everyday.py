"""Humanoid Everyday: episode_0/data.json with colour, depth and lidar files for every step.

The file is a list of steps with `time` (Unix seconds), `states`, `actions`, and the names of an
`image` (JPEG or PNG), a `depth` map (LZMA around 16-bit numbers of the image's size) and a `lidar`
cloud (PCD, whose name has six digits after the point where data.json drops zeros). `robot_type` is
G1, or absent for an H1_2. The 14 arm angles and their solution `sol_q` are in documented order.

The 13 or 15 angles of `leg_state` are documented in an order (hip yaw, roll, pitch) that is not
the G1's own (pitch, roll, yaw), so their columns stay numbered. `left_angles` and `right_angles`
are called joint angles by the documentation and hand commands by its converter: they stay
numbered too. The unit of depth is not documented; millimetres are what the camera gives.
"""

from __future__ import annotations

import lzma
import math
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import guess_robot
from corporeal.episode.recording import INDEX_WRONG, Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange.format import Format, dataset_of
from corporeal.exchange.json_text import read_json
from corporeal.exchange.steps import (
    DATA,
    StepColumn,
    StepReading,
    begins_with,
    episode_folders,
    read_frame,
    side_by_side,
    value_at,
)
from corporeal.exchange.stored_samples import StoredSignal
from corporeal.schema import Stream, roles
from corporeal.schema.stream import Group
from corporeal.signal.grid import even_stamps
from corporeal.units import SECOND_NS

MAX_HEAD = 1 << 12
MAX_POINTS = 1 << 22
_KINDS = {"F": "f", "I": "i", "U": "u"}
_SIZES = {"F": (4, 8), "I": (1, 2, 4, 8), "U": (1, 2, 4, 8)}


def read_pcd(path: Path) -> NDArray[np.float32]:
    """The points (n, 3) of a file with plain text or plain bytes in it."""
    raw = read_frame(path)
    try:
        return _points(raw)
    except (ValueError, KeyError, IndexError, UnicodeDecodeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
        raise EpisodeError(f"{path}: not a PCD file ({reason}). Replace it.") from None


def _points(raw: bytes) -> NDArray[np.float32]:
    head, body = _head(raw)
    names = head["FIELDS"]
    sizes, kinds = [int(size) for size in head["SIZE"]], head["TYPE"]
    counts = [int(count) for count in head.get("COUNT", ["1"] * len(names))]
    number = int(head["POINTS"][0])
    if not len(names) == len(sizes) == len(kinds) == len(counts) <= 64:
        raise ValueError("its fields, sizes and types do not agree")
    if not 0 <= number <= MAX_POINTS or not all(0 < count <= 256 for count in counts):
        raise ValueError(f"{number} points; expected at most {MAX_POINTS}")
    wanted = [names.index(axis) for axis in roles.POSITION]
    if head["DATA"] == ["ascii"]:
        starts = np.cumsum([0, *counts])
        values = np.array(body.decode("ascii").split(), np.float64)
        rows = values.reshape(number, int(starts[-1]))
        return rows[:, starts[wanted]].astype(np.float32)
    if head["DATA"] != ["binary"]:
        raise ValueError(f"{' '.join(head['DATA'])} data; expected ascii or binary")
    if any(size not in _SIZES[kind] for size, kind in zip(sizes, kinds, strict=True)):
        raise ValueError("types that are not numbers")
    layout = np.dtype(
        [
            (f"f{place}", f"<{_KINDS[kind]}{size}", (count,))
            for place, (kind, size, count) in enumerate(zip(kinds, sizes, counts, strict=True))
        ]
    )
    table = np.frombuffer(body, layout, number)
    return np.stack([table[f"f{place}"][:, 0] for place in wanted], axis=1).astype(np.float32)


def _head(raw: bytes) -> tuple[dict[str, list[str]], bytes]:
    """The lines before the data, by their first word, and the data."""
    found: dict[str, list[str]] = {}
    place = 0
    while "DATA" not in found:
        end = raw.find(b"\n", place, MAX_HEAD)
        if end < 0:
            raise ValueError("no DATA line at its beginning")
        words = raw[place:end].decode("ascii").split()
        if words and not words[0].startswith("#"):
            found[words[0]] = words[1:]
        place = end + 1
    return found, raw[place:]


RATE_HZ = 30.0
_ARM = ("ShoulderPitch", "ShoulderRoll", "ShoulderYaw", "Elbow", "WristRoll", "WristPitch",
        "WristYaw")  # fmt: skip
ARMS = tuple(f"{side}{joint}" for side in ("Left", "Right") for joint in _ARM)
_RPY = ("roll", "pitch", "yaw")
_READINGS = 4
# Where a quantity lies: name of the stream, group, names of its entries, unit.
_PLAIN: Mapping[tuple[str, ...], tuple[str, Group, tuple[str, ...] | None, str]] = {
    ("states", "leg_state"): ("leg_state", "observations", None, "1"),
    ("states", "hand_state"): ("hand_state", "observations", None, "1"),
    ("states", "imu", "quaternion"): ("imu_orientation", "observations", roles.QUATERNION, "1"),
    ("states", "imu", "accelerometer"): (
        "imu_acceleration", "observations", ("ax", "ay", "az"), "m/s2"),
    ("states", "imu", "gyroscope"): ("imu_rotation", "observations", ("gx", "gy", "gz"), "rad/s"),
    ("states", "imu", "rpy"): ("imu_rpy", "observations", _RPY, "rad"),
    ("states", "odometry", "velocity"): (roles.BASE_VELOCITY, "debug", ("vx", "vy", "vz"), "m/s"),
    ("states", "odometry", "rpy"): ("base_rpy", "debug", _RPY, "rad"),
    ("actions", "left_angles"): ("left_angles", "actions", None, "1"),
    ("actions", "right_angles"): ("right_angles", "actions", None, "1"),
    ("actions", "tau_ff"): (roles.JOINT_TORQUE_TARGET, "actions", ARMS, "N m"),
    ("actions", "head_rmat"): ("head_rmat", "actions", None, "1"),
    ("actions", "left_pose"): ("left_pose", "actions", None, "1"),
    ("actions", "right_pose"): ("right_pose", "actions", None, "1"),
    ("actions", "armtime"): ("armtime", "actions", None, "s"),
    ("actions", "iktime"): ("iktime", "actions", None, "s"),
}  # fmt: skip


def recognises(path: Path) -> bool:
    """Whether a data.json that is a list of steps lies in the folder or in its episodes."""
    return any(
        begins_with(folder / DATA, "[", "time", "states") for folder in episode_folders(path)[:1]
    )


def read(path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The episodes in order of their numbers."""
    folders = episode_folders(path)
    return dataset_of(path, "humanoid_everyday", folders, partial(_open, robot))


def _open(robot: Embodiment | None, folder: Path, index: int) -> Recording:
    steps = read_json(folder / DATA)
    if not isinstance(steps, list) or not steps:
        raise EpisodeError(f"{folder / DATA}: no step in it; expected a list of steps.")
    stamps, epoch_ns = _stamps(steps)
    spoken = value_at(steps[0], "robot_type") or value_at(steps[0], "states", "robot_type")
    model = robot or guess_robot(spoken if isinstance(spoken, str) else None, ARMS)
    reading = StepReading(index, RATE_HZ, model, folder=folder, steps=steps, time_ns=stamps)
    _joints(reading)
    _numbers(reading)
    _pressure(reading)
    _pictures(reading)
    reading.looked_at |= {("time",), ("robot_type",), ("states", "robot_type")}
    reading.leave_out_rest()
    task = folder.parent.name
    return reading.to_recording(
        f"{task}_{folder.name}",
        folder / DATA,
        {
            "fps": RATE_HZ,
            "robot_type": spoken,
            "task": task,
            "instruction": re.sub(r"[_\s]+", " ", task).strip(),
        },
        epoch_ns=epoch_ns,
        regridded=not epoch_ns,
    )


def _stamps(steps: Sequence[Any]) -> tuple[NDArray[np.int64], int]:
    """Stamps from the first step on and its Unix time; even ones and 0 if any step has none."""
    times = [value_at(step, "time") for step in steps]
    known = [
        float(time)
        for time in times
        if isinstance(time, int | float) and math.isfinite(time) and 0 < time < 9e9
    ]
    if len(known) < len(steps):
        return even_stamps(len(steps), RATE_HZ), 0
    stamps = np.round(np.array(known) * SECOND_NS).astype(np.int64)
    return stamps - stamps[0], int(stamps[0])


def _joints(reading: StepReading) -> None:
    """The arms: what they do and what they are told."""
    for keys, role in ((("states", "arm_state"), "qpos"), (("actions", "sol_q"), "action")):
        reading.add(".".join(keys), reading.column(*keys), role=role, names=ARMS)


def _numbers(reading: StepReading) -> None:
    for keys, stated in _PLAIN.items():
        reading.add_stream(".".join(keys), reading.column(*keys), *stated)
    position = reading.column("states", "odometry", "position")
    turn = reading.column("states", "odometry", "quat")
    if position.values.shape[1:] == (3,) and turn.values.shape[1:] == (4,):
        pose = side_by_side([position, turn])
        reading.add_stream("states.odometry", pose, roles.BASE_POSE, "debug", roles.POSE,
                           roles.POSE_UNITS, "world")  # fmt: skip


def _pressure(reading: StepReading) -> None:
    """The sensors of both hands (sensors, 4); a sensor with fewer readings has NaN after them."""
    reading.looked_at.add(("states", "hand_pressure_state"))
    rows, places = [], []
    for number, step in enumerate(reading.steps):
        sensors = value_at(step, "states", "hand_pressure_state")
        if isinstance(sensors, list) and sensors:
            rows.append([_readings(sensor) for sensor in sensors])
            places.append(number)
    widths = {len(row) for row in rows}
    if len(widths) == 1 and widths.pop() <= 256:
        found = StepColumn(np.array(rows, np.float64), np.array(places, np.int64))
        label = "states.hand_pressure_state"
        reading.add_stream(label, found, "hand_pressure")
    elif rows:
        message = "hand_pressure_state has another number of sensors in some steps: left out"
        reading.complain(INDEX_WRONG, message)


def _readings(sensor: Any) -> list[float]:
    values = value_at(sensor, "usable_readings")
    known = [float(value) for value in (values if isinstance(values, list) else ())
             if isinstance(value, int | float)]  # fmt: skip
    return [*known[:_READINGS], *[math.nan] * (_READINGS - len(known))]


def _pictures(reading: StepReading) -> None:
    reading.add_stills("image", "image", name="image")
    if "image" in reading.signals:
        height, width = (int(length) for length in reading.signals["image"].spec.shape[:2])
        spec = Stream(name="depth", group="observations", kind="depth", shape=(height, width),
                      rate_hz=RATE_HZ, unit="mm")  # fmt: skip
        files, stamps = reading.files("depth", "depth")
        if files:
            load = partial(_depth, (height, width))
            reading.signals["depth"] = StoredSignal(spec, stamps, files, load)
    files, stamps = reading.files("lidar", "lidar", spell=_padded)
    if files:
        spec = Stream(name="lidar", group="observations", kind="points", shape=(3,),
                      rate_hz=RATE_HZ, components=roles.POSITION, unit="m")  # fmt: skip
        reading.signals["lidar"] = StoredSignal(spec, stamps, files, read_pcd)


def _padded(path: Path) -> Path:
    """The cloud's file, whose name keeps the zeros at the end of a time that JSON drops."""
    if path.is_file():
        return path
    digits = re.fullmatch(r"(.*\d\.)(\d{1,6})(\.pcd)", path.name)
    return path.with_name(f"{digits[1]}{digits[2]:0<6}{digits[3]}") if digits else path


def _depth(size: tuple[int, int], path: Path) -> NDArray[np.uint16]:
    wanted = size[0] * size[1] * 2
    try:
        # Never more than a frame: a small file may unpack to gigabytes.
        unpacked = lzma.LZMADecompressor(memlimit=1 << 28).decompress(read_frame(path), wanted + 1)
    except lzma.LZMAError as error:
        raise EpisodeError(f"{path}: cannot be unpacked ({error}). Replace it.") from None
    if len(unpacked) != wanted:
        raise EpisodeError(
            f"{path}: unpacks to {'more than ' if len(unpacked) > wanted else ''}"
            f"{min(len(unpacked), wanted)} bytes; expected {wanted} for {size[0]} x {size[1]}."
        )
    return np.frombuffer(unpacked, "<u2").reshape(size).astype(np.uint16)


FORMAT = Format(
    read=read,
    recognises=recognises,
    title="Humanoid Everyday",
)
