"""From a skeleton and a table of its angles to the motion of a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from corporeal.geometry import (
    Array,
    matrix_from_rpy,
    normalise,
    rotation_angle,
    rpy_from_matrix,
)
from corporeal.retargeting.motion import NEEDED, POINTS, SIDES, HumanMotion, MotionError, Origin
from corporeal.retargeting.person.hierarchy import Hierarchy, account_bones
from corporeal.retargeting.person.skeleton_map import (
    SKELETONS,
    SkeletonMap,
    known_skeleton,
)
from corporeal.retargeting.person.skeleton_points import SkeletonPoints, find_points
from corporeal.retargeting.person.standard_axes import standardise
from corporeal.retargeting.reader import ClipHints

# Angles and positions beyond this are the rubbish of a broken export, and unknown.
_ABSURD = 1e7
_WORTH_A_NOTE_DEG = 5.0


@dataclass(frozen=True, eq=False)
class SkeletalClip:
    """What a reader of hierarchical files finds in one: `table` (T, C) moves `hierarchy`."""

    path: Path
    format: str
    hierarchy: Hierarchy
    table: Array
    rate_hz: float
    unit: str | None = None
    notes: tuple[str, ...] = ()


def person_from_skeleton(clip: SkeletalClip, hints: ClipHints) -> HumanMotion:
    """The person in a clip, in metres and z up; MotionError if no body is found in it."""
    tree, anatomy, document, mended = _anatomy(clip, _root(clip, hints.person), hints.skeleton)
    axes = segment_axes(tree, anatomy.points, anatomy.segments)
    notes = [*clip.notes, *mended]
    table = clip.table
    known = np.isfinite(table) & (np.abs(table) < _ABSURD)
    if not known.all():
        bad = int(np.sum(~known.all(axis=1)))
        notes.append(f"{bad} of {len(table)} frames hold numbers that are none: unknown there")
        table = np.where(known, table, np.nan)
    needed = sorted({index for indices in anatomy.points.values() for index in indices})
    rotating = {
        name: joint
        for name, joint in anatomy.segments.items()
        if name in axes or name.endswith("_foot")
    }
    posed = tree.pose(table, needed, list(rotating.values()))
    points = np.full((len(table), len(POINTS), 3), np.nan)
    for name, indices in anatomy.points.items():
        columns = np.searchsorted(needed, indices)
        points[:, POINTS.index(name)] = posed.positions[:, columns].mean(axis=1)
    standard = standardise(
        points,
        unit=hints.unit or clip.unit or (document.unit if document else None),
        up=hints.up or (document.up if document else None),
        source=clip.path,
    )
    seen = np.all(np.isfinite(standard.positions), axis=-1)
    positions = np.where(seen[..., None], standard.positions, np.nan)
    joints = {
        name: standard.rotation @ posed.rotations[:, slot] for slot, name in enumerate(rotating)
    }
    axes, learnt = _with_feet(joints, axes, positions)
    rotations, doubts = believed({name: joints[name] @ axes[name] for name in axes}, positions)
    return HumanMotion(
        name=clip.path.stem,
        rate_hz=clip.rate_hz,
        positions=positions,
        confidence=seen.astype(np.float64),
        origin=Origin(
            path=clip.path,
            format=clip.format,
            skeleton=document.reference if document else "found by anatomy",
            notes=(*notes, *standard.notes, *learnt, *doubts),
            ledger=account_bones(clip.hierarchy, tree, [*needed, *rotating.values()], len(table)),
        ),
        rotations=rotations,
    )


def _with_feet(
    joints: Mapping[str, Array], axes: Mapping[str, Array], positions: Array
) -> tuple[dict[str, Array], list[str]]:
    """The axes with those of feet levelled, or learnt where the rest pose says nothing of them."""
    feet, notes = dict(axes), []
    for side in SIDES:
        name = f"{side}_foot"
        if name not in joints:
            continue
        at_rest = axes.get(name, np.eye(3))
        ankle, toe = (positions[:, POINTS.index(f"{side}_{part}")] for part in ("ankle", "toe"))
        learnt = standing_axes(joints[name] @ at_rest, ankle, toe)
        if learnt is None:
            continue
        if name not in axes:
            feet[name] = learnt
            notes.append(f"how the {side} foot lies was learnt from the frames it stands in")
            continue
        level = level_foot(learnt)
        feet[name] = at_rest @ level
        degrees = np.degrees(rotation_angle(level, np.eye(3)))
        if degrees > _WORTH_A_NOTE_DEG:
            notes.append(f"the {side} foot stands askew by {degrees:.0f} degrees: levelled")
    return feet, notes


def _root(clip: SkeletalClip, person: str | None) -> int:
    tree = clip.hierarchy
    roots = {tree.names[each]: each for each, joint in enumerate(tree.joints) if joint.parent < 0}
    if person is not None and person in roots:
        return roots[person]
    if person is not None:
        raise MotionError(
            f"{clip.path}: holds no person {person!r}; expected one of {', '.join(roots)}."
        )
    if len(roots) > 1:
        raise MotionError(
            f"{clip.path}: holds {len(roots)} skeletons ({', '.join(roots)}). "
            "Name the root of one with --person."
        )
    return 0


def _anatomy(
    clip: SkeletalClip, root: int, asked: str | None
) -> tuple[Hierarchy, SkeletonPoints, SkeletonMap | None, tuple[str, ...]]:
    """By the document a person names, else a built-in one that fits; the rest by anatomy."""
    tree = clip.hierarchy
    inside = [root, *tree.descendants(root)]
    names = [tree.names[each] for each in inside]
    document = SKELETONS.open(asked) if asked is not None else known_skeleton(names)
    points: dict[str, tuple[int, ...]] = {}
    segments: dict[str, int] = {}
    notes: tuple[str, ...] = ()
    if document is not None:
        joints = document.found_in(names)
        if joints is None:
            raise MotionError(
                f"{clip.path}: skeleton {document.reference} names "
                f"{', '.join(document.absent_from(names))}, got only {_joints(names)}. "
                "Name the joints as the file does."
            )
        at = {joint: inside[index] for joint, index in joints.items()}
        tree, notes = _mended(tree, document, at)
        points = {
            name: tuple(at[joint] for joint in document.points[name]) for name in document.points
        }
        segments = {segment: at[joint] for segment, joint in document.segments.items()}
    guessed = find_points(tree, root, points)
    if missing := [name for name in NEEDED if name not in guessed.points]:
        raise MotionError(
            f"{clip.path}: no joint was found for {', '.join(missing)} among {_joints(names)}. Say "
            "which is which in a skeleton document of some ten lines, and give it with --skeleton."
        )
    return tree, SkeletonPoints(guessed.points, {**guessed.segments, **segments}), document, notes


def _mended(
    tree: Hierarchy, document: SkeletonMap, at: dict[str, int]
) -> tuple[Hierarchy, tuple[str, ...]]:
    """The skeleton with the bones that its converter lost, where it did."""
    joints = list(tree.joints)
    notes = []
    for bone in document.lost_bones:
        lost = [at[name] for name in bone.joints]
        if any(np.any(joints[index].offset) for index in lost):
            continue
        offset = joints[at[bone.like]].offset * bone.times
        for index in lost:
            joints[index] = replace(joints[index], offset=offset)
        notes.append(
            f"the file lost the bone before {', '.join(bone.joints)}: taken as {bone.times:g} of "
            f"that before {bone.like}"
        )
    return Hierarchy(tuple(joints)), tuple(notes)


def _joints(names: list[str]) -> str:
    """Names as a person would paste them into a document: with commas alone."""
    joints = [name for name in names if not name.startswith("end of ")]
    more = f" and {len(joints) - 60} more" if len(joints) > 60 else ""
    return ", ".join(joints[:60]) + more


_ABOVE_M = 0.02
_MIN_FRAMES = 10
_SPREAD_RAD = np.radians(8.0)
_MOST_ROLL_RAD = np.radians(20.0)
_MOST_PITCH_RAD = np.radians(15.0)


def standing_axes(rotations: Array, ankle: Array, toe: Array) -> Array | None:
    """Axes (3, 3) of a foot as columns in the axes of its joint, None if it hardly ever stands.

    `rotations` (T, 3, 3) are of the joint, the points (T, 3) in metres and z up. Where heel and
    toes are lowest the sole is taken as flat.
    """
    known = np.all(np.isfinite(rotations), axis=(1, 2)) & np.all(np.isfinite(ankle + toe), axis=1)
    if not known.any():
        return None
    low = known.copy()
    for heights in (ankle[:, 2], toe[:, 2]):
        low &= heights <= np.percentile(heights[known], 10) + _ABOVE_M
    if np.count_nonzero(low) < _MIN_FRAMES:
        return None
    up = np.array([0.0, 0.0, 1.0])
    x = normalise((toe - ankle)[low] * [1.0, 1.0, 0.0])
    flat = np.stack([x, np.cross(up, x), np.broadcast_to(up, x.shape)], axis=-1)
    local = np.swapaxes(rotations[low], 1, 2) @ flat
    mean = _mean(local)
    apart = rotation_angle(local, mean)
    if float(np.median(apart)) > _SPREAD_RAD:
        return None
    # A toe-off among the low frames would tilt the mean: once more without what is far from it.
    return _mean(local[apart <= max(float(np.median(apart)), 1e-6) * 2])


def level_foot(learnt: Array) -> Array:
    """The rotation (3, 3) about its own length that levels a standing foot, none where that is far.

    `learnt` are the foot's axes from standing, in those that were taken for it before. Markers that
    sat askew leave a foot rolled by up to 15 degrees in every frame; the pitch of a foot that is
    low is less sure, since a dancer may never put the heel down.
    """
    roll, pitch, _ = rpy_from_matrix(learnt)
    believable = abs(roll) < _MOST_ROLL_RAD and abs(pitch) < _MOST_PITCH_RAD
    return matrix_from_rpy([roll if believable else 0.0, 0.0, 0.0])


def _mean(rotations: Array) -> Array:
    """The rotation nearest to many (n, 3, 3)."""
    left, _, right = np.linalg.svd(rotations.mean(axis=0))
    sign = np.sign(np.linalg.det(left @ right))
    return np.asarray(left * [1.0, 1.0, sign] @ right)


# Cosines: an axis of the file this near to the trunk is the rest pose's vertical; a shin or an arm
# this near to its direction stands as in a pose that people know.
_NEAR = np.cos(np.radians(25.0))
_FLAT = 0.2


def segment_axes(
    hierarchy: Hierarchy, points: Mapping[str, Sequence[int]], segments: Mapping[str, int]
) -> dict[str, Array]:
    """Axes (3, 3) of those `segments` that the rest pose tells, as columns in the joint's axes.

    At rest no joint is turned, so a direction in the world is the same in every joint's axes.
    """
    at = {name: hierarchy.rest[list(each)].mean(axis=0) for name, each in points.items()}
    trunk = _trunk(at)
    if trunk is None:
        return {}
    found: dict[str, Array] = {"pelvis": trunk}
    shoulders = _frame(at["left_shoulder"] - at["right_shoulder"], trunk[:, 2])
    if shoulders is not None and shoulders[:, 0] @ trunk[:, 0] > _NEAR:
        found["chest"] = shoulders
    found["head"] = trunk
    for side in SIDES:
        foot = _foot(at, side, trunk)
        if foot is not None:
            found[f"{side}_foot"] = foot
        if f"{side}_hand" in segments:
            hand = _hand(hierarchy, at, side, points[f"{side}_wrist"][0], trunk)
            if hand is not None:
                found[f"{side}_hand"] = hand
    return {name: axes for name, axes in found.items() if name in segments}


def _trunk(at: Mapping[str, Array]) -> Array | None:
    """Forward, left and up of the resting body as columns."""
    up = normalise(at["neck"] - at["pelvis"])
    along = int(np.argmax(np.abs(up)))
    if abs(up[along]) > _NEAR:
        # The spine is bent and the neck lies forward: what is vertical is an axis of the file.
        up = np.sign(up[along]) * np.eye(3)[along]
    return _frame(at["left_hip"] - at["right_hip"], up)


def _frame(left: Array, up: Array) -> Array | None:
    """Axes with y exactly along `left` and z as near to `up` as that allows."""
    y = normalise(left)
    z = up - y * (up @ y)
    if not np.linalg.norm(y) or np.linalg.norm(z) < 0.5:
        return None
    z = normalise(z)
    return np.stack([np.cross(y, z), y, z], axis=1)


def _foot(at: Mapping[str, Array], side: str, trunk: Array) -> Array | None:
    """A foot that stands flat at rest, below its own shin, which need not be vertical."""
    if f"{side}_toe" not in at:
        return None
    knee, ankle, toe = (at[f"{side}_{part}"] for part in ("knee", "ankle", "toe"))
    shin, foot, up = normalise(knee - ankle), normalise(toe - ankle), trunk[:, 2]
    left = np.cross(shin, foot)
    if shin @ up < _NEAR or foot @ trunk[:, 0] < _FLAT or np.linalg.norm(left) < _FLAT:
        return None
    y = normalise(left)
    x = normalise(np.cross(y, up))
    return np.stack([x, y, np.cross(x, y)], axis=1)


def _hand(
    hierarchy: Hierarchy, at: Mapping[str, Array], side: str, joint: int, trunk: Array
) -> Array | None:
    """From the thumb or the row of knuckles; else only from arms held out, where palms are down."""
    if f"{side}_hand" not in at:
        return None
    wrist, fingers = at[f"{side}_wrist"], normalise(at[f"{side}_hand"] - at[f"{side}_wrist"])
    thumb = _thumb_side(hierarchy, joint, wrist)
    sign = 1.0 if side == "left" else -1.0
    if thumb is not None:
        back = sign * np.cross(thumb, fingers)
    elif sign * (fingers @ trunk[:, 1]) > _NEAR:
        back = trunk[:, 2]
    else:
        return None
    back = back - fingers * (back @ fingers)
    if np.linalg.norm(back) < _FLAT:
        return None
    z = normalise(back)
    return np.stack([fingers, np.cross(z, fingers), z], axis=1)


def _thumb_side(hierarchy: Hierarchy, joint: int, wrist: Array) -> Array | None:
    """Where the thumb is, seen from the hand: across the knuckles, or from wrist to thumb."""
    below = hierarchy.descendants(joint)
    named = {word: _ends(hierarchy, below, word) for word in ("index", "pinky", "little", "ring")}
    last = next((named[word] for word in ("pinky", "little", "ring") if named[word]), None)
    if named["index"] and last:
        return normalise(hierarchy.rest[named["index"][0]] - hierarchy.rest[last[0]])
    thumbs = _ends(hierarchy, below, "thumb")
    if not thumbs:
        return None
    return normalise(hierarchy.rest[thumbs[-1]] - wrist)


def _ends(hierarchy: Hierarchy, below: Sequence[int], word: str) -> list[int]:
    """Joints of one finger, the first knuckle first; metacarpals lie too near to the others."""
    row = [each for each in below if word in hierarchy.names[each].lower()]
    if word == "thumb":
        return row
    first = [each for each in row if hierarchy.names[each].rstrip().endswith("1")]
    return first or row


def believed(
    rotations: Mapping[str, Array], positions: Array
) -> tuple[dict[str, Array], list[str]]:
    """The rotations (T, 3, 3) that agree with the points (T, P, 3), and a note on the others.

    The rest pose of some skeletons is no pose of a body: all bones in a line, each in its own axes.
    """
    at = {name: positions[:, index] for index, name in enumerate(POINTS)}
    trunk = at["neck"] - at["pelvis"]
    kept = dict(rotations)
    for name, part, most_deg in (("pelvis", "hip", 60.0), ("chest", "shoulder", 45.0)):
        left = at[f"left_{part}"] - at[f"right_{part}"]
        if name in kept and not (
            _apart_deg(kept[name][:, :, 1], left) < 25.0
            and _apart_deg(kept[name][:, :, 2], trunk) < most_deg
        ):
            del kept[name]
    if "head" in kept and not (
        "chest" in kept and _apart_deg(kept["head"][:, :, 0], kept["chest"][:, :, 0]) < 60.0
    ):
        del kept["head"]
    lost = [name for name in rotations if name not in kept]
    notes = [f"its rest pose is no pose of a body: turns of {', '.join(lost)} left out"]
    return kept, notes if lost else []


def _apart_deg(directions: Array, others: Array) -> float:
    """The median angle between two rows of directions (T, 3), infinite if none is known."""
    cosines = np.sum(normalise(directions) * normalise(others), axis=1)
    known = cosines[np.isfinite(cosines)]
    return float(np.degrees(np.arccos(np.median(known).clip(-1, 1)))) if len(known) else np.inf
