"""An episode or a bag, published again with its original timing, in real time or faster."""

from __future__ import annotations

import heapq
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import Field

from corporeal.capture.driver import Driver, DriverError, Mark, Rig, Sample
from corporeal.capture.ros import bag_driver
from corporeal.capture.ros.bag import is_bag
from corporeal.capture.ros.bag_driver import BagOptions
from corporeal.episode import Episode
from corporeal.episode.file import StreamReader
from corporeal.units import SECOND_NS

_AT_ONCE = {"array": 512, "text": 64, "points": 8, "depth": 8, "video": 8}


class ReplayOptions(BagOptions):
    """What to publish, and how fast."""

    speed: float = Field(default=1.0, ge=0, le=1000, description="0: as fast as it is taken")


def describe(options: ReplayOptions) -> Rig:
    """The streams of the file: an episode's from its header alone, a bag's from a survey."""
    if _kind(options.path) == "bag":
        return bag_driver.describe(options)
    with Episode.open(options.path) as episode:
        streams = tuple(episode[path].spec for path in episode)
        problems = []
        if episode.recovered is not None:
            problems.append(f"The episode was recovered: {episode.recovered}.")
        if episode.missing_streams:
            missing = ", ".join(episode.missing_streams)
            problems.append(f"The episode lacks streams of its schema: {missing}.")
        return Rig(
            episode.schema.model_copy(update={"streams": streams}),
            episode.embodiment if "embodiment" in episode.documents else None,
            metadata={**episode.metadata, "replay_of": episode.id},
            problems=tuple(problems),
        )


def read(options: ReplayOptions) -> Iterator[Sample | Mark]:
    """The samples, their stamps moved so that the first arrives now.

    What was apart stays apart by as much, whatever the speed: only the delivery is faster.
    """
    source = bag_driver.read(options) if _kind(options.path) == "bag" else _episode(options.path)
    begin = time.time_ns()
    shift: int | None = None
    for item in source:
        if shift is None:
            shift = begin - item.arrival_ns
        moved = item.arrival_ns + shift
        if options.speed:
            wait_ns = (moved - begin) / options.speed - (time.time_ns() - begin)
            time.sleep(max(0.0, wait_ns) / SECOND_NS)
        if isinstance(item, Sample):
            yield Sample(item.stream, item.source_ns + shift, moved, item.value)
        else:
            yield replace(item, arrival_ns=moved)


def _kind(path: Path) -> str:
    if path.is_file() and path.suffix == ".h5":
        return "episode"
    if path.exists() and is_bag(path):
        return "bag"
    raise DriverError(
        f"replay, got {str(path)!r}; expected an episode (.h5) or a bag. Check the path."
    )


def _episode(path: Path) -> Iterator[Sample | Mark]:
    with Episode.open(path) as episode:
        first, last = (episode.epoch_ns + stamp for stamp in episode.span_ns)
        yield Mark("start", first, {**episode.metadata, "replay_of": episode.id})
        lanes = [_lane(episode[name], episode.epoch_ns) for name in episode]
        for arrival_ns, _, _, name, source_ns, value in heapq.merge(
            *lanes, key=lambda item: item[:3]
        ):
            yield Sample(name, source_ns, arrival_ns, value)
        yield Mark("end", last)


def _lane(reader: StreamReader, epoch_ns: int) -> Iterator[tuple[int, str, int, str, int, Any]]:
    """The samples of one stream in the order of the file.

    Arrival never goes back, also where the stamps do: so the order is that of the recording.
    """
    latest = -(1 << 62)
    step = _AT_ONCE[reader.spec.kind]
    name = reader.spec.path
    for start in range(0, len(reader), step):
        values = reader[start : min(start + step, len(reader))]
        for number, value in enumerate(values, start):
            stamp = epoch_ns + int(reader.time_ns[number])
            latest = max(latest, stamp)
            yield latest, name, number, name, stamp, value


DRIVER = Driver(ReplayOptions, describe, read)
