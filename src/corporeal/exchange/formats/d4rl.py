"""D4RL HDF5: one long table of steps, cut into episodes where it says terminal or timeout."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from corporeal import hdf5_file
from corporeal.embodiment import Embodiment
from corporeal.episode.facts import RATE
from corporeal.episode.recording import Dataset, Recording
from corporeal.errors import EpisodeError
from corporeal.exchange import hdf5
from corporeal.exchange.foreign_stream import EpisodeReading
from corporeal.exchange.format import Format, dataset_of

RATE_HZ = 20.0
_NEEDED = ("observations", "actions", "terminals")
_ENDS = ("terminals", "timeouts")
# Steps and what comes with each of them; other datasets, such as weights of a policy, have no rows.
_ROWS = ("observations", "actions", "next_observations", "infos/")


def recognises(path: Path) -> bool:
    """Whether the file has observations, actions and terminals side by side."""
    return hdf5.is_hdf5_with(path, _is_table)


def _is_table(file: h5py.File) -> bool:
    found = hdf5_file.members(file)
    return all(isinstance(found.get(name), h5py.Dataset) for name in _NEEDED)


def read(path: Path, *, robot: Embodiment | None = None, rate_hz: float | None = None) -> Dataset:
    """The episodes in the order of their steps; a file states no rate."""
    with hdf5_file.open_hdf5(path) as file:
        spans = _spans(path, file)
    return dataset_of(path, "d4rl", spans, partial(_open, path, robot, rate_hz))


def _spans(path: Path, file: h5py.File) -> list[tuple[int, int]]:
    """First row, and the one after the last, of each episode."""
    found = hdf5_file.members(file)
    count = int(found["actions"].shape[0]) if found["actions"].ndim else 0
    ends = np.zeros(count, bool)
    for name in _ENDS:
        flags = _flags(found.get(name))
        if flags is None:
            continue
        if len(flags) != count:
            raise EpisodeError(
                f"{path}: {name} has {len(flags)} rows for {count} actions; expected as many. "
                "The file is damaged: fetch it again."
            )
        ends |= flags
    if not count:
        raise EpisodeError(f"{path}: has no step; expected at least one. Fetch it again.")
    stops = [*(np.flatnonzero(ends) + 1).tolist()]
    if not stops or stops[-1] < count:
        stops.append(count)
    return list(zip([0, *stops[:-1]], stops, strict=True))


def _flags(dataset: Any) -> NDArray[np.bool_] | None:
    if not isinstance(dataset, h5py.Dataset):
        return None
    values = hdf5.read_numbers(dataset)
    return None if values is None else np.asarray(values.reshape(len(values), -1)[:, 0] != 0)


def _open(
    path: Path,
    robot: Embodiment | None,
    rate_hz: float | None,
    span: tuple[int, int],
    index: int,
) -> Recording:
    first, stop = span
    reading = EpisodeReading(index, rate_hz or RATE_HZ, robot)
    if rate_hz is None:
        reading.assumed[RATE] = f"{RATE_HZ:g} Hz: D4RL states none"
    metadata: dict[str, Any] = {"fps": reading.rate_hz, "rows": [first, stop]}
    with hdf5_file.open_hdf5(path) as file:
        everything = hdf5.datasets(file)
        rows = int(everything["actions"].shape[0])
        for label, dataset in everything.items():
            is_step = dataset.ndim > 0 and dataset.shape[0] == rows
            if label in (*_ENDS, "rewards") and is_step:
                reason = "a mark of a step, kept as metadata"
                reading.leave_out(label, reason, samples=stop - first)
            elif label == "next_observations" and is_step:
                reason = "the observations of the next row again"
                reading.leave_out(label, reason, samples=stop - first)
            elif not is_step or not label.startswith(_ROWS):
                hdf5.leave_out(reading, label, dataset, "has no row for each step")
            elif dataset.dtype.kind not in "fiub" or dataset.ndim > 3:
                reason = "neither numbers nor pictures of a step"
                hdf5.leave_out(reading, label, dataset, reason, lost=True)
            else:
                values = _rows(dataset, first, stop)
                reading.take_numbers(label, values, reading.row_stamps(len(values)))
        hdf5.leave_out_links(reading, file)
        metadata |= _outcome(everything, first, stop)
        if (task := hdf5.text_attribute(file, "env_name")) is not None:
            metadata["task"] = task
    return reading.to_recording(f"{path.stem}_{index:06d}", path, metadata, regridded=True)


def _rows(dataset: Any, first: int, stop: int) -> NDArray[Any]:
    """The rows of one episode; EpisodeError for data elsewhere, or too many."""
    if dataset.external is not None or dataset.is_virtual:
        raise EpisodeError(f"{dataset.name} lies in another file; expected its data in this one.")
    size = (stop - first) * dataset.dtype.itemsize * (dataset.size // max(1, dataset.shape[0]))
    if size > hdf5.MAX_BYTES:
        limit = hdf5.MAX_BYTES >> 20
        raise EpisodeError(f"{dataset.name} has {size >> 20} MiB in one episode; expected {limit}.")
    return np.asarray(dataset[first:stop])


def _outcome(everything: dict[str, Any], first: int, stop: int) -> dict[str, Any]:
    """The sum of rewards, and whether the episode came to an end or ran out of time."""
    facts: dict[str, Any] = {}
    for name in _ENDS:
        flags = _flags(everything.get(name))
        if flags is not None:
            facts[name.removesuffix("s")] = bool(flags[stop - 1])
    if "rewards" in everything:
        facts["reward"] = float(np.nansum(_rows(everything["rewards"], first, stop)))
    return facts


FORMAT = Format(read=read, recognises=recognises, title="D4RL HDF5")
