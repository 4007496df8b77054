"""What the name of a joint says: which side it is on, and which part of the body it is."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from corporeal.retargeting.motion import SIDES

_OPPOSITE = {"left": "right", "right": "left"}
# Rigs carry joints that no person has: they turn the skin, or hold what an animator pulls.
_NOT_OF_A_BODY = ("twist", "roll", "helper", "pole", "target", "ctrl", "control")
# What programs put into names, and what says nothing about a body.
_NOISE = {"c", "j", "b", "def", "org", "jnt", "joint", "bone", "bip", "character", "skeleton"}
_WORD = re.compile(r"LEFT|RIGHT|[LR](?=[A-Z])|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class JointName:
    """A name taken apart: `left`, `right` or no side, and the word that is left."""

    side: str
    word: str

    @property
    def of_a_body(self) -> bool:
        """Whether a person may have this joint, for all the name says."""
        return not any(part in self.word for part in _NOT_OF_A_BODY)


def take_apart(names: Sequence[str]) -> list[JointName]:
    """Every name in its parts; what all names begin with, such as `Bip01`, is left out."""
    split = [_WORD.findall(name.rpartition(":")[2]) or [name] for name in names]
    shared = _shared_beginning(split)
    lowered = [[word.lower() for word in words[shared:]] for words in split]
    sided = [_with_side(words) for words in lowered]
    present = {(side, tuple(words)) for side, words in sided}
    found = []
    for words, (side, rest) in zip(lowered, sided, strict=True):
        # A letter is a side only if the same joint is there on the other side: L5 is none.
        twin = bool(side) and (_OPPOSITE[side], tuple(rest)) in present
        found.append(JointName(side, _word(rest)) if twin else JointName("", _word(words)))
    return found


def _with_side(words: list[str]) -> tuple[str, list[str]]:
    """The side that the words speak of, and the words without it; the clearest sign wins."""
    whole = [(side, side) for side in SIDES]
    letters = [(side, side[0]) for side in SIDES]
    for signs in (whole, letters):
        for at, word in enumerate(words):
            for side, sign in signs:
                if word == sign:
                    return side, words[:at] + words[at + 1 :]
        if signs is whole:
            for at, word in enumerate(words):
                for side in SIDES:
                    if word.startswith(side) or word.endswith(side):
                        return side, [*words[:at], word.replace(side, "", 1), *words[at + 1 :]]
    for side in SIDES:  # lfemur, rhumerus
        if words and words[0].startswith(side[0]) and len(words[0]) > 2:
            return side, [words[0][1:], *words[1:]]
    return "", words


def _word(words: Sequence[str]) -> str:
    letters = [word for word in words if not word.isdigit()]
    return "".join(word for word in letters if word not in _NOISE) or "".join(letters)


def _shared_beginning(split: Sequence[list[str]]) -> int:
    """How many words all names begin with, leaving each name at least one."""
    shortest = min((len(words) for words in split), default=0)
    shared = 0
    while shared < shortest and len({words[shared] for words in split}) == 1:
        shared += 1
    return min(shared, max(shortest - 1, 0))
