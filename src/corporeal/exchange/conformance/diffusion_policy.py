"""Reads a replay buffer with the zarr library as diffusion policy does: a likeness of its loader.

Diffusion policy is on no registry. This keeps to what is published of its replay buffer, and to
nothing that this project knows besides: a store with `data` and `meta/episode_ends`; every array
of `data` has as many rows as the last episode ends at; a buffer is copied whole into memory, array
by array with `[:]`, or chunk by chunk into another store without unpacking (zarr 2 only), or left
on disk when it is large. Runs by itself.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

zarr: Any = importlib.import_module("zarr")

IN_MEMORY_BYTES = 1 << 28


def main(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Answer a request: every episode, and the rows that were asked for."""
    path = Path(request["path"])
    path = path / "replay.zarr" if (path / "replay.zarr").is_dir() else path
    root = zarr.open(str(path), mode="r")
    ends = np.asarray(root["meta"]["episode_ends"][:])
    check(root, ends)
    size = sum(array.nbytes for _, array in root["data"].arrays())
    data: Any = root["data"]
    if size <= IN_MEMORY_BYTES:
        data = {name: array[:] for name, array in root["data"].arrays()}
        copied = copy_packed(root, data)
        if copied is not None and not np.array_equal(copied["meta/episode_ends"][:], ends):
            raise ValueError("episode_ends are others after a copy")
    starts = [0, *ends[:-1].tolist()]
    samples: dict[str, Any] = {}
    for place, (episode, row) in enumerate(request["rows"]):
        for label in (*request["keys"], *request["cameras"]):
            samples[f"{place}|{label}"] = np.asarray(data[label][starts[episode] + row])
    lengths = np.diff(np.insert(ends, 0, 0)).tolist()
    answer = {
        "library": "zarr, as diffusion policy reads",
        "version": str(zarr.__version__),
        "episodes": [{"length": length, "instructions": None} for length in lengths],
    }
    return answer, samples


def check(root: Any, ends: Any) -> None:
    """What a replay buffer insists on when it is made."""
    for name, array in root["data"].arrays():
        if array.shape[0] != ends[-1]:
            raise ValueError(f"{name} has {array.shape[0]} rows; expected {ends[-1]}")
        if any(a != b for a, b in zip(array.chunks[1:], array.shape[1:], strict=True)):
            raise ValueError(f"{name} is cut in another axis than time: {array.chunks}")
    if list(root["data"].groups()):
        raise ValueError("a group in data; expected arrays only")


def copy_packed(root: Any, data: dict[str, Any]) -> Any:
    """The store in memory with its chunks as they are; None where zarr cannot do that any more."""
    if int(zarr.__version__.partition(".")[0]) > 2:
        return None
    store = zarr.MemoryStore()
    zarr.group(store=store).create_group("data")
    source = zarr.group(root.store)
    for path in ("/meta", *(f"/data/{name}" for name in source["data"])):
        zarr.copy_store(
            source=source.store, dest=store, source_path=path, dest_path=path, if_exists="replace"
        )
    copied = zarr.open(store, mode="r")
    for name, values in data.items():
        again = copied["data"][name]
        if not np.array_equal(again[-1], values[-1], equal_nan=values.dtype.kind == "f"):
            raise ValueError(f"{name} is another one after a copy")
    return copied
