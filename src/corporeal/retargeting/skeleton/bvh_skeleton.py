"""The first half of a BVH file: its skeleton."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np

from corporeal.retargeting.motion import MotionError
from corporeal.retargeting.skeleton.hierarchy import Hierarchy, SkeletonJoint

MAX_JOINTS = 2000
_CHANNEL = re.compile(r"([xyz])[ _]?(position|rotation|translation)", re.IGNORECASE)


def parse_skeleton(path: Path, head: str) -> tuple[Hierarchy, int]:
    """The joints in the text before MOTION, and how many numbers they take in every frame."""
    joints: list[SkeletonJoint] = []
    open_joints: list[int] = []
    columns = 0
    for line, text in _statements(head):
        words = text.split()
        keyword = words[0].upper()
        if text in "{}":
            if text == "}" and open_joints:
                open_joints.pop()
        elif keyword in ("ROOT", "JOINT") or text.upper().startswith("END"):
            joints.append(_joint(path, line, text, joints, open_joints))
            open_joints.append(len(joints) - 1)
        elif keyword in ("OFFSET", "CHANNELS") and open_joints:
            index = open_joints[-1]
            if keyword == "OFFSET":
                joints[index] = _with_offset(path, line, joints[index], words[1:])
            else:
                joints[index], columns = _with_channels(path, line, joints[index], text, columns)
        elif keyword != "HIERARCHY":
            raise MotionError(
                f"{path}:{line}: got {text[:40]!r}; expected ROOT, JOINT, End Site, OFFSET or "
                "CHANNELS. Export the file again."
            )
        if len(joints) > MAX_JOINTS:
            raise MotionError(f"{path}: more than {MAX_JOINTS} joints; expected one skeleton.")
    if not joints or not columns:
        raise MotionError(f"{path}: its skeleton has no joint that moves. Export it again.")
    return Hierarchy(tuple(joints)), columns


def _statements(head: str) -> list[tuple[int, str]]:
    """Line numbers and what stands there, braces apart from the rest."""
    found = []
    for line, text in enumerate(head.splitlines(), start=1):
        pieces = (piece.strip() for piece in re.split(r"([{}])", text))
        found += [(line, piece) for piece in pieces if piece]
    return found


def _joint(
    path: Path, line: int, text: str, joints: list[SkeletonJoint], above: list[int]
) -> SkeletonJoint:
    keyword, *rest = text.split(maxsplit=1)
    name = rest[0] if rest else f"joint {len(joints)}"
    parent = above[-1] if above else -1
    if keyword.upper() not in ("ROOT", "JOINT"):
        if parent < 0:
            raise MotionError(f"{path}:{line}: an end site without a joint. Export the file again.")
        return SkeletonJoint(f"end of {joints[parent].name}", parent, np.zeros(3), is_end=True)
    if parent < 0 and keyword.upper() == "JOINT":
        raise MotionError(f"{path}:{line}: joint {name!r} hangs on nothing; expected a ROOT first.")
    return SkeletonJoint(name, parent, np.zeros(3))


def _with_offset(path: Path, line: int, joint: SkeletonJoint, words: list[str]) -> SkeletonJoint:
    try:
        offset = np.array([float(word) for word in words])
    except ValueError:
        offset = np.empty(0)
    if offset.shape != (3,) or not np.all(np.abs(offset) < 1e9):
        raise MotionError(
            f"{path}:{line}: OFFSET of {joint.name!r}, got {' '.join(words)[:60]!r}; "
            "expected three numbers. Export the file again."
        )
    return replace(joint, offset=offset)


def _with_channels(
    path: Path, line: int, joint: SkeletonJoint, text: str, columns: int
) -> tuple[SkeletonJoint, int]:
    words = text.split(maxsplit=2)
    channels = [(axis.lower(), kind.lower()) for axis, kind in _CHANNEL.findall(text)]
    if len(words) < 2 or words[1] != str(len(channels)):
        raise MotionError(
            f"{path}:{line}: CHANNELS of {joint.name!r}, got {text[9:80]!r}; expected their "
            "number and then names such as Xposition and Zrotation. Export the file again."
        )
    placed = [
        (kind == "rotation", "xyz".index(axis), column)
        for column, (axis, kind) in enumerate(channels, start=columns)
    ]
    turns = tuple((axis, column) for turns, axis, column in placed if turns)
    moves = tuple((axis, column) for turns, axis, column in placed if not turns)
    return replace(joint, turns=turns, moves=moves), columns + len(channels)
