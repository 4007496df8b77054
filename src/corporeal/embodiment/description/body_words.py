"""What the words of a joint's name say of a body, however a maker spells them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_HIP_TO_KNEE = ("leg", "hip", "thigh", "femur", "knee")
LEG = frozenset([*_HIP_TO_KNEE, "shin", "shank", "calf", "tibia", "ankle", "foot", "toe", "toes"])
ARM = frozenset(
    ["arm", "clavicle", "shoulder", "upperarm", "humerus", "elbow", "forearm", "lowerarm", "wrist"]
)
DIGIT = frozenset(["thumb", "index", "middle", "ring", "pinky", "little"])
HAND = DIGIT | {"hand", "finger", "fingers", "palm"}
GRIPPER = frozenset(["gripper", "jaw"])
TORSO = frozenset(["waist", "torso", "spine", "chest", "thorax", "abdomen", "trunk", "back"])
NECK = frozenset(["neck", "head"])
PARTS = LEG | ARM | HAND | GRIPPER | TORSO | NECK
AXES = {"r": "roll", "p": "pitch", "y": "yaw"}
SIDES = {"l": "left", "r": "right"}

_MIRRORED = {"l": "r", "r": "l"}
_SHORT = {
    "ank": "ankle", "ankl": "ankle", "sho": "shoulder", "shld": "shoulder", "shldr": "shoulder",
    "el": "elbow", "elb": "elbow", "elbo": "elbow", "kne": "knee", "kn": "knee", "wri": "wrist",
    "wrs": "wrist", "nck": "neck", "uarm": "upperarm", "farm": "forearm", "grip": "gripper",
}  # fmt: skip
# Atlas and its kin: two letters of the joint and the axis it turns about.
_LETTERED = {
    "hp": "hip", "kn": "knee", "ak": "ankle", "sh": "shoulder", "el": "elbow", "wr": "wrist",
    "uw": "wrist", "mw": "wrist", "lw": "wrist", "bk": "back", "nk": "neck",
}  # fmt: skip
_AXIS_LETTERS = {"x": "roll", "y": "pitch", "z": "yaw"}
_GLUED = sorted(
    PARTS | {"left", "right", "roll", "pitch", "yaw", "joint", "link", "rx", "ry", "rz"}, key=len
)[::-1]
_TOKEN = re.compile(r"[A-Z]+(?![a-z])\d*|[A-Z]?[a-z]+\d*|\d+")


@lru_cache(4096)
def split_name(name: str) -> tuple[str, ...]:
    """A name in lower-case words, cut at case, at signs and where words were run together.

    `LHipYaw`, `l_hip_yaw`, `L/hip.yaw`, `lhipyaw` and `l_leg_hpz` all say l, hip, yaw; a k
    before a capital is a C constant's. Digits stay with the letters before them.
    """
    text = re.sub(r"(?<![A-Za-z])k(?=[A-Z])", "", name)
    return tuple(word for token in _TOKEN.findall(text) for word in _split_token(token.lower()))


def words_in(names: Sequence[str]) -> list[tuple[str, ...]]:
    """The words of each name with sides and axes written out, told from all names together.

    L and R are sides only where the name with the other letter is there too, or at the very
    front; a letter at the end is an axis (`waist_r`, `lleg_hip_p`) wherever it is no side.
    """
    split = [split_name(name) for name in names]
    return [_resolve(words, set(split)) for words in split]


def _split_token(token: str) -> list[str]:
    letters = token.rstrip("0123456789")
    number = token[len(letters) :]
    if letters in SIDES and number:
        return [letters, number]
    if letters in _SHORT:
        return [_SHORT[letters] + number]
    if len(letters) == 3 and letters[:2] in _LETTERED and letters[2] in _AXIS_LETTERS:
        return [_LETTERED[letters[:2]], _AXIS_LETTERS[letters[2]] + number]
    words = _unglue(letters) if letters not in PARTS else None
    return [*words[:-1], words[-1] + number] if words else [token]


def _unglue(token: str) -> list[str] | None:
    """The known words that a token consists of, with at most a side's letter before them."""
    for rest, words in ((token, list[str]()), (token[1:], [token[:1]])):
        if words and words[0] not in SIDES:
            continue
        while rest:
            word = next((known for known in _GLUED if rest.startswith(known)), None)
            if word is None:
                break
            words, rest = [*words, word], rest[len(word) :]
        if not rest and len(words) > 1:
            return words
    return None


def _resolve(words: tuple[str, ...], known: set[tuple[str, ...]]) -> tuple[str, ...]:
    resolved = list(words)
    if not {"left", "right"} & set(words):
        letters = [place for place, word in enumerate(words) if word in SIDES]
        mirrored = [
            place
            for place in letters
            if (*words[:place], _MIRRORED[words[place]], *words[place + 1 :]) in known
        ]
        for place in (mirrored or [place for place in letters if place == 0 < len(words) - 1])[:1]:
            resolved[place] = SIDES[words[place]]
    if len(resolved) > 1 and resolved[-1] in AXES and PARTS & set(resolved[:-1]):
        resolved[-1] = AXES[resolved[-1]]
    return tuple(resolved)
