"""A camera: UVC by its device, such as /dev/video0, or a network camera by its rtsp:// address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from pydantic import Field

from corporeal.capture.camera import (
    PictureOptions,
    camera_rig,
    open_video,
    read_pictures,
    without_password,
)
from corporeal.capture.clock import HostClock
from corporeal.capture.driver import Driver, DriverError, Mark, Rig, Sample


class CameraOptions(PictureOptions):
    """Which camera, and how it is set."""

    device: str = Field(
        default="/dev/video0", description="a device, its number, or rtsp://, http://, udp://"
    )
    height: int = Field(default=480, gt=0)
    width: int = Field(default=640, gt=0)
    rate_hz: float = Field(default=30.0, gt=0, le=1000)
    coding: str | None = Field(default=None, description="of a UVC camera: mjpeg, yuyv422, ...")
    timeout_s: float = Field(default=5.0, gt=0, description="silent for so long: it is gone")


def describe(options: CameraOptions) -> Rig:
    """Its one stream; the camera is not opened."""
    return camera_rig(options, (options.height, options.width), options.rate_hz)


def read(options: CameraOptions) -> Iterator[Sample | Mark]:
    """Pictures as they come, stamped by the camera (by the kernel, for UVC)."""
    address, form, settings = options.device, None, {}
    if "://" not in address:
        address = f"/dev/video{address}" if address.isdigit() else address
        form = "v4l2"
        settings = {"video_size": f"{options.width}x{options.height}",
                    "framerate": f"{options.rate_hz:g}"}  # fmt: skip
        if options.coding:
            settings["input_format"] = options.coding
    elif address.startswith("rtsp"):
        settings = {"rtsp_transport": "tcp", "fflags": "nobuffer"}
    (stream,) = describe(options).schema.streams
    clock = HostClock()
    container = open_video(address, form=form, options=settings, timeout_s=options.timeout_s)
    with closing(container):
        for stamp, picture in read_pictures(container, address):
            arrival_ns = clock.now_ns()
            if picture.shape != stream.shape:
                height, width, _ = picture.shape
                raise DriverError(
                    f"camera {without_password(address)}, got pictures of {width} x {height}; "
                    f"expected {options.width} x {options.height}. Set width={width} and "
                    f"height={height}."
                )
            yield Sample(stream.path, arrival_ns if stamp is None else stamp, arrival_ns, picture)


DRIVER = Driver(CameraOptions, describe, read, is_live=True)
