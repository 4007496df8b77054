"""The ways in which the motion of an episode comes about."""

from __future__ import annotations

import re
from typing import Final, Literal, get_args

CollectionMode = Literal[
    "egocentric demonstration",
    "third-person demonstration",
    "teleoperation",
    "kinesthetic teaching",
    "correction of a policy",
    "autonomous rollout",
    "retargeted mocap",
    "synthetic",
]

RETARGETED_MOCAP: Final = "retargeted mocap"
SYNTHETIC: Final = "synthetic"
COLLECTION_MODES: tuple[CollectionMode, ...] = get_args(CollectionMode)
_OTHER_SPELLINGS: dict[str, CollectionMode] = {
    "egocentric": "egocentric demonstration",
    "third person": "third-person demonstration",
    "third person demonstration": "third-person demonstration",
    "teleop": "teleoperation",
    "teleoperated": "teleoperation",
    "kinesthetic": "kinesthetic teaching",
    "kinaesthetic teaching": "kinesthetic teaching",
    "correction": "correction of a policy",
    "intervention": "correction of a policy",
    "policy correction": "correction of a policy",
    "autonomous": "autonomous rollout",
    "rollout": "autonomous rollout",
    "policy rollout": "autonomous rollout",
    "retargeted": "retargeted mocap",
    "simulated": "synthetic",
    "simulation": "synthetic",
}


def read_mode(text: str) -> str:
    """The mode that the text names, however it is spelt; the text itself where it is none."""
    plain = re.sub(r"[\s_-]+", " ", text.strip().lower())
    for mode in COLLECTION_MODES:
        if plain == mode.replace("-", " "):
            return mode
    return _OTHER_SPELLINGS.get(plain, text)
