"""Keypoints as files hold them: .npy arrays, JSON of names and frames, CSV with a header."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.keypoint.array_file import npy_shape, read_npy
from corporeal.retargeting.motion import MotionError

MAX_TEXT_BYTES = 1 << 28
MAX_KEYPOINTS = 1000
_LOOKED_AT = 1 << 16
_RATES = ("fps", "rate_hz", "frame_rate")
_TIMES = ("time", "time_s", "timestamp", "t")
_COLUMN = re.compile(r"(.+?)[_. :]?(x|y|z|c|conf|confidence|score|visibility)", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Keypoints:
    """Positions (T, K, 3), NaN where unknown, confidences (T, K); names and rate if it has them."""

    positions: Array
    confidence: Array
    names: tuple[str, ...] = ()
    rate_hz: float | None = None


def looks_like_keypoints(path: Path, counts: frozenset[int]) -> bool:
    """Whether a file begins as keypoints do; `counts` are those that an array may have."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        shape = npy_shape(path)
        return len(shape) == 3 and shape[1] in counts and shape[2] in (3, 4)
    if suffix not in (".json", ".csv"):
        return False
    try:
        with path.open(encoding="utf-8-sig") as file:
            start = file.read(_LOOKED_AT)
    except (OSError, UnicodeDecodeError):
        return False
    if suffix == ".csv":
        return len(_columns(start.partition("\n")[0].strip().split(","))) >= 8
    return '"frames"' in start and '"names"' in start


def read_keypoints(path: Path) -> Keypoints:
    """The keypoints of a file; raises MotionError in one sentence where it has none."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        return _keypoints(read_npy(path), path)
    if path.stat().st_size > MAX_TEXT_BYTES:
        raise MotionError(f"{path}: over {MAX_TEXT_BYTES >> 20} MiB of text. Save it as .npy.")
    try:
        return _from_json(path) if suffix == ".json" else _from_csv(path)
    except UnicodeDecodeError:
        raise MotionError(f"{path}: not UTF-8 text. Save it again.") from None


def _keypoints(
    array: Any, path: Path, names: tuple[str, ...] = (), rate_hz: float | None = None
) -> Keypoints:
    if array.ndim != 3 or array.shape[2] not in (3, 4) or array.dtype.kind not in "fiu":
        raise MotionError(
            f"{path}: got an array of {array.dtype} of shape {array.shape}; expected numbers of "
            "(frames, keypoints, 3) or 4 with confidence."
        )
    if not (len(array) and 0 < array.shape[1] <= MAX_KEYPOINTS):
        raise MotionError(
            f"{path}: got {len(array)} frames of {array.shape[1]} keypoints; expected some of each."
        )
    positions = np.array(array[..., :3], np.float64)
    confidence = np.ones(array.shape[:2])
    if array.shape[2] == 4:
        confidence = np.clip(np.nan_to_num(np.asarray(array[..., 3], np.float64)), 0.0, 1.0)
    # Trackers write zeros for what they lost; a point that is always there is an origin instead.
    zero = np.all(positions == 0, axis=2)
    lost = zero & (zero.mean(axis=0) < 0.9)
    known = np.all(np.isfinite(positions), axis=2) & (confidence > 0) & ~lost
    positions[~known] = np.nan
    return Keypoints(positions, np.where(known, confidence, 0.0), names, rate_hz)


def _from_json(path: Path) -> Keypoints:
    try:
        document = json.loads(path.read_text(encoding="utf-8-sig"))
    except (json.JSONDecodeError, RecursionError) as error:
        raise MotionError(f"{path}: not whole JSON ({error}). Export it again.") from None
    if not isinstance(document, dict) or not isinstance(document.get("frames"), list):
        raise MotionError(f'{path}: has no list "frames"; expected fps, names and frames.')
    names = document.get("names")
    if not (isinstance(names, list) and names and all(isinstance(each, str) for each in names)):
        raise MotionError(f'{path}: has no "names" of its keypoints; expected a list of names.')
    rate = next((document[key] for key in _RATES if key in document), None)
    if rate is not None and not (isinstance(rate, int | float) and 0 < rate < 1e6):
        raise MotionError(f"{path}: got a rate of {rate!r}; expected frames per second.")
    frames = [_json_frame(path, number, each, len(names)) for number, each in
              enumerate(document["frames"])]  # fmt: skip
    array = np.array(frames, np.float64).reshape(len(frames), len(names), 4)
    return _keypoints(array, path, tuple(names), None if rate is None else float(rate))


def _json_frame(path: Path, number: int, frame: object, count: int) -> list[list[float]]:
    if not isinstance(frame, list) or len(frame) != count:
        got = f"{len(frame)} points" if isinstance(frame, list) else type(frame).__name__
        raise MotionError(f"{path}: frame {number} has {got}; expected {count}. Export it again.")
    points = []
    for point in frame:
        if point is None:
            points.append([np.nan, np.nan, np.nan, 0.0])
            continue
        if not isinstance(point, list) or len(point) not in (3, 4):
            raise MotionError(
                f"{path}: frame {number} has the point {point!r:.60}; expected [x, y, z] or "
                "[x, y, z, confidence]."
            )
        values = [np.nan if value is None else value for value in point]
        if not all(isinstance(value, int | float) for value in values):
            raise MotionError(f"{path}: frame {number} holds {point!r:.60}; expected numbers.")
        points.append([*values, 1.0][:4])
    return points


def _columns(header: list[str]) -> dict[str, dict[str, int]]:
    """Columns by keypoint and by x, y, z, c; only of those that have all three axes."""
    found: dict[str, dict[str, int]] = {}
    for index, title in enumerate(header):
        match = _COLUMN.fullmatch(title.strip().strip('"'))
        if match:
            axis = match[2].lower()
            found.setdefault(match[1], {})[axis if axis in "xyz" else "c"] = index
    return {name: columns for name, columns in found.items() if {*"xyz"} <= {*columns}}


def _from_csv(path: Path) -> Keypoints:
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = csv.reader(file)
        header = next(rows, [])
        columns = _columns(header)
        if not columns:
            raise MotionError(
                f"{path}: no columns such as left_hip_x. Name them in the first line."
            )
        table = np.array([_csv_row(path, rows.line_num, row, header) for row in rows if row])
    if not len(table):
        raise MotionError(f"{path}: has a header and no frames. Export it again.")
    array = np.ones((len(table), len(columns), 4))
    for point, places in enumerate(columns.values()):
        for axis, index in places.items():
            array[:, point, "xyzc".index(axis)] = table[:, index]
    titles = [title.strip().lower() for title in header]
    times = next((table[:, titles.index(name)] for name in _TIMES if name in titles), None)
    return _keypoints(array, path, tuple(columns), _rate_of(times, path))


def _csv_row(path: Path, line: int, row: list[str], header: list[str]) -> list[float]:
    if len(row) != len(header):
        raise MotionError(
            f"{path}:{line}: has {len(row)} values; expected {len(header)}. Is the file cut off?"
        )
    try:
        return [float(value) if value.strip() else np.nan for value in row]
    except ValueError as error:
        raise MotionError(f"{path}:{line}: {error}. Replace it with a number.") from None


def _rate_of(times: Array | None, path: Path) -> float | None:
    if times is None or len(times) < 2:
        return None
    step = float(np.median(np.diff(times)))
    if not step > 0:
        raise MotionError(f"{path}: its times do not go forward. Sort the frames by time.")
    return 1.0 / step
