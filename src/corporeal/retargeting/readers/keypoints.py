"""3-D keypoints of a person from cameras without markers: .npy, JSON or CSV."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.array_file import npy_shape, read_npy
from corporeal.episode.recording import Ledger
from corporeal.geometry import Array
from corporeal.retargeting.motion import POINTS, HumanMotion, MotionError, Origin, account
from corporeal.retargeting.person.keypoint_layouts import (
    LAYOUTS,
    body_points,
    oddness,
    plain_name,
)
from corporeal.retargeting.person.skeleton_map import SKELETONS
from corporeal.retargeting.person.standard_axes import standardise
from corporeal.retargeting.reader import ClipHints, MotionReader

MAX_TEXT_BYTES = 1 << 28
MAX_KEYPOINTS = 1000
_LOOKED_AT = 1 << 16
_COUNTS = frozenset(len(names) for names in LAYOUTS.values())
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


def recognises(path: Path) -> bool:
    """Whether the file holds keypoints: an array of a known layout, or points with names."""
    suffix = path.suffix.lower()
    if suffix == ".npy":
        shape = npy_shape(path)
        return len(shape) == 3 and shape[1] in _COUNTS and shape[2] in (3, 4)
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
    columns_of_point: dict[str, dict[str, int]] = {}
    for index, title in enumerate(header):
        match = _COLUMN.fullmatch(title.strip().strip('"'))
        if match:
            axis = match[2].lower()
            columns_of_point.setdefault(match[1], {})[axis if axis in "xyz" else "c"] = index
    return {name: columns for name, columns in columns_of_point.items() if {*"xyz"} <= {*columns}}


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


RATE_HZ = 30.0
# Beyond this no body is likely; a second layout is worth a word if it is about as good.
_ODDEST, _CLOSE = 0.65, 1.5


def read(path: Path, hints: ClipHints) -> HumanMotion:
    """The motion; the layout is told by names, by --skeleton, or by how body-like it comes out."""
    keypoints = read_keypoints(path)
    layout, positions, confidence, notes = _body(keypoints, hints, path)
    rate_hz, about_rate = _rate(keypoints, hints, path)
    upright = standardise(positions, unit=hints.unit, up=hints.up, source=path)
    return HumanMotion(
        name=path.stem,
        rate_hz=rate_hz,
        positions=upright.positions,
        confidence=confidence,
        origin=Origin(
            path,
            "keypoints",
            layout,
            (*notes, *about_rate, *upright.notes, *_about_root(upright.positions)),
            _account(keypoints, layout, hints, path),
        ),
    )


def _account(keypoints: Keypoints, layout: str, hints: ClipHints, path: Path) -> Ledger:
    """Every keypoint: used is one without which some point of the person is another one."""
    frames, count = keypoints.positions.shape[:2]
    names = keypoints.names or tuple(f"point {number}" for number in range(count))
    chosen = replace(hints, skeleton=layout if layout in LAYOUTS else hints.skeleton)
    anywhere = np.random.default_rng(0).normal(size=(1, count, 3))
    whole = replace(keypoints, positions=anywhere, confidence=np.ones((1, count)))
    usual = _body(whole, chosen, path)[1]
    used = set()
    for number, name in enumerate(names):
        moved = anywhere + np.eye(count)[number][None, :, None]
        if not np.array_equal(_body(replace(whole, positions=moved), chosen, path)[1], usual,
                              equal_nan=True):  # fmt: skip
            used.add(name)
    return account(names, used, "no point that a robot follows hangs on it", frames=frames)


def _body(
    keypoints: Keypoints, hints: ClipHints, path: Path
) -> tuple[str, Array, Array, tuple[str, ...]]:
    """The layout's name, its points and their confidences, and what to say about it."""
    count, name = keypoints.positions.shape[1], hints.skeleton
    if name is not None and name in LAYOUTS:
        if len(LAYOUTS[name]) != count:
            raise MotionError(
                f"{path}: has {count} keypoints; expected {len(LAYOUTS[name])} of {name}. "
                "Name another --skeleton."
            )
        return name, *_points(keypoints, LAYOUTS[name]), ()
    if keypoints.names and name is not None:
        return name, *_mapped(keypoints, name, path), ()
    if keypoints.names:
        names = tuple(plain_name(each) for each in keypoints.names)
        return "by name", *_points(keypoints, names), ()
    if hints.skeleton is not None:
        raise MotionError(
            f"{path}: has no names for --skeleton {hints.skeleton}; expected one of "
            f"{', '.join(LAYOUTS)}."
        )
    return _layout_by_shape(keypoints, path)


def _points(keypoints: Keypoints, names: tuple[str, ...]) -> tuple[Array, Array]:
    return body_points(names, keypoints.positions, keypoints.confidence)


def _mapped(keypoints: Keypoints, skeleton: str, path: Path) -> tuple[Array, Array]:
    """The points that a skeleton document makes of the file's names."""
    document = SKELETONS.open(skeleton)
    places = document.found_in(keypoints.names)
    if places is None:
        absent = document.absent_from(keypoints.names)
        raise MotionError(
            f"{path}: has no keypoint {absent[0]!r}, which {skeleton} names; it has "
            f"{', '.join(keypoints.names[:12])}. Name another --skeleton."
        )
    columns = [[places[joint] for joint in joints] for joints in document.points.values()]
    positions = [keypoints.positions[:, each].mean(axis=1) for each in columns]
    confidence = [keypoints.confidence[:, each].min(axis=1) for each in columns]
    return body_points(
        tuple(document.points), np.stack(positions, axis=1), np.stack(confidence, axis=1)
    )


def _layout_by_shape(keypoints: Keypoints, path: Path) -> tuple[str, Array, Array, tuple[str, ...]]:
    count = keypoints.positions.shape[1]
    possible = [name for name, names in LAYOUTS.items() if len(names) == count]
    if not possible:
        raise MotionError(
            f"{path}: has {count} keypoints; expected {', '.join(map(str, sorted(_COUNTS)))}. "
            "Save it as JSON or CSV with their names."
        )
    bodies = {name: _points(keypoints, LAYOUTS[name]) for name in possible}
    odd = {name: oddness(positions) for name, (positions, _) in bodies.items()}
    best = min(odd, key=lambda name: odd[name])
    if odd[best] > _ODDEST:
        raise MotionError(
            f"{path}: its {count} keypoints make no body as {' or '.join(possible)}. "
            "Name the layout with --skeleton, or save it as JSON or CSV with names."
        )
    notes = [f"{count} keypoints taken as {best}"]
    close = [name for name in possible if name != best and odd[name] < _CLOSE * odd[best]]
    if close:
        notes.append(f"{' and '.join(close)} would fit nearly as well: check --skeleton")
    return best, *bodies[best], tuple(notes)


def _rate(keypoints: Keypoints, hints: ClipHints, path: Path) -> tuple[float, tuple[str, ...]]:
    if hints.rate_hz is not None:
        return hints.rate_hz, ()
    if keypoints.rate_hz is not None:
        return keypoints.rate_hz, ()
    if path.suffix.lower() == ".npy":
        return RATE_HZ, (
            f"the file has no rate; taken as {RATE_HZ:g} Hz, give --clip-rate if it is not",
        )
    raise MotionError(f"{path}: does not say its rate (fps, or a column time). Give --clip-rate.")


def _about_root(positions: Array) -> tuple[str, ...]:
    """A word where the pelvis is nailed down while the feet move about."""
    with np.errstate(invalid="ignore"):
        pelvis = positions[:, POINTS.index("pelvis")]
        ankles = positions[:, [POINTS.index("left_ankle"), POINTS.index("right_ankle")]]
        known = np.isfinite(pelvis[:, 0]) & np.all(np.isfinite(ankles[..., 0]), axis=1)
    if known.sum() < 2:
        return ()
    if np.ptp(pelvis[known], axis=0).max() < 0.01 < np.ptp(ankles[known], axis=0).max() - 0.05:
        return ("the pelvis never moves: positions are relative to it, so the feet will slide",)
    return ()


READER = MotionReader(
    recognises=recognises,
    read=read,
    description="3-D keypoints (.npy, .json, .csv): COCO, Human3.6M, SMPL, BODY_25, BlazePose",
)
