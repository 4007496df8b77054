"""Small episodes, recordings and tables that tests of exchange share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.episode.recording import Recording
from corporeal.exchange.format import (
    ExportContext,
    RecordingWriter,
    TableWriter,
    Writer,
    WrittenEpisode,
    writer_of,
)
from corporeal.exchange.layout import layout_of
from corporeal.exchange.opening import open_dataset
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import EpisodeTable, table_of
from corporeal.testing import Workload

ROBOT = "g1"


def write_episode(
    path: Path,
    *,
    seed: int = 0,
    seconds: float = 1.0,
    size: tuple[int, int] = (48, 64),
    outcome: bool | None = True,
    facts: Mapping[str, Any] | None = None,
) -> Path:
    """An episode of the workload: 29 joints, cameras, depth, tactile maps, an instruction."""
    workload = Workload(open_robot(ROBOT), duration_s=seconds, seed=seed, size=size)
    metadata: dict[str, Any] = {**workload.metadata, **(facts or {})}
    if outcome is not None:
        metadata["outcome"] = {"success": outcome}
    with EpisodeWriter(path, schema=workload.schema, embodiment=workload.embodiment,
                       metadata=metadata, epoch_ns=0) as writer:  # fmt: skip
        for stream, time_ns, value in workload.samples():
            writer.append(stream, time_ns, value)
    return path


def write_episodes(folder: Path, count: int = 2, **options: Any) -> Path:
    """A folder of episodes of different lengths."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(count):
        seconds = options.get("seconds", 1.0) + 0.2 * number
        write_episode(folder / f"e{number:04d}.h5", seed=number, **{**options, "seconds": seconds})
    return folder


def tables_of(
    path: Path, options: ExportOptions | None = None
) -> tuple[ExportContext, list[EpisodeTable]]:
    """All episodes at a path as tables, and what is true of all of them."""
    options = options or ExportOptions()
    dataset = open_dataset(path)
    first = dataset.open(dataset.episodes[0])
    layout = layout_of(first, options)
    context = ExportContext(name="small", options=options, layout=layout, robot=first.embodiment)
    tables = [table_of(dataset.open(index), layout, number=number)
              for number, index in enumerate(dataset.episodes)]  # fmt: skip
    return context, tables


def table_writer(name: str) -> TableWriter:
    """The writer of a format of rows."""
    writer = writer_of(name)
    assert isinstance(writer, TableWriter)
    return writer


def write_tables(
    writer: TableWriter, context: ExportContext, tables: Sequence[EpisodeTable], work: Path
) -> list[WrittenEpisode]:
    """Every table as an episode of a dataset."""
    episodes = []
    for table in tables:
        folder = work / "pieces" / f"{table.number:06d}"
        folder.mkdir(parents=True)
        episodes.append(
            WrittenEpisode(
                folder,
                id=table.recording.id,
                number=table.number,
                source=table.recording.source.name,
                length=len(table),
                instructions=table.instructions,
                success=table.success,
                details=writer.write(table, folder, context),
            )
        )
    return episodes


def write_recordings(
    writer: RecordingWriter, recordings: Sequence[Recording], work: Path, options: ExportOptions
) -> list[WrittenEpisode]:
    """Every recording as an episode of a dataset."""
    episodes = []
    for number, recording in enumerate(recordings):
        folder = work / "pieces" / f"{number:06d}"
        folder.mkdir(parents=True)
        details = writer.write(recording, number, folder, options)
        episodes.append(WrittenEpisode(folder, recording.id, number, details=details))
    return episodes


def write_with(
    writer: Writer | None, source: Path, work: Path, options: ExportOptions | None = None
) -> Path:
    """The dataset that a writer makes of all episodes at a path, without the export around it."""
    out = work / "out"
    if isinstance(writer, RecordingWriter):
        dataset = open_dataset(source)
        recordings = [dataset.open(index) for index in dataset.episodes]
        episodes = write_recordings(writer, recordings, work, options or ExportOptions())
        out.mkdir()
        writer.assemble(episodes, out)
        return out
    assert writer is not None
    context, tables = tables_of(source, options)
    episodes = write_tables(writer, context, tables, work)
    out.mkdir()
    writer.assemble(episodes, out, context)
    return out
