"""How the parts of a body lie in their joints' axes, as far as a skeleton's rest pose tells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from corporeal.geometry import Array, normalise
from corporeal.retargeting.motion import POINTS, SIDES
from corporeal.retargeting.person.hierarchy import Hierarchy

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
