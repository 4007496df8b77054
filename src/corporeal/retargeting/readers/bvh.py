"""BVH, the common file of motion capture: a skeleton, then one line of angles per frame."""

from __future__ import annotations

import re
from dataclasses import replace
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
    statements = []
    for line, text in enumerate(head.splitlines(), start=1):
        pieces = (piece.strip() for piece in re.split(r"([{}])", text))
        statements += [(line, piece) for piece in pieces if piece]
    return statements


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
    rotations = tuple((axis, column) for rotations, axis, column in placed if rotations)
    moves = tuple((axis, column) for rotations, axis, column in placed if not rotations)
    return replace(joint, rotations=rotations, moves=moves), columns + len(channels)


MAX_BYTES = 1 << 28
MAX_NUMBERS = 60_000_000
_HEAD_BYTES = 1 << 20
# As older programs for Windows print it: 1.#QNAN, -1.#IND00.
_NOT_A_NUMBER = re.compile(rb"-?1\.#[A-Za-z]+\d*")
_MOTION = re.compile(rb"^[ \t]*MOTION\b[^\n]*$", re.IGNORECASE | re.MULTILINE)
_FRAMES = re.compile(rb"\s*(?:number[ _]of[ _])?frames?[ \t]*:?[ \t]*(\d+)[^\n]*\n", re.IGNORECASE)
_TIME = re.compile(rb"\s*frame[ _]?time[ \t]*:?[ \t]*([^\s]+)[^\n]*(?:\n|$)", re.IGNORECASE)


def recognises(path: Path) -> bool:
    """Whether the file begins with a HIERARCHY."""
    with path.open("rb") as file:
        beginning = file.read(4096).removeprefix(b"\xef\xbb\xbf").lstrip()
    return beginning[:9].upper() == b"HIERARCHY"


def read(path: Path, hints: ClipHints) -> HumanMotion:
    """The person in a BVH file."""
    return person_from_skeleton(read_clip(path, hints), hints)


def read_clip(path: Path, hints: ClipHints) -> SkeletalClip:
    """The skeleton and the motion of a BVH file as they are, in its own unit and axes."""
    if path.stat().st_size > MAX_BYTES:
        raise MotionError(f"{path}: larger than {MAX_BYTES >> 20} MiB. Cut the clip into parts.")
    data = path.read_bytes()
    motion = _MOTION.search(data, 0, _HEAD_BYTES)
    if motion is None:
        raise MotionError(
            f"{path}: has no line MOTION; expected a skeleton and then a motion. "
            "The file was cut off or is no BVH: export it again."
        )
    head = data[: motion.start()].decode("utf-8-sig", errors="replace")
    hierarchy, columns = parse_skeleton(path, head)
    frames = _FRAMES.match(data, motion.end())
    time = _TIME.match(data, frames.end()) if frames else None
    if frames is None or time is None:
        raise MotionError(
            f"{path}: after MOTION, got no 'Frames: N' and 'Frame Time: S'; expected both, in "
            "this order. Export it again."
        )
    declared = int(frames[1][:18])
    if declared * columns > MAX_NUMBERS:
        raise MotionError(
            f"{path}: declares {declared} frames of {columns} numbers; expected at most "
            f"{MAX_NUMBERS} numbers. Cut the clip into parts."
        )
    first_line = data.count(b"\n", 0, time.end()) + 1
    table, notes = _table(path, data[time.end() :], columns, declared, first_line)
    moved, about = _with_additions(hierarchy, table)
    if _begins_at_rest(hierarchy, table):
        table = table[1:]
        about = (*about, "the first frame is a rest pose that a converter put there: left out")
    return SkeletalClip(
        path=path,
        format="bvh",
        hierarchy=moved,
        table=table,
        rate_hz=hints.rate_hz or _rate(path, time[1]),
        notes=(*notes, *about),
    )


def _table(
    path: Path, text: bytes, columns: int, declared: int, first_line: int
) -> tuple[Array, tuple[str, ...]]:
    """The numbers (T, C): as many frames as are there and whole."""
    if b"#" in text:
        text = _NOT_A_NUMBER.sub(b"nan", text)
    numbers = parse_numbers(text)
    if numbers is None or numbers.size % columns:
        numbers = _whole_lines(path, text, columns, first_line)
    count = numbers.size // columns
    if not count:
        raise MotionError(f"{path}: holds no whole frame of {columns} numbers. Export it again.")
    if count < declared:
        notes: tuple[str, ...] = (f"cut off: {count} of {declared} declared frames are there",)
    else:
        notes = (f"{count} frames, {declared} declared",) if count > declared else ()
    return numbers.reshape(count, columns), notes


def _whole_lines(path: Path, text: bytes, columns: int, first_line: int) -> Array:
    """The frames up to where a file was cut off; any other line that is wrong is an error."""
    lines = text.split(b"\n")
    filled = [at for at, line in enumerate(lines) if line.strip()]
    whole: list[bytes] = []
    for at in filled:
        words = lines[at].split()
        fault = "" if len(words) == columns else f"{len(words)} numbers"
        try:
            np.array(words, np.float64)
        except ValueError:
            fault = "something that is no number"
        if fault and at == filled[-1] and len(words) <= columns:
            break
        if fault:
            raise MotionError(
                f"{path}:{first_line + at}: got {fault}; expected {columns} numbers, one for each "
                "channel. Mend or remove the line."
            )
        whole.append(lines[at])
    return np.fromstring(b"\n".join(whole), np.float64, sep=" ")


def _with_additions(hierarchy: Hierarchy, table: Array) -> tuple[Hierarchy, tuple[str, ...]]:
    """Joints below the root whose positions are movements added to their offsets, marked so.

    Most programs write a position in place of the offset; some write what is to be added to it.
    """
    joints = list(hierarchy.joints)
    added = []
    for index, joint in enumerate(joints):
        if joint.parent < 0 or not joint.moves or not np.any(joint.offset):
            continue
        axes, columns = zip(*joint.moves, strict=True)
        middle = np.nanmedian(table[:, columns], axis=0)
        offset = joint.offset[list(axes)]
        if np.linalg.norm(middle) < np.linalg.norm(middle - offset):
            added.append(joint.name)
            joints[index] = replace(joint, adds=True)
    notes = (f"positions of {len(added)} joints are added to their offsets",) if added else ()
    return Hierarchy(tuple(joints)), notes


# A clip leaps out of a rest pose if a joint turns by more than this, and all together so many times
# as far as from one frame to the next soon after.
LEAP_RAD, LEAP_RATIO = np.radians(20.0), 5.0


def _begins_at_rest(hierarchy: Hierarchy, table: Array) -> bool:
    """Whether the first frame is nearly all zeros, and the second one a leap away from it.

    Joints are compared as they are turned: near the pole of its axes an angle steps by a quarter
    turn where the joint hardly moves.
    """
    own = [joint for joint in hierarchy.joints if joint.rotations]
    turned = [column for joint in own for _, column in joint.rotations]
    if len(table) < 4 or np.mean(table[0, turned] == 0) < 0.6:
        return False
    columns = table[:64].T
    rotations = np.tile(np.eye(3)[:, :, None], (len(own), 1, 1, columns.shape[1]))
    for rotation, joint in zip(rotations, own, strict=True):
        for axis, column in joint.rotations:
            rotate_about(rotation, axis, np.radians(columns[column]))
    traces = np.einsum("nijt,nijt->tn", rotations[..., 1:], rotations[..., :-1])
    steps = np.arccos(np.clip((traces - 1) / 2, -1.0, 1.0))
    steps = np.nan_to_num(steps)
    together = steps.sum(axis=1)
    return bool(steps[0].max() > LEAP_RAD and together[0] > LEAP_RATIO * together[1:].max())


def _rate(path: Path, text: bytes) -> float:
    try:
        seconds = float(text.replace(b",", b"."))
    except ValueError:
        seconds = 0.0
    if not 1e-5 < seconds < 100:
        raise MotionError(
            f"{path}: got a frame time of {text.decode(errors='replace')}; expected seconds above "
            "zero. Give the rate with --clip-rate."
        )
    # Frame times are written with few digits: 0.0083333 s means 120 Hz.
    rate = 1.0 / seconds
    return float(round(rate)) if abs(rate - round(rate)) < 5e-4 * rate else rate


READER = MotionReader(
    recognises=recognises, read=read, description="BVH: a skeleton and its angles"
)
