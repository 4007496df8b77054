"""Messages of live poses: read, refused, counted; the bytes of NatNet."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.retargeting.live_streams import BONES, natnet_model, natnet_pose
from tests.retargeting.people import walking_person

from corporeal.retargeting.live.inlet import Arrivals, inlets, parse_address
from corporeal.retargeting.live.inlets.natnet import bone_names, parse_frame, split_packet
from corporeal.retargeting.live.pose_message import (
    MAX_BYTES,
    Announcement,
    PoseMessage,
    make_pose,
    parse_message,
)
from corporeal.retargeting.motion import POINTS, MotionError

VERSIONS = [(3, 0), (3, 1), (4, 0), (4, 1), (4, 2)]


def _read(message: object, announced: Announcement | None = None) -> PoseMessage:
    found = parse_message(json.dumps(message), announced or Announcement())
    assert isinstance(found, PoseMessage)
    return found


def test_a_message_of_named_points_keeps_their_order_and_confidence() -> None:
    pose = _read({"t": 1.5, "points": {"left_wrist": [1, 2, 3, 0.5], "pelvis": [0, 0, 1]}})
    assert pose.t_s == 1.5
    wrist = POINTS.index("left_wrist")
    assert pose.positions[wrist].tolist() == [1, 2, 3]
    assert pose.confidence[wrist] == 0.5
    assert pose.confidence[POINTS.index("pelvis")] == 1
    assert pose.confidence[POINTS.index("head")] == 0
    assert np.isnan(pose.positions[POINTS.index("head")]).all()


def test_announced_names_and_axes_hold_for_the_arrays_that_follow() -> None:
    announced = parse_message('{"names": ["pelvis", "neck"], "up": "y"}', Announcement())
    assert isinstance(announced, Announcement)
    pose = _read({"t": 0, "points": [[1, 2, 3], [4, 5, 6]]}, announced)
    assert pose.positions[POINTS.index("pelvis")].tolist() == [1, -3, 2]
    assert pose.positions[POINTS.index("neck")].tolist() == [4, -6, 5]


def test_a_point_that_is_no_place_is_unknown_and_the_others_stay() -> None:
    points = {"pelvis": [0, 0, 1], "neck": [1e9, 0, 0], "head": ["a", 0, 0], "chest": [1]}
    data = json.dumps({"t": 0, "points": points})[:-2] + ', "spine": [NaN, 0, 0]}}'
    pose = parse_message(data, Announcement())
    assert isinstance(pose, PoseMessage)
    assert [name for name, seen in zip(POINTS, pose.confidence, strict=True) if seen] == ["pelvis"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00",
        b"[" * 60_000,
        b"{}",
        b"[1, 2]",
        b'{"t": 1, "points": 3}',
        b'{"t": "now", "points": {"pelvis": [0, 0, 1]}}',
        b'{"t": NaN, "points": {"pelvis": [0, 0, 1]}}',
        b'{"t": 1, "points": {"tail": [0, 0, 1]}}',
        b'{"t": 1, "points": {"pelvis": [1' + b"0" * 400 + b", 0, 1]}}",
        b'{"names": 7}',
        b'{"up": "sideways"}',
        b" " * (MAX_BYTES + 1),
    ],
    ids=range(13),
)
def test_what_is_no_message_is_one_error_of_ours(data: bytes) -> None:
    with pytest.raises(MotionError):
        parse_message(data, Announcement())


def test_only_the_newest_pose_is_kept_and_every_other_one_counted() -> None:
    arrivals = Arrivals()
    for t_s in (1.0, 1.1, 1.1, 1.05, 1.2):
        arrivals.put(make_pose(t_s, {"pelvis": [0, 0, 1]}, {}, np.eye(3)), 1)
    taken = arrivals.take(0.0)
    assert taken is not None
    assert taken.pose.t_s == 1.2
    assert arrivals.take(0.0) is None
    tally = arrivals.tally
    assert (tally.received, tally.duplicate, tally.late, tally.skipped) == (5, 1, 1, 2)


def test_a_clock_set_back_far_starts_again_and_lost_numbers_are_counted() -> None:
    arrivals = Arrivals()
    for t_s, number in ((100.0, 1), (100.1, 5), (2.0, 6), (2.1, 7)):
        arrivals.put(make_pose(t_s, {"pelvis": [0, 0, 1]}, {}, np.eye(3)), 1, number=number)
    assert arrivals.tally.restarts == 1
    assert arrivals.tally.lost == 3
    assert any("set back" in note for note in arrivals.notes)


def test_the_first_sender_wins_and_the_second_is_told_of() -> None:
    arrivals = Arrivals()
    assert arrivals.admits("first")
    assert not arrivals.admits("second")
    assert arrivals.admits("first")
    assert arrivals.tally.stranger == 1
    assert any("more than one sender" in note for note in arrivals.notes)


def test_addresses_are_loopback_unless_they_say_otherwise() -> None:
    assert parse_address("udp://:9870").host == "127.0.0.1"
    assert parse_address("natnet://0.0.0.0:1511?version=3.1").options == {"version": "3.1"}
    assert not parse_address("ws://0.0.0.0:1").is_loopback
    with pytest.raises(MotionError, match="expected scheme://host:port"):
        parse_address("udp://here:many")
    assert sorted(inlets()) == ["natnet", "udp", "ws"]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("others", [True, False])
def test_a_natnet_frame_gives_its_time_and_its_bones(
    version: tuple[int, int], others: bool
) -> None:
    motion = walking_person(20)
    kind, payload = split_packet(natnet_pose(motion, 12, version, others=others))
    frame = parse_frame(payload, version)
    assert kind == 7
    assert frame.number == 12
    assert frame.t_s == pytest.approx(0.1)
    assert len(frame.rigid_bodies) == others
    bones = frame.skeletons[1]
    assert [bone.number & 0xFFFF for bone in bones] == list(BONES)
    x, y, z = bones[0].position
    assert (x, -z, y) == pytest.approx(motion.point("pelvis")[12], abs=1e-6)


@pytest.mark.parametrize(
    ("version", "turned"),
    [(version, False) for version in VERSIONS] + [((4, 1), True), ((4, 2), True)],
)
def test_natnet_descriptions_give_the_names_of_bones(
    version: tuple[int, int], turned: bool
) -> None:
    _, payload = split_packet(natnet_model({1: "Hip", 2: "Ab"}, version, turned=turned))
    assert bone_names(payload, version) == {(1, 1): "Hip", (1, 2): "Ab"}


@pytest.mark.parametrize("version", [(3, 1), (4, 1)])
def test_a_natnet_frame_cut_anywhere_is_one_error_of_ours(version: tuple[int, int]) -> None:
    whole = natnet_pose(walking_person(2), 1, version)
    needed = len(whole) - 4 - 6 - 24 - (8 if version >= (4, 1) else 0)
    for length in range(0, needed, 7):
        with pytest.raises(MotionError):
            parse_frame(whole[4:][:length], version)
    with pytest.raises(MotionError, match="promises"):
        split_packet(whole[:-1])


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=300), st.sampled_from(VERSIONS))
def test_garbage_is_never_more_than_an_error_of_ours(data: bytes, version: tuple[int, int]) -> None:
    for read in (
        lambda: parse_message(data, Announcement()),
        lambda: parse_frame(data, version),
        lambda: bone_names(data, version),
    ):
        with suppress(MotionError):
            read()
