"""RH20T: a folder for every scene, task_0001_user_0001_scene_0001_cfg_0001.

`metadata.json` has finish_time, calib and rating; the set's converter takes 2 and more for done.
`cam_<serial>/color.mp4` has a stamp in `timestamps.npy` for each picture. `transformed/*.npy` hold,
by camera, what the robot did when that camera took a picture: tcp_base (x y z qw qx qy qz in
metres, and robot_ft), force_torque_base (raw and zeroed), gripper (command and info, the first
number of which is the opening in millimetres), joint (by stamp). These are merged in order of time.
high_freq_data has pose and wrench at the rate of the sensor. All stamps are Unix milliseconds.

All .npy files here are pickles: they are read without running anything. The robot follows from the
number after cfg; of joints, what comes after the angles is speed for Flexiv and Franka. Not read:
depth.mp4 (two bytes in a lossy movie), sound, tactile data, and values in the frames of cameras.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.episode.recording import FOOTAGE_INCOMPLETE, METADATA_WRONG, Dataset, Recording
from corporeal.errors import CorporealError, EpisodeError
from corporeal.exchange.foreign_stream import EpisodeReading
from corporeal.exchange.format import Format, dataset_of, in_order
from corporeal.exchange.json_text import read_json
from corporeal.exchange.movie.foreign_movie import read_header
from corporeal.exchange.restricted_pickle import read_pickled_npy
from corporeal.schema import roles
from corporeal.schema.stream import Group

Samples = tuple[NDArray[np.int64], NDArray[np.float64]]
_MS_NS = 1_000_000
# Stamps up to the year 2255; what is beyond is no time, and would not fit in nanoseconds.
_MAX_MS = 9_000_000_000_000


def stamped_pairs(table: Mapping[Any, Any], key: str) -> Iterator[tuple[Any, Any]]:
    """Stamps and values of the entries {timestamp, key, ...} of all cameras."""
    for entries in table.values():
        for entry in entries if isinstance(entries, list) else ():
            if isinstance(entry, Mapping) and key in entry:
                yield entry.get("timestamp"), entry[key]


def stamped(table: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    """Stamps and values of tables {stamp: value} of all cameras."""
    for entries in table.values():
        if isinstance(entries, Mapping):
            yield from entries.items()


def merge_samples(pairs: Iterable[tuple[Any, Any]]) -> Samples:
    """Samples in order of time, each stamp once; those that most are not like are left out."""
    found: dict[int, NDArray[np.float64]] = {}
    for stamp, value in pairs:
        try:
            row = np.asarray(value, np.float64).reshape(-1)
            found.setdefault(int(stamp), row)
        except (TypeError, ValueError, OverflowError):
            continue
    sizes = [len(row) for row in found.values()]
    usual = max(set(sizes), key=sizes.count, default=0)
    kept = sorted(
        stamp for stamp, row in found.items() if len(row) == usual and 0 <= stamp < _MAX_MS
    )
    if not usual or not kept:
        return np.zeros(0, np.int64), np.zeros((0, 1))
    return np.array(kept, np.int64) * _MS_NS, np.stack([found[stamp] for stamp in kept])


def picture_stamps(path: Path) -> NDArray[np.int64]:
    """The times of a camera's pictures, in their order; raises EpisodeError when they are none."""
    found = read_pickled_npy(path)
    try:
        stamps = np.asarray(found["color"], np.int64).reshape(-1)
    except (TypeError, ValueError, KeyError, IndexError, OverflowError):
        raise EpisodeError(
            f"{path}: no stamps of the pictures under 'color'. Replace it."
        ) from None
    if len(stamps) and not 0 <= stamps.min() <= stamps.max() < _MAX_MS:
        raise EpisodeError(f"{path}: stamps that are no Unix milliseconds. Replace it.")
    return stamps * _MS_NS


_SCENE = re.compile(r"task_(\d+)_user_(\d+)_scene_(\d+)_cfg_(\d+)(_human)?")
_SUCCESS_FROM = 2
_UR5 = ("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint", "wrist_1_joint",
        "wrist_2_joint", "wrist_3_joint")  # fmt: skip
# Name of the robot, its joints in order, and whether their speeds follow the angles.
_FLEXIV = ("flexiv", tuple(f"joint{number}" for number in range(1, 8)), True)
_KUKA = ("kuka", tuple(f"lbr_iiwa_joint_{number}" for number in range(1, 8)), False)
_FRANKA = ("franka", tuple(f"panda_joint{number}" for number in range(1, 8)), True)
_UR = ("ur5", _UR5, False)
_ROBOTS = {1: _FLEXIV, 2: _FLEXIV, 3: _UR, 4: _UR, 5: _FRANKA, 6: _KUKA, 7: _KUKA}
_POSE = (roles.POSE, roles.POSE_UNITS)
_WRENCH = (("fx", "fy", "fz", "tx", "ty", "tz"), ("N", "N", "N", "N m", "N m", "N m"))
# File, key in its entries, name of the stream, its entries and units.
_CAMERA_FILES = ("color.mp4", "depth.mp4", "timestamps.npy")
_TABLES = (
    ("tcp_base", "tcp", "tcp_pose", _POSE),
    ("tcp_base", "robot_ft", "robot_wrench", _WRENCH),
    ("force_torque_base", "zeroed", "wrench", _WRENCH),
    ("force_torque_base", "raw", "wrench_raw", _WRENCH),
    ("high_freq_data", "tcp", "fast_tcp_pose", _POSE),
    ("high_freq_data", "zeroed", "fast_wrench", _WRENCH),
    ("high_freq_data", "raw", "fast_wrench_raw", _WRENCH),
)


def recognises(path: Path) -> bool:
    """Whether the folder is a scene or holds scenes."""
    return bool(_scenes(path))


def read(path: Path, *, robot: Embodiment | None = None) -> Dataset:
    """The scenes in order of their names."""
    scenes = _scenes(path)
    return dataset_of(path, "rh20t", scenes, partial(_open, robot), noun="scene")


def _scenes(path: Path) -> list[Path]:
    if _is_scene(path):
        return [path]
    if not path.is_dir():
        return []
    return in_order(folder for folder in path.iterdir() if _is_scene(folder))


def _is_scene(path: Path) -> bool:
    return bool(_SCENE.fullmatch(path.name)) and (path / "metadata.json").is_file()


def _open(robot: Embodiment | None, scene: Path, index: int) -> Recording:
    # Stamps are Unix nanoseconds until all are known.
    reading = EpisodeReading(index, robot=robot)
    metadata = _metadata(scene)
    tables = {file: _table(scene, file) for file in dict.fromkeys(row[0] for row in _TABLES)}
    for file, key, name, (entries, units) in _TABLES:
        samples = merge_samples(stamped_pairs(tables[file], key))
        _take(reading, f"transformed/{file}.{key}", samples, name, entries, units)
    _take_gripper(reading, _table(scene, "gripper"))
    _take_joints(reading, _table(scene, "joint"), metadata["cfg"])
    for folder in sorted(scene.glob("cam_*")):
        if (folder / "color.mp4").is_file():
            _take_camera(reading, folder)
    _leave_out_files(reading, scene)
    if not reading.signals:
        raise EpisodeError(f"{scene}: neither transformed values nor a movie in it. Replace it.")
    epoch_ns = min(int(signal.time_ns[0]) for signal in reading.signals.values())
    for label, signal in reading.signals.items():
        moved: Any = replace(cast(Any, signal), time_ns=signal.time_ns - epoch_ns)
        reading.signals[label] = moved
    return reading.to_recording(scene.name, scene / "metadata.json", metadata, epoch_ns=epoch_ns)


def _leave_out_files(reading: EpisodeReading, scene: Path) -> None:
    """Account for every file of the scene that is neither read nor named elsewhere."""
    tables = (*(row[0] for row in _TABLES), "gripper", "joint")
    known = {"metadata.json", *(f"transformed/{name}.npy" for name in tables)}
    for path in sorted(scene.rglob("*")):
        name = path.relative_to(scene).as_posix()
        is_camera = name.startswith("cam_") and path.name in _CAMERA_FILES
        if path.is_file() and name not in known and not is_camera:
            reading.leave_out(name, "unknown to this reader", lost=True)


def _table(scene: Path, name: str) -> Mapping[Any, Any]:
    """What a file of `transformed` holds by camera; nothing when it is not there."""
    path = scene / "transformed" / f"{name}.npy"
    if not path.is_file():
        return {}
    values = read_pickled_npy(path)
    if not isinstance(values, Mapping):
        raise EpisodeError(f"{path}: got {type(values).__name__}; expected values by camera.")
    return values


def _take(
    reading: EpisodeReading,
    label: str,
    samples: Samples,
    name: str,
    entries: Sequence[str],
    units: Sequence[str],
    group: Group = "observations",
) -> None:
    stamps, values = samples
    if not len(stamps):
        return
    if values.shape[1:] != (len(entries),):
        message = f"{label} has {values.shape[1]} entries; expected {len(entries)}: left out"
        reading.complain(METADATA_WRONG, message, label)
        return
    frame = "base" if "pose" in name or "wrench" in name else None
    reading.take_stream(
        label, values, stamps, name=name, group=group, names=entries, unit=units, frame=frame
    )


def _take_unnamed(reading: EpisodeReading, label: str, samples: Samples, name: str) -> None:
    """Numbers of which nobody says what they are."""
    entries = [f"given_{number}" for number in range(samples[1].shape[1])]
    _take(reading, label, samples, name, entries, ["1"] * len(entries))


def _take_gripper(reading: EpisodeReading, table: Mapping[Any, Any]) -> None:
    groups: dict[str, Group] = {"gripper_command": "actions", "gripper_info": "observations"}
    for key, group in groups.items():
        pairs = ((stamp, entry[key]) for stamp, entry in stamped(table)
                 if isinstance(entry, Mapping) and key in entry)  # fmt: skip
        samples = merge_samples(pairs)
        width = samples[1].shape[1]
        entries = ("opening", *(f"given_{number}" for number in range(1, width)))
        units = ("mm", *["1"] * (width - 1))
        _take(reading, f"transformed/gripper.{key}", samples, key, entries, units, group)


def _take_joints(reading: EpisodeReading, table: Mapping[Any, Any], cfg: int) -> None:
    label = "transformed/joint"
    stamps, values = merge_samples(stamped(table))
    _, names, has_speeds = _ROBOTS.get(cfg, ("", (), False))
    count = len(names)
    if not len(stamps):
        return
    if not count or values.shape[1] < count:
        _take_unnamed(reading, label, (stamps, values), "joint_given")
        return
    angles, rest = values[:, :count], values[:, count:]
    if reading.robot is not None:
        reading.take_numbers(label, angles, stamps, role="qpos", names=names)
    else:
        _take(reading, label, (stamps, angles), roles.JOINT_POSITION, names, ["rad"] * count)
    if has_speeds and rest.shape[1] >= count:
        speeds, rest = rest[:, :count], rest[:, count:]
        _take(reading, f"{label}.speed", (stamps, speeds), roles.JOINT_VELOCITY, names,
              ["rad/s"] * count)  # fmt: skip
    if rest.shape[1]:
        _take_unnamed(reading, f"{label}.rest", (stamps, rest), "joint_rest")


def _take_camera(reading: EpisodeReading, folder: Path) -> None:
    movie, label = folder / "color.mp4", folder.name
    try:
        stamps = picture_stamps(folder / "timestamps.npy")
        header = read_header(movie)
    except CorporealError as error:
        reading.complain(FOOTAGE_INCOMPLETE, f"{label}: {error}", label)
        return
    if (folder / "depth.mp4").is_file():
        reading.complain(METADATA_WRONG, f"{label}/depth.mp4 is not read", label)
        reading.leave_out(f"{label}/depth.mp4", "depth as a movie is not read", kind="camera",
                          lost=True)  # fmt: skip
    if header.frames != len(stamps):
        message = f"{label} has {header.frames} pictures for {len(stamps)} stamps"
        reading.complain(
            FOOTAGE_INCOMPLETE, message, label, float(header.frames), float(len(stamps))
        )
    if len(stamps):
        reading.take_movie(label, movie, stamps, size=(header.height, header.width))


def _metadata(scene: Path) -> dict[str, Any]:
    document = read_json(scene / "metadata.json")
    stated: dict[str, Any] = dict(document) if isinstance(document, dict) else {}
    parts = _SCENE.fullmatch(scene.name)
    assert parts is not None
    names = ("task_number", "user", "scene", "cfg")
    stated |= {name: int(parts[place]) for place, name in enumerate(names, start=1)}
    stated["robot_type"] = _ROBOTS.get(stated["cfg"], (None, (), False))[0]
    stated["task"] = f"task_{parts[1]}"
    rating = stated.get("rating")
    if isinstance(rating, int) and not isinstance(rating, bool) and rating >= 0:
        stated["outcome"] = {"success": rating >= _SUCCESS_FROM}
    text = _description(scene, stated["task"])
    return stated | {"instruction": text} if text else stated


def _description(scene: Path, task: str) -> str | None:
    """What the task is, from task_description.json where that lies beside the scenes."""
    for folder in (scene.parent, scene.parent.parent):
        path = folder / "task_description.json"
        if path.is_file():
            known = read_json(path)
            entry = known.get(task) if isinstance(known, dict) else None
            text = entry.get("task_description_english") if isinstance(entry, dict) else None
            return text if isinstance(text, str) and text.strip() else None
    return None


FORMAT = Format(
    read=read,
    recognises=recognises,
    title="RH20T",
)
