"""What the drivers of recorded bags share: their options, and a demonstration from end to end."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from corporeal.capture.driver import DriverError, Mark, Rig, Sample
from corporeal.capture.ros.survey import describe_bag, samples_of, survey
from corporeal.capture.ros.topic import Renaming, TopicList
from corporeal.schema import Part


class BagOptions(Part):
    """Which bag, and what of it."""

    path: Path = Field(description="the file, or the folder of a ROS 2 bag")
    topics: TopicList = Field(default=(), description="only these; all by default")
    rename: Renaming = Field(
        default_factory=dict, description="the first part of a stream's name: TOPIC=NAME,..."
    )
    robot: str | None = Field(default=None, description="a robot by its name or its file")


def describe(options: BagOptions) -> Rig:
    """The streams and defects of a bag, which is read once for it."""
    return describe_bag(
        options.path, topics=options.topics, rename=options.rename, robot=options.robot
    )


def read(options: BagOptions) -> Iterator[Sample | Mark]:
    """Every sample with its original stamps, as fast as it is taken, as one demonstration."""
    found = survey(options.path, topics=options.topics, rename=options.rename, robot=options.robot)
    first, last = found.span_ns
    yield Mark("start", first, {"source": found.bag.path.name})
    yield from samples_of(found)
    yield Mark("end", last)


def check_suffix(path: Path, wanted: tuple[str, ...], other: str) -> None:
    """DriverError when a bag is of a kind that another driver reads."""
    inside = {entry.suffix for entry in path.iterdir()} if path.is_dir() else {path.suffix}
    if not inside & set(wanted):
        raise DriverError(
            f"bag, got {str(path)!r}; expected {' or '.join(wanted)}. Try the driver {other!r}."
        )
