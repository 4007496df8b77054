"""Writes a table into a group of an HDF5 file: numbers block by block, pictures one by one."""

from __future__ import annotations

import errno
import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.episode.file import write_attribute
from corporeal.exchange.description import MODE, NAME, TIMES, DatasetDescription, Label
from corporeal.exchange.label_columns import lane_key
from corporeal.exchange.movie.pictures import pictures_of
from corporeal.exchange.table import EpisodeTable

_FIXED_BYTES = 1 << 20
MAX_LANGUAGE = 1 << 14
"""An instruction of more bytes than an attribute holds is in the description alone."""


def write_table(group: Any, table: EpisodeTable, label: Label) -> None:
    """Every column and camera under its label, the capture time of every row, and its mode."""
    _require_room(Path(group.file.filename), table, label)
    _write_numbers(group, table, label)
    for key, camera in table.cameras.items():
        place = label(key)
        if place is None:
            continue
        height, width = camera.spec.size
        shape = (height, width, 3)
        # Neither packed nor shared: one picture is one read, which is what training does.
        pictures = group.create_dataset(place, (len(table), *shape), np.uint8, chunks=(1, *shape))
        for row, picture in enumerate(pictures_of(camera)):
            pictures[row] = picture
    group.create_dataset(TIMES, data=table.time_ns)
    place = label(MODE)
    if table.mode is not None and place is not None:
        group.create_dataset(place, data=table.mode.reshape(-1, 1))
    for lane in table.layout.lanes:
        place = label(lane_key(lane))
        if place is not None:
            rows = group.create_dataset(place, data=table.labels[lane.name])
            write_attribute(rows, "labels", lane.labels)
            write_attribute(rows, "meaning", "places in labels; -1 where nothing is said")


def _require_room(path: Path, table: EpisodeTable, label: Label) -> None:
    """Before the first byte, since an HDF5 library that meets a full disk may bring us down."""
    cameras = [camera for key, camera in table.cameras.items() if label(key) is not None]
    pictures = sum(3 * camera.spec.size[0] * camera.spec.size[1] for camera in cameras)
    columns = sum(8 * math.prod(column.shape) for column in table.layout.columns.values())
    needed = len(table) * (pictures + columns + 16) + _FIXED_BYTES
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise OSError(
            errno.ENOSPC,
            f"episode {table.number} needs some {needed >> 20} MiB, and {free >> 20} MiB are free",
        )


def _write_numbers(group: Any, table: EpisodeTable, label: Label) -> None:
    made: dict[str, Any] = {}
    first = 0
    for block in table.blocks():
        stop = first
        for key, values in block.items():
            place = label(key)
            stop = first + len(values)
            if place is None:
                continue
            if place not in made:
                shape = (len(table), *values.shape[1:])
                made[place] = group.create_dataset(place, shape, values.dtype)
            made[place][first:stop] = values
        first = stop


def write_description(file: Any, description: DatasetDescription) -> None:
    """The description as text at the root of the file: as an attribute it may be too long."""
    file.create_dataset(NAME, data=np.bytes_(json.dumps(description.to_json()).encode()))
