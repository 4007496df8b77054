"""What a detector saw of hands in the pictures of a camera: MediaPipe's points in the picture."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from pydantic import Field

from corporeal.capture.driver import Driver, DriverError, Mark, Rig, Sample
from corporeal.capture.ros.stream import rig_schema
from corporeal.schema import Part, Stream
from corporeal.schema.document import Name
from corporeal.teleoperation.hands import hand_layout, mediapipe_results
from corporeal.teleoperation.operator_input import HAND_JOINTS, SIDES
from corporeal.units import SECOND_NS

_COLUMNS = hand_layout.columns_of(hand_layout.MEDIAPIPE_21)


class HandPixelsOptions(Part):
    """Which results, and of which camera."""

    path: Path
    camera: Name = Field(default="head_left", description="the stream of its pictures")
    width: int = Field(gt=0, description="of the calibrated picture")
    height: int = Field(gt=0, description="of the calibrated picture")


def describe(options: HandPixelsOptions) -> Rig:
    """A stream for each hand: 26 joints in pixels, NaN where a detector has none."""
    if not options.path.is_file():
        raise DriverError(
            f"hand_pixels {options.path}, got no such file; expected results of MediaPipe as JSON. "
            "Check the path."
        )
    streams = [
        Stream(
            name=f"{options.camera}_{side}_hand_pixels", group="debug", unit="px", optional=True,
            shape=(len(HAND_JOINTS), 2), components=("right", "down"),
            description="26 joints as a detector saw them; no sample where it saw none",
        )
        for side in SIDES
    ]  # fmt: skip
    return Rig(rig_schema("hand_pixels", streams, "hands that a detector saw in pictures"))


def read(options: HandPixelsOptions) -> Iterator[Sample | Mark]:
    """The results between a mark of the start and one of the end, stamped as they say."""
    begin_ns = time.time_ns()
    stamp_ns = 0
    try:
        times, frames = mediapipe_results.read_results(options.path)
        yield Mark("start", begin_ns)
        for seconds, frame in zip(times, frames, strict=True):
            stamp_ns = round(float(seconds) * SECOND_NS)
            for side, points, _ in (
                mediapipe_results.hands_of(frame, mediapipe_results.PICTURE) or ()
            ):
                pixels = np.full((len(HAND_JOINTS), 2), np.nan)
                # A share of 1 is the edge of the last pixel, whose middle is half of one before it.
                pixels[_COLUMNS] = points[:, :2] * [options.width, options.height] - 0.5
                path = f"debug/{options.camera}_{side}_hand_pixels"
                yield Sample(path, stamp_ns, begin_ns + stamp_ns, pixels)
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DriverError(
            f"hand_pixels {options.path}, got {error}; expected results of MediaPipe with times "
            "and the names of the hands. Export them again."
        ) from None
    yield Mark("end", begin_ns + stamp_ns)


DRIVER = Driver(HandPixelsOptions, describe, read)
