"""A seeded synthetic humanoid, as fast as it can be taken or in real time."""

from __future__ import annotations

import time
from collections.abc import Iterator

from pydantic import Field

from corporeal.capture.driver import Driver, Mark, Rig, Sample
from corporeal.embodiment import open_robot
from corporeal.episode.facts import SYNTHETIC
from corporeal.schema import Part
from corporeal.testing import Workload
from corporeal.units import SECOND_NS

_PRE_NS, _POST_NS = round(1.2 * SECOND_NS), round(2.2 * SECOND_NS)


class SyntheticOptions(Part):
    """What to make."""

    robot: str = "g1"
    seconds: float = Field(default=10.0, gt=0, description="length of one demonstration")
    episodes: int = Field(default=1, gt=0)
    seed: int = Field(default=0, ge=0)
    height: int = Field(default=480, gt=0)
    width: int = Field(default=640, gt=0)
    realtime: bool = False


def describe(options: SyntheticOptions) -> Rig:
    """The streams of the benchmark's workload."""
    workload = _workload(options, 0)
    return Rig(workload.schema, workload.embodiment, metadata={"mode": SYNTHETIC})


def read(options: SyntheticOptions) -> Iterator[Sample | Mark]:
    """Demonstrations one after the other, each with a lead-in and a lead-out around its marks."""
    begin = time.time_ns()
    for number in range(options.episodes):
        workload = _workload(options, number)
        marks = [(_PRE_NS, "start"), (_PRE_NS + round(options.seconds * SECOND_NS), "end")]
        for stream, time_ns, value in workload.samples():
            while marks and time_ns >= marks[0][0]:
                at, what = marks.pop(0)
                facts = {"task": "synthetic_reach"} if what == "start" else {}
                yield Mark("start" if what == "start" else "end", begin + at, facts)
            stamp = begin + time_ns
            if options.realtime:
                time.sleep(max(0, stamp - time.time_ns()) / SECOND_NS)
            yield Sample(stream, stamp, stamp, value)
        begin += round(workload.duration_s * SECOND_NS)


def _workload(options: SyntheticOptions, number: int) -> Workload:
    return Workload(
        open_robot(options.robot),
        duration_s=options.seconds + (_PRE_NS + _POST_NS) / SECOND_NS,
        seed=options.seed + number,
        size=(options.height, options.width),
    )


DRIVER = Driver(SyntheticOptions, describe, read)
