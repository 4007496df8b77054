"""Meshes of robots, kept by their hash for a workspace or a user, and found again."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zipfile
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corporeal.appearance.decimation import indexed
from corporeal.appearance.fitting import FittedMeshes
from corporeal.array_file import read_npz
from corporeal.embodiment import Embodiment
from corporeal.errors import CorporealError
from corporeal.files import atomic_write

FOLDER = "robots"
_MOST_BYTES = 32 * 1024 * 1024
_LONGEST_NOTE = 1 << 20
_HASH = re.compile(r"[0-9a-f]{64}")
_ARRAYS = ("positions", "normals", "colours", "index")


@dataclass(frozen=True)
class KeptMeshes:
    """Where the meshes of a robot are: `hash` names the file, `tree` the kinematics they fit.

    `links` says which vertices and which numbers of the index are a link's: first and count.
    """

    robot: str
    tree: str
    hash: str
    source: str
    triangles: int
    links: dict[str, tuple[int, int, int, int]]


def user_folder() -> Path:
    """Where the meshes of a user are kept, for all workspaces."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(home) / "corporeal" / FOLDER


def tree_hash(robot: Embodiment) -> str:
    """What meshes depend on: the links, and where their joints sit on them."""
    facts = [(joint.name, joint.parent, joint.child, joint.xyz, joint.rpy, joint.axis)
             for joint in robot.joints]  # fmt: skip
    text = json.dumps([robot.base, sorted(facts)])
    return hashlib.sha256(text.encode()).hexdigest()


def keep_meshes(fitted: FittedMeshes, workspace: Path | None = None) -> tuple[KeptMeshes, Path]:
    """Write them once, and note them under the robot's name; the file that holds them."""
    folder = user_folder() if workspace is None else workspace / FOLDER
    arrays: dict[str, list[NDArray[np.generic]]] = {name: [] for name in _ARRAYS}
    links: dict[str, tuple[int, int, int, int]] = {}
    vertices = numbers = 0
    for link, surface in fitted.links.items():
        points, normals, colours, faces = indexed(surface)
        parts: tuple[NDArray[np.generic], ...] = (
            points.astype("<f4"),
            np.round(normals * 32767).astype(np.int16),
            np.round(colours * 255).astype(np.uint8),
            faces.reshape(-1).astype("<u4"),
        )
        for name, values in zip(_ARRAYS, parts, strict=True):
            arrays[name].append(values)
        links[link] = (vertices, len(points), numbers, faces.size)
        vertices, numbers = vertices + len(points), numbers + faces.size
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for array, listed in arrays.items():
            # Without the time it was made, so that the same meshes have the same hash.
            with archive.open(zipfile.ZipInfo(f"{array}.npy"), "w") as file:
                np.lib.format.write_array(file, np.concatenate(listed), allow_pickle=False)
    raw = held.getvalue()
    name = hashlib.sha256(raw).hexdigest()
    kept = KeptMeshes(
        fitted.robot.name, tree_hash(fitted.robot), name, fitted.source.name,
        fitted.triangles, links,
    )  # fmt: skip
    target = folder / f"{name}.npz"
    folder.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        atomic_write(target, raw)
    atomic_write(folder / f"{fitted.robot.name}.json", json.dumps(asdict(kept)))
    return kept, target


def find_meshes(robot: Embodiment, workspace: Path) -> tuple[KeptMeshes | None, str | None]:
    """The meshes for a robot, of the workspace before those of the user; else why there are none.

    Without any there is nothing to say.
    """
    reason = None
    for folder in (workspace / FOLDER, user_folder()):
        note = folder / f"{robot.name}.json"
        if not note.is_file():
            continue
        try:
            kept = _read_note(note)
        except (OSError, ValueError, TypeError, KeyError):
            reason = f"The meshes kept for {robot.name} are damaged. " + _again(robot)
            continue
        if kept.tree == tree_hash(robot):
            return kept, None
        reason = (
            f"The meshes kept for {robot.name} fit another version of its description than this "
            "episode's: the robot is drawn. " + _again(robot)
        )
    return None, reason


def _again(robot: Embodiment) -> str:
    return f"Run again: corporeal robot meshes {robot.name} PATH"


def _read_note(file: Path) -> KeptMeshes:
    with file.open("rb") as opened:
        given = json.loads(opened.read(_LONGEST_NOTE))
    links = {str(link): _four(span) for link, span in given["links"].items()}
    kept = KeptMeshes(
        str(given["robot"]), str(given["tree"]), str(given["hash"]), str(given["source"]),
        int(given["triangles"]), links,
    )  # fmt: skip
    if not _HASH.fullmatch(kept.hash) or not (file.parent / f"{kept.hash}.npz").is_file():
        raise ValueError("no such file")
    return kept


def _four(span: list[int]) -> tuple[int, int, int, int]:
    a, b, c, d = (int(value) for value in span)
    return a, b, c, d


def load_meshes(name: str, workspace: Path) -> dict[str, NDArray[np.generic]]:
    """The arrays of a hash: positions, normals, colours of all vertices, and the index."""
    if _HASH.fullmatch(name):
        for folder in (workspace / FOLDER, user_folder()):
            file = folder / f"{name}.npz"
            if file.is_file():
                held = read_npz(file, _ARRAYS, most_bytes=_MOST_BYTES)
                if set(held) == set(_ARRAYS):
                    return held
    raise CorporealError(
        f"meshes, got {name[:80]!r}; expected the hash of meshes that are kept here. "
        "Keep them with: corporeal robot meshes NAME PATH."
    )
