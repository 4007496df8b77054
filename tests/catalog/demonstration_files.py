"""Small demonstrations as episode files that the default policy accepts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from tests.quality.demonstrations import BASE, OBJECT, demonstration, without
from tests.quality.reaching import changed

from corporeal.exchange.episode_file import write_recording


def write_demonstration(
    path: Path,
    seed: int,
    *,
    number: int | None = None,
    metadata: Mapping[str, Any] | None = None,
    edits: Mapping[str, Callable[[np.ndarray], None]] | None = None,
    **options: Any,
) -> Path:
    """The demonstration of a seed; `number` is for an id other than the seed's.

    `edits` change the values of streams by their names, in place.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    made = changed(demonstration(seed, metadata=metadata, **options), **(edits or {}))
    named = replace(made, id=str(UUID(int=(number or 0) * 1000 + seed + 1)))
    for label in (BASE, OBJECT):
        named = without(named, label)
    write_recording(named, path)
    return path


def write_demonstrations(folder: Path, seeds: Iterable[int], **options: Any) -> Path:
    """A folder with a demonstration for each seed."""
    for seed in seeds:
        write_demonstration(folder / f"d{seed:02d}.h5", seed, **options)
    return folder
