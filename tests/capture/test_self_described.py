"""MCAP channels in JSON and protobuf become streams, Foxglove's pictures and films cameras."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, timestamp_pb2
from mcap.writer import Writer
from PIL import Image

from corporeal.capture.driver import Sample
from corporeal.capture.ros.encoding import protobuf_reader, read_json
from corporeal.capture.ros.message import NotMappedError
from corporeal.capture.ros.survey import describe_bag, samples_of, survey

SECOND = 10**9
EPOCH = 1_700_000_000 * SECOND
FIELD = descriptor_pb2.FieldDescriptorProto
TYPES = {
    "double": FIELD.TYPE_DOUBLE, "string": FIELD.TYPE_STRING, "bytes": FIELD.TYPE_BYTES,
    "fixed32": FIELD.TYPE_FIXED32, "int64": FIELD.TYPE_INT64, "bool": FIELD.TYPE_BOOL,
}  # fmt: skip
STAMP = ".google.protobuf.Timestamp"
MESSAGES: dict[str, dict[str, str]] = {
    "Vector3": {"x": "double", "y": "double", "z": "double"},
    "Quaternion": {"x": "double", "y": "double", "z": "double", "w": "double"},
    "Pose": {"position": ".foxglove.Vector3", "orientation": ".foxglove.Quaternion"},
    "PoseInFrame": {"timestamp": STAMP, "frame_id": "string", "pose": ".foxglove.Pose"},
    "CompressedVideo": {"timestamp": STAMP, "frame_id": "string", "data": "bytes",
                        "format": "string"},
    "CompressedImage": {"timestamp": STAMP, "data": "bytes", "format": "string",
                        "frame_id": "string"},
    "RawImage": {"timestamp": STAMP, "frame_id": "string", "width": "fixed32",
                 "height": "fixed32", "encoding": "string", "step": "fixed32", "data": "bytes"},
    "Joint": {"name": "string", "position": "double", "velocity": "double"},
    "JointStates": {"timestamp": STAMP, "joints": "*.foxglove.Joint"},
    "Motors": {"temperature": "*double", "count": "int64", "is_on": "bool"},
}  # fmt: skip


def _schema() -> bytes:
    file = descriptor_pb2.FileDescriptorProto(
        name="foxglove/all.proto", package="foxglove", syntax="proto3",
        dependency=["google/protobuf/timestamp.proto"],
    )  # fmt: skip
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in enumerate(fields.items(), 1):
            entry = message.field.add(name=field, number=number, label=FIELD.LABEL_OPTIONAL)
            if kind.startswith("*"):
                entry.label = FIELD.LABEL_REPEATED
            kind = kind.lstrip("*")
            if kind.startswith("."):
                entry.type, entry.type_name = FIELD.TYPE_MESSAGE, kind
            else:
                entry.type = TYPES[kind]
    stamp = descriptor_pb2.FileDescriptorProto.FromString(timestamp_pb2.DESCRIPTOR.serialized_pb)
    # In the wrong order, as some writers have it.
    return bytes(descriptor_pb2.FileDescriptorSet(file=[file, stamp]).SerializeToString())


SCHEMA = _schema()


def _encode(name: str, **values: Any) -> bytes:
    pool = descriptor_pool.DescriptorPool()
    for file in reversed(descriptor_pb2.FileDescriptorSet.FromString(SCHEMA).file):
        pool.Add(file)
    kind = message_factory.GetMessageClass(pool.FindMessageTypeByName(f"foxglove.{name}"))
    return bytes(kind(**values).SerializeToString())


def _stamp(number: int) -> dict[str, int]:
    time_ns = EPOCH + number * SECOND // 50
    return {"seconds": time_ns // SECOND, "nanos": time_ns % SECOND}


def _write(path: Path, topics: dict[str, tuple[str, str, bytes, Iterable[bytes]]]) -> Path:
    """Messages at 50 Hz by topic: type, encoding of messages, schema, and the messages."""
    with path.open("wb") as file:
        writer = Writer(file)
        writer.start()
        for topic, (kind, encoding, schema, messages) in topics.items():
            language = {"json": "jsonschema", "protobuf": "protobuf"}[encoding]
            number = writer.register_schema(kind, language, schema)
            channel = writer.register_channel(topic, encoding, number)
            for index, data in enumerate(messages):
                time_ns = EPOCH + index * SECOND // 50 + 2_000_000
                writer.add_message(channel, time_ns, data, time_ns)
        writer.finish()
    return path


def _read(path: Path) -> dict[str, list[Sample]]:
    streams: dict[str, list[Sample]] = {}
    for sample in samples_of(survey(path)):
        streams.setdefault(sample.stream, []).append(sample)
    return streams


def test_protobuf_joints_poses_and_numbers_are_streams(tmp_path: Path) -> None:
    joints = [
        _encode("JointStates", timestamp=_stamp(n), joints=[
            {"name": "hip", "position": 0.1 * n, "velocity": 1.0}, {"name": "knee", "position": 2},
        ]) for n in range(10)
    ]  # fmt: skip
    poses = [
        _encode("PoseInFrame", timestamp=_stamp(n), frame_id="base", pose={
            "position": {"x": n}, "orientation": {"w": 1}}) for n in range(10)
    ]  # fmt: skip
    motors = [_encode("Motors", temperature=[20, 21 + n], count=n, is_on=True) for n in range(10)]
    path = _write(
        tmp_path / "a.mcap",
        {
            "/arm": ("foxglove.JointStates", "protobuf", SCHEMA, joints),
            "/tcp": ("foxglove.PoseInFrame", "protobuf", SCHEMA, poses),
            "/motors": ("foxglove.Motors", "protobuf", SCHEMA, motors),
        },
    )
    rig = describe_bag(path)
    assert rig.problems == ()
    streams = _read(path)
    assert {len(samples) for samples in streams.values()} == {10}
    by_topic = {
        f"{str(stream.description).removeprefix('ROS topic ').split(';')[0]} {stream.unit}": stream
        for stream in rig.schema.streams
        if stream.kind == "array"
    }
    position = by_topic["/arm rad"]
    assert position.components == ("hip", "knee")
    np.testing.assert_allclose(streams[position.path][3].value, [0.3, 2])
    assert streams[position.path][3].source_ns == EPOCH + 3 * SECOND // 50
    pose = next(s for s in rig.schema.streams if s.frame == "base")
    np.testing.assert_allclose(streams[pose.path][4].value, [4, 0, 0, 1, 0, 0, 0])
    temperatures = by_topic["/motors 1"]
    assert temperatures.components == ("temperature[0]", "temperature[1]", "count", "is_on")
    np.testing.assert_allclose(streams[temperatures.path][5].value, [20, 26, 5, 1])


def _film(count: int) -> tuple[list[bytes], list[Any]]:
    """A grey that grows lighter, as H.264 packets in Annex B, one for each picture."""
    codec: Any = av.CodecContext.create("libx264", "w")
    codec.width, codec.height, codec.pix_fmt = 64, 48, "yuv420p"
    codec.time_base, codec.gop_size, codec.max_b_frames = Fraction(1, 50), 5, 0
    codec.options = {"tune": "zerolatency", "preset": "ultrafast"}
    pictures = [np.full((48, 64, 3), 40 + 10 * number, np.uint8) for number in range(count)]
    packets = []
    for number, picture in enumerate(pictures):
        frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
        frame.pts = number
        packets += [bytes(packet) for packet in codec.encode(frame)]
    packets += [bytes(packet) for packet in codec.encode(None)]
    return packets, pictures


def test_coded_video_is_a_camera_and_a_start_between_key_frames_is_counted(tmp_path: Path) -> None:
    packets, pictures = _film(20)
    assert len(packets) == 20
    messages = [
        _encode("CompressedVideo", timestamp=_stamp(n), data=data, format="h264", frame_id="head")
        for n, data in enumerate(packets)
    ]  # fmt: skip
    kind = "foxglove.CompressedVideo"
    path = _write(tmp_path / "a.mcap", {"/camera": (kind, "protobuf", SCHEMA, messages)})
    rig = describe_bag(path)
    (camera,) = (stream for stream in rig.schema.streams if stream.kind == "video")
    assert (camera.shape, camera.frame, camera.rate_hz) == ((48, 64, 3), "head", 50.0)
    samples = _read(path)[camera.path]
    assert len(samples) == 20
    for sample, picture in zip(samples, pictures, strict=True):
        assert abs(float(sample.value.mean()) - float(picture.mean())) < 3
    late = _write(tmp_path / "late.mcap", {"/camera": (kind, "protobuf", SCHEMA, messages[2:])})
    assert len(_read(late)[camera.path]) == 15
    (problem,) = (text for text in describe_bag(late).problems if "builds on one" in text)
    assert "3 of 18 messages not mapped" in problem


def test_pictures_in_protobuf_and_json_are_cameras(tmp_path: Path) -> None:
    picture = np.zeros((48, 64, 3), np.uint8)
    picture[:, :32] = (200, 10, 10)
    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    packed, raw = file.getvalue(), picture.tobytes()
    messages = [
        _encode("RawImage", timestamp=_stamp(n), width=64, height=48, encoding="rgb8", step=192,
                data=raw) for n in range(4)
    ]  # fmt: skip
    written = {"timestamp": {"sec": EPOCH // SECOND, "nsec": 7}, "frame_id": "wrist",
               "format": "png", "data": base64.b64encode(packed).decode()}  # fmt: skip
    text = [json.dumps(written).encode()] * 4
    path = _write(
        tmp_path / "a.mcap",
        {
            "/raw": ("foxglove.RawImage", "protobuf", SCHEMA, messages),
            "/png": ("foxglove.CompressedImage", "json", b"{}", text),
        },
    )
    streams = _read(path)
    cameras = [stream for stream in describe_bag(path).schema.streams if stream.kind == "video"]
    assert len(cameras) == 2
    for camera in cameras:
        assert len(streams[camera.path]) == 4
        np.testing.assert_array_equal(streams[camera.path][0].value, picture)


def test_json_numbers_keep_their_names_whether_written_whole_or_not(tmp_path: Path) -> None:
    messages = [
        json.dumps({"gripper": {"width": 1 if n % 2 else 0.5}, "q": [1, None, n]}).encode()
        for n in range(10)
    ]
    path = _write(tmp_path / "a.mcap", {"/hand": ("Hand", "json", b"{}", messages)})
    (stream,) = (s for s in describe_bag(path).schema.streams if s.kind == "array")
    assert stream.components == ("gripper.width", "q[0]", "q[1]", "q[2]")
    samples = _read(path)[stream.path]
    assert len(samples) == 10
    np.testing.assert_array_equal(samples[3].value, [1, 1, np.nan, 3])


@pytest.mark.parametrize("data", [b"", b"[1, 2]", b"{", b"[" * 100_000, b"\xff"])
def test_what_is_no_json_object_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(NotMappedError):
        read_json(data)


def test_a_broken_schema_and_broken_bytes_are_refused_in_words() -> None:
    with pytest.raises(NotMappedError, match="schema"):
        protobuf_reader("foxglove.Pose", b"\xff\xff\xff")
    with pytest.raises(NotMappedError, match="schema"):
        protobuf_reader("foxglove.Nothing", SCHEMA)
    with pytest.raises(NotMappedError, match="bytes"):
        protobuf_reader("foxglove.Pose", SCHEMA)(b"\xff\xff\xff")
