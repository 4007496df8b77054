"""Joints of a robot over time: an episode, such as a retargeted clip, or a table of angles."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from corporeal.episode import Episode
from corporeal.errors import CorporealError, EpisodeError
from corporeal.files import refuse_pointer
from corporeal.geometry import Array
from corporeal.schema import roles
from corporeal.teleoperation.leader import GRIPPERS
from corporeal.teleoperation.operator_input import (
    LONGEST_GAP_NS,
    InputError,
    InputSource,
    InputTimes,
    OperatorInput,
)

STREAM, TIME = "motion", "time_s"
_STEP_S = 0.01
# Between samples farther apart nothing is made up: the robot is held.
_GAP_S = 0.1
_MOST_BYTES = 256 << 20


def accepts(path: Path) -> bool:
    """Whether it is an episode with joints, or a CSV of times and joints."""
    if path.suffix == ".h5":
        refuse_pointer(path)
        try:
            with Episode(path) as episode:
                return _named(episode) is not None
        except EpisodeError:
            return False
    return path.suffix == ".csv" and _header(path)[:1] == [TIME]


def streams(path: Path) -> dict[str, tuple[str, ...]]:
    """The names of its joints, and of its grippers where it has some."""
    if path.suffix == ".csv":
        return {STREAM: tuple(_header(path)[1:])}
    with Episode(path) as episode:
        return {STREAM: (*episode[_named(episode) or ""].spec.names, *_grippers(episode))}


def read(path: Path) -> Iterator[OperatorInput]:
    """The joints a hundred times a second; raises InputError for what is no such file."""
    try:
        seconds, angles = _table(path) if path.suffix == ".csv" else _episode(path)
    except (CorporealError, ValueError, OSError) as error:
        raise InputError(f"{path}: {error} Record or retarget it again.") from None
    if len(seconds) < 2 or not np.isfinite(seconds).all() or (np.diff(seconds) <= 0).any():
        raise InputError(f"{path}: times; expected two or more, each later than the one before.")
    if (seconds[-1] - seconds[0]) * 1e9 > LONGEST_GAP_NS + 1e9 * len(seconds):
        raise InputError(f"{path}: times; expected samples less than a second apart.")
    return _inputs(seconds, angles)


def _inputs(seconds: Array, angles: Array) -> Iterator[OperatorInput]:
    count = int((seconds[-1] - seconds[0]) / _STEP_S) + 1
    for number in range(count):
        time_s = float(seconds[0]) + number * _STEP_S
        after = int(np.clip(np.searchsorted(seconds, time_s), 1, len(seconds) - 1))
        apart = float(seconds[after] - seconds[after - 1])
        if apart > _GAP_S:
            continue
        share = (time_s - float(seconds[after - 1])) / apart
        row = angles[after - 1] + share * (angles[after] - angles[after - 1])
        time_ns = round((time_s - float(seconds[0])) * 1e9)
        times = InputTimes(time_ns, time_ns)
        yield OperatorInput(number, times, joints={STREAM: row})


def _named(episode: Episode) -> str | None:
    """What the robot was told, else what it did, which a load makes less."""
    for path in (f"actions/{roles.JOINT_POSITION_TARGET}", f"observations/{roles.JOINT_POSITION}"):
        if path in episode and episode[path].spec.names:
            return path
    return None


def _grippers(episode: Episode) -> dict[str, str]:
    """By gripper the stream that says how far (m) it was to be open, else how far it was.

    Fingers are as far apart as what they hold is wide: only what they were told squeezes it.
    """
    known = {}
    for name in GRIPPERS:
        for path in (f"actions/{name}_target", f"observations/{name}"):
            if name not in known and path in episode and episode[path].spec.unit == "m":
                known[name] = path
    return known


def _episode(path: Path) -> tuple[Array, Array]:
    with Episode(path) as episode:
        reader = episode[_named(episode) or ""]
        seconds, columns = np.asarray(reader.time_ns) / 1e9, [np.asarray(reader[:], np.float64)]
        for gripper in _grippers(episode).values():
            openings = np.asarray(episode[gripper][:], np.float64)[:, 0]
            own_s = np.asarray(episode[gripper].time_ns) / 1e9
            columns.append(np.interp(seconds, own_s, openings)[:, None])
        return seconds, np.concatenate(columns, axis=1)


def _header(path: Path) -> list[str]:
    refuse_pointer(path)
    with path.open("rb") as file:
        line = file.readline(1 << 16).decode("utf-8-sig", errors="replace")
    return next(csv.reader([line]), [])


def _table(path: Path) -> tuple[Array, Array]:
    if path.stat().st_size > _MOST_BYTES:
        raise ValueError(f"a table of {path.stat().st_size} bytes; expected {_MOST_BYTES} at most.")
    titles = _header(path)
    rows = np.loadtxt(path, np.float64, delimiter=",", skiprows=1, ndmin=2, encoding="utf-8-sig")
    if rows.shape[1] != len(titles):
        raise ValueError(f"{rows.shape[1]} columns; expected the {len(titles)} of its first line.")
    return rows[:, 0], rows[:, 1:]


INPUT = InputSource(read, accepts, streams)
