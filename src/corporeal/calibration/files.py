"""Pairs of poses and rests come in from JSON and CSV; results go out to the station's document."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from corporeal.calibration.camera import CameraSolution
from corporeal.calibration.certainty import UncertaintyMap
from corporeal.calibration.force import ForceSolution, StaticPoses
from corporeal.calibration.hand_eye import HandEyeSolution, PosePairs, pose_matrix
from corporeal.errors import CorporealError
from corporeal.files import atomic_write, refuse_links_out, refuse_pointer
from corporeal.geometry import Array, matrix_from_quaternion, rpy_from_matrix
from corporeal.protocol import Calibration
from corporeal.protocol.calibration import CameraCalibration, ForceCalibration
from corporeal.schema import roles
from corporeal.schema.markup import read_markup

_MOST_BYTES = 64 << 20
_POSE = roles.POSE
_WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")
# How files of others call the effector in the base, and the board in the camera.
_EFFECTOR = ("effector", "base_from_effector", "O_T_EE", "robot_pose", "T_base_gripper")
_TARGET = ("board", "camera_from_board", "target_pose", "T_cam_target")
# Each is left out in turn, and the others are solved: beyond this no one waits for it.
_MOST_PAIRS, _MOST_RESTS = 400, 2000
# Metres, newtons and the like: beyond this a number was not measured.
_LARGEST = 1e6


def read_pose_pairs(path: Path) -> PosePairs:
    """Pairs of a .json, a .csv, or a folder with one .json for each pair."""
    if path.is_dir():
        refuse_links_out(path)
        files = sorted(path.glob("*.json"))
        entries = [(file.stem, _values(file)) for file in files]
        kept = [(name, entry) for name, entry in entries if _is_pair(entry)]
        if not kept:
            raise CorporealError(f"{path} holds no pairs; expected .json files, one for each.")
        return _pairs(path, kept)
    if path.suffix == ".csv":
        rows = list(_csv_rows(path, _MOST_PAIRS))
        wanted = [f"{which}_{part}" for which in ("effector", "board") for part in _POSE]
        _require(path, rows, wanted)
        named = [(row.get("name") or str(number), row) for number, row in enumerate(rows, 1)]
        hands, boards = (
            np.array([_pose_of_row(path, row, which) for _, row in named])
            for which in ("effector", "board")
        )
        return PosePairs(tuple(name for name, _ in named), hands, boards)
    if path.suffix != ".json":
        raise CorporealError(
            f"{path}, got {path.suffix or 'no ending'}; expected .json, .csv, or a folder of .json."
        )
    values = _values(path)
    if isinstance(values, Mapping):
        values = values.get("pairs")
    if not isinstance(values, list) or not values:
        raise CorporealError(f"{path} holds no list of pairs; expected [[effector, board], ...].")
    return _pairs(path, [(str(number), entry) for number, entry in enumerate(values, 1)])


def read_static_poses(path: Path) -> StaticPoses:
    """Poses at rest of a .csv: the flange as qw qx qy qz in a frame with z up, and the wrench."""
    if path.suffix != ".csv":
        raise CorporealError(f"{path}, got {path.suffix or 'no ending'}; expected .csv.")
    rows = list(_csv_rows(path, _MOST_RESTS))
    _require(path, rows, [*_POSE[3:], *_WRENCH])
    quaternions = np.array([[_number(path, row, key) for key in _POSE[3:]] for row in rows])
    wrench = np.array([[_number(path, row, key) for key in _WRENCH] for row in rows])
    length = np.linalg.norm(quaternions, axis=1)
    if (np.abs(length - 1) > 0.02).any():
        row = int(np.abs(length - 1).argmax())
        raise CorporealError(
            f"{path}, row {row + 1}: the quaternion has length {length[row]:.3f}; expected 1."
        )
    names = tuple(row.get("name") or str(number) for number, row in enumerate(rows, 1))
    return StaticPoses(names, matrix_from_quaternion(quaternions), wrench[:, :3], wrench[:, 3:])


def _values(path: Path) -> Any:
    return read_markup(path).values


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, Mapping) and any(name in entry for name in _EFFECTOR)


def _pairs(path: Path, entries: list[tuple[str, Any]]) -> PosePairs:
    if len(entries) > _MOST_PAIRS:
        raise CorporealError(f"{path} holds {len(entries)} pairs; expected {_MOST_PAIRS} or fewer.")
    hands, boards = [], []
    for name, entry in entries:
        if isinstance(entry, Mapping):
            hand = next((entry[key] for key in _EFFECTOR if key in entry), None)
            board = next((entry[key] for key in _TARGET if key in entry), None)
            turn, place = entry.get("T_cam_target_rvec"), entry.get("T_cam_target_tvec")
            if board is None and turn is not None and place is not None:
                vectors = _floats(turn), _floats(place)
                if all(part.shape == (3,) and (np.abs(part) < _LARGEST).all() for part in vectors):
                    board = pose_matrix(*vectors).tolist()
        else:
            hand, board = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
        hands.append(_pose(path, name, "effector", hand))
        boards.append(_pose(path, name, "board", board))
    return PosePairs(tuple(name for name, _ in entries), np.array(hands), np.array(boards))


def _pose(path: Path, name: str, what: str, numbers: Any) -> Array:
    """A pose (4, 4) of 16 numbers, rows first, or columns first as some controllers have them."""
    flat = _floats(numbers)
    if flat.size != 16:
        raise CorporealError(
            f"{path}, pair {name}: {what} holds {flat.size} numbers; expected the 16 of a 4 x 4 "
            "matrix."
        )
    if not (np.abs(flat) < _LARGEST).all():
        raise CorporealError(
            f"{path}, pair {name}: {what} holds a number that is not finite or beyond a million; "
            "expected a pose in metres."
        )
    pose = flat.reshape(4, 4)
    if np.allclose(pose[:3, 3], 0) and not np.allclose(pose[3, :3], 0):
        pose = pose.T
    turned = pose[:3, :3] @ pose[:3, :3].T
    if np.abs(turned - np.eye(3)).max() > 0.02:
        raise CorporealError(
            f"{path}, pair {name}: {what} is no rotation; expected a 4 x 4 pose in metres."
        )
    return pose


def _floats(numbers: Any) -> Array:
    """Numbers of a document in one row; none where they are no numbers."""
    try:
        return np.zeros(0) if numbers is None else np.asarray(numbers, np.float64).ravel()
    except (TypeError, ValueError, OverflowError):
        return np.zeros(0)


def _csv_rows(path: Path, most: int) -> Iterator[dict[str, str]]:
    refuse_pointer(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise CorporealError(f"{path} is larger than 64 MiB; expected a row for each pose.")
        text = path.read_text(encoding="utf-8-sig")
        rows = list(islice(csv.DictReader(io.StringIO(text), skipinitialspace=True), most + 1))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CorporealError(f"{path} cannot be read: {error}.") from None
    if len(rows) > most:
        raise CorporealError(f"{path} holds more than {most} rows; expected a row for each pose.")
    for row in rows:
        yield {key.strip(): value for key, value in row.items() if key and value is not None}


def _require(path: Path, rows: list[dict[str, str]], wanted: list[str]) -> None:
    if not rows:
        raise CorporealError(f"{path} holds no rows; expected columns {', '.join(wanted)}.")
    missing = [name for name in wanted if name not in rows[0]]
    if missing:
        raise CorporealError(f"{path} has no column {missing[0]}; expected {', '.join(wanted)}.")


def _number(path: Path, row: dict[str, str], key: str) -> float:
    try:
        value = float(row[key])
    except (KeyError, ValueError):
        value = np.nan
    if not abs(value) < _LARGEST:
        raise CorporealError(f"{path}: {key}, got {row.get(key)!r}; expected a number.")
    return value


def _pose_of_row(path: Path, row: dict[str, str], which: str) -> Array:
    x, y, z, *quaternion = (_number(path, row, f"{which}_{part}") for part in _POSE)
    if abs(np.linalg.norm(quaternion) - 1) > 0.02:
        raise CorporealError(
            f"{path}: the quaternion of {which} is not of length 1; expected qw qx qy qz."
        )
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix_from_quaternion(quaternion), (x, y, z)
    return pose


def camera_record(name: str, solution: CameraSolution, stated: UncertaintyMap) -> CameraCalibration:
    """A solved camera as the document has it."""
    fx, fy, cx, cy = (round(float(value), 4) for value in solution.lens.values[:4])
    return CameraCalibration(
        name=_plain(name), width=solution.lens.width, height=solution.lens.height,
        focal_px=(fx, fy), centre_px=(cx, cy),
        distortion=tuple(round(float(value), 7) for value in solution.lens.distortion),
        lens=solution.lens.model, reprojection_px=round(solution.rms_px, 4),
        uncertainty_px=round(stated.mean_px, 4), distance_m=round(stated.distance_m, 3),
        views=len(solution.views), board=solution.board.reference,
    )  # fmt: skip


def force_record(
    name: str, solution: ForceSolution, left_out: tuple[float, float]
) -> ForceCalibration:
    """A solved force sensor as the document has it."""
    return ForceCalibration(
        name=_plain(name), mass_kg=round(solution.mass_kg, 5), centre_m=_three(solution.centre_m),
        force_bias_n=_three(solution.force_bias), torque_bias_nm=_three(solution.torque_bias),
        mounting_rpy=_three(rpy_from_matrix(solution.mounting)),
        sign=1 if solution.sign > 0 else -1, mass_sigma_kg=round(float(solution.sigma[0]), 5),
        force_rms_n=round(left_out[0], 4), torque_rms_nm=round(left_out[1], 5),
    )  # fmt: skip


def keep_camera(path: Path, record: CameraCalibration) -> Calibration:
    """Write the lens of a camera; where its pose was known, that stays."""
    station = _opened(path)
    before = _part(station, "cameras", record.name)
    pose = ("frame", "xyz", "rpy", "position_sigma_m", "rotation_sigma_rad", "serial")
    kept = {key: before[key] for key in pose if key in before}
    entry = {**kept, **record.model_dump(mode="json", exclude_none=True)}
    return _keep(path, station, "cameras", entry)


def keep_pose(path: Path, name: str, frame: str, solution: HandEyeSolution) -> Calibration:
    """Write where a camera is; where its lens was known, that stays."""
    station = _opened(path)
    pose = {
        "name": _plain(name), "frame": frame, "xyz": _three(solution.camera[:3, 3]),
        "rpy": _three(rpy_from_matrix(solution.camera[:3, :3])),
        "position_sigma_m": _three(solution.sigma_m),
        "rotation_sigma_rad": _three(solution.sigma_rad),
    }  # fmt: skip
    return _keep(path, station, "cameras", {**_part(station, "cameras", _plain(name)), **pose})


def keep_force(path: Path, record: ForceCalibration) -> Calibration:
    """Write a force sensor."""
    entry = record.model_dump(mode="json", exclude_none=True)
    return _keep(path, _opened(path), "force_sensors", entry)


def _opened(path: Path) -> dict[str, Any]:
    """The station's document as plain values; one without parts where there is none yet."""
    if path.suffix not in (".yaml", ".yml"):
        raise CorporealError(f"--out, got {path}; expected a name that ends in .yaml.")
    if path.exists():
        return Calibration.load(path).model_dump(mode="json", exclude_none=True)
    return {"document": "calibration", "name": _plain(path.stem), "version": "0.0.0"}


def _part(station: dict[str, Any], group: str, name: str) -> dict[str, Any]:
    return next((dict(part) for part in station.get(group, ()) if part["name"] == name), {})


def _keep(path: Path, station: dict[str, Any], group: str, entry: dict[str, Any]) -> Calibration:
    """The document with one part new, a version higher, measured today."""
    others = [part for part in station.get(group, ()) if part["name"] != entry["name"]]
    major, minor, patch = (int(number) for number in str(station["version"]).split("."))
    station[group] = [*others, entry]
    station["version"] = f"{major}.{minor}.{patch + 1}" if major else "1.0.0"
    station["measured"] = datetime.now(UTC).date().isoformat()
    document = Calibration.model_validate(station)
    values = document.model_dump(mode="json", exclude_none=True)
    text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True, width=100)
    atomic_write(path, text)
    return document


def _plain(name: str) -> str:
    """A name as documents have them: lower case, digits and lines."""
    kept = "".join(sign if sign.isalnum() and sign.isascii() else "_" for sign in name.lower())
    return kept.strip("_") or "camera"


def _three(values: Array) -> tuple[float, float, float]:
    x, y, z = (round(float(value), 7) for value in np.ravel(values))
    return x, y, z
