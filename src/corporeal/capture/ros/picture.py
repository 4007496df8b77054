"""Pictures, depth and point clouds in ROS messages, decoded only when asked for."""

from __future__ import annotations

import io
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.capture.ros.message import MessagePart, NotMappedError, frame_of
from corporeal.schema import roles

MAX_PIXELS = 64 << 20
# encoding: (bytes per pixel, FFmpeg's name of the same layout)
_COLOUR = {
    "rgb8": (3, "rgb24"), "8UC3": (3, "bgr24"), "bgr8": (3, "bgr24"), "rgba8": (4, "rgba"),
    "bgra8": (4, "bgra"), "8UC4": (4, "bgra"), "mono8": (1, "gray"), "8UC1": (1, "gray"),
    "bayer_rggb8": (1, "bayer_rggb8"), "bayer_bggr8": (1, "bayer_bggr8"),
    "bayer_gbrg8": (1, "bayer_gbrg8"), "bayer_grbg8": (1, "bayer_grbg8"),
    "yuv422_yuy2": (2, "yuyv422"), "yuyv": (2, "yuyv422"), "yuv422": (2, "uyvy422"),
    "uyvy": (2, "uyvy422"),
}  # fmt: skip
_DEPTH = {"16UC1": "u2", "mono16": "u2", "32FC1": "f4"}
_FIELD = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 8: "f8"}
# Compressed depth starts with an enum and two quantisation numbers of the plugin that packed it.
_DEPTH_HEADER = 12
_PADDED = "the last row or column is repeated, since a video needs even sizes"


def image(message: Any) -> list[MessagePart]:
    """A raw picture as RGB, or depth in millimetres."""
    height, width, encoding = int(message.height), int(message.width), message.encoding
    _check_size(height, width)
    frame = frame_of(message)
    if encoding in _DEPTH:
        order = ">" if message.is_bigendian else "<"
        dtype = np.dtype(order + _DEPTH[encoding])
        rows = _rows(message.data, height, int(message.step), width * dtype.itemsize)
        load = partial(_depth, np.ascontiguousarray(rows).view(dtype))
        rounded = "metres rounded to whole millimetres" if dtype.kind == "f" else None
        return [depth_piece((height, width), load, frame, rounded)]
    if encoding not in _COLOUR:
        known = ", ".join([*_COLOUR, *_DEPTH])
        raise NotMappedError(f"the encoding {encoding!r}, which is none of {known}")
    size, layout = _COLOUR[encoding]
    rows = _rows(message.data, height, int(message.step), width * size)
    return [video_piece((height, width), partial(_rgb, rows, layout, width), frame)]


def compressed_image(message: Any) -> list[MessagePart]:
    """A JPEG or PNG as RGB; a 16-bit PNG is depth. Only its header is read here."""
    from PIL import Image, UnidentifiedImageError

    data = bytes(message.data)
    if "compressedDepth" in message.format:
        data = data[_DEPTH_HEADER:]
    try:
        with Image.open(io.BytesIO(data), formats=["JPEG", "PNG"]) as picture:
            (width, height), mode = picture.size, picture.mode
    except (UnidentifiedImageError, OSError, Image.DecompressionBombError):
        raise NotMappedError(
            f"bytes that are neither JPEG nor PNG, though the format says {message.format!r}"
        ) from None
    _check_size(height, width)
    frame = frame_of(message)
    if mode.startswith("I"):
        return [depth_piece((height, width), partial(_png_depth, data), frame, None)]
    return [video_piece((height, width), partial(_unpacked, data), frame)]


def video_piece(
    size: tuple[int, int], load: Callable[[], NDArray[np.uint8]], frame: str | None
) -> MessagePart:
    """An RGB picture (height, width, 3), both padded to even."""
    height, width = (number + number % 2 for number in size)
    note = _PADDED if (height, width) != size else None
    value = partial(_even, load)
    return MessagePart(
        "", value, kind="video", dtype="uint8", shape=(height, width, 3), frame=frame, note=note
    )


def depth_piece(
    size: tuple[int, int], load: Callable[[], NDArray[np.uint16]], frame: str | None,
    note: str | None,
) -> MessagePart:  # fmt: skip
    """A depth picture (height, width) in whole millimetres."""
    return MessagePart(
        "", load, kind="depth", dtype="uint16", shape=size, unit="mm", frame=frame, note=note
    )


def point_cloud(message: Any) -> list[MessagePart]:
    """The points (n, columns) of a PointCloud2 with every single-valued field as a column."""
    fields = [field for field in message.fields if field.count <= 1 and field.datatype in _FIELD]
    if not fields:
        raise NotMappedError("the cloud has no field that holds one number")
    order = ">" if message.is_bigendian else "<"
    formats = [np.dtype(order + _FIELD[field.datatype]) for field in fields]
    step, offsets = int(message.point_step), [int(field.offset) for field in fields]
    if any(at + kind.itemsize > step for at, kind in zip(offsets, formats, strict=True)):
        raise NotMappedError("a field of the cloud lies outside of its point")
    height, width = int(message.height), int(message.width)
    rows = _rows(message.data, height, int(message.row_step), width * step)
    names = tuple(field.name for field in fields)
    layout = np.dtype(
        {"names": list(names), "formats": formats, "offsets": offsets, "itemsize": step}
    )
    # 32-bit integers do not fit into 32-bit floats.
    wide = any(kind.itemsize == 8 or (kind.kind in "iu" and kind.itemsize == 4) for kind in formats)
    dtype = "float64" if wide else "float32"
    points = np.ascontiguousarray(rows).reshape(-1).view(layout)
    value = np.empty((len(points), len(names)), dtype)
    for column, name in enumerate(names):
        value[:, column] = points[name]
    units = tuple("m" if name in roles.POSITION else "1" for name in names)
    lost = [field.name for field in message.fields if field not in fields]
    return [
        MessagePart(
            "", value, kind="points", dtype=dtype, shape=(len(names),), unit=units,
            components=names, frame=frame_of(message),
            note=f"fields not kept: {', '.join(lost)}" if lost else None,
        )
    ]  # fmt: skip


def _check_size(height: int, width: int) -> None:
    if not 0 < height * width <= MAX_PIXELS:
        raise NotMappedError(f"a size of {width} x {height} pixels")


def _rows(data: Any, height: int, step: int, used: int) -> NDArray[np.uint8]:
    """The bytes of a picture as (height, used); `step` is the length of a row in memory."""
    flat = np.frombuffer(data, np.uint8)
    step = step or used
    if step < used or flat.size < height * step - (step - used):
        raise NotMappedError(
            f"too few bytes: {flat.size} for {height} rows of {used}, {step} apart"
        )
    return np.lib.stride_tricks.as_strided(
        flat, (height, used), (step * flat.strides[0], flat.strides[0]), writeable=False
    )


def _rgb(rows: NDArray[np.uint8], layout: str, width: int) -> NDArray[np.uint8]:
    pixels = np.ascontiguousarray(rows).reshape(len(rows), width, -1)
    if layout == "rgb24":
        return pixels
    if layout in ("bgr24", "bgra"):
        return pixels[..., 2::-1]
    if layout == "rgba":
        return pixels[..., :3]
    if layout == "gray":
        return np.repeat(pixels, 3, axis=2)
    import av

    if pixels.shape[2] == 1:
        pixels = pixels[..., 0]
    frame = av.VideoFrame.from_ndarray(pixels, layout)
    return np.asarray(frame.to_ndarray(format="rgb24"), np.uint8)


def _even(load: Callable[[], NDArray[np.uint8]]) -> NDArray[np.uint8]:
    picture = load()
    rows, columns = picture.shape[0] % 2, picture.shape[1] % 2
    if rows or columns:
        picture = np.pad(picture, ((0, rows), (0, columns), (0, 0)), mode="edge")
    return np.ascontiguousarray(picture)


def _depth(values: NDArray[Any]) -> NDArray[np.uint16]:
    if values.dtype.kind == "f":
        # Not a number and infinity both mean "nothing measured", which depth writes as 0.
        values = np.nan_to_num(values.astype(np.float64) * 1e3, nan=0.0, posinf=0.0, neginf=0.0)
        values = np.clip(np.rint(values), 0, 65535)
    return values.astype(np.uint16)


def _unpacked(data: bytes) -> NDArray[np.uint8]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=["JPEG", "PNG"]) as picture:
            return np.asarray(picture.convert("RGB"))
    except (OSError, ValueError, SyntaxError) as error:
        raise NotMappedError(f"a picture that cannot be decoded ({error})") from None


def _png_depth(data: bytes) -> NDArray[np.uint16]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as picture:
            return np.asarray(picture).astype(np.uint16)
    except (OSError, ValueError, SyntaxError) as error:
        raise NotMappedError(f"a depth picture that cannot be decoded ({error})") from None
