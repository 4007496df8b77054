"""The usual orders of 3-D keypoints, and how each becomes the points of a body."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from corporeal.geometry import Array
from corporeal.retargeting.motion import POINTS, SIDES
from corporeal.retargeting.person.standard_axes import median

_SMPL = (
    "pelvis", "left_hip", "right_hip", "spine", "left_knee", "right_knee", "upper_spine",
    "left_ankle", "right_ankle", "chest", "left_ball", "right_ball", "neck", "left_collar",
    "right_collar", "skull", "left_shoulder", "right_shoulder", "left_elbow", "right_elbow",
    "left_wrist", "right_wrist",
)  # fmt: skip
_FACE = ("nose", "right_eye", "left_eye", "right_ear", "left_ear")
_FEET = tuple(f"{side}_{part}" for side in SIDES for part in ("big_toe", "small_toe", "heel"))
_FINGERS = tuple(f"{side}_finger{number}" for side in SIDES for number in range(5))
LAYOUTS: Mapping[str, tuple[str, ...]] = {
    "coco17": (
        "nose", "left_eye", "right_eye", "left_ear", "right_ear", "left_shoulder",
        "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_hip",
        "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle",
    ),
    "h36m17": (
        "pelvis", "right_hip", "right_knee", "right_ankle", "left_hip", "left_knee", "left_ankle",
        "spine", "neck", "nose", "head_top", "left_shoulder", "left_elbow", "left_wrist",
        "right_shoulder", "right_elbow", "right_wrist",
    ),
    "smpl22": _SMPL,
    "smpl24": (*_SMPL, "left_hand", "right_hand"),
    "smpl45": (*_SMPL, "left_hand", "right_hand", *_FACE, *_FEET, *_FINGERS),
    "body25": (
        "nose", "neck", "right_shoulder", "right_elbow", "right_wrist", "left_shoulder",
        "left_elbow", "left_wrist", "pelvis", "right_hip", "right_knee", "right_ankle", "left_hip",
        "left_knee", "left_ankle", *_FACE[1:], *_FEET,
    ),
    "kinect25": (
        "pelvis", "spine", "neck_middle", "head", "left_shoulder", "left_elbow", "left_wrist",
        "left_hand", "right_shoulder", "right_elbow", "right_wrist", "right_hand", "left_hip",
        "left_knee", "left_ankle", "left_ball", "right_hip", "right_knee", "right_ankle",
        "right_ball", "neck", "left_hand_tip", "left_thumb", "right_hand_tip", "right_thumb",
    ),
    "blazepose33": (
        "nose", "left_inner_eye", "left_eye", "left_outer_eye", "right_inner_eye", "right_eye",
        "right_outer_eye", "left_ear", "right_ear", "left_mouth", "right_mouth", "left_shoulder",
        "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist", "left_pinky",
        "right_pinky", "left_index", "right_index", "left_thumb", "right_thumb", "left_hip",
        "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle", "left_heel",
        "right_heel", "left_big_toe", "right_big_toe",
    ),
}  # fmt: skip
# How a point is made, the best way first: from names with weights, and how surely.
_Way = tuple[dict[str, float], float]
_WAYS: Mapping[str, tuple[_Way, ...]] = {
    "pelvis": (({"left_hip": 0.5, "right_hip": 0.5}, 1.0),),
    "neck": (({"left_shoulder": 0.5, "right_shoulder": 0.5}, 0.9),),
    "head": (
        ({"left_ear": 0.5, "right_ear": 0.5}, 1.0),
        ({"nose": 0.5, "head_top": 0.5}, 0.8),
        # The joint under the skull, carried on to its middle.
        ({"neck": -0.8, "skull": 1.8}, 0.6),
        ({"nose": 1.0}, 0.4),
    ),
    "toe": (
        ({"big_toe": 0.5, "small_toe": 0.5}, 1.0),
        ({"big_toe": 1.0}, 1.0),
        # The ball of the foot, carried on to the tip.
        ({"ankle": -0.67, "ball": 1.67}, 0.5),
    ),
    "hand": (({"pinky": 0.5, "index": 0.5}, 0.8),),
}
_SPELLINGS = {
    "hips": "pelvis", "midhip": "pelvis", "root": "pelvis", "hip": "pelvis", "thorax": "neck",
    "foot": "ball", "footindex": "big_toe", "toes": "big_toe", "bigtoe": "big_toe",
    "smalltoe": "small_toe", "knuckles": "hand", "headtop": "head_top", "upleg": "hip",
    "forearm": "elbow", "pinkyknuckle": "pinky", "indexknuckle": "index", "football": "ball",
}  # fmt: skip
_SIDED = frozenset(name.partition("_")[2] for name in POINTS if name.startswith("left_"))
# Proportions of a body, as parts of its leg.
_ARM, _TRUNK = 0.676, 0.61


def body_points(names: Sequence[str], keypoints: Array, confidence: Array) -> tuple[Array, Array]:
    """POINTS (T, P, 3) and their confidences (T, P) from keypoints (T, K, 3) of these names."""
    places = {name: index for index, name in enumerate(names) if name}
    positions = np.full((len(keypoints), len(POINTS), 3), np.nan)
    sure = np.zeros((len(keypoints), len(POINTS)))
    for point, name in enumerate(POINTS):
        for parts, trust in _ways(name):
            if all(part in places for part in parts):
                columns = [places[part] for part in parts]
                weights = np.array(list(parts.values()))
                positions[:, point] = np.einsum("k,tki->ti", weights, keypoints[:, columns])
                sure[:, point] = trust * confidence[:, columns].min(axis=1)
                break
    known = np.all(np.isfinite(positions), axis=2) & (sure > 0)
    positions[~known] = np.nan
    return positions, np.where(known, sure, 0.0)


def _ways(name: str) -> list[_Way]:
    side, _, part = name.partition("_")
    if side not in SIDES:
        return [({name: 1.0}, 1.0), *_WAYS.get(name, ())]
    sided = [
        ({f"{side}_{each}": weight for each, weight in parts.items()}, trust)
        for parts, trust in _WAYS.get(part, ())
    ]
    return [({name: 1.0}, 1.0), *sided]


def plain_name(name: str) -> str:
    """A name as the layouts spell it: `LShoulder`, `shoulder.L` and `left shoulder` are one."""
    words = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)
    side, rest = "", []
    for word in (word.lower() for word in words):
        if not side and word in ("l", "left", "r", "right"):
            side = "left" if word[0] == "l" else "right"
        else:
            rest.append(word)
    joined = "".join(rest)
    if not side and joined[:1] in ("l", "r") and joined[1:] in _SIDED:
        # Names all in capitals, such as RKNEE, do not show where the side ends.
        side, joined = ("left" if joined[0] == "l" else "right"), joined[1:]
        rest = [joined]
    if side and joined == "hip":
        return f"{side}_hip"
    part = _SPELLINGS.get(joined, "_".join(rest))
    return f"{side}_{part}" if side else part


def oddness(positions: Array) -> float:
    """How unlike a body these POINTS are: 0 for a perfect one, above 1 for none at all.

    Bones that change their length, sides that differ and proportions that nobody has add to it.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        lengths = {
            (side, bone): _bone(positions, side, *bone)
            for chain in (("hip", "knee", "ankle"), ("shoulder", "elbow", "wrist"))
            for bone in pairwise(chain)
            for side in SIDES
        }
        # As numpy's: divided by zero they are infinite, and no error.
        usual = {key: np.float64(median(each)) for key, each in lengths.items()}
        changing = [median(np.abs(each - usual[key])) / usual[key] for key, each in lengths.items()]
        bones = {bone for _, bone in lengths}
        uneven = [abs(np.log(usual["left", bone] / usual["right", bone])) for bone in bones]
        leg = sum(usual["left", bone] for bone in bones if bone[0] in ("hip", "knee"))
        arm = sum(usual["left", bone] for bone in bones if bone[0] in ("shoulder", "elbow"))
        across = positions[:, POINTS.index("neck")] - positions[:, POINTS.index("pelvis")]
        trunk = median(np.linalg.norm(across, axis=1))
        odd = [
            abs(np.log(usual["left", ("hip", "knee")] / usual["left", ("knee", "ankle")])),
            abs(np.log(usual["left", ("shoulder", "elbow")] / usual["left", ("elbow", "wrist")])),
            abs(np.log(arm / leg / _ARM)),
            abs(np.log(trunk / leg / _TRUNK)),
        ]
        score = 3 * np.mean(changing) + np.mean(uneven) + np.mean(odd)
    return float(score) if np.isfinite(score) else float("inf")


def _bone(positions: Array, side: str, upper: str, lower: str) -> Array:
    ends = [positions[:, POINTS.index(f"{side}_{part}")] for part in (upper, lower)]
    length = np.linalg.norm(ends[1] - ends[0], axis=1)
    return np.asarray(length[np.isfinite(length)])
