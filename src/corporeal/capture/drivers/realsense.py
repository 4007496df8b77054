"""An Intel RealSense camera: colour and depth on the camera's own clock."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
from pydantic import Field

from corporeal.capture.camera import NumberedOptions, camera_rig, counter_of
from corporeal.capture.clock import HostClock
from corporeal.capture.driver import Driver, DriverError, Mark, Rig, Sample
from corporeal.capture.trigger_group import COUNTER
from corporeal.errors import MissingExtraError
from corporeal.schema import Stream

_MILLIMETRE = 0.001


class RealSenseOptions(NumberedOptions):
    """Which camera, and how it is set."""

    serial: str | None = Field(default=None, description="of the camera, where there are several")
    height: int = Field(default=480, gt=0)
    width: int = Field(default=640, gt=0)
    rate_hz: float = Field(default=30.0, gt=0, le=300)
    depth: bool = True
    timeout_s: float = Field(default=5.0, gt=0, description="silent for so long: it is gone")


def describe(options: RealSenseOptions) -> Rig:
    """Colour, and depth in millimetres; the camera is not opened."""
    rig = camera_rig(options, (options.height, options.width), options.rate_hz)
    if not options.depth:
        return rig
    colour, *counter = rig.schema.streams
    depth = Stream(
        name=f"{options.name}_depth",
        group=colour.group,
        kind="depth",
        dtype="uint16",
        shape=(options.height, options.width),
        rate_hz=options.rate_hz,
        unit="mm",
        frame=f"{options.name}_depth_camera",
        placement=colour.placement,
    )
    counters = (*counter, counter_of(depth)) if options.numbered else ()
    return Rig(rig.schema.model_copy(update={"streams": (colour, depth, *counters)}))


def read(options: RealSenseOptions) -> Iterator[Sample | Mark]:
    """Sets of frames as they come."""
    library = _library()
    cameras = [each for each in describe(options).schema.streams if each.kind != "array"]
    settings = library.config()
    if options.serial:
        settings.enable_device(options.serial)
    size = (options.width, options.height)
    rate = round(options.rate_hz)
    settings.enable_stream(library.stream.color, *size, library.format.rgb8, rate)
    if options.depth:
        settings.enable_stream(library.stream.depth, *size, library.format.z16, rate)
    pipeline = library.pipeline()
    try:
        profile = pipeline.start(settings)
    except RuntimeError as error:
        raise DriverError(f"RealSense camera {options.serial or ''}: {error}. Check its cable "
                          "and the sizes and rates that it has.") from None  # fmt: skip
    clock = HostClock()
    try:
        scale = 1.0
        if options.depth:
            scale = profile.get_device().first_depth_sensor().get_depth_scale() / _MILLIMETRE
        while True:
            try:
                frames = pipeline.wait_for_frames(round(options.timeout_s * 1000))
            except RuntimeError as error:
                raise DriverError(f"RealSense camera: {error}.") from None
            arrival_ns = clock.now_ns()
            taken = [frames.get_color_frame()]
            if options.depth:
                taken.append(frames.get_depth_frame())
            for stream, frame in zip(cameras, taken, strict=True):
                values = np.asanyarray(frame.get_data())
                if stream.kind == "depth" and scale != 1.0:
                    values = np.rint(values * scale).clip(0, 65535).astype(np.uint16)
                stamp_ns = round(frame.get_timestamp() * 1e6)
                yield Sample(stream.path, stamp_ns, arrival_ns, values)
                if options.numbered:
                    number = [frame.get_frame_number()]
                    yield Sample(f"{stream.path}{COUNTER}", stamp_ns, arrival_ns, number)
    finally:
        pipeline.stop()


def _library() -> Any:
    try:
        return import_module("pyrealsense2")
    except ImportError:
        raise MissingExtraError("pyrealsense2", "realsense") from None


DRIVER = Driver(RealSenseOptions, describe, read, is_live=True)
