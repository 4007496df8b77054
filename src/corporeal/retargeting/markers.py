"""Labelled markers over time, whatever file they came from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from corporeal.episode.recording import SourceItem
from corporeal.geometry import Array


@dataclass(frozen=True, eq=False)
class Markers:
    """Labelled markers (T, M, 3) as a file has them: its own unit and axes, NaN where not seen.

    `up` is what the file claims; a body that stands the other way up is believed more. `rotations`
    are of SEGMENTS by subject, in the file's axes, for programs that solved the skeleton. `beside`
    is what the file holds that is no marker.
    """

    path: Path
    format: str
    labels: tuple[str, ...]
    positions: Array
    rate_hz: float
    unit: str | None = None
    up: str | None = None
    rotations: Mapping[str, Mapping[str, Array]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    beside: tuple[SourceItem, ...] = ()
