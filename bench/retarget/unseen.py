"""Motions that took no part in the making: people who crawl, get up, roll, dance, run and kick.

They were captured, and published for simulated characters, by the authors of DeepMimic (Peng et
al. 2018); the package pybullet carries them (zlib licence). They are fetched with pip, kept
under `.cache/unseen`, and never part of this project.
"""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from bench.retarget.clips import Clip
from corporeal.errors import CorporealError
from corporeal.geometry import Array, matrix_from_quaternion, normalise

CACHE = Path(__file__).resolve().parents[2] / ".cache" / "unseen"
PACKAGE = "pybullet==3.2.7"
FOLDER = "pybullet_data/data/motions/humanoid3d_"
NAMES = (
    "crawl", "getup_facedown", "getup_faceup", "roll", "cartwheel", "dance_a", "dance_b", "run",
    "kick", "punch", "spin", "spinkick", "walk",
)  # fmt: skip

# The character as its authors draw it: joint, parent, place on the parent in m (x forward, y up,
# z right) and how many numbers of a frame turn it: a quaternion, an angle about z, or none.
_TREE = (
    ("pelvis", "", (0, 0, 0), 4),
    ("spine", "pelvis", (0, 0.236151, 0), 4),
    ("neck", "spine", (0, 0.223894, 0), 4),
    ("right_hip", "pelvis", (0, 0, 0.084887), 4),
    ("right_knee", "right_hip", (0, -0.421546, 0), 1),
    ("right_ankle", "right_knee", (0, -0.409870, 0), 4),
    ("right_shoulder", "spine", (-0.02405, 0.2435, 0.18311), 4),
    ("right_elbow", "right_shoulder", (0, -0.274788, 0), 1),
    ("left_hip", "pelvis", (0, 0, -0.084887), 4),
    ("left_knee", "left_hip", (0, -0.421546, 0), 1),
    ("left_ankle", "left_knee", (0, -0.409870, 0), 4),
    ("left_shoulder", "spine", (-0.02405, 0.2435, -0.18311), 4),
    ("left_elbow", "left_shoulder", (0, -0.274788, 0), 1),
    ("head", "neck", (0, 0.175, 0), 0),
    ("right_wrist", "right_elbow", (0, -0.258947, 0), 0),
    ("left_wrist", "left_elbow", (0, -0.258947, 0), 0),
    ("right_toe", "right_ankle", (0.12, -0.04, 0), 0),
    ("left_toe", "left_ankle", (0.12, -0.04, 0), 0),
)


def unseen_clips(cache: Path = CACHE) -> Iterator[Clip]:
    """The motions as files of keypoints; raises CorporealError where they cannot be fetched."""
    cache.mkdir(parents=True, exist_ok=True)
    paths = [cache / f"{name}.json" for name in NAMES]
    if not all(path.is_file() for path in paths):
        _fetch(cache)
        with zipfile.ZipFile(next(cache.glob("pybullet-*.whl"))) as wheel:
            for name, path in zip(NAMES, paths, strict=True):
                document = json.loads(wheel.read(f"{FOLDER}{name}.txt"))
                path.write_text(json.dumps(keypoints_of(document["Frames"])))
    for name, path in zip(NAMES, paths, strict=True):
        yield Clip(f"unseen {name.replace('_', ' ')}", path)


def _fetch(cache: Path) -> None:
    if any(cache.glob("pybullet-*.whl")):
        return
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
               "--only-binary", ":all:", "--dest", str(cache), PACKAGE]  # fmt: skip
    if subprocess.run(command, check=False).returncode:
        raise CorporealError(
            f"the motions of {PACKAGE} could not be fetched with pip. Connect to a package index."
        )


def keypoints_of(frames: list[list[float]]) -> dict[str, object]:
    """A document of keypoints, in m, z up, from frames of the character's joints."""
    table = np.array(frames)
    places, turns = dict[str, Array](), dict[str, Array]()
    column = 4
    for name, parent, offset, numbers in _TREE:
        turn = np.broadcast_to(np.eye(3), (len(table), 3, 3))
        if numbers == 4:
            turn = matrix_from_quaternion(normalise(table[:, column : column + 4]))
        elif numbers:
            half = table[:, column] / 2
            zero = np.zeros(len(half))
            turn = matrix_from_quaternion(np.stack([np.cos(half), zero, zero, np.sin(half)], 1))
        column += numbers
        outer = turns.get(parent, np.broadcast_to(np.eye(3), turn.shape))
        places[name] = places.get(parent, table[:, 1:4]) + outer @ np.array(offset, np.float64)
        turns[name] = outer @ turn
    names = [name for name, *_ in _TREE if name != "spine"]
    points = np.stack([places[name] for name in names], axis=1)
    points = np.stack([points[..., 0], -points[..., 2], points[..., 1]], axis=2)
    known = np.ones((*points.shape[:2], 1))
    return {
        "fps": round(1 / float(np.median(table[:, 0])), 3),
        "names": names,
        "frames": np.concatenate([points, known], axis=2).round(5).tolist(),
    }
