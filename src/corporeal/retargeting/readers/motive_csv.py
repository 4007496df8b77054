"""OptiTrack Motive CSV: a solved skeleton's bones, or else its labelled markers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corporeal.geometry import Array, matrix_from_quaternion, normalise
from corporeal.retargeting.motion import HumanMotion, Markers, MotionError
from corporeal.retargeting.person.marker_motion import (
    numbers,
    open_rows,
    person_from_markers,
)
from corporeal.retargeting.person.marker_set import (
    best_marker_set,
    open_marker_set,
    plain,
    subject_of,
)
from corporeal.retargeting.reader import ClipHints, MotionReader

_FIRST = "Format Version"
_UNITS = {"meters": "m", "centimeters": "cm", "millimeters": "mm", "inches": "in"}
_EXPORTED = "Total Exported Frames"
_HEAD_ROWS = 12
# A bone at rest has the axes of the world: x to the person's left, y up, z forward. The columns
# are where a segment's x, y and z lie in those of its bone.
_FORWARD = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
_LEFT_HAND = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]])
_RIGHT_HAND = np.array([[-1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
_SEGMENTS = {
    "HIP": ("pelvis", _FORWARD), "HIPS": ("pelvis", _FORWARD),
    "CHEST": ("chest", _FORWARD), "HEAD": ("head", _FORWARD),
    "LFOOT": ("left_foot", _FORWARD), "RFOOT": ("right_foot", _FORWARD),
    "LHAND": ("left_hand", _LEFT_HAND), "RHAND": ("right_hand", _RIGHT_HAND),
}  # fmt: skip


@dataclass(frozen=True)
class _Head:
    """What the rows above the numbers say: per thing its type and the columns it fills."""

    settings: Mapping[str, str]
    positions: Mapping[tuple[str, str], list[int]]
    rotations: Mapping[tuple[str, str], list[int]]
    width: int


def recognises(path: Path) -> bool:
    """Whether the file begins as Motive's exports do."""
    if path.suffix.lower() != ".csv":
        return False
    try:
        with path.open(encoding="utf-8-sig", errors="replace") as file:
            return file.read(len(_FIRST)) == _FIRST
    except OSError:
        return False


def read(path: Path, hints: ClipHints) -> HumanMotion:
    """The person whose skeleton or markers the file holds."""
    with open_rows(path) as rows:
        head = _head(path, rows)
        kind = _kind(path, head, hints)
        chosen = [thing for thing in head.positions if thing[0] == kind]
        rotating = [thing for thing in chosen if thing in head.rotations]
        columns = [column for thing in chosen for column in head.positions[thing]]
        columns += [column for thing in rotating for column in head.rotations[thing]]
        table = numbers(rows, columns, head.width, path)
    _check_count(path, head.settings, len(table))
    positions = table[:, : 3 * len(chosen)].reshape(len(table), len(chosen), 3)
    quaternions = table[:, 3 * len(chosen) :].reshape(len(table), len(rotating), 4)
    labels = tuple(_label(*thing) for thing in chosen)
    rotations = _rotations(
        {_label(*thing): quaternions[:, index] for index, thing in enumerate(rotating)}
    )
    honest = {
        subject: own
        for subject, own in rotations.items()
        if _agrees(own, labels, positions, subject)
    }
    doubted = tuple(
        f"the bones of {name} are turned unlike Motive's"
        for name in rotations.keys() - honest.keys()
    )
    markers = Markers(
        path=path,
        format="motive_csv",
        labels=labels,
        positions=positions,
        rate_hz=_rate(head.settings),
        unit=_unit(head.settings),
        rotations=honest,
        notes=doubted,
    )
    return person_from_markers(markers, hints)


def read_measured(path: Path) -> Markers:
    """The markers that cameras saw, of a body or none; those that a solver placed are not read."""
    with open_rows(path) as rows:
        head = _head(path, rows)
        seen = [thing for thing in head.positions if thing[0] == "Marker"]
        if not seen:
            raise MotionError(
                f"{path}: holds no measured marker, those of bones and rigid bodies are solved; "
                "expected columns of type Marker. Export with markers."
            )
        columns = [column for thing in seen for column in head.positions[thing]]
        table = numbers(rows, columns, head.width, path)
    _check_count(path, head.settings, len(table))
    return Markers(
        path=path,
        format="motive_csv",
        labels=tuple(name for _, name in seen),
        positions=table.reshape(len(table), len(seen), 3),
        rate_hz=_rate(head.settings),
        unit=_unit(head.settings),
    )


def _unit(settings: Mapping[str, str]) -> str | None:
    return _UNITS.get(settings.get("Length Units", "").lower())


def _head(path: Path, rows: Iterator[tuple[int, list[str]]]) -> _Head:
    _, first = next(rows, (0, []))
    settings = dict(zip(first[::2], first[1::2], strict=False))
    above: list[list[str]] = []
    for line, row in rows:
        if row[:1] == ["Frame"]:
            break
        above.append(row)
        if len(above) > _HEAD_ROWS:
            raise MotionError(f"{path}:{line}: no row starts with Frame. Export the clip again.")
    else:
        raise MotionError(f"{path}: ends before its first frame. Export the clip again.")
    above = [each for each in above if any(each)]
    if len(above) < 3:
        raise MotionError(f"{path}: has no rows of types and names. Export with a full header.")
    # Type and Name come first; ID and Parent, which not all versions have, stand between.
    types, names, what = above[0], above[1], above[-1]
    width = len(row)
    if min(len(types), len(names), len(what)) < width:
        raise MotionError(f"{path}: the rows of its head differ in length. Export the clip again.")
    columns: dict[str, dict[tuple[str, str], dict[str, int]]] = {"Position": {}, "Rotation": {}}
    for column in range(2, width):
        if what[column] in columns:
            thing = columns[what[column]].setdefault((types[column], names[column]), {})
            thing[row[column].upper()] = column
    whole = {
        what: {
            name: [at[axis] for axis in axes]
            for name, at in columns[what].items()
            if {*axes} <= {*at}
        }
        for what, axes in (("Position", "XYZ"), ("Rotation", "WXYZ"))
    }
    return _Head(settings, whole["Position"], whole["Rotation"], width)


def _kind(path: Path, head: _Head, hints: ClipHints) -> str:
    """Bones where they make a body, else the markers that do; refuses a file with neither."""
    names: dict[str, list[str]] = {}
    for kind, name in head.positions:
        if not name.startswith("Unlabeled"):
            names.setdefault(kind, []).append(_label(kind, name))
    bodies = {"Rigid Body": names.pop("Rigid Body", []), "": names.pop("Rigid Body Marker", [])}
    owned = {subject_of(name) or name for name in bodies["Rigid Body"]}
    loose = [each for each in names.get("Marker", ()) if subject_of(each) not in owned]
    if not names.get("Bone") and not names.get("Bone Marker") and not loose:
        raise MotionError(
            f"{path}: holds {len(bodies['Rigid Body'])} rigid bodies and no person; expected the "
            "bones or the labelled markers of a skeleton. Export the skeleton from Motive."
        )
    if names.get("Bone") and head.settings.get("Coordinate Space", "Global") == "Local":
        raise MotionError(
            f"{path}: its bones are in local coordinates. Export them in global coordinates."
        )
    order = [kind for kind in ("Bone", "Marker", "Bone Marker") if names.get(kind)]
    asked = open_marker_set(hints.skeleton) if hints.skeleton else None

    def lacking(kind: str) -> int:
        """How much is missing of the body that is best covered among those of one kind."""
        people: dict[str, list[str]] = {}
        for name in names[kind]:
            people.setdefault(subject_of(name), []).append(name)
        return min(len((asked or best_marker_set(each)).missing(each)) for each in people.values())

    return min(order, key=lacking)


def _label(kind: str, name: str) -> str:
    """A name with a colon after its subject; the root bone, named as its skeleton, is the hip."""
    if kind != "Bone":
        return name
    subject, _, bone = name.rpartition(":" if ":" in name else "_")
    return f"{subject}:{'Hip' if bone == subject else bone}"


def _rotations(quaternions: Mapping[str, Array]) -> dict[str, dict[str, Array]]:
    rotations: dict[str, dict[str, Array]] = {}
    for label, each in quaternions.items():
        segment = _SEGMENTS.get(plain(label))
        if segment is not None:
            name, axes = segment
            known = np.isfinite(each).all(axis=1) & (np.abs(np.nan_to_num(each)).max(axis=1) > 0.1)
            rotation = (
                matrix_from_quaternion(np.where(known[:, None], each, [1.0, 0.0, 0.0, 0.0])) @ axes
            )
            rotation[~known] = np.nan
            rotations.setdefault(subject_of(label), {})[name] = rotation
    return rotations


def _agrees(
    rotations: Mapping[str, Array], labels: tuple[str, ...], positions: Array, subject: str
) -> bool:
    """Whether the pelvis' left and up are where its thighs and neck are."""
    at = {plain(label): index for index, label in enumerate(labels) if subject_of(label) == subject}
    if "pelvis" not in rotations or not {"LTHIGH", "RTHIGH", "NECK", "HIP"} <= at.keys():
        return False
    left = normalise(positions[:, at["LTHIGH"]] - positions[:, at["RTHIGH"]])
    up = normalise(positions[:, at["NECK"]] - positions[:, at["HIP"]])
    leftward = np.sum(left * rotations["pelvis"][..., 1], axis=1)
    upward = np.sum(up * rotations["pelvis"][..., 2], axis=1)
    known = np.isfinite(leftward) & np.isfinite(upward)
    return bool(known.any() and leftward[known].mean() > 0.8 and upward[known].mean() > 0.5)


def _check_count(path: Path, settings: Mapping[str, str], frames: int) -> None:
    """Raise MotionError for a file that was cut off: its head says how many frames it has."""
    stated = settings.get(_EXPORTED, "").strip()
    if stated.isdigit() and int(stated) > frames:
        raise MotionError(
            f"{path}: ends after {frames} of {int(stated)} frames. Export or copy it again; to use "
            f"what is there, write {frames} after {_EXPORTED} in its first line."
        )


def _rate(settings: Mapping[str, str]) -> float:
    for name in ("Export Frame Rate", "Capture Frame Rate"):
        try:
            return float(settings[name])
        except (KeyError, ValueError):
            continue
    return math.nan


READER = MotionReader(
    recognises,
    read,
    "OptiTrack Motive CSV: a skeleton's bones or labelled markers",
    read_measured,
)
