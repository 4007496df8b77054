"""A recording of a person's hands and head, of any device that is read, played again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import Field

from corporeal.capture.driver import Driver, DriverError, Mark, Rig, Sample
from corporeal.capture.hand_stream import hand_samples, hand_streams
from corporeal.capture.ros.stream import rig_schema
from corporeal.errors import CorporealError
from corporeal.schema import Part
from corporeal.teleoperation.operator_input import read_inputs
from corporeal.units import SECOND_NS

MODE = "egocentric demonstration"


class HandsOptions(Part):
    """Which recording, and how fast."""

    path: Path
    speed: float = Field(default=0.0, ge=0, le=1000, description="0: as fast as it is taken")
    offset_s: float = Field(default=0.0, description="its first sample, on the clock it shares")


def describe(options: HandsOptions) -> Rig:
    """The streams of hands and head that the file has anything of."""
    names: set[str] = set()
    try:
        for given in read_inputs(options.path):
            names |= {sample.stream for sample in hand_samples(given, 0, 0)}
    except CorporealError as error:
        raise DriverError(str(error)) from None
    if not any("joints" in name for name in names):
        raise DriverError(f"hands {options.path}, got no hand; expected one that was seen.")
    streams = [stream for stream in hand_streams() if stream.path in names]
    schema = rig_schema("hands", streams, "a person's hands and head")
    return Rig(schema, metadata={"mode": MODE, "hands_file": options.path.name})


def read(options: HandsOptions) -> Iterator[Sample | Mark]:
    """Its samples between a mark of the start and one of the end, as far apart as they were."""
    begin_ns = time.time_ns()
    first_ns: int | None = None
    arrival_ns = begin_ns
    for given in read_inputs(options.path):
        stamp_ns = given.times.device_ns
        if first_ns is None:
            first_ns = stamp_ns - round(options.offset_s * SECOND_NS)
            yield Mark("start", begin_ns, {"hands_file": options.path.name})
        arrival_ns = begin_ns + stamp_ns - first_ns
        if options.speed:
            wait_ns = (arrival_ns - begin_ns) / options.speed - (time.time_ns() - begin_ns)
            time.sleep(max(0.0, wait_ns) / SECOND_NS)
        yield from hand_samples(given, stamp_ns - first_ns, arrival_ns)
    yield Mark("end", arrival_ns)


DRIVER = Driver(HandsOptions, describe, read)
