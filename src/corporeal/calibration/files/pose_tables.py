"""Pairs of poses, tracks, joints and rests, as JSON and CSV files hold them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.calibration.force import StaticPoses
from corporeal.calibration.hand_eye import PosePairs, TimedPoses, hands_of_joints, pose_matrix
from corporeal.embodiment import Embodiment
from corporeal.errors import CorporealError
from corporeal.files import refuse_links_out, refuse_pointer
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.schema import roles
from corporeal.schema.markup import read_markup

_MOST_BYTES = 64 << 20
_POSE = roles.POSE
# How some robots report a pose: a rotation vector in radians behind the position.
_VECTOR = ("x", "y", "z", "rx", "ry", "rz")
_WRENCH = ("fx", "fy", "fz", "tx", "ty", "tz")
# How files of others call the effector in the base, and the board in the camera.
_EFFECTOR = ("effector", "base_from_effector", "O_T_EE", "robot_pose", "T_base_gripper")
_TARGET = ("board", "camera_from_board", "target_pose", "T_cam_target")
# Each is left out in turn, and the others are solved: beyond this no one waits for it.
_MOST_PAIRS, _MOST_RESTS, _MOST_SAMPLES = 400, 2000, 400_000
_LONGEST_S = 86_400.0
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
        _require_poses(path, rows, ("effector", "board"))
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


def read_effector_poses(path: Path) -> dict[str, Array]:
    """Poses (4, 4) of the hand by the name of the picture that was taken there, without ending."""
    if path.suffix != ".csv":
        raise CorporealError(f"{path}, got {path.suffix or 'no ending'}; expected .csv.")
    rows = list(_csv_rows(path, _MOST_PAIRS))
    _require(path, rows, ["name"])
    _require_poses(path, rows, ("effector",))
    poses: dict[str, Array] = {}
    for row in rows:
        name = Path(row.get("name", "")).stem
        if name in poses:
            raise CorporealError(f"{path} has two rows of {name!r}; expected one for each picture.")
        poses[name] = _pose_of_row(path, row, "effector")
    return poses


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
                    _require_radians(path, name, vectors[0])
                    board = pose_matrix(*vectors).tolist()
        else:
            hand, board = entry if isinstance(entry, list) and len(entry) == 2 else (None, None)
        hands.append(_pose(path, name, "effector", hand))
        boards.append(_pose(path, name, "board", board))
    return PosePairs(tuple(name for name, _ in entries), np.array(hands), np.array(boards))


def _require_radians(path: Path, name: str, turn: Any) -> None:
    """Raise for a rotation vector that no solver gives: longer than a whole turn."""
    size = float(np.linalg.norm(turn))
    if size > 2 * np.pi + 1e-6:
        raise CorporealError(
            f"{path}, {name}: a rotation vector of length {size:.1f}; expected radians. Is it in "
            "degrees?"
        )


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
    if np.linalg.det(pose[:3, :3]) < 0:
        raise CorporealError(
            f"{path}, pair {name}: {what} is mirrored (determinant -1); expected a right-handed "
            "frame. Turn one axis round."
        )
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


def _require_poses(path: Path, rows: list[dict[str, str]], names: tuple[str, ...]) -> None:
    """Raise where a table lacks columns of a pose, with a quaternion or a rotation vector."""
    for which in names:
        parts = _VECTOR if rows and f"{which}_rx" in rows[0] else _POSE
        _require(path, rows, [f"{which}_{part}" for part in parts])


def _number(path: Path, row: dict[str, str], key: str) -> float:
    try:
        value = float(row[key])
    except (KeyError, ValueError):
        value = np.nan
    if not abs(value) < _LARGEST:
        raise CorporealError(f"{path}: {key}, got {row.get(key)!r}; expected a number.")
    return value


def _pose_of_row(path: Path, row: dict[str, str], which: str) -> Array:
    if f"{which}_rx" in row:
        x, y, z, *turn = (_number(path, row, f"{which}_{part}") for part in _VECTOR)
        _require_radians(path, f"row {row.get('name', '')}", turn)
        return pose_matrix(turn, (x, y, z))
    x, y, z, *quaternion = (_number(path, row, f"{which}_{part}") for part in _POSE)
    if abs(np.linalg.norm(quaternion) - 1) > 0.02:
        raise CorporealError(
            f"{path}: the quaternion of {which} is not of length 1; expected qw qx qy qz."
        )
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = matrix_from_quaternion(quaternion), (x, y, z)
    return pose


def read_pose_track(path: Path) -> TimedPoses:
    """Poses over time, t x y z qx qy qz qw in each line, after a header or none."""
    refuse_pointer(path)
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise CorporealError(f"{path} is larger than 64 MiB; expected a line for each pose.")
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorporealError(f"{path} cannot be read: {error}.") from None
    rows: list[list[float]] = []
    for number, line in enumerate(lines, 1):
        words = line.replace(",", " ").split()
        if not words or words[0].startswith("#") or (not rows and words[0][0].isalpha()):
            continue
        try:
            values = [float(word) for word in words]
        except ValueError:
            values = []
        if len(values) != 8 or not np.isfinite(values).all():
            raise CorporealError(
                f"{path}, line {number}: {len(values) or 'no'} numbers; expected the 8 of "
                "t x y z qx qy qz qw."
            )
        rows.append(values)
    if len(rows) < 10:
        raise CorporealError(f"{path} holds {len(rows)} poses; expected a track of 10 or more.")
    table = np.array(sorted(rows, key=lambda row: row[0]))
    table = table[np.concatenate([[True], np.diff(table[:, 0]) > 1e-6])]
    length = np.linalg.norm(table[:, 4:], axis=1)
    if (np.abs(length - 1) > 0.02).any():
        raise CorporealError(
            f"{path}: a quaternion of length {length[np.abs(length - 1).argmax()]:.3f}; expected "
            "1. Columns are t x y z qx qy qz qw."
        )
    poses = np.tile(np.eye(4), (len(table), 1, 1))
    poses[:, :3, :3] = matrix_from_quaternion(table[:, [7, 4, 5, 6]])
    poses[:, :3, 3] = table[:, 1:4]
    return TimedPoses(table[:, 0], poses)


def read_standing_forces(path: Path) -> tuple[Array, Array]:
    """Times (T,) in s and forces (T, 3) of a .csv with t fx fy fz, of a tool at rest."""
    rows = list(_csv_rows(path, _MOST_SAMPLES))
    columns = ["t", *_WRENCH[:3]]
    _require(path, rows, columns)
    table = np.array([[_number(path, row, name) for name in columns] for row in rows])
    if (np.diff(table[:, 0]) < 0).any():
        raise CorporealError(f"{path}: its times go back; expected t in seconds that only rises.")
    if table[-1, 0] - table[0, 0] > _LONGEST_S:
        raise CorporealError(
            f"{path}: {table[-1, 0] - table[0, 0]:.0f} s; expected a day or less, t in seconds."
        )
    return table[:, 0], table[:, 1:]


def read_joint_pairs(path: Path, embodiment: Embodiment, link: str) -> PosePairs:
    """Pairs of a .csv with a column for each joint, in rad, and board_x ... board_qz."""
    rows = list(_csv_rows(path, _MOST_PAIRS))
    _require_poses(path, rows, ("board",))
    known = set(embodiment.joint_names)
    names = [column for column in rows[0] if column in known]
    if not names:
        raise CorporealError(
            f"{path} has no column named as a joint of {embodiment.name}; expected such as "
            f"{', '.join(embodiment.joint_names[:4])}."
        )
    joints = np.array([[_number(path, row, name) for name in names] for row in rows])
    if np.abs(joints).max() > 4 * np.pi:
        raise CorporealError(
            f"{path}: a joint at {np.abs(joints).max():.0f}; expected radians. Are they degrees?"
        )
    boards = np.array([_pose_of_row(path, row, "board") for row in rows])
    effectors, adjustable = hands_of_joints(embodiment, link, names, joints)
    called = tuple(row.get("name") or str(number) for number, row in enumerate(rows, 1))
    return PosePairs(called, effectors, boards, adjustable=adjustable)
