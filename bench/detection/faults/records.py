"""Faults in the books of a LeRobot dataset on disk: what it says of itself is not so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.detection.fault import Fault, NotApplicable, Truth, fault

Rng = np.random.Generator
Injected = tuple[Path, Truth]
STATE = "observation.state"


def _info(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "meta/info.json").read_text())
    return found


def _edit_json(path: Path, change: Callable[[Any], None]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document, indent=4))


def _edit_lines(path: Path, number: int, change: Callable[[Any], None]) -> None:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    change(rows[number])
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def _edit_rows(path: Path, number: int, change: Callable[[Any], None]) -> None:
    table = pq.read_table(path)
    rows = table.to_pylist()
    change(rows[number])
    pq.write_table(pa.Table.from_pylist(rows, table.schema), path)


def _edit_episode(folder: Path, number: int, change: Callable[[Any], None]) -> None:
    """One episode's row in the books."""
    if (folder / "meta/episodes.jsonl").exists():
        _edit_lines(folder / "meta/episodes.jsonl", number, change)
    else:
        _edit_rows(folder / "meta/episodes/chunk-000/file-000.parquet", number, change)


def _one(folder: Path, rng: Rng) -> int:
    return int(rng.integers(1, _info(folder)["total_episodes"] - 1))


def _table_of(folder: Path, number: int) -> tuple[Path, pa.Table, slice]:
    """The file with an episode, all of its rows, and where the episode's are."""
    files = sorted((folder / "data").rglob("*.parquet"))
    for path in files:
        table = pq.read_table(path)
        rows = np.flatnonzero(table["episode_index"].to_numpy() == number)
        if len(rows):
            return path, table, slice(int(rows[0]), int(rows[-1]) + 1)
    raise NotApplicable(f"no episode {number}")


def _with_column(table: pa.Table, name: str, values: np.ndarray) -> pa.Table:
    place = table.column_names.index(name)
    return table.set_column(place, name, pa.array(values, table.schema.field(name).type))


def _wrong_statistics(name: str) -> Fault:
    def inject(folder: Path, rng: Rng, strength: float) -> Injected:
        path = folder / "meta/stats.json"
        if not path.exists():
            raise NotApplicable("v2.1 has no statistics of the whole")

        def change(stats: Any) -> None:
            spread = np.array(stats[STATE]["std"])
            column = int(rng.choice(np.flatnonzero(spread > 1e-3)))
            for key in ("q01", "q99") if name == "quantiles" else (name,):
                stats[STATE][key][column] += strength * spread[column]

        _edit_json(path, change)
        return folder, Truth((STATE,))

    inject.__name__ = f"stored_{name}_wrong"
    inject.__doc__ = f"stats.json has another {name} than the data: training would scale wrongly."
    return fault({"dataset_statistics_wrong"}, strengths=(0.5, 2.0), unit="std", scope="folder")(
        inject
    )


STORED = tuple(_wrong_statistics(name) for name in ("mean", "std", "quantiles"))


@fault({"dataset_statistics_wrong", "episode_statistics_wrong"}, strengths=(0.5, 2.0), unit="std",
       scope="folder")  # fmt: skip
def episode_statistics_wrong(folder: Path, rng: Rng, strength: float) -> Injected:
    """The statistics of one episode are those of other numbers."""
    number = _one(folder, rng)

    def moved(mean: list[float], std: list[float]) -> list[float]:
        column = int(np.argmax(std))
        return [
            value + strength * std[column] * (place == column) for place, value in enumerate(mean)
        ]

    if (folder / "meta/episodes_stats.jsonl").exists():

        def change(row: Any) -> None:
            stats = row["stats"][STATE]
            stats["mean"] = moved(stats["mean"], stats["std"])

        _edit_lines(folder / "meta/episodes_stats.jsonl", number, change)
    else:

        def edit(row: Any) -> None:
            mean, std = row[f"stats/{STATE}/mean"], row[f"stats/{STATE}/std"]
            row[f"stats/{STATE}/mean"] = moved(mean, std)

        _edit_episode(folder, number, edit)
    return folder, Truth(episodes=(number,))


@fault({"index_wrong", "metadata_wrong", "dataset_records_wrong", "footage_incomplete"},
       strengths=(1, 20), unit="frames", scope="folder")  # fmt: skip
def length_wrong(folder: Path, rng: Rng, strength: float) -> Injected:
    """The books give an episode another length than its table has."""
    number = _one(folder, rng)

    def change(row: Any) -> None:
        row["length"] += int(strength)

    _edit_episode(folder, number, change)
    return folder, Truth(episodes=(number,))


@fault(
    {"index_wrong", "metadata_wrong", "dataset_records_wrong"},
    strengths=(3, 50),
    unit="frames",
    scope="folder",
)
def boundary_moved(folder: Path, rng: Rng, strength: float) -> Injected:
    """The map of episodes to rows is shifted: one episode ends in the next."""
    if (folder / "meta/episodes.jsonl").exists():
        raise NotApplicable("v2.1 has no map")
    number = _one(folder, rng)

    def later(row: Any) -> None:
        row["dataset_from_index"] += int(strength)
        row["dataset_to_index"] += int(strength)

    _edit_episode(folder, number, later)
    return folder, Truth(episodes=(number,))


@fault(
    {"metadata_wrong", "dataset_records_wrong", "index_wrong"},
    strengths=(1, 100),
    unit="frames",
    scope="folder",
)
def total_wrong(folder: Path, rng: Rng, strength: float) -> Injected:
    """info.json counts more frames than there are."""
    del rng

    def change(info: Any) -> None:
        info["total_frames"] += int(strength)

    _edit_json(folder / "meta/info.json", change)
    return folder, Truth()


@fault(
    {"metadata_wrong", "dataset_records_wrong", "index_wrong"},
    strengths=(1, 5),
    unit="episodes",
    scope="folder",
)
def episode_count_wrong(folder: Path, rng: Rng, strength: float) -> Injected:
    """info.json counts more episodes than there are."""
    del rng

    def change(info: Any) -> None:
        info["total_episodes"] += int(strength)
        info["splits"] = {"train": f"0:{info['total_episodes']}"}

    _edit_json(folder / "meta/info.json", change)
    return folder, Truth()


@fault({"rate_misstated", "metadata_wrong", "dataset_records_wrong", "footage_incomplete"},
       strengths=(0.2, 1.0), unit="share", scope="folder")  # fmt: skip
def fps_wrong(folder: Path, rng: Rng, strength: float) -> Injected:
    """info.json states another rate than the stamps have."""
    del rng

    def change(info: Any) -> None:
        info["fps"] = round(info["fps"] * (1 + strength))

    _edit_json(folder / "meta/info.json", change)
    return folder, Truth()


@fault(
    {
        "index_wrong",
        "metadata_wrong",
        "dataset_records_wrong",
        "episode_unreadable",
        "recording_incomplete",
    },
    scope="folder",
)
def data_missing(folder: Path, rng: Rng, strength: float) -> Injected:
    """The rows of one episode are not there."""
    del strength
    number = _one(folder, rng)
    path, table, rows = _table_of(folder, number)
    if rows.start == 0 and rows.stop == len(table):
        path.unlink()
    else:
        rest = pa.concat_tables([table.slice(0, rows.start), table.slice(rows.stop)])
        pq.write_table(rest, path)
    return folder, Truth(episodes=(number,))


@fault({"stream_missing", "footage_incomplete", "video_damaged", "episode_unreadable",
        "index_wrong"}, scope="folder", pictures=True)  # fmt: skip
def movie_missing(folder: Path, rng: Rng, strength: float) -> Injected:
    """The movie of one episode is not there."""
    del strength
    movies = sorted((folder / "videos").rglob("*.mp4"))
    if not movies:
        raise NotApplicable("no movies")
    path = movies[int(rng.integers(len(movies)))]
    path.unlink()
    return folder, Truth(episodes=(int(path.stem.split("-")[-1].split("_")[-1]),))


@fault(
    {"index_wrong", "metadata_wrong", "dataset_records_wrong", "instruction_meaningless"},
    scope="folder",
)
def task_dangling(folder: Path, rng: Rng, strength: float) -> Injected:
    """An episode's rows name a task that is not in the list."""
    del strength
    number = _one(folder, rng)
    path, table, rows = _table_of(folder, number)
    tasks = table["task_index"].to_numpy().copy()
    tasks[rows] = 97
    pq.write_table(_with_column(table, "task_index", tasks), path)
    return folder, Truth(episodes=(number,))


@fault(
    {"index_wrong", "metadata_wrong", "dataset_records_wrong", "gap_in_stream"},
    strengths=(1, 5),
    unit="places",
    scope="folder",
)
def frame_index_broken(folder: Path, rng: Rng, strength: float) -> Injected:
    """Frame numbers of an episode jump."""
    number = _one(folder, rng)
    path, table, rows = _table_of(folder, number)
    frames = table["frame_index"].to_numpy().copy()
    for place in rng.integers(rows.start + 5, rows.stop - 5, int(strength)):
        frames[place : rows.stop] += 3
    pq.write_table(_with_column(table, "frame_index", frames), path)
    return folder, Truth(episodes=(number,))


@fault(
    {"metadata_wrong", "dataset_records_wrong", "joint_names_wrong", "index_wrong"}, scope="folder"
)
def shape_wrong(folder: Path, rng: Rng, strength: float) -> Injected:
    """info.json states another width of the state than the table has."""
    del rng, strength

    def change(info: Any) -> None:
        info["features"][STATE]["shape"] = [info["features"][STATE]["shape"][0] - 1]
        info["features"][STATE]["names"] = info["features"][STATE]["names"][:-1]

    _edit_json(folder / "meta/info.json", change)
    return folder, Truth((STATE,))


@fault({"joint_names_wrong", "metadata_wrong", "dataset_records_wrong"}, scope="folder")
def name_twice(folder: Path, rng: Rng, strength: float) -> Injected:
    """Two columns of the state bear the same name."""
    del strength
    names = _info(folder)["features"][STATE]["names"]
    one, two = rng.choice(len(names), 2, replace=False)

    def change(info: Any) -> None:
        info["features"][STATE]["names"][int(one)] = names[int(two)]

    _edit_json(folder / "meta/info.json", change)
    return folder, Truth((STATE,))


FAULTS: tuple[Fault, ...] = (
    *STORED, episode_statistics_wrong, length_wrong, boundary_moved, total_wrong,
    episode_count_wrong, fps_wrong, data_missing, movie_missing, task_dangling, frame_index_broken,
    shape_wrong, name_twice,
)  # fmt: skip
