"""What a record says of its episode: instruction, outcome, and whatever else it states."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.label_track import LabelTrack
from corporeal.episode.recording import ArraySignal
from corporeal.errors import EpisodeError
from corporeal.exchange.rlds.features import STEPS, TEXTS, Leaf, is_text
from corporeal.exchange.tfrecord import Values
from corporeal.schema import Stream, roles

RATE_HZ = 10.0
"""The control rate of a set that nobody knows; that of most of Open X-Embodiment."""


@dataclass(frozen=True)
class KnownColumns:
    """Names and units of the entries of a feature."""

    names: tuple[str, ...]
    units: tuple[str, ...]

    def __add__(self, other: KnownColumns) -> KnownColumns:
        return KnownColumns(self.names + other.names, self.units + other.units)


@dataclass(frozen=True)
class KnownSet:
    """A dataset or a family of them: control rate, and columns by the path in a step.

    `outcome` finds the outcome in the path of the file that an episode was made of.
    """

    rate_hz: float
    columns: Mapping[str, KnownColumns] = field(default_factory=dict)
    outcome: re.Pattern[str] | None = None


_PLACE = KnownColumns(roles.POSITION, ("m",) * 3)
_EULER = KnownColumns(("roll", "pitch", "yaw"), ("rad",) * 3)
_QUATERNION = KnownColumns(("qx", "qy", "qz", "qw"), ("1",) * 4)
_GRIPPER = KnownColumns(("gripper",), ("1",))
_SEVEN_JOINTS = KnownColumns(tuple(f"joint_{number}" for number in range(7)), ("rad",) * 7)

# By a word in the name of the dataset. Commanded velocities are left out: they are shares of a
# largest one, and so without a unit.
_SETS: Mapping[str, KnownSet] = {
    "bridge": KnownSet(5.0, {"observation/state": _PLACE + _EULER + _GRIPPER}),
    "droid": KnownSet(
        15.0,
        {
            "observation/cartesian_position": _PLACE + _EULER,
            "observation/joint_position": _SEVEN_JOINTS,
            "action_dict/cartesian_position": _PLACE + _EULER,
            "action_dict/joint_position": _SEVEN_JOINTS,
        },
        outcome=re.compile(r"(?:^|/)(success|failure)/"),
    ),
    "fractal": KnownSet(3.0, {"observation/base_pose_tool_reached": _PLACE + _QUATERNION}),
    "kuka": KnownSet(
        10.0, {"observation/clip_function_input/base_pose_tool_reached": _PLACE + _QUATERNION}
    ),
    "taco_play": KnownSet(15.0),
    "toto": KnownSet(30.0),
    "viola": KnownSet(20.0),
}


def known_set(name: str) -> KnownSet | None:
    """What is known of the dataset with this name."""
    for word, known in _SETS.items():
        if re.search(rf"(^|[^a-z]){word}", name.lower()):
            return known
    return None


EPISODE = "episode_metadata/"
ID, SUCCESS, IS_JUDGED = "episode_id", "success", "success_known"
VARIANTS, TRACK = "instructions", "labels"
"""Texts of an episode with labels: all wordings as JSON, and the labels themselves."""
_LONGEST = 4096
_LARGEST_TRACK = 64 << 20


@dataclass(frozen=True)
class Facts:
    """What a record says of its episode; `length` is the number of instructions, one per step."""

    id: str | None
    length: int
    metadata: dict[str, Any]


def facts_of(
    example: Mapping[str, Values], others: Mapping[str, Leaf], known: KnownSet | None
) -> Facts:
    """What the features outside the steps say, and the instructions of all steps."""
    stated: dict[str, Any] = {}
    for path, leaf in others.items():
        values = example.get(path, [])
        if len(values) == 1:
            value = _plain(values[0])
            is_flag = leaf.dtype == "bool" and isinstance(value, int)
            stated[path.rsplit("/", 1)[-1]] = bool(value) if is_flag else value
    _judge(stated, known)
    steps = _main_texts(example)
    texts = [text for text in dict.fromkeys([*steps, *_other_texts(example)]) if text]
    if texts:
        first = steps[0] if any(steps) else texts[0]
        stated |= {"task": first, "instruction": first, "instructions": tuple(texts)}
    given = stated.get(ID)
    return Facts(given if isinstance(given, str) else None, len(steps), stated)


def _judge(stated: dict[str, Any], known: KnownSet | None) -> None:
    """Leave `success` where somebody judged it, and find it where it is in a path."""
    if stated.pop(IS_JUDGED, True) is False:
        stated.pop(SUCCESS, None)
    source = stated.get("file_path")
    if known is not None and known.outcome is not None and isinstance(source, str):
        found = known.outcome.search(source)
        if found is not None:
            stated.setdefault(SUCCESS, found[1] == SUCCESS)


def instruction_signal(
    example: Mapping[str, Values], stamps: NDArray[np.int64]
) -> ArraySignal | None:
    """The instructions with the times from which they hold; None when one holds throughout."""
    texts = _main_texts(example)
    if len(set(texts)) < 2 or len(stamps) != len(texts):
        return None
    places = [0, *(n for n in range(1, len(texts)) if texts[n] != texts[n - 1])]
    spec = Stream(name="instruction", group="observations", kind="text", dtype="uint8")
    return ArraySignal(spec, stamps[places], [texts[place] for place in places])


def labels_of(example: Mapping[str, Values], where: str) -> LabelTrack | None:
    """The labels of an episode that Corporeal wrote; EpisodeError when they make no sense."""
    values = example.get(f"{EPISODE}{TRACK}", [])
    if len(values) != 1 or not isinstance(values[0], bytes) or len(values[0]) > _LARGEST_TRACK:
        return None
    try:
        return LabelTrack.from_json(json.loads(values[0]), where=where)
    except (ValueError, RecursionError):
        raise EpisodeError(f"{where}: its labels are not JSON. Replace the file.") from None


def _main_texts(example: Mapping[str, Values]) -> list[str]:
    """The instruction of every step; empty when there is none."""
    for name in TEXTS:
        for path in (f"{STEPS}{name}", f"{STEPS}observation/{name}"):
            values = example.get(path)
            if isinstance(values, list) and values:
                return _decoded(values)
    return []


def _other_texts(example: Mapping[str, Values]) -> list[str]:
    """The same in other words, where an episode has several instructions."""
    found: list[str] = []
    for path in sorted(example):
        values = example[path]
        if path.startswith(STEPS) and is_text(path) and isinstance(values, list):
            found.extend(_decoded(values[:1]))
    return found


def _decoded(values: Sequence[bytes]) -> list[str]:
    # Steps repeat their text: decode each one once.
    known = {value: str(_plain(value)) for value in dict.fromkeys(values)}
    return [known[value] for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")[:_LONGEST]
    return value.item() if isinstance(value, np.generic) else value
