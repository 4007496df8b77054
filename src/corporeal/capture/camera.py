"""Pictures of cameras, network streams and video files through FFmpeg, for the drivers of those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import av
import av.error
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from corporeal.capture.driver import DriverError, Rig
from corporeal.capture.ros.stream import rig_schema
from corporeal.capture.trigger_group import COUNTER
from corporeal.schema import Part, Stream
from corporeal.schema.document import Name
from corporeal.units import SECOND_NS


class PictureOptions(Part):
    """What the stream of a camera is called, and where the camera is."""

    name: Name = Field(default="camera", description="of the stream, such as head_left")
    external: bool = Field(default=False, description="not on the robot: goes to debug")


class NumberedOptions(PictureOptions):
    """The same for a device that numbers its frames."""

    numbered: bool = Field(default=False, description="record the device's own frame numbers")


def camera_rig(options: PictureOptions, size: tuple[int, int], rate_hz: float) -> Rig:
    """One stream of colour pictures, and their numbers if wanted; `size` is height, width."""
    stream = Stream(
        name=options.name,
        group="debug" if options.external else "observations",
        kind="video",
        dtype="uint8",
        shape=(*size, 3),
        rate_hz=rate_hz,
        frame=f"{options.name}_camera",
        placement="external" if options.external else "robot",
    )
    is_numbered = isinstance(options, NumberedOptions) and options.numbered
    streams = [stream, counter_of(stream)] if is_numbered else [stream]
    return Rig(rig_schema(options.name, streams, f"the camera {options.name}"))


def counter_of(camera: Stream) -> Stream:
    """The stream of a camera's own frame numbers, which tell a lost frame from a late one."""
    return Stream(
        name=f"{camera.name}{COUNTER}",
        group=camera.group,
        dtype="int64",
        shape=(1,),
        rate_hz=camera.rate_hz,
        components=("number",),
    )


def open_video(address: str, *, form: str | None = None, options: Mapping[str, str] | None = None,
               timeout_s: float | None = None) -> Any:  # fmt: skip
    """An open container of FFmpeg's; raises DriverError."""
    try:
        container = av.open(address, format=form, options=dict(options or {}), timeout=timeout_s)
    except (av.error.FFmpegError, OSError, ValueError) as error:
        raise DriverError(
            f"camera {without_password(address)}: {_words(error)}. Check its address, its cable "
            "and whether another program has it."
        ) from None
    if not container.streams.video:
        container.close()
        raise DriverError(f"camera {without_password(address)} has no pictures; expected a video.")
    return container


def read_pictures(container: Any, address: str) -> Iterator[tuple[int | None, NDArray[np.uint8]]]:
    """Each frame's stamp of the device's own clock, ns, and its picture (height, width, 3)."""
    stream = container.streams.video[0]
    stream.thread_type = "AUTO"
    try:
        for frame in container.decode(stream):
            stamp = None
            if frame.pts is not None and frame.time_base is not None:
                stamp = round(frame.pts * frame.time_base * SECOND_NS)
            yield stamp, frame.to_ndarray(format="rgb24")
    except (av.error.FFmpegError, OSError) as error:
        raise DriverError(f"camera {without_password(address)}: {_words(error)}.") from None


def without_password(address: str) -> str:
    """The address as it may be shown."""
    head, at, tail = address.rpartition("@")
    scheme, colon, user = head.partition("://")
    return f"{scheme}://{user.partition(':')[0]}@{tail}" if at and colon else address


def _words(error: BaseException) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")
