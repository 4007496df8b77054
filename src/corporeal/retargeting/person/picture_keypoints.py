"""2-D keypoints of people in the pictures of one camera, as estimators write them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.files import refuse_pointer
from corporeal.geometry import Array
from corporeal.retargeting.motion import MotionError
from corporeal.retargeting.person.keypoint_layouts import LAYOUTS

_MAX_BYTES, _MAX_FRAMES, _MAX_FRAME_BYTES = 1 << 28, 1 << 20, 1 << 22
# OpenPose's body of 18, as 17 of COCO with a neck behind the nose.
_OPENPOSE_18 = (
    "nose", "neck", "right_shoulder", "right_elbow", "right_wrist", "left_shoulder", "left_elbow",
    "left_wrist", "right_hip", "right_knee", "right_ankle", "left_hip", "left_knee", "left_ankle",
    "right_eye", "left_eye", "right_ear", "left_ear",
)  # fmt: skip
_BY_COUNT = {17: LAYOUTS["coco17"], 18: _OPENPOSE_18, 25: LAYOUTS["body25"]}


@dataclass(frozen=True, eq=False)
class PictureKeypoints:
    """Of T pictures: `pixels` (T, K, 2), NaN where not known, and `confidence` (T, K)."""

    names: tuple[str, ...]
    pixels: Array
    confidence: Array
    rate_hz: float | None = None


def read_picture_keypoints(path: Path) -> PictureKeypoints:
    """A folder of OpenPose, results of COCO, or fps, names and frames of [x, y, confidence].

    Of several people the one of whom most is seen counts. Raises MotionError for anything else.
    """
    try:
        if path.is_dir():
            return _openpose(path)
        refuse_pointer(path)
        if path.stat().st_size > _MAX_BYTES:
            raise ValueError("more than 256 MiB")
        document = json.loads(path.read_bytes())
        return _coco(document) if isinstance(document, list) else _named(document)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise MotionError(
            f"keypoints {path}, got {error}; expected a folder of OpenPose's *_keypoints.json, "
            "COCO's list of results, or fps, names and frames of [x, y, confidence]. Export again."
        ) from None


def _openpose(folder: Path) -> PictureKeypoints:
    files = sorted(folder.glob("*_keypoints.json"))
    if not files or len(files) > _MAX_FRAMES:
        raise ValueError(f"{len(files)} files *_keypoints.json")
    frames = []
    for file in files:
        refuse_pointer(file)
        if file.stat().st_size > _MAX_FRAME_BYTES:
            raise ValueError(f"{file.name} of more than 4 MiB")
        people = json.loads(file.read_bytes())["people"]
        frames.append([np.array(each["pose_keypoints_2d"], float).reshape(-1, 3)
                       for each in people])  # fmt: skip
    return _of_people(frames)


def _coco(results: list[dict[str, Any]]) -> PictureKeypoints:
    """Results by `image_id`, which has to be a number: the order of names nobody knows."""
    if not results:
        raise ValueError("an empty list")
    numbers = [entry["image_id"] for entry in results]
    if not all(isinstance(number, int) and 0 <= number < _MAX_FRAMES for number in numbers):
        raise ValueError("an image_id that is no number of a picture")
    first = min(numbers)
    frames: list[list[Array]] = [[] for _ in range(max(numbers) - first + 1)]
    for number, entry in zip(numbers, results, strict=True):
        frames[number - first].append(np.array(entry["keypoints"], float).reshape(-1, 3))
    return _of_people(frames)


def _named(document: dict[str, Any]) -> PictureKeypoints:
    names = tuple(str(name) for name in document["names"])
    rows = [[[np.nan, np.nan, 0.0] if point is None else [*point, 1.0][:3] for point in frame]
            for frame in document["frames"]]  # fmt: skip
    values = np.array(rows, float).reshape(len(rows), len(names), 3)
    rate = document.get("fps", document.get("rate_hz"))
    return _made(names, values, None if rate is None else float(rate))


def _of_people(frames: list[list[Array]]) -> PictureKeypoints:
    """Of each frame the person of whom most is seen."""
    counts = {len(person) for people in frames for person in people}
    if len(counts) != 1:
        raise ValueError(f"people of {sorted(counts)} points")
    (count,) = counts
    if count not in _BY_COUNT:
        raise ValueError(f"people of {count} points without names")
    values = np.zeros((len(frames), count, 3))
    for row, people in enumerate(frames):
        if people:
            values[row] = max(people, key=lambda person: float(person[:, 2].clip(0, 1).sum()))
    return _made(_BY_COUNT[count], values, None)


def _made(names: tuple[str, ...], values: Array, rate_hz: float | None) -> PictureKeypoints:
    if not len(values):
        raise ValueError("no frames")
    confidence = np.clip(np.nan_to_num(values[..., 2]), 0.0, 1.0)
    # What an estimator did not find it writes as zeros.
    known = np.isfinite(values).all(axis=2) & (confidence > 0) & values[..., :2].any(axis=2)
    pixels = np.where(known[..., None], values[..., :2], np.nan)
    return PictureKeypoints(names, pixels, np.where(known, confidence, 0.0), rate_hz)
