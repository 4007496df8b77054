"""Writes small LeRobot datasets, v2.0 to v3.0, for the tests to spoil."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import av
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

JOINTS = ("left_shoulder_pitch", "left_elbow", "right_shoulder_pitch", "right_elbow")
CAMERA = "observation.images.head"
STATS = ("min", "max", "mean", "std", "count")


@dataclass
class Recipe:
    """What the dataset is like; the tests change single things."""

    lengths: Sequence[int] = (30, 40, 25)
    fps: int = 20
    names: Any = field(default_factory=lambda: list(JOINTS))
    width: int = len(JOINTS)
    robot_type: str | None = "unitree_g1"
    camera: bool = False
    per_file: int = 2
    variable_lists: bool = False
    tasks: Sequence[str] = ("pick the cup", "place the cup")


def motion(episode: int, length: int, width: int) -> NDArray[np.float32]:
    """Smooth joint angles that differ from episode to episode."""
    time = np.arange(length)[:, None] / 20 + episode
    return np.asarray(0.3 * np.sin(time + np.arange(width)), np.float32)


def table_of(recipe: Recipe, episode: int) -> dict[str, NDArray[Any]]:
    """The columns of one episode."""
    length = recipe.lengths[episode]
    first = sum(recipe.lengths[:episode])
    state = motion(episode, length, recipe.width)
    return {
        "observation.state": state,
        "action": state + np.float32(0.01),
        "timestamp": (np.arange(length) / recipe.fps).astype(np.float32),
        "frame_index": np.arange(length),
        "episode_index": np.full(length, episode),
        "index": np.arange(first, first + length),
        "task_index": np.full(length, episode % len(recipe.tasks)),
    }


def arrow(columns: dict[str, NDArray[Any]], *, variable: bool = False) -> pa.Table:
    """Columns as an Arrow table: two axes become lists."""
    arrays = {}
    for name, values in columns.items():
        if values.ndim == 2 and variable:
            arrays[name] = pa.array(list(values))
        elif values.ndim == 2:
            flat = pa.array(values.ravel())
            arrays[name] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
        else:
            arrays[name] = pa.array(values)
    return pa.table(arrays)


def write_movie(path: Path, frames: int, fps: int, *, size: tuple[int, int] = (48, 64)) -> None:
    """A movie in which every picture has a grey level of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with av.open(str(path), "w") as container:
        stream = container.add_stream("libx264", rate=fps)
        stream.height, stream.width = size
        stream.pix_fmt = "yuv420p"
        stream.options = {"g": "2", "bf": "0"}
        for number in range(frames):
            picture = np.full((*size, 3), 40 + number % 180, np.uint8)
            container.mux(stream.encode(av.VideoFrame.from_ndarray(picture, format="rgb24")))
        container.mux(stream.encode())


def _info(recipe: Recipe, version: str) -> dict[str, Any]:
    vector = {"dtype": "float32", "shape": [recipe.width], "names": recipe.names}
    features: dict[str, Any] = {"observation.state": vector, "action": dict(vector)}
    for name in ("timestamp", "frame_index", "episode_index", "index", "task_index"):
        kind = "float32" if name == "timestamp" else "int64"
        features[name] = {"dtype": kind, "shape": [1], "names": None}
    if recipe.camera:
        features[CAMERA] = {"dtype": "video", "shape": [48, 64, 3], "names": None}
    name = "episode_{episode_index:06d}"
    chunk = "chunk-{episode_chunk:03d}"
    paths = {
        "data_path": f"data/{chunk}/{name}.parquet",
        "video_path": f"videos/{chunk}/{{video_key}}/{name}.mp4",
    }
    if version == "v3.0":
        file = "chunk-{chunk_index:03d}/file-{file_index:03d}"
        paths = {
            "data_path": f"data/{file}.parquet",
            "video_path": f"videos/{{video_key}}/{file}.mp4",
        }
    return {
        "codebase_version": version,
        "robot_type": recipe.robot_type,
        "total_episodes": len(recipe.lengths),
        "total_frames": sum(recipe.lengths),
        "total_tasks": len(recipe.tasks),
        "chunks_size": 1000,
        "fps": recipe.fps,
        **paths,
        "features": features,
    }


def statistics_of(values: NDArray[Any]) -> dict[str, list[float]]:
    """min, max, mean, std and count of a column."""
    return {
        "min": values.min(axis=0).astype(float).tolist(),
        "max": values.max(axis=0).astype(float).tolist(),
        "mean": values.mean(axis=0).astype(float).tolist(),
        "std": values.std(axis=0).astype(float).tolist(),
        "count": [len(values)],
    }


def write_v2(root: Path, recipe: Recipe | None = None, *, version: str = "v2.1") -> Path:
    """A dataset with a file for every episode."""
    recipe = recipe or Recipe()
    (root / "meta").mkdir(parents=True)
    write_json(root / "meta" / "info.json", _info(recipe, version))
    episodes, stats = [], []
    for episode, length in enumerate(recipe.lengths):
        columns = table_of(recipe, episode)
        write_table(root, episode, columns, variable=recipe.variable_lists)
        task = recipe.tasks[episode % len(recipe.tasks)]
        episodes.append({"episode_index": episode, "tasks": [task], "length": length})
        both = {key: statistics_of(columns[key]) for key in ("observation.state", "action")}
        stats.append({"episode_index": episode, "stats": both})
        if recipe.camera:
            name = f"episode_{episode:06d}.mp4"
            write_movie(root / "videos" / "chunk-000" / CAMERA / name, length, recipe.fps)
    tasks = [{"task_index": n, "task": task} for n, task in enumerate(recipe.tasks)]
    write_lines(root / "meta" / "episodes.jsonl", episodes)
    write_lines(root / "meta" / "tasks.jsonl", tasks)
    write_lines(root / "meta" / "episodes_stats.jsonl", stats)
    return root


def write_v3(root: Path, recipe: Recipe | None = None) -> Path:
    """A dataset with several episodes in every file."""
    recipe = recipe or Recipe()
    (root / "meta" / "episodes" / "chunk-000").mkdir(parents=True)
    (root / "data" / "chunk-000").mkdir(parents=True)
    write_json(root / "meta" / "info.json", _info(recipe, "v3.0"))
    rows: list[dict[str, Any]] = []
    for file in range(-(-len(recipe.lengths) // recipe.per_file)):
        inside = range(
            file * recipe.per_file, min((file + 1) * recipe.per_file, len(recipe.lengths))
        )
        tables = [arrow(table_of(recipe, episode)) for episode in inside]
        pq.write_table(pa.concat_tables(tables), root / f"data/chunk-000/file-{file:03d}.parquet")
        pictures = 0
        for episode in inside:
            rows.append(_row(recipe, episode, file, pictures))
            pictures += recipe.lengths[episode]
        if recipe.camera:
            name = f"videos/{CAMERA}/chunk-000/file-{file:03d}.mp4"
            write_movie(root / name, pictures, recipe.fps)
    write_rows(root, rows)
    tasks = {"task_index": range(len(recipe.tasks)), "__index_level_0__": list(recipe.tasks)}
    pq.write_table(pa.table(tasks), root / "meta" / "tasks.parquet")
    return root


def _row(recipe: Recipe, episode: int, file: int, pictures: int) -> dict[str, Any]:
    length = recipe.lengths[episode]
    first = sum(recipe.lengths[:episode])
    row: dict[str, Any] = {
        "episode_index": episode,
        "tasks": [recipe.tasks[episode % len(recipe.tasks)]],
        "length": length,
        "data/chunk_index": 0,
        "data/file_index": file,
        "dataset_from_index": first,
        "dataset_to_index": first + length,
    }
    if recipe.camera:
        row |= {
            f"videos/{CAMERA}/chunk_index": 0,
            f"videos/{CAMERA}/file_index": file,
            f"videos/{CAMERA}/from_timestamp": pictures / recipe.fps,
            f"videos/{CAMERA}/to_timestamp": (pictures + length) / recipe.fps,
        }
    columns = table_of(recipe, episode)
    for key in ("observation.state", "action"):
        stated = statistics_of(columns[key])
        row |= {f"stats/{key}/{name}": stated[name] for name in STATS}
    return row


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value))


def read_json(path: Path) -> Any:
    return json.loads(path.read_text())


def write_lines(path: Path, lines: Sequence[Any]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def write_rows(root: Path, rows: list[dict[str, Any]]) -> None:
    """The table of episodes of v3."""
    pq.write_table(
        pa.Table.from_pylist(rows), root / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    )


def read_rows(root: Path) -> list[dict[str, Any]]:
    path = root / "meta" / "episodes" / "chunk-000" / "file-000.parquet"
    return list(pq.read_table(path).to_pylist())


def write_table(
    root: Path, episode: int, columns: dict[str, NDArray[Any]], *, variable: bool = False
) -> Path:
    """The data file of an episode of v2."""
    path = root / "data" / "chunk-000" / f"episode_{episode:06d}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(arrow(columns, variable=variable), path)
    return path
