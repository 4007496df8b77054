"""One disagreement of two robot descriptions, and how far apart values may be."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from corporeal.embodiment.embodiment import Placed
from corporeal.geometry import matrix_from_rpy, rotation_angle

Topic = Literal[
    "base", "names", "order", "axes", "limits", "coupling", "poses",
    "mass", "inertia", "collision", "frames", "groups",
]  # fmt: skip
Severity = Literal["differs", "unstated"]


@dataclass(frozen=True)
class RobotDifference:
    """One disagreement; `unstated` means that only one of the two says anything."""

    topic: Topic
    subject: str
    severity: Severity
    words: str
    a: Any = None
    b: Any = None


@dataclass(frozen=True)
class Tolerance:
    """How far apart two values may be and still count as the same."""

    angle_rad: float
    length_m: float
    relative: float
    inertia: float


def pose_differences(
    topic: Topic, name: str, a: Placed, b: Placed, tol: Tolerance
) -> Iterator[RobotDifference]:
    """Where two things stand: distance and angle, each if beyond its tolerance."""
    shift = float(np.linalg.norm(np.subtract(a.xyz, b.xyz)))
    if shift > tol.length_m:
        values = f"{vector_words(a.xyz)} against {vector_words(b.xyz)} m"
        words = f"{name}: {1000 * shift:.4g} mm apart ({values})"
        yield RobotDifference(topic, name, "differs", words, a.xyz, b.xyz)
    turn = float(rotation_angle(matrix_from_rpy(a.rpy), matrix_from_rpy(b.rpy)))
    if turn > tol.angle_rad:
        values = f"rpy {vector_words(a.rpy)} against {vector_words(b.rpy)}"
        words = f"{name}: turned by {turn:.4g} rad ({values})"
        yield RobotDifference(topic, name, "differs", words, a.rpy, b.rpy)


def vector_words(values: Iterable[float]) -> str:
    """Numbers as people write them: `0 0 -0.1027`."""
    return " ".join(f"{value:.4g}" for value in values)
