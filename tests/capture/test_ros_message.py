"""ROS messages become streams with the right values, units and names, or say why they cannot."""

from __future__ import annotations

import io
import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from corporeal.capture.ros.flatten import CONVERTERS, pieces_of
from corporeal.capture.ros.idl import zero_message
from corporeal.capture.ros.message import MessagePart, NotMappedError
from corporeal.capture.ros.message_type import decoder, public_fields
from corporeal.capture.ros.stream import TopicLane, fit_lanes, group_of, signature, stream_name


def _message(kind: str, **values: Any) -> Any:
    message = zero_message(kind)
    for path, value in values.items():
        *way, last = path.split("__")
        target = message
        for step in way:
            target = getattr(target, step)
        setattr(target, last, value)
    return message


def _one(kind: str, **values: Any) -> MessagePart:
    (piece,) = pieces_of(_message(kind, **values), kind)
    return piece


def _picture(encoding: str, pixels: np.ndarray[Any, Any], step: int | None = None) -> MessagePart:
    height, width = pixels.shape[:2]
    rows = pixels.reshape(height, -1).view(np.uint8)
    if step is not None:
        rows = np.pad(rows, ((0, 0), (0, step - rows.shape[1])), constant_values=77)
    return _one(
        "sensor_msgs/msg/Image", height=height, width=width, encoding=encoding,
        step=rows.shape[1], data=rows.reshape(-1),
    )  # fmt: skip


def _joint_state(
    names: list[str], position: list[float], velocity: list[float]
) -> list[MessagePart]:
    kind = "sensor_msgs/msg/JointState"
    arrays = {"position": np.array(position), "velocity": np.array(velocity)}
    return pieces_of(_message(kind, name=names, **arrays), kind)


def test_a_joint_state_names_its_joints() -> None:
    position, velocity = _joint_state(["hip", "knee"], [0.1, 0.2], [1.0, 2.0])
    assert (position.suffix, position.unit, position.components) == (
        "position", "rad", ("hip", "knee"),
    )  # fmt: skip
    assert velocity.unit == "rad/s"
    np.testing.assert_array_equal(velocity.load(), [1.0, 2.0])


def test_a_joint_state_with_too_few_values_is_refused() -> None:
    with pytest.raises(NotMappedError, match="1 values for 2 joint names"):
        _joint_state(["hip", "knee"], [0.1], [])


def test_an_imu_without_orientation_has_none() -> None:
    kind = "sensor_msgs/msg/Imu"
    absent = np.array([-1.0, *[0.0] * 8])
    message = _message(
        kind, linear_acceleration__z=9.81, angular_velocity__x=0.5, orientation__w=1.0
    )
    assert [piece.suffix for piece in pieces_of(message, kind)] == ["", "orientation", "covariance"]
    empty = _message(kind, linear_acceleration__z=9.81)
    assert [piece.suffix for piece in pieces_of(empty, kind)] == ["", "covariance"]
    message.orientation_covariance = absent
    moving, covariance = pieces_of(message, kind)
    np.testing.assert_array_equal(moving.load(), [0, 0, 9.81, 0.5, 0, 0])
    assert covariance.on_change
    assert covariance.group == "debug"


def test_a_pose_in_the_room_is_debug_and_one_on_the_robot_is_observed() -> None:
    kind = "geometry_msgs/msg/PoseStamped"
    placed = _one(kind, header__frame_id="map", pose__orientation__w=1.0, pose__position__x=2.0)
    np.testing.assert_array_equal(placed.load(), [2, 0, 0, 1, 0, 0, 0])
    assert group_of("/object", placed) == "debug"
    held = _one(kind, header__frame_id="pelvis")
    assert group_of("/object", held) == "observations"


def test_commands_are_actions_except_in_the_world_frame() -> None:
    kind = "geometry_msgs/msg/PoseStamped"
    for frame in ("pelvis", "map"):
        told = _one(kind, header__frame_id=frame)
        for topic in ("/arm/cmd", "/cmd_pose", "/arm/joint_commands"):
            assert group_of(topic, told) == "actions"
        assert group_of("/commander", told) == "actions"
    lane = TopicLane(("/cmd_pose", "", ()))
    lane.add(_one(kind, header__frame_id="world"), 0)
    fits, problems = fit_lanes([lane])
    assert fits[lane.key].stream.group == "debug"
    assert any("a command in the world frame" in text for text in problems)


def test_odometry_is_never_an_observation() -> None:
    kind = "nav_msgs/msg/Odometry"
    pieces = pieces_of(_message(kind, child_frame_id="base_link"), kind)
    assert {group_of("/odom", piece) for piece in pieces} == {"debug"}
    assert [piece.suffix for piece in pieces] == [
        "pose", "pose_covariance", "twist", "twist_covariance",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["Pose", "Twist", "Accel"])
def test_a_covariance_is_kept_with_and_without_a_header(name: str) -> None:
    for ending in ("", "Stamped"):
        kind = f"geometry_msgs/msg/{name}WithCovariance{ending}"
        assert [piece.suffix for piece in pieces_of(zero_message(kind), kind)] == ["", "covariance"]


@pytest.mark.parametrize(
    ("encoding", "order"), [("rgb8", [0, 1, 2]), ("bgr8", [2, 1, 0]), ("rgba8", [0, 1, 2]),
                            ("bgra8", [2, 1, 0])]
)  # fmt: skip
def test_colour_pictures_become_rgb(encoding: str, order: list[int]) -> None:
    channels = 4 if "a" in encoding else 3
    pixels = np.random.default_rng(0).integers(0, 256, (4, 6, channels), np.uint8)
    for step in (None, 40):
        piece = _picture(encoding, pixels, step)
        assert piece.kind == "video"
        np.testing.assert_array_equal(piece.load(), pixels[..., order])


def test_a_grey_picture_is_grey_in_rgb() -> None:
    pixels = np.arange(24, dtype=np.uint8).reshape(4, 6)
    np.testing.assert_array_equal(_picture("mono8", pixels).load()[..., 1], pixels)


def test_a_bayer_picture_of_one_colour_has_that_colour() -> None:
    pixels = np.zeros((8, 8), np.uint8)
    pixels[0::2, 0::2] = 200
    red = _picture("bayer_rggb8", pixels).load()
    assert red[2:6, 2:6, 0].min() > 150
    assert red[2:6, 2:6, 1:].max() < 20


def test_an_odd_picture_is_padded_and_says_so() -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 3), np.uint8)
    piece = _picture("rgb8", pixels)
    assert piece.shape == (4, 6, 3)
    assert "even" in str(piece.note)
    np.testing.assert_array_equal(piece.load()[:3, :5], pixels)
    np.testing.assert_array_equal(piece.load()[3, :5], pixels[2])


def test_depth_keeps_its_millimetres() -> None:
    depth = np.array([[0, 1, 2], [1000, 65535, 3]], np.uint16)
    piece = _picture("16UC1", depth)
    assert (piece.kind, piece.unit) == ("depth", "mm")
    np.testing.assert_array_equal(piece.load(), depth)


def test_depth_in_metres_is_rounded_and_says_so() -> None:
    depth = np.array([[0.0004, 1.2346], [np.nan, np.inf]], np.float32)
    piece = _picture("32FC1", depth)
    np.testing.assert_array_equal(piece.load(), [[0, 1235], [0, 0]])
    assert "rounded" in str(piece.note)


def test_a_picture_with_too_few_bytes_is_refused() -> None:
    with pytest.raises(NotMappedError, match="too few bytes: 30 for 480 rows"):
        _one(
            "sensor_msgs/msg/Image", height=480, width=640, encoding="rgb8", step=1920,
            data=np.zeros(30, np.uint8),
        )  # fmt: skip


def test_an_unknown_encoding_is_named() -> None:
    with pytest.raises(NotMappedError, match="'nv99'"):
        _picture("nv99", np.zeros((2, 2), np.uint8))


def _packed(pixels: np.ndarray[Any, Any], kind: str, header: bytes = b"") -> MessagePart:
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, kind)
    data = np.frombuffer(header + file.getvalue(), np.uint8)
    name = "16UC1; compressedDepth png" if header else kind.lower()
    return _one("sensor_msgs/msg/CompressedImage", format=name, data=data)


def test_compressed_pictures_are_unpacked() -> None:
    pixels = np.zeros((8, 12, 3), np.uint8)
    pixels[..., 2] = 180
    np.testing.assert_array_equal(_packed(pixels, "PNG").load(), pixels)
    seen = _packed(pixels, "JPEG").load().astype(int)
    assert np.abs(seen - pixels).max() < 8


@pytest.mark.parametrize("header", [b"", b"\0" * 12])
def test_compressed_depth_keeps_its_millimetres(header: bytes) -> None:
    depth = np.arange(24, dtype=np.uint16).reshape(4, 6) * 1000
    piece = _packed(depth, "PNG", header)
    assert piece.kind == "depth"
    np.testing.assert_array_equal(piece.load(), depth)


def test_a_cut_jpeg_is_found_when_it_is_loaded() -> None:
    file = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8)
    Image.fromarray(noise).save(file, "JPEG")
    cut = np.frombuffer(file.getvalue()[:900], np.uint8)
    piece = _one("sensor_msgs/msg/CompressedImage", format="jpeg", data=cut)
    with pytest.raises(NotMappedError, match="cannot be decoded"):
        piece.load()


def test_a_point_cloud_keeps_every_field_of_one_number() -> None:
    layout = np.dtype(
        {"names": ["x", "y", "z", "ring"], "formats": ["<f4", "<f4", "<f4", "<u2"],
         "offsets": [0, 4, 8, 16], "itemsize": 20}
    )  # fmt: skip
    points = np.zeros(5, layout)
    points["y"], points["ring"] = [1.5, 2.5, np.nan, 4.5, 5.5], [7, 8, 9, 10, 65535]
    fields = []
    for name, code, at in (("x", 7, 0), ("y", 7, 4), ("z", 7, 8), ("ring", 4, 16)):
        fields.append(
            _message("sensor_msgs/msg/PointField", name=name, datatype=code, offset=at, count=1)
        )
    piece = _one(
        "sensor_msgs/msg/PointCloud2", height=1, width=5, fields=fields, point_step=20,
        row_step=100, data=np.frombuffer(points.tobytes(), np.uint8),
    )  # fmt: skip
    assert piece.components == ("x", "y", "z", "ring")
    assert piece.unit == ("m", "m", "m", "1")
    assert piece.dtype == "float32"
    np.testing.assert_array_equal(piece.load()[:, 1], points["y"])
    np.testing.assert_array_equal(piece.load()[:, 3], points["ring"])


def test_a_cloud_without_points_is_empty() -> None:
    field = _message("sensor_msgs/msg/PointField", name="x", datatype=7, offset=0, count=1)
    for height in (0, 1):
        piece = _one(
            "sensor_msgs/msg/PointCloud2", height=height, width=0, fields=[field], point_step=4
        )
        assert piece.load().shape == (0, 1)


def test_an_array_takes_the_shape_that_its_layout_states() -> None:
    kind = "std_msgs/msg/Float64MultiArray"
    dims = [_message("std_msgs/msg/MultiArrayDimension", size=size) for size in (2, 3)]
    message = _message(kind, data=np.arange(6.0), layout__dim=dims)
    (piece,) = pieces_of(message, kind)
    assert piece.shape == (2, 3)
    message.layout.dim = dims[:1]
    (piece,) = pieces_of(message, kind)
    assert piece.shape == (6,)


def test_any_other_message_is_flattened_with_its_names() -> None:
    definition = "string[] names\nint32[] temps\nuint8 BAD=3\nfloat32 load\nstring mode\n"
    kind = "acme/msg/Temps"
    # Built by hand: counts and strings are 4 bytes, aligned to 4.
    words = [2, 4, b"hip\0", 5, b"knee\0\0\0\0", 2, 40, 41, np.float32(0.5), 3, b"on\0"]
    body = b"".join(
        word if isinstance(word, bytes) else np.array(word, "<f4" if isinstance(word, np.float32)
                                                      else "<u4").tobytes()
        for word in words
    )  # fmt: skip
    message = decoder(kind, definition, "ros2msg", "cdr")(b"\0\1\0\0" + body)
    numbers, text = pieces_of(message, kind)
    assert numbers.components == ("temps.hip", "temps.knee", "load")
    np.testing.assert_array_equal(numbers.load(), [40, 41, 0.5])
    assert text.load() == '{"mode": "on"}'
    assert text.on_change


def test_damaged_bytes_are_a_reason_and_not_a_crash() -> None:
    decode = decoder("sensor_msgs/msg/JointState", "", "", "cdr")
    for size in range(0, 40, 3):
        with pytest.raises(NotMappedError, match="do not fit"):
            decode(b"\0\1\0\0" + b"\xff" * size)


def test_a_type_nobody_knows_is_a_reason() -> None:
    with pytest.raises(NotMappedError, match="no definition"):
        decoder("acme/msg/Secret", "", "", "cdr")
    with pytest.raises(NotMappedError, match="encoding 'cbor'"):
        decoder("acme/msg/Secret", "", "", "cbor")


def test_a_definition_in_idl_is_read() -> None:
    idl = "module acme { module msg { struct Force { double newton; }; }; };"
    decode = decoder("acme/msg/Force", idl, "ros2idl", "cdr")
    assert decode(b"\0\1\0\0" + np.float64(2.5).tobytes()).newton == 2.5


@pytest.mark.parametrize("kind", sorted(public_fields("std_msgs/msg/String")))
def test_every_public_type_is_mapped_or_has_a_reason(kind: str) -> None:
    # Messages of zeros: most have no values in their lists, and must say so.
    try:
        pieces = pieces_of(zero_message(kind), kind)
    except NotMappedError:
        return
    assert pieces or kind in CONVERTERS
    for piece in pieces:
        lane = TopicLane(("/topic", piece.suffix, piece.variant))
        lane.add(piece, 0)
        fits, _ = fit_lanes([lane])
        assert all(fit.stream.kind == piece.kind for fit in fits.values())


@given(st.text(max_size=90), st.text(max_size=20))
def test_every_topic_gets_a_valid_stream_name(topic: str, suffix: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9_]{0,63}", stream_name(topic, suffix))


def test_long_topics_that_begin_alike_get_names_that_differ() -> None:
    stem = "/robot" * 20
    assert stream_name(stem + "/left") != stream_name(stem + "/right")


@given(st.permutations(["hip", "knee", "ankle", "toe"]))
def test_values_follow_their_joints_into_the_order_of_the_stream(names: list[str]) -> None:
    first = _joint_state(["hip", "knee", "ankle", "toe"], [1, 2, 3, 4], [])[0]
    value = {"hip": 1, "knee": 2, "ankle": 3, "toe": 4}
    other = _joint_state(names, [value[name] for name in names], [])[0]
    lane = TopicLane(("/joint_states", "position", first.variant))
    lane.add(first, 0)
    fits, _ = fit_lanes([lane])
    np.testing.assert_array_equal(fits[lane.key].value(other), [1, 2, 3, 4])


def test_two_sets_of_joints_on_one_topic_become_two_streams() -> None:
    lanes = []
    for names in (["hip", "knee"], ["finger"]):
        piece = _joint_state(names, [0.0] * len(names), [])[0]
        lane = TopicLane(("/joint_states", "position", piece.variant))
        for time_ns in range(0, 10**9, 10**7):
            lane.add(piece, time_ns)
        lanes.append(lane)
    fits, problems = fit_lanes(lanes)
    assert [fit.stream.name for fit in fits.values()] == [
        "joint_position", "joint_states_2_position",
    ]  # fmt: skip
    assert [fit.stream.rate_hz for fit in fits.values()] == [100.0, 100.0]
    assert any("set of joints changes" in text for text in problems)


def test_messages_of_changing_length_are_one_sentence() -> None:
    kind = "std_msgs/msg/Float64MultiArray"
    lane = TopicLane(("/lengths", "", ()))
    for length in (3, 3, *range(4, 30)):
        lane.add(_one(kind, data=np.zeros(length)), 0)
    _, (problem,) = fit_lanes([lane])
    assert "26 of 28 messages not mapped to observations/lengths" in problem
    assert "and 25 other shapes" in problem


def test_a_picture_of_another_size_is_counted_and_refused() -> None:
    small = _picture("rgb8", np.zeros((4, 6, 3), np.uint8))
    large = _picture("rgb8", np.zeros((8, 6, 3), np.uint8))
    lane = TopicLane(("/camera", "", ()))
    for piece in (small, small, large):
        lane.add(piece, 0)
    fits, problems = fit_lanes([lane])
    assert any("1 of 3 messages not mapped to observations/camera" in text for text in problems)
    with pytest.raises(NotMappedError, match=r"another shape than .*\[4, 6, 3\]"):
        fits[lane.key].value(large)
    assert signature(small) != signature(large)
