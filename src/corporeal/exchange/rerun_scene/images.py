"""Cameras, depth and maps of touch in a scene; a camera's packets are taken as they are."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corporeal.episode.recording import ImageSequence, Signal, VideoFile
from corporeal.exchange.movie.playable_packets import playable_packets
from corporeal.exchange.rerun_scene.timeline import RerunScene, rerun

_CODECS = {"h264": "H264", "hevc": "H265", "av1": "AV1", "vp9": "VP9"}
_PER_METRE = {"mm": 1000.0, "cm": 100.0, "m": 1.0, "um": 1e6}
_BATCH_BYTES = 4 << 20
_BLOCK, _MAP_BLOCK = 16, 512


def add_camera(scene: RerunScene, entity: str, signal: Signal) -> None:
    """Pictures that any viewer can decode: packets of the movie, else JPEG or PNG one by one."""
    rr = rerun()
    packets = playable_packets(signal) if isinstance(signal, VideoFile) else None
    if packets is None:
        _send(scene, entity, signal, ((each, True) for each in _stills(signal)),
              lambda blobs, _: rr.EncodedImage.columns(blob=blobs))  # fmt: skip
        return
    scene.fix(entity, rr.VideoStream(codec=getattr(rr.VideoCodec, _CODECS[packets.codec])))
    _send(scene, entity, signal, packets,
          lambda blobs, keys: rr.VideoStream.columns(sample=blobs, is_keyframe=keys))  # fmt: skip


def _send(
    scene: RerunScene,
    entity: str,
    signal: Signal,
    samples: Iterable[tuple[bytes, bool]],
    columns: Callable[[list[bytes], list[bool]], Any],
) -> None:
    """Send samples with their stamps, a few megabytes at a time."""
    first, blobs, keys = 0, list[bytes](), list[bool]()
    for blob, is_key in samples:
        blobs.append(blob)
        keys.append(is_key)
        if sum(map(len, blobs)) >= _BATCH_BYTES:
            scene.add(entity, signal.time_ns[first : first + len(blobs)], columns(blobs, keys))
            first, blobs, keys = first + len(blobs), [], []
    if blobs:
        scene.add(entity, signal.time_ns[first : first + len(blobs)], columns(blobs, keys))


def _stills(signal: Any) -> Iterator[bytes]:
    if isinstance(signal, ImageSequence):
        pictures: Iterable[Any] = signal.pictures
    else:
        pictures = (frame.to_ndarray(format="rgb24") for frame in signal.frames())
    for _, picture in zip(range(len(signal)), pictures, strict=False):
        if isinstance(picture, bytes):
            yield picture
        else:
            file = io.BytesIO()
            Image.fromarray(np.asarray(picture, np.uint8)).save(file, "JPEG", quality=90)
            yield file.getvalue()


def add_depth(scene: RerunScene, entity: str, signal: Signal) -> None:
    """Depth in colours, with its scale to metres."""
    rr = rerun()
    unit = signal.spec.unit if isinstance(signal.spec.unit, str) else signal.spec.unit[0]
    scene.fix(
        entity,
        rr.EncodedDepthImage.from_fields(
            media_type="image/png",
            meter=_PER_METRE.get(unit, 1000.0),
            colormap=rr.components.Colormap.Turbo,
            depth_range=_range(np.asarray(signal[:1])),
        ),
    )
    frames = (frame for first in range(0, len(signal), _BLOCK)
              for frame in signal[first : first + _BLOCK])  # fmt: skip
    _send(scene, entity, signal, ((depth_png(frame), True) for frame in frames),
          lambda blobs, _: rr.EncodedDepthImage.columns(blob=blobs))  # fmt: skip


def _range(values: NDArray[Any]) -> tuple[float, float]:
    """From the near to the far of what was measured, strays left out."""
    measured = values[values > 0]
    if not measured.size:
        return 0.0, 1.0
    low, high = np.percentile(measured, [1, 99])
    return float(low), float(max(high, low + 1))


def add_map(scene: RerunScene, entity: str, signal: Signal, span: tuple[float, float]) -> None:
    """Numbers on a grid (height, width), such as the pressure on a pad, in colours over `span`."""
    rr = rerun()
    height, width = (int(size) for size in signal.spec.shape)
    colours = rr.components.Colormap.Inferno
    scene.fix(entity, rr.DepthImage.from_fields(colormap=colours, depth_range=span))
    shape = rr.components.ImageFormat(width, height, channel_datatype=rr.ChannelDatatype.F32)
    for first, block in _map_blocks(signal):
        columns = rr.DepthImage.columns(
            buffer=[frame.tobytes() for frame in block], format=[shape] * len(block)
        )
        scene.add(entity, signal.time_ns[first : first + len(block)], columns)


def map_span(signals: Iterable[Signal]) -> tuple[float, float]:
    """From the least to the most that any of them shows, so that their colours compare."""
    low, high = np.inf, -np.inf
    for signal in signals:
        for _, block in _map_blocks(signal):
            finite = block[np.isfinite(block)]
            if finite.size:
                low, high = min(low, float(finite.min())), max(high, float(finite.max()))
    return (low, high) if low < high else (0.0, 1.0)


def _map_blocks(signal: Signal) -> Iterator[tuple[int, NDArray[np.float32]]]:
    for first in range(0, len(signal), _MAP_BLOCK):
        yield first, np.ascontiguousarray(signal[first : first + _MAP_BLOCK], np.float32)


_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_FILTER_LEFT = 1


def depth_png(frame: NDArray[np.uint16]) -> bytes:
    """A greyscale PNG of one frame (height, width); each byte as the step from its neighbour."""
    height, width = frame.shape
    planes = frame.astype(">u2").view(np.uint8).reshape(height, 2 * width)
    lines = np.empty((height, 2 * width + 1), np.uint8)
    lines[:, 0] = _FILTER_LEFT
    lines[:, 1:3] = planes[:, :2]
    np.subtract(planes[:, 2:], planes[:, :-2], out=lines[:, 3:])
    # Sensor noise has no repeats to find, so nothing but the frequency of bytes is used.
    deflate = zlib.compressobj(1, zlib.DEFLATED, zlib.MAX_WBITS, 9, zlib.Z_HUFFMAN_ONLY)
    packed = deflate.compress(lines.data) + deflate.flush()
    head = struct.pack(">IIBBBBB", width, height, 16, 0, 0, 0, 0)
    return _SIGNATURE + _chunk(b"IHDR", head) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(data, zlib.crc32(kind))
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", checksum)
