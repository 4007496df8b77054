"""LeRobot datasets written from tables, and recordings made of arrays, for tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.exchange.small_sets import table_writer, write_tables

from corporeal.episode.recording import ArraySignal, Recording, Signal
from corporeal.exchange.format import ExportContext
from corporeal.exchange.layout import layout_of
from corporeal.exchange.options import ExportOptions
from corporeal.exchange.table import EpisodeTable, table_of
from corporeal.schema import Stream


def write_set(
    name: str, context: ExportContext, tables: Sequence[EpisodeTable], work: Path
) -> Path:
    """The dataset that the writer with this name makes of tables."""
    writer = table_writer(name)
    out = work / "out"
    out.mkdir(parents=True)
    writer.assemble(write_tables(writer, context, tables, work), out, context)
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
    recordings: Sequence[Recording], options: ExportOptions | None = None
) -> tuple[ExportContext, list[EpisodeTable]]:
    """Recordings as tables in the layout of the first."""
    options = options or ExportOptions()
    layout = layout_of(recordings[0], options)
    context = ExportContext(
        name="arrays", options=options, layout=layout, robot=recordings[0].embodiment
    )
    return context, [table_of(each, layout, number=n) for n, each in enumerate(recordings)]


def stored(values: NDArray[Any]) -> NDArray[Any]:
    """Numbers as LeRobot keeps them."""
    return values.astype(np.float32) if values.dtype == np.float64 else values
