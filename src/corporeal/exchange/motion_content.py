"""What a file of a robot's motion holds by name: numbers, texts, and all that nobody asked for."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from corporeal.errors import EpisodeError
from corporeal.exchange.robot_motion import Array, MotionPart

Content = Mapping[str, Any]
_MOST_STATED = 1024
_PLAIN = (str, bool, int, float, np.generic)


def numbers_of(content: Content, key: str, name: str, axes: int) -> Array:
    """The array of this name; EpisodeError when it has other axes or no numbers."""
    values = content[key]
    if not isinstance(values, np.ndarray | list):
        raise EpisodeError(f"{name}: {key} is no array. Replace the file.")
    try:
        array = np.asarray(values, np.float64)
    except (TypeError, ValueError):
        raise EpisodeError(f"{name}: {key} holds no numbers. Replace the file.") from None
    if array.ndim != axes:
        raise EpisodeError(
            f"{name}: {key} has {array.ndim} axes; expected {axes}, the frames first."
        )
    return array


def rate_in(content: Content, key: str) -> float | None:
    """The rate that the file states under this name."""
    try:
        rate = float(np.asarray(content.get(key)).reshape(-1)[0])
    except (TypeError, ValueError, IndexError):
        return None
    return rate if 1e-3 <= rate <= 1e5 else None


def texts_of(content: Content, key: str, count: int) -> tuple[str, ...] | None:
    """So many names, all different; None when there are others."""
    values = content.get(key)
    if values is None or isinstance(values, str | bytes):
        return None
    texts = tuple(str(value) for value in np.asarray(values).reshape(-1).tolist())
    return texts if len(texts) == count and len(set(texts)) == count else None


def velocities_of(content: Content, key: str, joints: Array) -> Array | None:
    """Speeds as many as there are joints; None when there are none."""
    values = content.get(key)
    if not isinstance(values, np.ndarray) or values.shape != joints.shape:
        return None
    return values.astype(np.float64)


def rest_of(
    content: Content,
    frames: int,
    taken: Collection[str],
    parts: Mapping[str, MotionPart],
    rows: slice = slice(None),
) -> dict[str, Any]:
    """What the file calls what is taken, the arrays with an entry for every frame, and the rest.

    `taken` are the names of those that are in joints and base whole.
    """
    others = {
        key: values[rows]
        for key, values in content.items()
        if isinstance(values, np.ndarray)
        and key not in taken
        and values.ndim
        and len(values) == frames > 1
        and values.dtype.kind in "fiub"
    }
    beside = {
        key: value
        for key, value in content.items()
        if key not in parts and key not in others and key not in taken
    }
    return {
        "others": others,
        "parts": {key: part for key, part in parts.items() if key in content},
        "stated": {key: _stated(value) for key, value in beside.items() if _is_small(value)},
        "unread": {key: _why_unread(value) for key, value in beside.items()
                   if not _is_small(value)},
    }  # fmt: skip


def _is_small(value: Any) -> bool:
    """Whether it is a number, a text, or a short list of either."""
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fiubU" and value.size <= _MOST_STATED
    if isinstance(value, list | tuple):
        return len(value) <= _MOST_STATED and all(isinstance(each, _PLAIN) for each in value)
    return isinstance(value, _PLAIN)


def _stated(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def _why_unread(value: Any) -> str:
    if value is None:
        return "nothing that can be read without executing it"
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return f"an array of shape {list(value.shape)}; expected an entry for every frame"
    return f"no array of numbers, but {type(value).__name__}"
