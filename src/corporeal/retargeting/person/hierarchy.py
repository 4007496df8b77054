"""A tree of joints as motion files describe it, and where all its joints are in every frame."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from corporeal.episode.recording import Ledger
from corporeal.geometry import Array
from corporeal.retargeting.motion import account

# Frames worked on at a time: the matrices of a whole chain then stay in the processor's cache.
_FRAMES = 4096


@dataclass(frozen=True, eq=False)
class SkeletonJoint:
    """One joint, or the end of a chain, and the columns of the motion table that move it.

    `offset` is from the parent, in the parent's axes. `rotations` are pairs of an axis (0, 1, 2)
    and a column of degrees, in the order in which their matrices multiply; `moves` pairs of an axis
    and a column that stands in for that part of the offset, or is added to it where `adds`.
    `axes` are those that the rotations are about, where they are not the parent's own.
    """

    name: str
    parent: int
    offset: Array
    rotations: tuple[tuple[int, int], ...] = ()
    moves: tuple[tuple[int, int], ...] = ()
    adds: bool = False
    axes: Array | None = None
    is_end: bool = False


@dataclass(frozen=True, eq=False)
class SkeletonPose:
    """Positions (T, n, 3) and rotations (T, m, 3, 3) of the joints that were asked for."""

    positions: Array
    rotations: Array


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """Joints, each after its parent; a root has the parent -1."""

    joints: tuple[SkeletonJoint, ...]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The joints' names in order; the end of a chain is called `end of <joint>`."""
        return tuple(joint.name for joint in self.joints)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The joints that hang on each joint."""
        below: list[list[int]] = [[] for _ in self.joints]
        for index, joint in enumerate(self.joints):
            if joint.parent >= 0:
                below[joint.parent].append(index)
        return tuple(map(tuple, below))

    @cached_property
    def rest(self) -> Array:
        """Positions (J, 3) of all joints where nothing is turned or moved."""
        places = np.zeros((len(self.joints), 3))
        for index, joint in enumerate(self.joints):
            places[index] = joint.offset
            if joint.parent >= 0:
                places[index] += places[joint.parent]
        return places

    def ancestors(self, index: int) -> list[int]:
        """The joint itself, its parent, and so on up to the root."""
        chain = [index]
        while self.joints[chain[-1]].parent >= 0:
            chain.append(self.joints[chain[-1]].parent)
        return chain

    def descendants(self, index: int) -> list[int]:
        """All joints below this one, nearest to the root first."""
        inside = {index}
        for each in range(index + 1, len(self.joints)):
            if self.joints[each].parent in inside:
                inside.add(each)
        return sorted(inside - {index})

    def meeting(self, first: int, second: int) -> int:
        """The last joint that both hang on, -1 if there is none."""
        above = set(self.ancestors(first))
        return next((each for each in self.ancestors(second) if each in above), -1)

    def pose(self, table: Array, places: Sequence[int], turned: Sequence[int] = ()) -> SkeletonPose:
        """Where joints are, and how they are turned, in every row of a motion table (T, C)."""
        walk = self._walk({*places, *turned})
        positions = np.empty((len(table), len(places), 3))
        rotations = np.empty((len(table), len(turned), 3, 3))
        for first in range(0, len(table), _FRAMES):
            rows = slice(first, first + _FRAMES)
            columns = np.ascontiguousarray(table[rows].T)
            where: dict[int, Array] = {}
            how: dict[int, Array] = {}
            for index in walk:
                self._step(index, columns, where, how)
            for slot, index in enumerate(places):
                positions[rows, slot] = where[index].T
            for slot, index in enumerate(turned):
                rotations[rows, slot] = np.moveaxis(how[index], -1, 0)
        return SkeletonPose(positions, rotations)

    def _walk(self, wanted: Iterable[int]) -> list[int]:
        needed: set[int] = set()
        for index in wanted:
            needed.update(self.ancestors(index))
        return sorted(needed)

    def _step(
        self, index: int, columns: Array, where: dict[int, Array], how: dict[int, Array]
    ) -> None:
        """Add one joint's position (3, T) and rotation (3, 3, T) to those of its ancestors."""
        joint = self.joints[index]
        frames = columns.shape[1]
        offset = np.repeat(joint.offset[:, None], frames, axis=1)
        for axis, column in joint.moves:
            offset[axis] = columns[column] + (joint.offset[axis] if joint.adds else 0.0)
        if joint.parent < 0:
            where[index] = offset
            rotation = np.repeat(np.eye(3)[:, :, None], frames, axis=2)
        else:
            parent = how[joint.parent]
            where[index] = where[joint.parent] + np.einsum("ijt,jt->it", parent, offset)
            if not joint.rotations:
                how[index] = parent
                return
            rotation = parent.copy()
        if joint.axes is not None:
            rotation = np.einsum("ijt,jk->ikt", rotation, joint.axes)
        for axis, column in joint.rotations:
            rotate_about(rotation, axis, np.radians(columns[column]))
        if joint.axes is not None:
            rotation = np.einsum("ijt,kj->ikt", rotation, joint.axes)
        how[index] = rotation


def parse_numbers(text: bytes) -> Array | None:
    """All numbers of a text with space between them, None where something in it is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(text, np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None


def rotate_about(rotation: Array, axis: int, angle: Array) -> None:
    """Multiply matrices (3, 3, T) from the right by rotations about one axis, in place."""
    first, second = (axis + 1) % 3, (axis + 2) % 3
    cosine, sine = np.cos(angle), np.sin(angle)
    a, b = rotation[:, first].copy(), rotation[:, second].copy()
    rotation[:, first] = cosine * a + sine * b
    rotation[:, second] = cosine * b - sine * a


def account_bones(whole: Hierarchy, tree: Hierarchy, needed: Iterable[int], frames: int) -> Ledger:
    """The joints of a file: those that points of the person hang on, and those that move none.

    `needed` are joints of the `tree` that the person was found in.
    """
    used: set[str] = set()
    for index in needed:
        while index >= 0:
            used.add(tree.names[index])
            index = tree.joints[index].parent
    named = [joint.name for joint in whole.joints if not joint.is_end]
    return account(named, used, "it moves no point that a robot follows", frames=frames)
