"""ASF and AMC, the files of Acclaim and of CMU: bones in one, their angles in the other."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.motion import HumanMotion, MotionError
from corporeal.retargeting.person.hierarchy import (
    Hierarchy,
    SkeletonJoint,
    parse_numbers,
    rotate_about,
)
from corporeal.retargeting.person.skeletal_motion import SkeletalClip, person_from_skeleton
from corporeal.retargeting.reader import ClipHints, MotionReader

MAX_SKELETON_BYTES = 1 << 22
MAX_BONES = 2000
# CMU counts in inches of a skeleton scaled by this.
_CMU_LENGTH = 0.45
_AXES = {"rx": 0, "ry": 1, "rz": 2, "tx": 0, "ty": 1, "tz": 2}


@dataclass(frozen=True, eq=False)
class Bones:
    """A skeleton, and in which columns of a table the values of each bone are to stand."""

    hierarchy: Hierarchy
    columns: dict[str, tuple[int, ...]]
    unit: str | None


@dataclass
class _Bone:
    """One bone as it stands in the file."""

    name: str = ""
    direction: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    length: float = 0.0
    axis: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    order: str = "xyz"
    freedoms: list[str] = field(default_factory=list)


def read_bones(path: Path) -> Bones:
    """The skeleton in an ASF file; raises MotionError that names the line."""
    if not path.is_file():
        raise MotionError(f"{path}: no such file. Name the ASF of the motion with --bones.")
    if path.stat().st_size > MAX_SKELETON_BYTES:
        raise MotionError(f"{path}: larger than {MAX_BYTES >> 20} MiB; expected one skeleton.")
    reading = _Reading(path)
    for line, text in enumerate(path.read_text("utf-8", errors="replace").splitlines(), start=1):
        words = text.partition("#")[0].split()
        if words:
            reading.take(line, words)
    return reading.result()


class _Reading:
    """The state of reading one file, section by section."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.section = ""
        self.length = 1.0
        self.degrees = True
        self.root = _Bone(name="root", freedoms=["tx", "ty", "tz", "rx", "ry", "rz"])
        self.bones: dict[str, _Bone] = {}
        self.bone = _Bone()
        self.parents: dict[str, str] = {}

    def take(self, line: int, words: list[str]) -> None:
        """One line that is not empty."""
        if words[0].startswith(":"):
            self.section = words[0][1:].lower()
            return
        takers: dict[str, Callable[[list[str]], None]] = {
            "units": self._unit,
            "root": self._root,
            "bonedata": self._bone,
            "hierarchy": self._branch,
        }
        try:
            if self.section in takers:
                takers[self.section](words)
        except (ValueError, IndexError, KeyError):
            raise MotionError(
                f"{self.path}:{line}: got {' '.join(words)[:60]!r} in section {self.section!r}; "
                "expected an ASF skeleton. Export it again."
            ) from None

    def _unit(self, words: list[str]) -> None:
        if words[0] == "length":
            self.length = float(words[1])
        elif words[0] == "angle":
            self.degrees = not words[1].lower().startswith("rad")

    def _root(self, words: list[str]) -> None:
        key = words[0].lower()
        if key == "order":
            self.root.freedoms = [word.lower() for word in words[1:]]
        elif key == "axis":
            self.root.order = _axis_order(words[1])
        elif key == "position":
            self.root.direction = _three(words[1:])
        elif key == "orientation":
            self.root.axis = _three(words[1:])

    def _bone(self, words: list[str]) -> None:
        key = words[0].lower()
        if key == "begin":
            self.bone = _Bone()
        elif key == "end":
            if self.bone.name in ("", "root") or len(self.bones) >= MAX_BONES:
                raise ValueError
            self.bones[self.bone.name] = self.bone
        elif key == "name":
            self.bone.name = words[1]
        elif key == "direction":
            self.bone.direction = _three(words[1:])
        elif key == "length":
            self.bone.length = float(words[1])
        elif key == "axis":
            self.bone.axis = _three(words[1:4])
            self.bone.order = _axis_order(words[4]) if len(words) > 4 else "xyz"
        elif key == "dof":
            self.bone.freedoms = [word.lower() for word in words[1:]]

    def _branch(self, words: list[str]) -> None:
        if words[0].lower() in ("begin", "end") and len(words) == 1:
            return
        for child in words[1:]:
            if child in self.parents or child not in self.bones:
                raise KeyError
            self.parents[child] = words[0]

    def result(self) -> Bones:
        """The bones as joints: each is called after the bone that begins there."""
        joints = [self._joint(self.root, -1, np.asarray(self.root.direction), 0)]
        used = len(self.root.freedoms)
        columns = {"root": tuple(range(used))}
        index = {"root": 0}
        waiting = list(self.parents)
        while waiting:
            ready = [name for name in waiting if self.parents[name] in index]
            if not ready:
                raise MotionError(
                    f"{self.path}: bone {waiting[0]!r} does not hang on the root. Export it again."
                )
            for name in ready:
                bone, parent = self.bones[name], index[self.parents[name]]
                offset = np.zeros(3) if parent == 0 else self._vector(self.parents[name])
                index[name] = len(joints)
                joints.append(self._joint(bone, parent, offset, used))
                columns[name] = tuple(range(used, used + len(bone.freedoms)))
                used += len(bone.freedoms)
            waiting = [name for name in waiting if name not in index]
        for name in sorted(set(self.parents) - set(self.parents.values())):
            joints.append(
                SkeletonJoint(f"end of {name}", index[name], self._vector(name), is_end=True)
            )
        unit = "cmu" if abs(self.length - _CMU_LENGTH) < 1e-6 else None
        return Bones(Hierarchy(tuple(joints)), columns, unit)

    def _vector(self, name: str) -> Array:
        bone = self.bones[name]
        return np.asarray(bone.direction) * bone.length

    def _joint(self, bone: _Bone, parent: int, offset: Array, first: int) -> SkeletonJoint:
        unknown = [each for each in bone.freedoms if each not in _AXES]
        if unknown or not np.all(np.isfinite([*offset, *bone.axis])):
            raise MotionError(
                f"{self.path}: bone {bone.name!r}, got a freedom or number that is not known "
                f"({', '.join(unknown)}); expected rx, ry, rz, tx, ty, tz. Export it again."
            )
        at = {each: first + place for place, each in enumerate(bone.freedoms)}
        # The order says what is turned first, so its matrix stands last.
        rotations = tuple(
            ("xyz".index(axis), at[f"r{axis}"]) for axis in reversed(bone.order) if f"r{axis}" in at
        )
        moves = tuple((_AXES[each], at[each]) for each in at if each[0] == "t")
        scale = 1.0 if self.degrees else 180.0 / np.pi
        axes = _turned(np.asarray(bone.axis) * scale, bone.order)
        plain = np.allclose(axes, np.eye(3), atol=1e-12)
        return SkeletonJoint(
            bone.name, parent, offset, rotations, moves, adds=True, axes=None if plain else axes
        )


def _three(words: list[str]) -> list[float]:
    if len(words) != 3:
        raise ValueError
    return [float(word) for word in words]


def _axis_order(word: str) -> str:
    if sorted(word.lower()) != ["x", "y", "z"]:
        raise ValueError
    return word.lower()


def _turned(degrees: Array, order: str) -> Array:
    """The matrix (3, 3) of rotations about fixed axes, one after the other."""
    matrix = np.eye(3)
    for axis in reversed(order):
        rotate_about(matrix, "xyz".index(axis), np.radians(degrees["xyz".index(axis)]))
    return matrix


# CMU's files do not say their rate; nearly all of them were recorded at this one.
RATE_HZ = 120.0
# Its words are held one by one while it is read: some eight times its size in memory.
MAX_BYTES = 1 << 28
_FIRST_FRAME = re.compile(rb"^[ \t]*\d+[ \t]*\r?$", re.MULTILINE)
_NAME = re.compile(rb"^[ \t]*([A-Za-z_][^\s]*)", re.MULTILINE)


def recognises(path: Path) -> bool:
    """Whether the file is called .amc and holds a numbered frame with a root."""
    if path.suffix.lower() != ".amc":
        return False
    with path.open("rb") as file:
        beginning = file.read(1 << 16)
    return re.search(rb"^[ \t]*\d+[ \t]*\r?\n[ \t]*[A-Za-z_]", beginning, re.MULTILINE) is not None


def read(path: Path, hints: ClipHints) -> HumanMotion:
    """The person in an AMC file and the ASF beside it, or the one that `hints` name."""
    return person_from_skeleton(read_clip(path, hints), hints)


def read_clip(path: Path, hints: ClipHints) -> SkeletalClip:
    """The bones and the motion as they are, in their own unit and axes."""
    bones = read_bones(hints.bones or _bones_beside(path))
    if path.stat().st_size > MAX_BYTES:
        raise MotionError(f"{path}: larger than {MAX_BYTES >> 20} MiB. Cut the clip into parts.")
    data = path.read_bytes()
    start = _FIRST_FRAME.search(data)
    if start is None:
        raise MotionError(f"{path}: holds no numbered frame; expected an AMC motion.")
    radians = re.search(rb":RADIANS", data[: start.start()], re.IGNORECASE) is not None
    body = data[start.start() :]
    first_line = data.count(b"\n", 0, start.start()) + 1
    order, width = _order(path, body, bones)
    table, notes = _table(path, body, order, bones, width, first_line)
    if radians:
        turned = [at for joint in bones.hierarchy.joints for _, at in joint.rotations]
        table[:, turned] = np.degrees(table[:, turned])
    if hints.rate_hz is None:
        notes = (*notes, f"the file does not say its rate: {RATE_HZ:.0f} Hz, as CMU's are")
    return SkeletalClip(
        path=path,
        format="asf_amc",
        hierarchy=bones.hierarchy,
        table=table,
        rate_hz=hints.rate_hz or RATE_HZ,
        unit=bones.unit,
        notes=notes,
    )


def _bones_beside(path: Path) -> Path:
    """The ASF of the same name, or of the part before the last underscore: 01_01.amc, 01.asf."""
    stem = path.stem
    while stem:
        for suffix in (".asf", ".ASF"):
            candidate = path.with_name(stem + suffix)
            if candidate.is_file():
                return candidate
        stem = stem.rpartition("_")[0]
    raise MotionError(
        f"{path}: an AMC needs the ASF of its person, and none is beside it; expected "
        f"{path.stem}.asf or {path.stem.partition('_')[0]}.asf. Name it with --bones."
    )


def _order(path: Path, body: bytes, bones: Bones) -> tuple[list[str], int]:
    """The bones of the first frame in order, and how many numbers a frame has, its own counted."""
    second = _FIRST_FRAME.search(body, body.find(b"\n") + 1)
    first = body[: second.start()] if second else body
    order = [name.decode(errors="replace") for name in _NAME.findall(first)]
    unknown = [name for name in order if name not in bones.columns]
    if unknown or len(set(order)) < len(order) or not order:
        raise MotionError(
            f"{path}: moves {unknown[0] if unknown else 'a bone twice'!r} in its first frame; "
            f"expected bones of its ASF: {', '.join(bones.columns)}. Name the right --bones."
        )
    return order, 1 + sum(len(bones.columns[name]) for name in order)


def _table(
    path: Path, body: bytes, order: list[str], bones: Bones, width: int, first_line: int
) -> tuple[Array, tuple[str, ...]]:
    """The values (T, C) in the columns of the skeleton; a bone that never moves leaves zeros."""
    rows = _rows(body, order, bones, width)
    notes: tuple[str, ...] = ()
    if rows is None:
        rows = _rows(_whole_frames(path, body, order, bones, first_line), order, bones, width)
        notes = ("cut off: its last frame is not whole, and left out",)
    if rows is None or not len(rows):
        raise MotionError(f"{path}: holds no whole frame. Export it again.")
    table = np.zeros((len(rows), sum(map(len, bones.columns.values()))))
    table[:, [at for name in order for at in bones.columns[name]]] = rows[:, 1:]
    return table, notes


def _rows(body: bytes, order: list[str], bones: Bones, width: int) -> Array | None:
    """The numbers (T, W) of frames that are all like the first one; None if one is not."""
    words = body.split()
    period = width + len(order)
    frames, rest = divmod(len(words), period)
    at = 1
    for name in order:
        if rest or set(words[at::period]) - {name.encode()}:
            return None
        words[at::period] = [b""] * frames
        at += 1 + len(bones.columns[name])
    numbers = parse_numbers(b" ".join(words))
    if numbers is None or numbers.size != frames * width:
        return None
    rows = numbers.reshape(frames, width)
    return rows if np.all(np.diff(rows[:, 0]) == 1) else None


def _whole_frames(
    path: Path, body: bytes, order: list[str], bones: Bones, first_line: int
) -> bytes:
    """The motion up to its last whole frame; a fault before that is an error with its line."""
    lines = body.split(b"\n")
    starts = [at for at, line in enumerate(lines) if line.strip().isdigit()]
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        filled = [at for at in range(start + 1, stop) if lines[at].strip()]
        fault = first_line + start
        for at, name in zip(filled, order, strict=False):
            if not _is_whole(lines[at].split(), name, len(bones.columns[name])):
                fault = first_line + at
                break
        else:
            if len(filled) == len(order):
                continue
        if start == starts[-1] and len(filled) <= len(order):
            return b"\n".join(lines[:start])
        raise MotionError(
            f"{path}:{fault}: a frame that is not like the first one; expected the bones "
            f"{', '.join(order[:4])} ... in this order, each with its numbers. Mend or remove it."
        )
    raise MotionError(f"{path}: its frames are not numbered one after the other. Export it again.")


def _is_whole(words: list[bytes], name: str, values: int) -> bool:
    if len(words) != values + 1 or words[0].decode(errors="replace") != name:
        return False
    try:
        np.array(words[1:], np.float64)
    except ValueError:
        return False
    return True


READER = MotionReader(
    recognises=recognises, read=read, description="AMC: angles for the bones of an ASF"
)
