"""Writes a recording as an MCAP file: every stream a topic with its own stamps, and the robot."""

from __future__ import annotations

import heapq
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corporeal.embodiment import Embodiment
from corporeal.embodiment.embodiment import Placed, Shape
from corporeal.embodiment.kinematics import placement_of
from corporeal.episode.label_track import LabelTrack
from corporeal.episode.recording import Recording, Signal
from corporeal.exchange.camera_model import CameraModel, camera_models
from corporeal.exchange.episode_file import is_named
from corporeal.exchange.layout import LabelChange, label_changes
from corporeal.exchange.link_poses import RobotPoses, link_poses_of
from corporeal.exchange.mcap_messages.description import RECORD, LogDescription, LoggedTopic
from corporeal.exchange.mcap_messages.log_file import LogWriter, MessageBatch
from corporeal.exchange.mcap_messages.message_type import (
    EPISODE_LABELS,
    LABEL,
    Bytes,
    Stencil,
    definition,
    encode,
    header,
    make_message,
    pose,
    quaternion,
    vector,
)
from corporeal.exchange.mcap_messages.stream_message import (
    DEPTH,
    WORLD,
    MediaForm,
    NumericForm,
    media_form,
    numeric_form,
)
from corporeal.geometry import quaternion_from_matrix
from corporeal.schema import roles
from corporeal.units import SECOND_NS

CHUNK_BYTES = 1 << 20
# A viewer holds the chunks of all topics at the time shown: none may last long.
CHUNK_S = 4.0
_EVENTS_HZ = 64.0
Stamps = NDArray[np.uint64]


@dataclass(frozen=True, eq=False)
class _Track:
    """A stream on its way into the file."""

    label: str
    topic: str
    signal: Signal
    form: NumericForm | MediaForm


def write_log(recording: Recording, path: Path, *, exclude: Collection[str] = ()) -> dict[str, int]:
    """Write everything but the excluded streams (by path or name); messages by topic."""
    tracks = _tracks(recording, exclude)
    first_ns = (int(track.signal.time_ns.min()) for track in tracks if len(track.signal))
    begin_ns = min(first_ns, default=0)
    # Log times count from the epoch, or from later if that would leave some below zero.
    offset_ns = max(recording.epoch_ns, -begin_ns, 0)
    with path.open("xb") as file:
        log = LogWriter(file)
        _describe(log, recording, tracks, offset_ns)
        queues = [_batches(log, track, offset_ns) for track in tracks]
        queues += _scene(log, recording, offset_ns, tracks)
        queues += label_topics(log, recording.labels, begin_ns, offset_ns)
        for batch in heapq.merge(*queues, key=lambda batch: int(batch.time_ns[0])):
            log.add(batch)
        log.finish()
    return {track.topic: len(track.signal) for track in tracks}


def _tracks(recording: Recording, exclude: Collection[str]) -> list[_Track]:
    tracks: dict[str, _Track] = {}
    for label, signal in recording.signals.items():
        spec = signal.spec
        if is_named(spec, exclude):
            continue
        topic, count = f"/{spec.path}", 1
        while topic in tracks:
            count += 1
            topic = f"/{spec.path}_{count}"
        form = numeric_form(spec) if spec.kind == "array" else media_form(signal)
        tracks[topic] = _Track(label, topic, signal, form)
    return list(tracks.values())


def _describe(
    log: LogWriter,
    recording: Recording,
    tracks: list[_Track],
    offset_ns: int,
) -> None:
    topics = tuple(
        LoggedTopic(
            label=track.label,
            topic=track.topic,
            stream=track.signal.spec,
            codec=track.form.codec if isinstance(track.form, MediaForm) else None,
        )
        for track in tracks
    )
    robot = recording.embodiment.name if recording.embodiment is not None else ""
    description = LogDescription.of(recording, topics, offset_ns)
    log.add_metadata(RECORD, description.to_record(robot=robot))
    documents = dict(recording.documents)
    if recording.embodiment is not None:
        documents.setdefault("embodiment", recording.embodiment.canonical())
    for kind, text in documents.items():
        log.add_attachment(f"{kind}.json", "application/json", text.encode())


def _batches(log: LogWriter, track: _Track, offset_ns: int) -> Iterator[MessageBatch]:
    spec = track.signal.spec
    unit = spec.unit if isinstance(spec.unit, str) else ", ".join(spec.unit)
    facts = {"unit": unit, "rate_hz": str(spec.rate_hz or ""), "dtype": spec.dtype}
    name = track.form.type_name
    channel = log.add_topic(track.topic, name, definition(name), **facts)
    # The topic is named before the first batch is asked for, since batches come by their time.
    return _batches_of(track, channel, offset_ns)


def _batches_of(track: _Track, channel: int, offset_ns: int) -> Iterator[MessageBatch]:
    signal, form = track.signal, track.form
    stamps = signal.time_ns.astype(np.uint64) + np.uint64(offset_ns)
    most = max(1, int((signal.spec.rate_hz or _EVENTS_HZ) * CHUNK_S))
    if isinstance(form, NumericForm):
        rows = max(1, min(most, CHUNK_BYTES // form.stencil.size))
        for first in range(0, len(stamps), rows):
            part = stamps[first : first + rows]
            yield MessageBatch(channel, first, part, form.pack(part, signal[first : first + rows]))
        return
    compressed = form.type_name == DEPTH or signal.spec.kind in ("points", "text")
    first, waiting, size = 0, list[bytes](), 0
    for payload in form.messages(stamps):
        waiting.append(payload)
        size += len(payload)
        if size >= CHUNK_BYTES or len(waiting) >= most:
            part = stamps[first : first + len(waiting)]
            yield MessageBatch(channel, first, part, waiting, compressed)
            first, waiting, size = first + len(waiting), [], 0
    if waiting:
        yield MessageBatch(channel, first, stamps[first:], waiting, compressed)


def _scene(
    log: LogWriter, recording: Recording, offset_ns: int, tracks: list[_Track]
) -> list[Iterator[MessageBatch]]:
    """Topics that are made from the others, so that a 3D panel has something to show."""
    first_ns = min((int(track.signal.time_ns.min()) for track in tracks if len(track.signal)),
                   default=0)  # fmt: skip
    cameras = camera_models(recording)
    queues = _camera_topics(log, tracks, cameras, first_ns, offset_ns)
    joints = any(track.signal.spec.name in roles.MEASURED for track in tracks)
    posture = link_poses_of(recording) if joints else None
    if posture is None or recording.embodiment is None or not len(posture.time_ns):
        if any(model.frame is not None for model in cameras.values()):
            begin = _stamps([first_ns], offset_ns)
            placed = fixed_transforms(None, cameras.values(), int(begin[0]))
            queues.append(_single(log, "/tf_static", TRANSFORMS, placed, begin, _CALIBRATION))
        return queues
    stamps = posture.time_ns.astype(np.uint64) + np.uint64(offset_ns)
    begin = stamps[:1]
    robot = recording.embodiment
    fixed = fixed_transforms(robot, cameras.values(), int(begin[0]))
    for topic, name, payload in (
        ("/tf_static", TRANSFORMS, fixed), ("/robot", SHAPES, shapes(robot, int(begin[0]))),
    ):  # fmt: skip
        queues.append(_single(log, topic, name, payload, begin, "the robot's document"))
    channel = log.add_topic("/tf", TRANSFORMS, definition(TRANSFORMS), made_from="joint positions")
    messages = moving_transforms(posture, stamps)
    rows = max(1, CHUNK_BYTES // messages.shape[1])
    queues.append(
        MessageBatch(channel, first, stamps[first : first + rows], messages[first : first + rows])
        for first in range(0, len(stamps), rows)
    )
    return queues


def _single(
    log: LogWriter, topic: str, name: str, payload: bytes, at: Any, made_from: str
) -> Iterator[MessageBatch]:
    """A topic of one message, which is said once for the whole episode."""
    channel = log.add_topic(topic, name, definition(name), made_from=made_from)
    return iter([MessageBatch(channel, 0, at, [payload])])


def _camera_topics(
    log: LogWriter, tracks: list[_Track], cameras: Mapping[str, CameraModel], first_ns: int,
    offset_ns: int,
) -> list[Iterator[MessageBatch]]:  # fmt: skip
    """A topic `/CAMERA/camera_info` beside the pictures of every calibrated camera."""
    queues = []
    begin = _stamps([first_ns], offset_ns)
    for track in tracks:
        spec = track.signal.spec
        model = cameras.get(spec.name) if spec.kind == "video" else None
        if model is not None:
            payload = encode_camera_info(model, int(begin[0]))
            topic = f"{track.topic}/camera_info"
            queues.append(_single(log, topic, CAMERA_INFO, payload, begin, _CALIBRATION))
    return queues


CAMERA_INFO = "sensor_msgs/msg/CameraInfo"
_CALIBRATION = "the calibration document"


def encode_camera_info(model: CameraModel, stamp_ns: int) -> bytes:
    """One message for the whole episode; the pictures are as the lens made them."""
    projection = np.concatenate([model.matrix, np.zeros((3, 1))], axis=1)
    return encode(
        CAMERA_INFO, header(stamp_ns, model.optical_frame), model.height, model.width,
        model.distortion_model, np.array(model.distortion), model.matrix.ravel(),
        np.eye(3).ravel(), projection.ravel(), 0, 0,
        make_message("sensor_msgs/msg/RegionOfInterest", 0, 0, 0, 0, False),
    )  # fmt: skip


TOPIC = "/labels"
_MADE_FROM = "labels of people"


def label_topics(
    log: LogWriter, labels: LabelTrack | None, begin_ns: int, offset_ns: int
) -> list[Iterator[MessageBatch]]:
    """A topic `/labels/LANE` for every lane in which something is said, and `/labels`.

    A field `label` that is empty ends the label before, so that a panel of states shows the gap.
    """
    if labels is None:
        return []
    channel = log.add_topic(TOPIC, EPISODE_LABELS, definition(EPISODE_LABELS), made_from=_MADE_FROM)
    queues = [iter([MessageBatch(channel, 0, _stamps([begin_ns], offset_ns), [_episode(labels)])])]
    for lane in labels.used_lanes:
        changes = list(label_changes(labels.in_lane(lane.name)))
        channel = log.add_topic(
            f"{TOPIC}/{lane.name}", LABEL, definition(LABEL), made_from=_MADE_FROM
        )
        stamps = _stamps([each.time_ns for each in changes], offset_ns)
        queues.append(iter([MessageBatch(channel, 0, stamps, [_label(each) for each in changes])]))
    return queues


def _stamps(times_ns: list[int], offset_ns: int) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    return np.array([max(0, each + offset_ns) for each in times_ns], np.uint64)


def _episode(labels: LabelTrack) -> bytes:
    values = (
        labels.taxonomy,
        list(labels.instructions),
        labels.outcome or "",
        labels.failure_mode or "",
        labels.variant or "",
        list(labels.flags),
    )
    return encode(EPISODE_LABELS, *values)


def _label(change: LabelChange) -> bytes:
    span = change.span
    if span is None:
        end_s = change.time_ns / SECOND_NS
        return encode(LABEL, "", end_s, end_s, "{}")
    attributes = json.dumps(span.attributes, ensure_ascii=False)
    return encode(LABEL, span.label, span.start_ns / SECOND_NS, span.end_ns / SECOND_NS, attributes)


TRANSFORMS, SHAPES = "tf2_msgs/msg/TFMessage", "visualization_msgs/msg/MarkerArray"
_CUBE, _SPHERE, _CYLINDER = 1, 2, 3
_COLOUR = (0.62, 0.66, 0.72, 1.0)


def moving_transforms(posture: RobotPoses, stamp_ns: NDArray[np.uint64]) -> Bytes:
    """One message (T, size) for each posture: where all links are in the world."""
    names = posture.links
    numbers = np.concatenate([posture.positions, posture.quaternions[..., [1, 2, 3, 0]]], axis=2)

    def build(stamp: int, values: NDArray[Any]) -> bytes:
        rows = values.reshape(len(names), 7)
        listed = [_transform(stamp, WORLD, name, row[:3], row[3:])
                  for name, row in zip(names, rows, strict=True)]  # fmt: skip
        return encode(TRANSFORMS, listed)

    stencil = Stencil(build, 7 * len(names), "float64")
    return stencil.pack(stamp_ns, numbers.reshape(len(numbers), -1))


def fixed_transforms(
    robot: Embodiment | None, cameras: Iterable[CameraModel], stamp_ns: int
) -> bytes:
    """Where sensors and other named places are on their links, and calibrated cameras."""
    listed = [
        _transform(stamp_ns, frame.link, frame.name, np.array(frame.xyz), _xyzw(frame))
        for frame in (robot.frames if robot is not None else ())
        if frame.name != frame.link
    ]
    for model in cameras:
        if model.frame is not None:
            turn = np.array(model.quaternion)[[1, 2, 3, 0]]
            listed.append(_transform(stamp_ns, model.frame, model.optical_frame,
                                     np.array(model.xyz), turn))  # fmt: skip
    return encode(TRANSFORMS, listed)


def shapes(robot: Embodiment, stamp_ns: int) -> bytes:
    """The collision shapes of all links, drawn once: they follow their links."""
    markers: list[Any] = []
    for link in robot.links:
        for shape in link.collision:
            for kind, offset, scale in _primitives(shape):
                markers.append(_marker(len(markers), link.name, shape, kind, offset, scale,
                                       stamp_ns))  # fmt: skip
    return encode(SHAPES, markers)


def _primitives(shape: Shape) -> Iterator[tuple[int, float, tuple[float, float, float]]]:
    """Kind, distance along the shape's own z, and size; a capsule is three of them."""
    size = shape.size
    if shape.type == "box":
        yield _CUBE, 0.0, (size[0], size[1], size[2])
        return
    across = 2 * size[0]
    if shape.type in ("capsule", "cylinder"):
        yield _CYLINDER, 0.0, (across, across, size[1])
    if shape.type == "sphere":
        yield _SPHERE, 0.0, (across, across, across)
    if shape.type == "capsule":
        for end in (-0.5 * size[1], 0.5 * size[1]):
            yield _SPHERE, end, (across, across, across)


def _marker(
    number: int,
    link: str,
    shape: Shape,
    kind: int,
    offset: float,
    scale: tuple[float, float, float],
    stamp_ns: int,
) -> Any:
    placement = placement_of(shape)
    centre = placement[:, 3] + placement[:, 2] * offset
    zero = make_message("builtin_interfaces/msg/Duration", 0, 0)
    nothing = np.zeros(0, np.uint8)
    no_picture = make_message("sensor_msgs/msg/CompressedImage", header(0, ""), "", nothing)
    no_mesh = make_message("visualization_msgs/msg/MeshFile", "", nothing)
    return make_message(
        "visualization_msgs/msg/Marker", header(stamp_ns, link), "robot", number, kind, 0,
        pose(centre, _xyzw(shape)), vector(scale), make_message("std_msgs/msg/ColorRGBA", *_COLOUR),
        zero, True, [], [], "", no_picture, [], "", "", no_mesh, False,
    )  # fmt: skip


def _transform(
    stamp_ns: int, parent: str, child: str, position: NDArray[Any], xyzw: NDArray[Any]
) -> Any:
    moved = make_message("geometry_msgs/msg/Transform", vector(position), quaternion(xyzw))
    head = header(stamp_ns, parent)
    return make_message("geometry_msgs/msg/TransformStamped", head, child, moved)


def _xyzw(placed: Placed) -> NDArray[np.float64]:
    return np.asarray(quaternion_from_matrix(placement_of(placed)[:, :3]))[[1, 2, 3, 0]]
