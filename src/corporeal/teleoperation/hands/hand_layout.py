"""Which point of a hand is which: names and orders that devices use, as those of HAND_JOINTS."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

import numpy as np

from corporeal.geometry import Array
from corporeal.teleoperation.operator_input import HAND_JOINTS, WRIST, Side

FINGERS: Final = ("thumb", "index_finger", "middle_finger", "ring_finger", "pinky_finger")
_LONG = ("phalanx_proximal", "phalanx_intermediate", "phalanx_distal", "tip")
_THUMB = ("metacarpal", "phalanx_proximal", "phalanx_distal", "tip")
MEDIAPIPE_21: Final = (
    "wrist",
    *(f"{finger}_{bone}" for finger in FINGERS for bone in (_LONG, _THUMB)[finger == "thumb"]),
)
"""The wrist, then each finger from its root to its tip; also the order of OpenPose's hands."""
ARIA_21: Final = (
    *(f"{finger}_tip" for finger in FINGERS),
    "wrist",
    "thumb_phalanx_proximal",
    "thumb_phalanx_distal",
    *(f"{finger}_{bone}" for finger in FINGERS[1:] for bone in _LONG[:3]),
    "palm",
)
"""Tips first: Project Aria, UmeTrack and HOT3D."""
_MANO_21 = (
    "wrist",
    *(
        f"{FINGERS[number]}_{bone}"
        for number in (1, 2, 4, 3, 0)
        for bone in ((_LONG, _THUMB)[number == 0])[:3]
    ),
    *(f"{finger}_tip" for finger in FINGERS),
)
ORDERS_21: Final[Mapping[str, tuple[str, ...]]] = {
    "mediapipe": MEDIAPIPE_21, "aria": ARIA_21, "mano": _MANO_21,
}  # fmt: skip

_BONES: Final[Mapping[str, str]] = {
    "metacarpal": "metacarpal", "cmc": "metacarpal", "tmc": "metacarpal",
    "mcp": "phalanx_proximal", "knuckle": "phalanx_proximal", "proximal": "phalanx_proximal",
    "pip": "phalanx_intermediate", "intermediate": "phalanx_intermediate",
    "intermediatebase": "phalanx_intermediate", "dip": "phalanx_distal",
    "distal": "phalanx_distal", "intermediatetip": "phalanx_distal", "tip": "tip",
}  # fmt: skip
_THUMB_BONES: Final[Mapping[str, str]] = {
    **_BONES, "knuckle": "metacarpal", "mp": "phalanx_proximal", "ip": "phalanx_distal",
    "intermediatebase": "phalanx_proximal", "intermediate": "phalanx_proximal",
}  # fmt: skip
_FINGER_WORDS: Final[Mapping[str, str]] = {
    "thumb": "thumb", "index": "index_finger", "middle": "middle_finger", "ring": "ring_finger",
    "little": "pinky_finger", "pinky": "pinky_finger",
}  # fmt: skip
_SILENT = frozenset({"finger", "phalanx", "hand", "joint", "position", "pos", "translation"})
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
# A bone of a finger is no longer, and its tip no nearer to the wrist, than a hand has them, m.
_LONGEST_BONE_M, _LEAST_HAND_M, _MOST_HAND_M = 0.13, 0.10, 0.26
# Another order is out of question once its bones are so much longer.
_CLEARLY = 1.15
# Fingers that bend less than this show no palm, m.
_LEAST_BEND_M = 0.004


def joint_named(text: str) -> tuple[Side | None, int] | None:
    """The side, where it is told, and the place in HAND_JOINTS of a name; None for another thing.

    ARKit's, MediaPipe's, OpenXR's and Manus' spellings are known: `leftIndexFingerKnuckle`,
    `INDEX_FINGER_MCP`, `left_index_finger_phalanx_proximal`, `Index_MCP`.
    """
    words = [word.lower() for word in _WORD.findall(text)]
    side: Side | None = None
    if words and words[0] in ("left", "right", "l", "r"):
        side = "left" if words[0][0] == "l" else "right"
        words = words[1:]
    is_hand = words == ["hand"]
    words = [word for word in words if word not in _SILENT]
    if is_hand or words == ["wrist"]:
        return side, WRIST
    if words == ["palm"]:
        return side, HAND_JOINTS.index("palm")
    finger = _FINGER_WORDS.get(words[0]) if words else None
    bones = _THUMB_BONES if finger == "thumb" else _BONES
    bone = bones.get("".join(words[1:]))
    name = f"{finger}_{bone}"
    return (side, HAND_JOINTS.index(name)) if name in HAND_JOINTS else None


def columns_of(order: tuple[str, ...]) -> list[int]:
    """Where the points of an order stand in HAND_JOINTS."""
    return [HAND_JOINTS.index(name) for name in order]


def order_of(points: Array) -> str:
    """Which of ORDERS_21 points (T, 21, 3) in metres have; raises ValueError where none is sure.

    In the right order bones are short and keep their lengths; in another they jump across the hand.
    """
    lengths = {name: _bone_lengths(points, order) for name, order in ORDERS_21.items()}
    sums = {name: float(np.median(each.sum(axis=1))) for name, each in lengths.items()}
    best, *others = sorted(sums, key=lambda name: sums[name])
    longest = float(np.median(lengths[best], axis=0).max())
    if not 0 < longest <= _LONGEST_BONE_M:
        raise ValueError(
            f"21 points whose longest bone is {longest:.3f} m in the likeliest order ({best}); "
            "expected a hand in metres"
        )
    near = [name for name in others if sums[name] < _CLEARLY * sums[best]]
    if near:
        raise ValueError(f"21 points that may be in the order {best} or {near[0]}")
    return best


def side_of(joints: Array) -> Side | None:
    """Whose hand joints (T, 26, 3) are, by where the fingers bend; None where they do not.

    Fingers bend towards the palm: mirrored axes or a wrong name make a left hand of a right one.
    """
    place = {name: joints[:, number] for number, name in enumerate(HAND_JOINTS)}
    wrist = place["wrist"]
    index, little = place["index_finger_phalanx_proximal"], place["pinky_finger_phalanx_proximal"]
    across = np.cross(index - wrist, little - wrist)
    norm = np.linalg.norm(across, axis=1, keepdims=True)
    out_of_back = across / np.where(norm > 0, norm, np.nan)
    bends = [
        np.einsum("ti,ti->t", place[f"{finger}_tip"] - place[f"{finger}_phalanx_proximal"],
                  out_of_back)
        for finger in FINGERS[1:]
    ]  # fmt: skip
    known = np.concatenate(bends)
    known = known[np.isfinite(known)]
    if not len(known):
        return None
    # Fingers are bent towards the palm far more than they are stretched backwards.
    bend = float(np.percentile(known, 10) + np.percentile(known, 90))
    if abs(bend) < _LEAST_BEND_M:
        return None
    # Of a left hand the cross product looks out of its back.
    return "left" if bend < 0 else "right"


def is_hand_size(joints: Array) -> bool:
    """Whether joints (T, 26, 3) are as large as a hand in metres."""
    reach = np.linalg.norm(joints - joints[:, WRIST : WRIST + 1], axis=2)
    known = np.isfinite(reach).any(axis=1)
    far = np.nanmax(reach[known], axis=1) if known.any() else np.zeros(1)
    return bool(_LEAST_HAND_M <= float(np.percentile(far, 90)) <= _MOST_HAND_M)


def _bone_lengths(points: Array, order: tuple[str, ...]) -> Array:
    """Lengths (T, B) of the bones if the points (T, 21, 3) stood in this order."""
    place = {name: points[:, number] for number, name in enumerate(order)}
    bones = []
    for finger in FINGERS:
        chain = ("wrist", *(f"{finger}_{bone}" for bone in (_LONG, _THUMB)[finger == "thumb"]))
        kept = [name for name in chain if name in place]
        bones += [np.linalg.norm(place[a] - place[b], axis=1) for a, b in pairwise(kept)]
    roots = [f"{finger}_phalanx_proximal" for finger in FINGERS[1:]]
    bones += [np.linalg.norm(place[a] - place[b], axis=1) for a, b in pairwise(roots)]
    return np.stack(bones, axis=1)
