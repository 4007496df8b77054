"""Reads a robomimic dataset with robomimic's SequenceDataset. Runs by itself."""

from __future__ import annotations

import importlib
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

OBSERVATION = "obs/"


def main(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Answer a request: every episode, and the rows that were asked for, read in both ways.

    `low_dim` keeps all but pictures in memory and makes commands 32-bit; None reads the file.
    """
    path = Path(request["path"])
    path = path / "dataset.hdf5" if path.is_dir() else path
    cached, direct = (open_dataset(path, request, mode) for mode in ("low_dim", None))
    check_environment(direct)
    starts, lengths = bounds_of(direct)
    samples: dict[str, Any] = {}
    for place, (episode, row) in enumerate(request["rows"]):
        item, again = direct[starts[episode] + row], cached[starts[episode] + row]
        for label in (*request["keys"], *request["cameras"]):
            value = column(item, label)
            if not np.allclose(value, column(again, label), rtol=1e-6, atol=1e-6, equal_nan=True):
                raise ValueError(f"{label} is another one in memory, row {row} of {episode}")
            samples[f"{place}|{label}"] = value
    check_masks(path, len(lengths))
    answer = {
        "library": "robomimic",
        "version": version("robomimic"),
        "episodes": [{"length": length, "instructions": None} for length in lengths],
    }
    return answer, samples


def open_dataset(path: Path, request: dict[str, Any], mode: str | None) -> Any:
    """The dataset with all columns: pictures are of the modality rgb, the others low_dim."""
    numbers, pictures = (
        [label.removeprefix(OBSERVATION) for label in request[key] if label.startswith(OBSERVATION)]
        for key in ("keys", "cameras")
    )
    library("obs_utils").initialize_obs_utils_with_obs_specs(
        {"obs": {"low_dim": numbers, "rgb": pictures}}
    )
    others = [label for label in request["keys"] if not label.startswith(OBSERVATION)]
    return library("dataset").SequenceDataset(
        hdf5_path=str(path),
        obs_keys=(*numbers, *pictures),
        dataset_keys=(*others, "rewards", "dones"),
        hdf5_cache_mode=mode,
        load_next_obs=False,
    )


def library(name: str) -> Any:
    """A module of robomimic, which has no types."""
    return importlib.import_module(f"robomimic.utils.{name}")


def bounds_of(dataset: Any) -> tuple[list[int], list[int]]:
    """Where each demonstration begins, and how long it is, as the dataset reckons."""
    lengths = [int(dataset._demo_id_to_demo_length[name]) for name in dataset.demos]
    starts = [int(dataset._demo_id_to_start_indices[name]) for name in dataset.demos]
    if sum(lengths) != len(dataset):
        raise ValueError(f"{len(dataset)} sequences in {sum(lengths)} rows")
    return starts, lengths


def column(item: dict[str, Any], label: str) -> Any:
    """One row of a column: sequences here have the length 1."""
    inside = item["obs"][label.removeprefix(OBSERVATION)] if "/" in label else item[label]
    return np.asarray(inside)[0]


def check_environment(dataset: Any) -> None:
    """robomimic asks the file for the kind of its environment before it trains."""
    data = dataset.hdf5_file["data"]
    library("env_utils").get_env_type(json.loads(data.attrs["env_args"]))
    if int(data.attrs["total"]) != len(dataset):
        raise ValueError(f"total is {data.attrs['total']}; the dataset has {len(dataset)} rows")


def check_masks(path: Path, count: int) -> None:
    """Every demonstration is for training or for validation, as robomimic's filters see them."""
    names: list[str] = []
    for mask in ("train", "valid"):
        part = library("dataset").SequenceDataset(
            hdf5_path=str(path), obs_keys=(), dataset_keys=("dones",), load_next_obs=False,
            filter_by_attribute=mask,
        )  # fmt: skip
        names += part.demos
    if len(set(names)) != count or len(names) != count:
        raise ValueError(f"{len(names)} demonstrations in the masks; expected {count}")
