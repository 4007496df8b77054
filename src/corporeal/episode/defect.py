"""What a reader finds wrong in a dataset's own bookkeeping, and the check that reports it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

DefectCheck = Literal["index_wrong", "metadata_wrong", "footage_incomplete", "stream_missing"]

INDEX_WRONG: Final = "index_wrong"
"""Rows, numbers and files do not lead to the samples that they should."""
METADATA_WRONG: Final = "metadata_wrong"
"""What the dataset states of itself is not so."""
FOOTAGE_INCOMPLETE: Final = "footage_incomplete"
"""A movie has not the pictures that its stamps promise."""
STREAM_MISSING: Final = "stream_missing"
"""A stream that the dataset lists is not there."""


@dataclass(frozen=True)
class Defect:
    """Something wrong in a dataset's own bookkeeping, as its reader met it.

    `check` names the check that reports it. `episodes` are the numbers of all episodes that it
    concerns, where they are more than one.
    """

    check: DefectCheck
    message: str
    episode: int | None = None
    stream: str | None = None
    value: float | None = None
    limit: float | None = None
    episodes: tuple[int, ...] = ()
