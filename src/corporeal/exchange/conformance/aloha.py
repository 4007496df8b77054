"""Reads ALOHA files with h5py as ACT's training code does: a likeness of its loader.

ACT is on no registry. This keeps to what is published of its loader, and to nothing that this
project knows besides: files are counted through as episode_0.hdf5, episode_1.hdf5 and so on; `sim`
is an attribute; a row is taken from /observations/qpos, /observations/qvel, every
/observations/images/CAMERA and, from that row to the end, from /action; where the attribute
`compress` is set, a picture is JPEG bytes. Runs by itself.
"""

from __future__ import annotations

import io
from importlib.metadata import version
from pathlib import Path
from typing import Any

import h5py
import numpy as np


def main(request: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Answer a request: every episode, and the rows that were asked for."""
    root = Path(request["path"])
    lengths: list[int] = []
    while (path := root / f"episode_{len(lengths)}.hdf5").exists():
        with h5py.File(path, "r") as file:
            lengths.append(check(file))
    if len(lengths) != len(list(root.glob("*.hdf5"))):
        raise ValueError(f"{len(lengths)} episodes by number, but another number of files")
    samples: dict[str, Any] = {}
    for place, (episode, row) in enumerate(request["rows"]):
        with h5py.File(root / f"episode_{episode}.hdf5", "r") as file:
            packed = bool(file.attrs.get("compress", False))
            for label in request["keys"]:
                # The commands of a sample are all that follow; its first is that of the row.
                chunk = file[f"/{label}"][row:] if label == "action" else file[f"/{label}"]
                samples[f"{place}|{label}"] = chunk[0 if label == "action" else row]
            for label in request["cameras"]:
                samples[f"{place}|{label}"] = picture(file[f"/{label}"][row], packed)
    answer = {
        "library": "h5py, as ACT reads",
        "version": version("h5py"),
        "episodes": [{"length": length, "instructions": None} for length in lengths],
    }
    return answer, samples


def check(file: h5py.File) -> int:
    """The length of an episode in which everything that a loader reads is there."""
    bool(file.attrs["sim"])
    qpos, qvel, action = (file[f"/{name}"] for name in
                          ("observations/qpos", "observations/qvel", "action"))  # fmt: skip
    if qpos.ndim != 2 or qvel.shape != qpos.shape or len(action) != len(qpos):
        raise ValueError(f"qpos {qpos.shape}, qvel {qvel.shape} and action {action.shape} differ")
    for name, pictures in file["/observations/images"].items():
        if len(pictures) != len(qpos):
            raise ValueError(f"camera {name} has {len(pictures)} pictures of {len(qpos)}")
    return len(qpos)


def picture(stored: Any, packed: bool) -> Any:
    """A picture (height, width, 3)."""
    if not packed:
        return np.asarray(stored, np.uint8)
    from PIL import Image

    return np.asarray(Image.open(io.BytesIO(stored.tobytes())).convert("RGB"), np.uint8)
