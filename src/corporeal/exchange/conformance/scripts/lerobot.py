"""Reads a LeRobot dataset with LeRobot, v3.0 or v2.1 as the release knows it. Runs by itself."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np


def main(request: dict[str, Any], folder: Path) -> None:
    """Answer a request: every episode, the statistics, and the rows that were asked for."""
    unsuited = unsuited_for(Path(request["path"]))
    if unsuited:
        (folder / "answer.json").write_text(json.dumps({"unsuited": unsuited}), "utf-8")
        return
    dataset = open_dataset(Path(request["path"]))
    starts, lengths = bounds_of(dataset)
    episodes = [
        {
            "length": length,
            "instructions": [str(text) for text in dataset.meta.episodes[n]["tasks"]],
        }
        for n, length in enumerate(lengths)
    ]
    samples: dict[str, Any] = {}
    for place, (episode, row) in enumerate(request["rows"]):
        item = dataset[starts[episode] + row]
        got = int(item["episode_index"]), int(item["frame_index"])
        if got != (episode, row):
            raise ValueError(f"row {row} of episode {episode} is row {got[1]} of episode {got[0]}")
        for key in request["keys"]:
            if key in item:
                samples[f"{place}|{key}"] = np.asarray(item[key])
        for camera in request["cameras"]:
            if camera in item:
                samples[f"{place}|{camera}"] = picture(item[camera])
    np.savez(folder / "samples.npz", **samples)
    answer = {
        "library": "lerobot",
        "version": version(),
        "episodes": episodes,
        "statistics": statistics(dataset.meta.stats),
    }
    (folder / "answer.json").write_text(json.dumps(answer), "utf-8")


def unsuited_for(path: Path) -> str | None:
    """Why this release is not one for the dataset: each reads one major version of the layout."""
    reads = importlib.import_module("lerobot.datasets.lerobot_dataset").CODEBASE_VERSION
    stated = json.loads((path / "meta" / "info.json").read_text("utf-8"))["codebase_version"]
    if str(stated)[:2] == reads[:2]:
        return None
    return f"the dataset is {stated}, and lerobot {version()} reads {reads}"


def open_dataset(path: Path) -> Any:
    """The dataset as its users open it, from this folder and nowhere else."""
    module = importlib.import_module("lerobot.datasets.lerobot_dataset")
    try:
        return module.LeRobotDataset("local/dataset", root=path, video_backend=backend())
    except ConnectionError as error:
        raise FileNotFoundError(f"files of the dataset are missing ({error})") from error


def backend() -> str:
    """torchcodec where its native part loads, else PyAV."""
    try:
        importlib.import_module("torchcodec.decoders")
    except (ImportError, OSError, RuntimeError):
        return "pyav"
    return "torchcodec"


def bounds_of(dataset: Any) -> tuple[list[int], list[int]]:
    """The first row of every episode and its length, in the words of the release."""
    if hasattr(dataset, "episode_data_index"):
        first, stop = (dataset.episode_data_index[end].tolist() for end in ("from", "to"))
    else:
        first = list(dataset.meta.episodes["dataset_from_index"])
        stop = list(dataset.meta.episodes["dataset_to_index"])
    return first, [int(b) - int(a) for a, b in zip(first, stop, strict=True)]


def picture(tensor: Any) -> Any:
    """A picture (3, height, width) of 0 to 1 as people see it."""
    values = np.asarray(tensor, np.float32).transpose(1, 2, 0)
    return np.rint(values * 255).clip(0, 255).astype(np.uint8)


def statistics(stated: Any) -> dict[str, Any]:
    """What the policies would normalise with; booleans and counts as numbers."""
    return {
        label: {name: np.asarray(values, np.float64).tolist() for name, values in figures.items()}
        for label, figures in (stated or {}).items()
    }


def version() -> str:
    """The release."""
    return importlib.metadata.version("lerobot")


if __name__ == "__main__":
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["HF_HOME"] = str(Path(sys.argv[2]).parent / "huggingface")
    main(json.loads(Path(sys.argv[1]).read_text("utf-8")), Path(sys.argv[2]))
