"""ASF, the skeleton that goes with motions in AMC: bones with directions, lengths and axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.motion import MotionError
from corporeal.retargeting.skeleton.hierarchy import Hierarchy, SkeletonJoint

MAX_BYTES = 1 << 22
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
    if path.stat().st_size > MAX_BYTES:
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
            self.root.order = _order(words[1])
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
            self.bone.order = _order(words[4]) if len(words) > 4 else "xyz"
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
        turns = tuple(
            ("xyz".index(axis), at[f"r{axis}"]) for axis in reversed(bone.order) if f"r{axis}" in at
        )
        moves = tuple((_AXES[each], at[each]) for each in at if each[0] == "t")
        scale = 1.0 if self.degrees else 180.0 / np.pi
        axes = _turned(np.asarray(bone.axis) * scale, bone.order)
        plain = np.allclose(axes, np.eye(3), atol=1e-12)
        return SkeletonJoint(
            bone.name, parent, offset, turns, moves, adds=True, axes=None if plain else axes
        )


def _three(words: list[str]) -> list[float]:
    if len(words) != 3:
        raise ValueError
    return [float(word) for word in words]


def _order(word: str) -> str:
    if sorted(word.lower()) != ["x", "y", "z"]:
        raise ValueError
    return word.lower()


def _turned(degrees: Array, order: str) -> Array:
    """The matrix of turns about fixed axes, one after the other."""
    matrix = np.eye(3)
    for axis in order:
        along = "xyz".index(axis)
        cosine, sine = np.cos(np.radians(degrees[along])), np.sin(np.radians(degrees[along]))
        turn = np.eye(3)
        first, second = (along + 1) % 3, (along + 2) % 3
        turn[first, first] = turn[second, second] = cosine
        turn[second, first], turn[first, second] = sine, -sine
        matrix = turn @ matrix
    return matrix
