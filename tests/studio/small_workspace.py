"""A small workspace whose pictures carry their number, so that a test can tell which it sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests.catalog.entries import show_people

from corporeal.catalog.ingestion import ingest
from corporeal.catalog.workspace import make_workspace
from corporeal.embodiment import open_robot
from corporeal.episode import EpisodeWriter
from corporeal.schema import Stream
from corporeal.testing import Workload
from corporeal.units import SECOND_NS

BITS = 12
SIZE = (120, 160)
"""Height and width of the pictures."""
_BLOCK = 10


def burn(picture: NDArray[np.uint8], number: int) -> NDArray[np.uint8]:
    """The picture with its number as a row of black and white blocks, lowest bit first.

    Below each block lies its opposite, so that a picture without a number is told from 0.
    """
    marked = picture.copy()
    for bit in range(BITS):
        left = bit * _BLOCK + 4
        value = 235 if number >> bit & 1 else 16
        marked[4 : 4 + _BLOCK, left : left + _BLOCK] = value
        marked[4 + _BLOCK : 4 + 2 * _BLOCK, left : left + _BLOCK] = 251 - value
    return marked


def burnt_number(picture: NDArray[np.uint8]) -> int | None:
    """The number in a picture of any size that shows the whole frame; None where there is none."""
    height, width = picture.shape[:2]
    across, down = width / SIZE[1], height / SIZE[0]
    number = 0
    for bit in range(BITS):
        x = int((bit * _BLOCK + 4 + _BLOCK / 2) * across)
        upper = float(picture[int((4 + _BLOCK / 2) * down), x].mean())
        lower = float(picture[int((4 + 1.5 * _BLOCK) * down), x].mean())
        if abs(upper - lower) < 60:
            return None
        number |= (upper > lower) << bit
    return number


def write_episode(
    path: Path,
    *,
    seed: int = 0,
    duration_s: float = 4.0,
    metadata: dict[str, Any] | None = None,
    events: tuple[tuple[float, str], ...] = ((0.5, "start"), (2.0, "grasp"), (3.5, "end")),
) -> Path:
    """An episode of the workload with numbered pictures and a stream of events."""
    workload = Workload(open_robot("g1"), duration_s=duration_s, seed=seed, size=SIZE)
    marks = Stream(name="outcome", group="debug", kind="text")
    schema = workload.schema
    schema = schema.model_copy(update={"streams": (*schema.streams, marks)})
    counts: dict[str, int] = {}
    waiting = [(round(time_s * SECOND_NS), {"event": name}) for time_s, name in events]
    with EpisodeWriter(
        path, schema=schema, embodiment=workload.embodiment,
        metadata={**workload.metadata, **(metadata or {})},
        epoch_ns=1_790_000_000_000_000_000 + seed * 60 * SECOND_NS,
    ) as writer:  # fmt: skip
        for stream, time_ns, value in workload.samples():
            while waiting and waiting[0][0] <= time_ns:
                stamp, event = waiting.pop(0)
                writer.append("debug/outcome", stamp, json.dumps(event))
            if schema.stream(stream).kind == "video":
                number = counts.get(stream, 0)
                counts[stream] = number + 1
                value = burn(value, number)
            writer.append(stream, time_ns, value)
    return path


def make_small_workspace(root: Path, *, episodes: int = 3) -> list[str]:
    """A workspace with judged episodes of two operators; the ids, in the order of recording."""
    from corporeal.catalog.query import every_episode

    files = [
        write_episode(root / "files" / f"episode_{number}.h5", seed=number,
                      metadata={"operator": f"op{number % 2}", "task": "reach",
                                "outcome": {"success": number != 1,
                                            "failure": "fall" if number == 1 else None}})
        for number in range(episodes)
    ]  # fmt: skip
    with make_workspace(root / "workspace") as workspace:
        show_people(workspace.database)
        ingest(workspace, files, who="tester", on="serial")
        with workspace.database.read() as connection:
            return [row.id for row in every_episode(connection, order="recorded")]
