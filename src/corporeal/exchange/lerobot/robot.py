"""Which robot a LeRobot dataset is of, and which of its joints every column is."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from corporeal.embodiment import Embodiment
from corporeal.embodiment.joints import (
    guess_robot,
    is_numbered,
    match_groups,
    match_joints,
    matched_share,
    named_robots,
)
from corporeal.errors import EpisodeError
from corporeal.exchange.json_text import read_json, whole
from corporeal.exchange.lerobot.info import Feature, Info

Parts = Mapping[str, tuple[int, int]]
Joints = tuple[str | None, ...]

_SECTIONS = {"observation.state": "state", "action": "action"}


def read_modality(root: Path) -> dict[str, Parts]:
    """Columns (start, end) of each group by feature, as GR00T's meta/modality.json gives them."""
    path = root / "meta" / "modality.json"
    try:
        stated = read_json(path) if path.is_file() else {}
    except EpisodeError:
        return {}  # A file for one trainer: the dataset can be read without it.
    found: dict[str, Parts] = {}
    for key, section in _SECTIONS.items():
        parts = stated.get(section) if isinstance(stated, dict) else None
        for part, span in parts.items() if isinstance(parts, dict) else ():
            if isinstance(span, dict) and span.get("original_key", key) == key:
                start, end = whole(span.get("start")), whole(span.get("end"))
                if 0 <= start < end:
                    found.setdefault(key, {})[part] = (start, end)  # type: ignore[index]
    return found


def joints_of(feature: Feature, parts: Parts | None, robot: Embodiment) -> Joints:
    """The robot's joint of every column: by name, or by group where columns are only counted."""
    names = _names(feature)
    joints = match_joints(names, robot)
    if parts and (is_numbered(names) or matched_share(names, joints) < 0.5):
        grouped = match_groups(parts, feature.width, robot)
        if sum(map(bool, grouped)) > sum(map(bool, joints)):
            return grouped
    return joints


def find_robot(info: Info, modality: Mapping[str, Parts]) -> Embodiment | None:
    """The built-in robot that the dataset names, if its columns agree."""
    for key in ("observation.state", "action"):
        feature = info.features.get(key)
        if feature is None or len(feature.shape) != 1:
            continue
        guess = guess_robot(info.robot_type, _names(feature))
        if guess is not None:
            return guess
        for robot in named_robots(info.robot_type):
            joints = joints_of(feature, modality.get(key), robot)
            if 2 * sum(map(bool, joints)) >= feature.width:
                return robot
    return None


def _names(feature: Feature) -> tuple[str, ...]:
    width = feature.shape[0] if len(feature.shape) == 1 else 0
    if feature.names is not None and len(feature.names) == width:
        return feature.names
    return tuple(f"{number}" for number in range(width))
