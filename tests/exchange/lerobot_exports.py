"""LeRobot datasets written from tables, and recordings made of arrays, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.exchange.format import Head, Piece, Writer, writer_of
from corporeal.exchange.layout import layout_of
from corporeal.exchange.plan import Plan
from corporeal.exchange.table import Table, table_of
from corporeal.schema import Stream


def pieces_of(writer: Writer, head: Head, tables: Sequence[Table], work: Path) -> list[Piece]:
    """Every table as a piece of a dataset."""
    pieces = []
    for table in tables:
        folder = work / "pieces" / f"{table.number:06d}"
        folder.mkdir(parents=True)
        facts: dict[str, Any] = {
            "id": table.recording.id,
            "number": table.number,
            "length": len(table),
            "instructions": list(table.instructions),
            "success": table.success,
        }
        pieces.append(Piece(folder, facts | dict(writer.piece(table, folder, head))))
    return pieces


def write_set(name: str, head: Head, tables: Sequence[Table], work: Path) -> Path:
    """The dataset that the writer with this name makes of tables."""
    writer = writer_of(name)
    out = work / "out"
    out.mkdir(parents=True)
    writer.assemble(pieces_of(writer, head, tables, work), out, head)
    return out


def recording_of_arrays(
    arrays: Mapping[str, NDArray[Any]], *, index: int = 0, rate_hz: float = 50.0, **facts: Any
) -> Recording:
    """An episode of streams by path, such as observations/joint_position; all on one clock."""
    signals: dict[str, Signal] = {}
    for path, values in arrays.items():
        group, name = path.split("/")
        spec = Stream.model_validate(
            {
                "name": name,
                "group": group,
                "dtype": values.dtype.name,
                "shape": values.shape[1:],
                "rate_hz": rate_hz,
            }
        )
        stamps = np.rint(np.arange(len(values)) * (1e9 / rate_hz)).astype(np.int64)
        signals[path] = ArraySignal(spec, stamps, values)
    return Recording(
        id=f"e{index}", source=Path(f"e{index}"), index=index, signals=signals, metadata=facts
    )


def tables_of_recordings(
    recordings: Sequence[Recording], plan: Plan | None = None
) -> tuple[Head, list[Table]]:
    """Recordings as tables in the layout of the first."""
    plan = plan or Plan()
    layout = layout_of(recordings[0], plan)
    head = Head(name="arrays", plan=plan, layout=layout, robot=recordings[0].embodiment)
    return head, [table_of(each, layout, number=n) for n, each in enumerate(recordings)]


def stored(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as LeRobot keeps them."""
    return values.astype(np.float32) if values.dtype == np.float64 else values
