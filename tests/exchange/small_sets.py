"""Small episodes, recordings and tables that tests of exchange share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.exchange.format import Head, Piece, Writer, open_dataset
from corporeal.exchange.layout import layout_of
from corporeal.exchange.plan import Plan
from corporeal.exchange.table import Table, table_of
from corporeal.testing import Workload

ROBOT = "g1"


def write_episode(
    path: Path,
    *,
    seed: int = 0,
    seconds: float = 1.0,
    size: tuple[int, int] = (48, 64),
    outcome: bool | None = True,
) -> Path:
    """An episode of the workload: 29 joints, cameras, depth, tactile maps, an instruction."""
    workload = Workload(open_robot(ROBOT), duration_s=seconds, seed=seed, size=size)
    metadata: dict[str, Any] = dict(workload.metadata)
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


def tables_of(path: Path, plan: Plan | None = None) -> tuple[Head, list[Table]]:
    """All episodes at a path as tables, and what is true of all of them."""
    plan = plan or Plan()
    dataset = open_dataset(path)
    first = dataset.open(dataset.episodes[0])
    layout = layout_of(first, plan)
    head = Head(name="small", plan=plan, layout=layout, robot=first.embodiment)
    tables = [table_of(dataset.open(index), layout, number=number)
              for number, index in enumerate(dataset.episodes)]  # fmt: skip
    return head, tables


def write_with(writer: Writer, source: Path, work: Path, plan: Plan | None = None) -> Path:
    """The dataset that a writer makes of all episodes at a path, without the export around it."""
    head, tables = tables_of(source, plan)
    pieces = []
    for table in tables:
        folder = work / "pieces" / f"{table.number:06d}"
        folder.mkdir(parents=True)
        facts = {
            "id": table.recording.id,
            "number": table.number,
            "length": len(table),
            "instructions": list(table.instructions),
            "success": table.success,
            "source": table.recording.source.name,
        }
        facts |= writer.piece(table, folder, head)
        pieces.append(Piece(folder, facts))
    out = work / "out"
    out.mkdir()
    writer.assemble(pieces, out, head)
    return out
