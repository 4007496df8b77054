"""What meta/info.json says of a LeRobot dataset, checked before anything follows from it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Any

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
from corporeal.schema.stream import MAX_VALUES
from corporeal.units import KNOWN

VERSIONS = ("v2.0", "v2.1", "v3.0")
MAX_FEATURES = 4096
MAX_FPS = 1000
_LONGEST_PATH = 1024
_FIELDS = {"episode_chunk", "episode_index", "chunk_index", "file_index", "video_key"}
_FIELD = re.compile(r"\{(\w+)(?::0?(\d{1,2})d)?\}")
DATA_PATH = {
    2: "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    3: "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
}
VIDEO_PATH = {
    2: "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    3: "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
}


@dataclass(frozen=True)
class Feature:
    """One column or camera: its type, the shape of one sample, and names of the last axis."""

    key: str
    dtype: str
    shape: tuple[int, ...]
    names: tuple[str, ...] | None
    facts: Mapping[str, Any]

    @property
    def is_video(self) -> bool:
        """Whether its samples are frames of a movie beside the table."""
        return self.dtype == "video"

    @property
    def is_image(self) -> bool:
        """Whether its samples are pictures inside the table."""
        return self.dtype == "image"

    @property
    def width(self) -> int:
        """Values in one sample."""
        return math.prod(self.shape)

    @property
    def given_shape(self) -> tuple[int, ...] | None:
        """The shape of one sample before it was stored flat, if that is said."""
        stated = self.facts.get("original_shape")
        if not isinstance(stated, list) or len(self.shape) != 1 or len(stated) > 8:
            return None
        sizes = tuple(whole(size) for size in stated)
        return sizes if min(sizes, default=0) > 0 and math.prod(sizes) == self.width else None

    @property
    def unit(self) -> str | tuple[str, ...] | None:
        """The unit, or that of each entry of the last axis, if that is said."""
        stated = self.facts.get("unit")
        listed = [stated] if isinstance(stated, str) else stated
        if not isinstance(listed, list) or not all(
            isinstance(unit, str) and unit in KNOWN for unit in listed
        ):
            return None
        if isinstance(stated, str):
            return stated
        last = (self.given_shape or self.shape or (1,))[-1]
        return tuple(listed) if len(listed) == last else None

    @property
    def last_names(self) -> tuple[str, ...] | None:
        """Names of the last axis as it was before the column was stored flat."""
        return self.names if self.given_shape is None else _names(self.facts.get("original_names"))

    @property
    def is_depth(self) -> bool:
        """Whether the pictures are depth maps."""
        facts = [self.facts, self.facts.get("info"), self.facts.get("video_info")]
        return any(isinstance(each, dict) and each.get("video.is_depth_map") for each in facts)


@dataclass(frozen=True)
class Info:
    """A dataset's head: version, rate, totals, features, and where its files lie."""

    root: Path
    version: str
    fps: float
    robot_type: str | None
    features: Mapping[str, Feature]
    data_path: str
    video_path: str
    raw: Mapping[str, Any]

    @property
    def major(self) -> int:
        """2 or 3: one file for every episode, or many episodes in a file."""
        return int(self.version[1])

    @property
    def shares_files(self) -> bool:
        """Whether a file holds several episodes."""
        return self.major == 3

    @cached_property
    def cameras(self) -> tuple[Feature, ...]:
        """Features that are movies."""
        return tuple(feature for feature in self.features.values() if feature.is_video)

    def total(self, what: str) -> int | None:
        """A stated total such as total_frames."""
        number = whole(self.raw.get(what))
        return number if number >= 0 else None

    def data_file(self, **fields: int) -> Path:
        """The table of an episode (v2: episode_index) or file (v3: chunk_index, file_index)."""
        return self.root / _filled(self.data_path, fields | self._chunk(fields))

    def video_file(self, key: str, **fields: int) -> Path:
        """The movie of a camera in an episode (v2) or file (v3)."""
        return self.root / _filled(
            self.video_path, {"video_key": key} | fields | self._chunk(fields)
        )

    def _chunk(self, fields: Mapping[str, int]) -> dict[str, int]:
        size = max(1, whole(self.raw.get("chunks_size"), 1000))
        number = fields.get("episode_index")
        return {} if number is None else {"episode_chunk": number // size}


def read_info(root: Path) -> Info:
    """The head of the dataset in a folder; raises EpisodeError when it cannot be relied on."""
    path = root / "meta" / "info.json"
    raw = read_json(path)
    if not isinstance(raw, dict):
        raise EpisodeError(f"{path}: got {type(raw).__name__}; expected a JSON object.")
    version = _version(path, raw)
    fps = raw.get("fps")
    if not isinstance(fps, int | float) or not 0 < fps <= MAX_FPS:
        raise EpisodeError(f"{path}: fps, got {fps!r}; expected frames per second, "
                           f"at most {MAX_FPS}.")  # fmt: skip
    robot_type = raw.get("robot_type")
    major = int(version[1])
    return Info(
        root=root,
        version=version,
        fps=float(fps),
        robot_type=robot_type if isinstance(robot_type, str) else None,
        features=_features(path, raw.get("features")),
        data_path=_template(path, "data_path", raw.get("data_path") or DATA_PATH[major]),
        video_path=_template(path, "video_path", raw.get("video_path") or VIDEO_PATH[major]),
        raw=raw,
    )


def _version(path: Path, raw: Mapping[str, Any]) -> str:
    stated = str(raw.get("codebase_version"))
    version = stated if stated.startswith("v") else f"v{stated}"
    if version not in VERSIONS:
        raise EpisodeError(
            f"{path}: codebase_version, got {stated!r}; expected one of: {', '.join(VERSIONS)}."
        )
    return version


def _template(path: Path, what: str, template: Any) -> str:
    """A file name template that only fills in numbers and stays below the dataset's folder."""
    fields = [match[0] for match in _FIELD.findall(template)] if isinstance(template, str) else []
    rest = set(_FIELD.sub("", template)) if isinstance(template, str) else set()
    if not isinstance(template, str) or set(fields) - _FIELDS or rest & set("{}\0"):
        raise EpisodeError(f"{path}: {what}, got {template!r}; expected fields such as "
                           "{episode_index:06d}.")  # fmt: skip
    _stays_below(path, what, template)
    return template


def _stays_below(path: Path, what: str, name: str) -> None:
    parts = PurePosixPath(name.replace("\\", "/"))
    if len(name) > _LONGEST_PATH or any(len(part) > 255 for part in parts.parts):
        raise EpisodeError(f"{path}: {what}, got a name of {len(name)} letters; expected a path.")
    if parts.is_absolute() or ".." in parts.parts or "\0" in name or ":" in _FIELD.sub("", name):
        raise EpisodeError(f"{path}: {what}, got {name!r}; expected a path inside the dataset.")


def _filled(template: str, values: Mapping[str, Any]) -> str:
    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1])
        if value is None:
            raise EpisodeError(f"path template {template!r} has {match[1]!r}, which has no value.")
        return str(value).zfill(int(match[2] or 0))

    return _FIELD.sub(fill, template)


def _features(path: Path, listed: Any) -> dict[str, Feature]:
    if not isinstance(listed, dict) or len(listed) > MAX_FEATURES:
        raise EpisodeError(
            f"{path}: features, got {type(listed).__name__}; expected an object with at most "
            f"{MAX_FEATURES} entries."
        )
    return {key: _feature(path, key, entry) for key, entry in listed.items()}


def _feature(path: Path, key: str, entry: Any) -> Feature:
    _stays_below(path, "feature", key)
    shape = entry.get("shape") if isinstance(entry, dict) else None
    sizes = tuple(whole(size) for size in shape) if isinstance(shape, list) else None
    if sizes is None or len(sizes) > 8 or min(sizes, default=1) < 0:
        raise EpisodeError(
            f"{path}: feature {key!r} has shape {shape!r}; expected a list of sizes."
        )
    if math.prod(sizes) > MAX_VALUES:
        raise EpisodeError(
            f"{path}: feature {key!r} has shape {shape!r}; expected at most {MAX_VALUES} values."
        )
    return Feature(
        key=key,
        dtype=str(entry.get("dtype")),
        shape=sizes,
        names=_names(entry.get("names")),
        facts=entry,
    )


def _names(listed: Any) -> tuple[str, ...] | None:
    """Names of the columns, however deep they are nested; None when there are none."""
    if isinstance(listed, dict):
        # {"motors": [...]}, or {"left_shoulder": 0, ...}
        if listed and all(whole(value) >= 0 for value in listed.values()):
            return tuple(str(key) for key in sorted(listed, key=lambda key: whole(listed[key])))
        listed = list(listed.values())
    if not isinstance(listed, list):
        return None
    while len(listed) == 1 and isinstance(listed[0], list):
        listed = listed[0]
    flat: list[str] = []
    for name in listed:
        if isinstance(name, list):
            flat.extend(str(each) for each in name)
        elif name is not None:
            flat.append(str(name))
    return tuple(name.replace("\0", "") or "unnamed" for name in flat) or None


Parts = Mapping[str, tuple[int, int]]
Joints = tuple[str | None, ...]

_SECTIONS = {"observation.state": "state", "action": "action"}


def read_modality(root: Path) -> Mapping[str, Parts]:
    """Columns (start, end) of each group by feature, as GR00T's meta/modality.json gives them."""
    path = root / "meta" / "modality.json"
    try:
        stated = read_json(path) if path.is_file() else {}
    except EpisodeError:
        return {}  # A file for one trainer: the dataset can be read without it.
    modality: dict[str, dict[str, tuple[int, int]]] = {}
    for key, section in _SECTIONS.items():
        parts = stated.get(section) if isinstance(stated, dict) else None
        for part, span in parts.items() if isinstance(parts, dict) else ():
            if isinstance(span, dict) and span.get("original_key", key) == key:
                start, end = whole(span.get("start")), whole(span.get("end"))
                if 0 <= start < end:
                    modality.setdefault(key, {})[part] = (start, end)
    return modality


def name_parts(names: tuple[str, ...], parts: Parts) -> tuple[str, ...]:
    """Columns that are only counted under the names of their groups: motor_7 is left_hand_0."""
    if not is_numbered(names):
        return names
    named = list(names)
    for part, (start, end) in parts.items():
        for column in range(start, min(end, len(named))):
            named[column] = f"{part}_{column - start}"
    return tuple(named) if len(set(named)) == len(named) else names


def joints_of(feature: Feature, parts: Parts | None, robot: Embodiment) -> Joints:
    """The robot's joint of every column: by name, or by group where columns are only counted."""
    names = _modality_names(feature)
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
        guess = guess_robot(info.robot_type, _modality_names(feature))
        if guess is not None:
            return guess
        for robot in named_robots(info.robot_type):
            joints = joints_of(feature, modality.get(key), robot)
            if 2 * sum(map(bool, joints)) >= feature.width:
                return robot
    return None


def _modality_names(feature: Feature) -> tuple[str, ...]:
    width = feature.shape[0] if len(feature.shape) == 1 else 0
    if feature.names is not None and len(feature.names) == width:
        return feature.names
    return tuple(f"{number}" for number in range(width))
