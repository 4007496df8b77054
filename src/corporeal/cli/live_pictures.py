"""Pictures of live cameras, taken through the recorder's drivers without recording anything."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.capture.driver import Driver, Sample, drivers, parse_options
from corporeal.cli.command import read_pairs
from corporeal.cli.output import show_progress
from corporeal.errors import CorporealError, UnknownNameError

# A camera's first pictures come while it still sets its exposure.
_SETTLING = 5
_MOST_SAMPLES = 100_000


def take_pictures(
    texts: Sequence[str], settings: Sequence[str] | None, cameras: Sequence[str], *, frames: int
) -> dict[str, list[NDArray[np.uint8]]]:
    """So many pictures of each camera; a driver is DRIVER, or CAMERA=DRIVER of one camera."""
    pictures: dict[str, list[NDArray[np.uint8]]] = {}
    with show_progress("looking", total=frames * len(cameras)) as bar:
        for text in texts:
            name, _, driver = text.rpartition("=")
            wanted = [name] if name else list(cameras)
            taken: dict[str, list[NDArray[np.uint8]]] = {each: [] for each in wanted}
            seen = dict.fromkeys(wanted, 0)
            with closing(live_samples(driver, settings, name)) as samples:
                for sample in samples:
                    camera = _camera_of(sample.stream, wanted, is_alone=bool(name))
                    if camera is None or len(taken[camera]) >= frames:
                        continue
                    seen[camera] += 1
                    if seen[camera] > _SETTLING:
                        taken[camera].append(np.array(sample.value))
                        bar.advance()
                    if all(len(each) >= frames for each in taken.values()):
                        break
            pictures |= taken
    for camera in cameras:
        if not pictures.get(camera):
            raise CorporealError(
                f"camera {camera}, got no picture from {', '.join(texts)}; expected a stream of "
                "that name. Name the driver: --driver CAMERA=DRIVER."
            )
    return pictures


def live_cameras(
    driver: str, settings: Sequence[str] | None, camera: str = ""
) -> tuple[list[str], bool]:
    """The addresses of a driver's cameras, and whether they are live."""
    known, options = _driver_options(driver, settings, camera)
    streams = [stream.path for stream in known.describe(options).schema.streams
               if stream.kind == "video"]  # fmt: skip
    if not streams:
        raise CorporealError(f"driver {driver} delivers no pictures; expected a camera.")
    return streams, known.is_live


def live_samples(
    driver: str, settings: Sequence[str] | None, camera: str = ""
) -> Generator[Sample]:
    """The pictures of a driver as they come; options are NAME=VALUE, or CAMERA.NAME=VALUE."""
    known, options = _driver_options(driver, settings, camera)
    streams = {stream.path for stream in known.describe(options).schema.streams
               if stream.kind == "video"}  # fmt: skip
    items = known.read(options)
    try:
        count = 0
        for item in items:
            if isinstance(item, Sample) and item.stream in streams:
                count += 1
                yield item
            if count > _MOST_SAMPLES:
                return
    finally:
        items.close()  # type: ignore[attr-defined]  # Drivers are generators.


def _driver_options(name: str, settings: Sequence[str] | None, camera: str) -> tuple[Driver, Any]:
    """A driver and its options; those of other cameras are left out."""
    known = drivers()
    if name not in known:
        raise UnknownNameError("driver", name, known)
    given = read_pairs(list(settings or ()), "--set")
    mine: dict[str, Any] = {
        key.removeprefix(f"{camera}."): value
        for key, value in given.items()
        if "." not in key or key.startswith(f"{camera}.")
    }
    return known[name], parse_options(known[name], mine)


def _camera_of(stream: str, wanted: Sequence[str], *, is_alone: bool) -> str | None:
    if is_alone:
        return wanted[0]
    name = stream.rpartition("/")[2]
    return name if name in wanted else None
