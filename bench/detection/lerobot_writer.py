"""Writes small LeRobot datasets, v2.1 and v3.0, as a recorder would: data, pictures, statistics.

It is the benchmark's own and does not trust our exporter: a fault must reach the file as it is.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

Version = Literal["v2.1", "v3.0"]
Stats = dict[str, Any]

_INTEGERS = ("frame_index", "episode_index", "index", "task_index")
_QUANTILES = {"q01": 1, "q10": 10, "q50": 50, "q90": 90, "q99": 99}
_DATA = {
    "v2.1": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet",
    "v3.0": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
}
_VIDEO = {
    "v2.1": "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4",
    "v3.0": "videos/{video_key}/chunk-{chunk_index:03d}/file-{file_index:03d}.mp4",
}


@dataclass(frozen=True, eq=False)
class Movie:
    """One camera of one episode: an MP4, and a few of its pictures for the statistics."""

    data: bytes
    pictures: NDArray[np.uint8]
    codec: str = "h264"


@dataclass(frozen=True, eq=False)
class TableEpisode:
    """One episode as LeRobot holds it: columns (T, D), stamps in seconds, movies, a task."""

    columns: dict[str, NDArray[np.float32]]
    timestamp: NDArray[np.float64]
    task: str
    movies: dict[str, Movie] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.timestamp)


@dataclass(frozen=True)
class Head:
    """What meta/info.json says: the rate, the robot, and the names of the columns."""

    fps: float
    robot_type: str
    names: dict[str, tuple[str, ...]]


def write(
    folder: Path, head: Head, episodes: Sequence[TableEpisode], *, version: Version = "v3.0"
) -> Path:
    """Write a dataset; v3.0 has one table file and one movie file for each episode."""
    (folder / "meta").mkdir(parents=True)
    tasks = list(dict.fromkeys(episode.task for episode in episodes))
    first, tables, stats = 0, [], []
    for number, episode in enumerate(episodes):
        table = _table(episode, number, first, tasks.index(episode.task))
        tables.append(table)
        stats.append(_statistics(episode, table))
        first += len(episode)
        for key, movie in episode.movies.items():
            path = folder / _VIDEO[version].format(
                video_key=key, episode_chunk=0, episode_index=number, chunk_index=0,
                file_index=number,
            )  # fmt: skip
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(movie.data)
    _write_json(folder / "meta/info.json", _info(head, episodes, tasks, version))
    if version == "v2.1":
        _write_v21(folder, episodes, tables, tasks, stats)
    else:
        _write_v30(folder, head, episodes, tables, tasks, stats)
    return folder


def _table(episode: TableEpisode, number: int, first: int, task: int) -> pa.Table:
    count = len(episode)
    columns: dict[str, Any] = {}
    for key, values in episode.columns.items():
        flat = pa.array(np.ascontiguousarray(values, np.float32).ravel())
        columns[key] = pa.FixedSizeListArray.from_arrays(flat, values.shape[1])
    columns["timestamp"] = pa.array(episode.timestamp.astype(np.float32))
    columns["frame_index"] = pa.array(np.arange(count))
    columns["episode_index"] = pa.array(np.full(count, number))
    columns["index"] = pa.array(np.arange(first, first + count))
    columns["task_index"] = pa.array(np.full(count, task))
    return pa.table(columns)


def _statistics(episode: TableEpisode, table: pa.Table) -> dict[str, Stats]:
    found: dict[str, Stats] = {}
    for key in table.column_names:
        if key in episode.columns:
            values = np.asarray(episode.columns[key], np.float64)
        else:
            values = np.asarray(table[key].to_numpy(), np.float64)[:, None]
        found[key] = _moments(values)
    for key, movie in episode.movies.items():
        pixels = movie.pictures.reshape(-1, 3) / 255.0
        levels = {name: value[:, None, None] for name, value in _moments(pixels).items()
                  if name != "count"}  # fmt: skip
        found[key] = {**levels, "count": np.array([len(movie.pictures)])}
    return found


def _moments(values: NDArray[np.float64]) -> Stats:
    levels = np.percentile(values, list(_QUANTILES.values()), axis=0)
    return {
        "min": values.min(axis=0), "max": values.max(axis=0), "mean": values.mean(axis=0),
        "std": values.std(axis=0), "count": np.array([len(values)]),
        **dict(zip(_QUANTILES, levels, strict=True)),
    }  # fmt: skip


def _aggregated(stats: Sequence[dict[str, Stats]]) -> dict[str, Stats]:
    """Over all episodes as LeRobot does it: quantiles are averaged, weighted by length."""
    found: dict[str, Stats] = {}
    for key in stats[0]:
        each = [one[key] for one in stats]
        count = np.array([one["count"][0] for one in each], np.float64)
        shape = (-1,) + (1,) * each[0]["mean"].ndim
        weight = (count / count.sum()).reshape(shape)
        means = np.stack([one["mean"] for one in each])
        mean = (weight * means).sum(axis=0)
        spread = np.stack([one["std"] for one in each]) ** 2 + (means - mean) ** 2
        found[key] = {
            "min": np.min([one["min"] for one in each], axis=0),
            "max": np.max([one["max"] for one in each], axis=0),
            "mean": mean,
            "std": np.sqrt((weight * spread).sum(axis=0)),
            "count": np.array([int(count.sum())]),
        }
        for name in _QUANTILES:
            levels = np.stack([one[name] for one in each])
            found[key][name] = (weight * levels).sum(axis=0)
    return found


def _info(
    head: Head, episodes: Sequence[TableEpisode], tasks: list[str], version: Version
) -> dict[str, Any]:
    one = episodes[0]
    features: dict[str, Any] = {
        key: {"dtype": "float32", "shape": [values.shape[1]], "names": list(head.names[key])}
        for key, values in one.columns.items()
    }
    for key, movie in one.movies.items():
        height, width = movie.pictures.shape[1:3]
        features[key] = {
            "dtype": "video", "shape": [height, width, 3], "names": ["height", "width", "channels"],
            "info": {
                "video.height": height, "video.width": width, "video.codec": movie.codec,
                "video.pix_fmt": "yuv420p", "video.is_depth_map": False, "video.fps": head.fps,
                "video.channels": 3, "has_audio": False,
            },
        }  # fmt: skip
    features["timestamp"] = {"dtype": "float32", "shape": [1], "names": None}
    features |= {key: {"dtype": "int64", "shape": [1], "names": None} for key in _INTEGERS}
    info: dict[str, Any] = {
        "codebase_version": version,
        "robot_type": head.robot_type,
        "total_episodes": len(episodes),
        "total_frames": sum(len(episode) for episode in episodes),
        "total_tasks": len(tasks),
        "chunks_size": 1000,
        "fps": int(head.fps) if head.fps == int(head.fps) else head.fps,
        "splits": {"train": f"0:{len(episodes)}"},
        "data_path": _DATA[version],
        "video_path": _VIDEO[version] if one.movies else None,
        "features": features,
    }
    if version == "v2.1":
        return info | {"total_chunks": 1, "total_videos": len(episodes) * len(one.movies)}
    return info | {"data_files_size_in_mb": 100, "video_files_size_in_mb": 200}


def _write_v21(
    folder: Path,
    episodes: Sequence[TableEpisode],
    tables: Sequence[pa.Table],
    tasks: list[str],
    stats: Sequence[dict[str, Stats]],
) -> None:
    (folder / "data/chunk-000").mkdir(parents=True)
    for number, table in enumerate(tables):
        pq.write_table(table, folder / f"data/chunk-000/episode_{number:06d}.parquet")
    _write_lines(
        folder / "meta/tasks.jsonl",
        [{"task_index": number, "task": task} for number, task in enumerate(tasks)],
    )
    _write_lines(
        folder / "meta/episodes.jsonl",
        [
            {"episode_index": number, "tasks": [episode.task], "length": len(episode)}
            for number, episode in enumerate(episodes)
        ],
    )
    # v2.1 knows no quantiles.
    plain = [
        {key: {name: value for name, value in each.items() if name not in _QUANTILES}
         for key, each in one.items()}
        for one in stats
    ]  # fmt: skip
    _write_lines(
        folder / "meta/episodes_stats.jsonl",
        [{"episode_index": number, "stats": one} for number, one in enumerate(plain)],
    )


def _write_v30(
    folder: Path,
    head: Head,
    episodes: Sequence[TableEpisode],
    tables: Sequence[pa.Table],
    tasks: list[str],
    stats: Sequence[dict[str, Stats]],
) -> None:
    (folder / "data/chunk-000").mkdir(parents=True)
    (folder / "meta/episodes/chunk-000").mkdir(parents=True)
    pq.write_table(pa.concat_tables(tables), folder / "data/chunk-000/file-000.parquet")
    _write_tasks(folder / "meta/tasks.parquet", tasks)
    _write_json(folder / "meta/stats.json", _aggregated(stats))
    rows, first = [], 0
    for number, episode in enumerate(episodes):
        row: dict[str, Any] = {
            "episode_index": number, "tasks": [episode.task], "length": len(episode),
            "data/chunk_index": 0, "data/file_index": 0, "dataset_from_index": first,
            "dataset_to_index": first + len(episode),
        }  # fmt: skip
        for key in episode.movies:
            row |= {
                f"videos/{key}/chunk_index": 0, f"videos/{key}/file_index": number,
                f"videos/{key}/from_timestamp": 0.0,
                f"videos/{key}/to_timestamp": len(episode) / head.fps,
            }  # fmt: skip
        for key, one in stats[number].items():
            row |= {f"stats/{key}/{name}": value.tolist() for name, value in one.items()}
        rows.append(row | {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0})
        first += len(episode)
    pq.write_table(pa.Table.from_pylist(rows), folder / "meta/episodes/chunk-000/file-000.parquet")


def _write_tasks(path: Path, tasks: list[str]) -> None:
    """The task texts are the index of a pandas table."""
    table = pa.table({"task_index": pa.array(range(len(tasks)), pa.int64()),
                      "__index_level_0__": pa.array(tasks, pa.string())})  # fmt: skip
    entry = {"name": None, "field_name": "__index_level_0__", "pandas_type": "unicode",
             "numpy_type": "object", "metadata": None}  # fmt: skip
    number = {"name": "task_index", "field_name": "task_index", "pandas_type": "int64",
              "numpy_type": "int64", "metadata": None}  # fmt: skip
    pandas = {
        "index_columns": ["__index_level_0__"],
        "column_indexes": [{"name": None, "field_name": None, "pandas_type": "unicode",
                            "numpy_type": "object", "metadata": {"encoding": "UTF-8"}}],
        "columns": [number, entry],
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.3",
    }  # fmt: skip
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(pandas)}), path)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not plain")


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=4, default=_plain))


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, default=_plain) + "\n" for row in rows))
