"""Puts episodes together as LeRobot v2.1 has them: a table and a movie for every one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from corporeal.exchange.format import ExportContext, WrittenEpisode
from corporeal.exchange.lerobot.assembly import (
    CHUNK_FILES,
    LerobotAssembly,
    assembly_of,
    movie_file,
    write_batch,
    write_json,
    write_json_lines,
)
from corporeal.exchange.lerobot.features import SUBTASK
from corporeal.exchange.lerobot.summaries import episode_statistics, to_lists, total_statistics
from corporeal.files import link_or_copy

_DATA = "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"
_VIDEO = "videos/chunk-{episode_chunk:03d}/{video_key}/episode_{episode_index:06d}.mp4"


def assemble_v21(episodes: Sequence[WrittenEpisode], out: Path, context: ExportContext) -> None:
    """Make the dataset in the empty folder `out`."""
    write_v21(assembly_of(episodes, context, "Sequence"), out)


def write_v21(assembly: LerobotAssembly, out: Path, *, total_cameras: bool = True) -> None:
    """Write tables, movies and lists; without `total_cameras` stats.json is of columns alone."""
    cameras = tuple(assembly.context.layout.cameras)
    for number, episode in enumerate(assembly.episodes):
        place = {"episode_chunk": number // CHUNK_FILES, "episode_index": number}
        _write_table(assembly, number, out / _DATA.format(**place))
        for key in cameras:
            target = out / _VIDEO.format(video_key=key, **place)
            target.parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(movie_file(episode.folder, key), target)
    meta = out / "meta"
    write_json_lines(meta / "episodes.jsonl", _episodes(assembly))
    write_json_lines(meta / "episodes_stats.jsonl", _statistics(assembly))
    tasks = enumerate(assembly.tasks)
    write_json_lines(meta / "tasks.jsonl", ({"task_index": n, "task": text} for n, text in tasks))
    if assembly.subtasks:
        listed = enumerate(assembly.subtasks)
        lines = ({SUBTASK: number, "subtask": text} for number, text in listed)
        write_json_lines(meta / "subtasks.jsonl", lines)
    total = to_lists(total_statistics(assembly, cameras=total_cameras))
    write_json(meta / "stats.json", total)
    count = len(assembly.episodes)
    info = assembly.head_entries("v2.1")
    info |= {"total_videos": count * len(cameras), "total_chunks": -(-count // CHUNK_FILES),
             "data_path": _DATA, "video_path": _VIDEO if cameras else None}  # fmt: skip
    info["features"] = info.pop("features")
    write_json(meta / "info.json", info)


def _write_table(assembly: LerobotAssembly, number: int, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with assembly.writer(path) as writer:
        for batch in assembly.blocks(number):
            write_batch(writer, batch, assembly.schema)


def _episodes(assembly: LerobotAssembly) -> Iterator[dict[str, Any]]:
    for number, episode in enumerate(assembly.episodes):
        line: dict[str, Any] = {
            "episode_index": number,
            "tasks": list(assembly.texts(episode)),
            "length": assembly.lengths[number],
        }
        success = episode.success
        yield line if success is None else line | {"success": success}


def _statistics(assembly: LerobotAssembly) -> Iterator[dict[str, Any]]:
    for number in range(len(assembly.episodes)):
        stated = to_lists(episode_statistics(assembly, number))
        yield {"episode_index": number, "stats": stated}
