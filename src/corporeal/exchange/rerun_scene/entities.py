"""What a scene shows at its two clocks: the robot, clouds, poses, cameras, depth, maps, lines."""

from __future__ import annotations

import colorsys
import io
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Shape
from corporeal.embodiment.kinematics import placement_of
from corporeal.episode.recording import ImageSequence, Signal, VideoFile
from corporeal.errors import MissingExtraError
from corporeal.exchange.link_poses import RobotPoses
from corporeal.exchange.movie.foreign_movie import playable_packets
from corporeal.geometry import quaternion_from_matrix
from corporeal.schema import Stream, roles


def rerun() -> Any:
    """The library; MissingExtraError says how to install it."""
    try:
        import rerun as library
        import rerun.blueprint
    except ImportError:
        raise MissingExtraError("rerun-sdk", "viz") from None
    return library


TIME, ROW = "time", "row"


@dataclass(frozen=True, eq=False)
class RerunScene:
    """A recording that is being written, and the time of every row of its table."""

    stream: Any
    rows_ns: NDArray[np.int64]

    def add(self, entity: str, time_ns: NDArray[np.int64], columns: Any) -> None:
        """Samples with these stamps."""
        rr = rerun()
        rows = np.searchsorted(self.rows_ns, time_ns, side="right") - 1
        clocks = [
            rr.TimeColumn(TIME, duration=time_ns.astype("timedelta64[ns]")),
            rr.TimeColumn(ROW, sequence=np.maximum(rows, 0)),
        ]
        self.stream.send_columns(entity, clocks, columns)

    def fix(self, entity: str, *values: Any) -> None:
        """What is true at all times."""
        self.stream.log(entity, *values, static=True)


WORLD, ROBOT, PATHS, CLOUDS = "/world", "/world/robot", "/world/paths", "/clouds"
BODY, LEFT, RIGHT = (188, 196, 208), (86, 156, 224), (240, 150, 80)
_CLOUDS_AT_ONCE = 64


def add_robot(scene: RerunScene, robot: Embodiment, posture: RobotPoses) -> None:
    """Every link with its shapes, at its place at every time; the paths of the end effectors."""
    rr = rerun()
    scene.fix(WORLD, rr.ViewCoordinates.RIGHT_HAND_Z_UP)
    by_name = {link.name: link for link in robot.links}
    for number, name in enumerate(posture.links):
        entity = f"{ROBOT}/{name}"
        columns = rr.Transform3D.columns(
            translation=posture.positions[:, number],
            quaternion=posture.quaternions[:, number][:, [1, 2, 3, 0]],
        )
        scene.add(entity, posture.time_ns, columns)
        _add_shapes(scene, entity, by_name[name].collision, _colour(name))
    for name, place in robot.end_effectors.items():
        path = _path(robot, posture, place)
        if path is not None and np.ptp(path, axis=0).max() > 0.02:
            strip = rr.LineStrips3D([path], radii=0.003, colors=[_colour(name)])
            scene.fix(f"{PATHS}/{name}", strip)


def _colour(name: str) -> tuple[int, int, int]:
    return LEFT if name.startswith("left") else RIGHT if name.startswith("right") else BODY


def _add_shapes(
    scene: RerunScene, entity: str, shapes: Sequence[Shape], colour: tuple[int, int, int]
) -> None:
    rr = rerun()
    for kind in dict.fromkeys(shape.type for shape in shapes):
        same = [shape for shape in shapes if shape.type == kind]
        placements = np.array([placement_of(shape) for shape in same])
        centres = placements[..., 3]
        turns = np.asarray(quaternion_from_matrix(placements[..., :3]))[:, [1, 2, 3, 0]]
        sizes = np.array([shape.size for shape in same])
        look = {"colors": [colour], "fill_mode": rr.components.FillMode.Solid}
        if kind == "box":
            value = rr.Boxes3D(sizes=sizes, centers=centres, quaternions=turns, **look)
        elif kind == "sphere":
            value = rr.Ellipsoids3D(half_sizes=np.repeat(sizes, 3, axis=1), centers=centres, **look)
        elif kind == "cylinder":
            value = rr.Cylinders3D(radii=sizes[:, 0], lengths=sizes[:, 1], centers=centres,
                                   quaternions=turns, **look)  # fmt: skip
        else:
            # The viewer's capsule begins in its origin.
            begins = centres - placements[..., 2] * sizes[:, 1:] / 2
            value = rr.Capsules3D(radii=sizes[:, 0], lengths=sizes[:, 1], translations=begins,
                                  quaternions=turns, **look)  # fmt: skip
        scene.fix(f"{entity}/{kind}", value)


def _path(robot: Embodiment, posture: RobotPoses, place: str) -> NDArray[np.float64] | None:
    """Where a link, or a named place on it, was over the whole episode."""
    frame = next((each for each in robot.frames if each.name == place), None)
    link = frame.link if frame is not None else place
    if link not in posture.links:
        return None
    return posture.positions[:, posture.links.index(link)]


def place_of(robot: Embodiment | None, frame: str | None) -> str | None:
    """The entity of a frame of the robot; None when the robot does not have it."""
    if robot is None or frame is None:
        return None
    if any(link.name == frame for link in robot.links):
        return f"{ROBOT}/{frame}"
    named = next((each for each in robot.frames if each.name == frame), None)
    return None if named is None else f"{ROBOT}/{named.link}/{frame}"


def add_frames(scene: RerunScene, robot: Embodiment) -> None:
    """Named places on the links, so that what is measured there stands in the right place."""
    rr = rerun()
    for frame in robot.frames:
        placement = placement_of(frame)
        pose = rr.Transform3D(translation=placement[:, 3], mat3x3=placement[:, :3])
        scene.fix(f"{ROBOT}/{frame.link}/{frame.name}", pose)


def add_points(scene: RerunScene, entity: str, signal: Signal) -> None:
    """Point clouds, coloured by height; the first three columns are x, y, z."""
    rr = rerun()
    # Below zero: of the screen, so that far points are seen too.
    scene.fix(entity, rr.Points3D.from_fields(radii=[-1.5]))
    for first in range(0, len(signal), _CLOUDS_AT_ONCE):
        clouds = [
            np.asarray(each, np.float32)[:, :3] for each in signal[first : first + _CLOUDS_AT_ONCE]
        ]
        points = np.concatenate(clouds)
        columns = rr.Points3D.columns(positions=points, colors=_by_height(points))
        lengths = [len(cloud) for cloud in clouds]
        stamps = signal.time_ns[first : first + len(clouds)]
        scene.add(entity, stamps, columns.partition(lengths))


def _by_height(points: NDArray[np.float32]) -> NDArray[np.uint8]:
    level = np.clip((np.nan_to_num(points[:, 2]) + 1.0) / 2.5, 0, 1)
    low, high = np.array([52, 94, 200]), np.array([250, 200, 80])
    mixed: NDArray[np.uint8] = (low + level[:, None] * (high - low)).astype(np.uint8)
    return mixed


def add_pose(scene: RerunScene, entity: str, signal: Signal) -> None:
    """Axes that move."""
    rr = rerun()
    order = [signal.spec.names.index(name) for name in roles.POSE]
    rows: Any = np.asarray(signal[:], np.float64)[:, order]
    columns = rr.Transform3D.columns(translation=rows[:, :3], quaternion=rows[:, [4, 5, 6, 3]])
    scene.add(entity, signal.time_ns, columns)
    scene.fix(entity, rr.TransformAxes3D(0.12))


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
    scene.fix(
        entity,
        rr.EncodedDepthImage.from_fields(
            media_type="image/png",
            meter=_PER_METRE.get(signal.spec.units[0], 1000.0),
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
    height, width = signal.spec.sizes
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


MAX_LINES = 64
MAIN = "State and action"
_LINE_BLOCK = 1 << 15
_TABS = (("Velocity", ("rad/s", "m/s")), ("Effort", ("N m", "N")), ("Motion", ("m/s2",)))


@dataclass(frozen=True, eq=False)
class Lines:
    """Some entries of a stream, drawn together."""

    entity: str
    signal: Signal
    columns: tuple[int, ...]


@dataclass(frozen=True)
class Plot:
    """One panel: what it is called, the tab it is in, and the lines it shows."""

    tab: str
    name: str
    lines: list[Lines] = field(default_factory=list)


def plots_of(signals: Sequence[Signal], robot: Embodiment | None) -> tuple[Plot, ...]:
    """The panels for streams of numbers: a command is with what it commands, joints by limb."""
    commanded = {_base(signal.spec.name) for signal in signals if signal.spec.group == "actions"}
    plots: dict[tuple[str, str], Plot] = {}
    for signal in signals:
        spec = signal.spec
        if spec.width > MAX_LINES:
            continue
        tab = MAIN if _base(spec.name) in commanded else _tab(spec)
        for part, columns in _parts(spec, robot).items():
            entity = f"/{spec.path}/{part}" if part else f"/{spec.path}"
            title = part or _base(spec.name)
            plot = plots.setdefault((tab, title), Plot(tab, title.replace("_", " ")))
            plot.lines.append(Lines(entity, signal, columns))
    return tuple(plots.values())


def _base(name: str) -> str:
    return name.removesuffix("_target")


def _tab(spec: Stream) -> str:
    units = spec.units
    for tab, known in reversed(_TABS):
        if any(unit in known for unit in units):
            return tab if not (tab == "Effort" and "N" in units and "N m" in units) else "Force"
    return "Pose" if spec.quaternion_columns is not None else "Other"


def _parts(spec: Stream, robot: Embodiment | None) -> Mapping[str, tuple[int, ...]]:
    """Joints by the limb they belong to; anything else is one part without a name."""
    if robot is None or not set(spec.names) & set(robot.joint_names):
        return {"": tuple(range(spec.width))}
    parts: dict[str, list[int]] = {}
    for column, name in enumerate(spec.names):
        parts.setdefault(robot.group_of(name) or "other", []).append(column)
    order = sorted(parts, key=lambda part: ("arm" not in part, "leg" in part, part))
    return {part: tuple(parts[part]) for part in order}


def add_lines(scene: RerunScene, lines: Lines) -> None:
    """The numbers themselves, with names and colours."""
    rr = rerun()
    signal, columns = lines.signal, lines.columns
    is_command = signal.spec.group == "actions"
    named = [name.removesuffix("_joint") for name in signal.spec.names]
    names = [named[column] if named else str(column) for column in columns]
    look = rr.SeriesLines(
        names=[f"{name} (target)" if is_command else name for name in names],
        colors=[_hue(place, len(columns), pale=is_command) for place in range(len(columns))],
        widths=[1.0 if is_command else 2.0] * len(columns),
    )
    scene.fix(lines.entity, look)
    for first in range(0, len(signal), _LINE_BLOCK):
        block = np.asarray(signal[first : first + _LINE_BLOCK], np.float64)
        flat = block.reshape(len(block), -1)[:, list(columns)]
        stamps = signal.time_ns[first : first + len(block)]
        scene.add(lines.entity, stamps, rr.Scalars.columns(scalars=flat))


def _hue(place: int, count: int, *, pale: bool) -> tuple[int, int, int]:
    """Hues around the circle, so that neighbours differ; a command has the pale one."""
    hue = (0.58 + place / max(count, 1)) % 1.0
    levels = colorsys.hsv_to_rgb(hue, 0.32 if pale else 0.72, 0.98 if pale else 0.88)
    red, green, blue = (round(255 * level) for level in levels)
    return red, green, blue
