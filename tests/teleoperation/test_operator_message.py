"""What a page sends is read as it was meant, and anything else is refused in a sentence."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.teleoperation.captures import quest_inputs

from corporeal.teleoperation.operator_input import (
    HAND_JOINTS,
    PALM,
    SIDES,
    InputError,
    InputTimes,
    OperatorHand,
    OperatorInput,
)
from corporeal.teleoperation.operator_message import (
    COMMANDS,
    JointMessage,
    PageCommand,
    PageHello,
    PagePing,
    read_message,
    read_text,
    write_joints,
    write_message,
)
from corporeal.teleoperation.webxr import from_webxr, to_webxr

POSE = np.array([0.3, 0.2, 1.1, 0.5, 0.5, 0.5, 0.5])


def _input(**fields: Any) -> OperatorInput:
    held = OperatorHand(
        "controller",
        7,
        POSE,
        buttons=np.array([0.25, 1.0]),
        pressed=np.array([False, True]),
        axes=np.array([0.0, 0.0, 0.5, -1.0]),
        clutch=True,
    )
    base = OperatorInput(3, InputTimes(1_000_000, 5, 21_000_000, 1_500_000), left=held)
    return replace(base, **fields)


def test_ahead_left_and_up_are_where_webxr_has_them() -> None:
    ahead_left_up = from_webxr([-2.0, 3.0, -1.0, 0, 0, 0, 1])
    np.testing.assert_allclose(ahead_left_up[:3], [1.0, 2.0, 3.0])
    about_up = from_webxr([0, 0, 0, 0, np.sin(0.5), 0, np.cos(0.5)])
    np.testing.assert_allclose(about_up[3:], [np.cos(0.5), 0, 0, np.sin(0.5)])
    np.testing.assert_allclose(to_webxr(from_webxr(np.arange(7.0))), np.arange(7.0))


def test_a_message_comes_back_as_it_was_sent() -> None:
    sent = _input(head=POSE, base_velocity=np.array([0.3, -0.1, 0.5]), origin=2, is_visible=False)
    read = read_message(write_message(sent), 5)
    assert isinstance(read, OperatorInput)
    assert (read.sequence, read.times, read.is_visible, read.origin) == (3, sent.times, False, 2)
    assert read.left is not None
    assert read.right is None
    assert (read.left.source, read.left.clutch, read.left.tracker) == (7, True, "controller")
    assert read.left.is_pressed("squeeze")
    assert not read.left.is_pressed("trigger")
    assert read.left.button("trigger") == 0.25
    assert read.left.axis("stick_y") == -1.0
    assert read.left.button("b_or_y") == 0.0
    assert read.left.pose is not None
    assert read.head is not None
    assert read.base_velocity is not None
    np.testing.assert_allclose(read.left.pose, POSE, atol=1e-6)
    np.testing.assert_allclose(read.head, POSE, atol=1e-6)
    np.testing.assert_allclose(read.base_velocity, [0.3, -0.1, 0.5], atol=1e-6)


def test_every_frame_of_a_real_headset_goes_over_the_wire() -> None:
    for sent in quest_inputs()[::97]:
        read = read_message(write_message(sent), sent.times.received_ns)
        assert isinstance(read, OperatorInput)
        for side in SIDES:
            before, after = sent.hand(side), read.hand(side)
            assert (before is None) == (after is None)
            if before is None or after is None or before.joints is None:
                continue
            assert after.joints is not None
            np.testing.assert_allclose(after.joints, before.joints, atol=1e-6)


def test_the_real_capture_is_read_with_its_defects() -> None:
    inputs = quest_inputs()
    assert len(inputs) == 1796
    sources = [None if one.left is None else one.left.source for one in inputs]
    changes = [a for a, b in pairwise(sources) if a != b]
    assert changes == [0, None, 2, None, 2, None]
    hand = inputs[1200].left
    assert hand is not None
    assert hand.joints is not None
    assert hand.joints.shape == (len(HAND_JOINTS), 8)
    # The palm of a person is 5 to 12 cm from the wrist; the wrist is where the grip is, nearly.
    assert 0.04 < np.linalg.norm(hand.joints[PALM, :3] - hand.joints[1, :3]) < 0.12


def test_joints_that_are_not_known_are_marked_and_nothing_else_is() -> None:
    joints = np.tile(np.append(POSE, 0.01), (26, 1))
    joints[5] = np.nan
    hand = OperatorHand("hand", 2, POSE, joints=joints)
    read = read_message(write_message(_input(left=hand)), 5)
    assert isinstance(read, OperatorInput)
    assert read.left is not None
    assert read.left.joints is not None
    unknown = np.isnan(read.left.joints).any(axis=1)
    np.testing.assert_array_equal(np.flatnonzero(unknown), [5])


def test_a_hand_that_is_lost_has_no_pose() -> None:
    read = read_message(write_message(_input(left=OperatorHand("hand", 2))), 5)
    assert isinstance(read, OperatorInput)
    assert read.left is not None
    assert read.left.pose is None
    assert not read.left.is_tracked


def test_a_sample_of_a_leader_arm_comes_back_as_it_was_sent() -> None:
    sent = JointMessage(1, 9, InputTimes(2_000_000, 5, sent_ns=None), np.array([0.5, -1.25]))
    read = read_message(write_joints(sent), 5)
    assert isinstance(read, JointMessage)
    assert (read.stream, read.sequence, read.times) == (1, 9, sent.times)
    np.testing.assert_array_equal(read.positions, sent.positions)


@pytest.mark.parametrize(
    "value", [np.nan, np.inf, -np.inf, 1e9], ids=["nan", "inf", "minus inf", "far away"]
)
@pytest.mark.parametrize("entry", range(7))
def test_a_pose_that_is_no_place_is_refused(value: float, entry: int) -> None:
    bad = POSE.copy()
    bad[entry] = value
    with pytest.raises(InputError):
        read_message(write_message(_input(head=bad)), 5)


@given(st.binary(max_size=400))
def test_bytes_of_anybody_are_read_or_refused(noise: bytes) -> None:
    for message in (noise, b"CTIN\x01\x00" + noise, b"CTJN\x01\x00" + noise):
        with suppress(InputError):
            read_message(message, 0)


@given(st.integers(0, 83 + 36 * 2), st.integers(0, 255))
def test_a_message_with_a_broken_byte_is_read_or_refused(where: int, value: int) -> None:
    message = bytearray(write_message(_input(head=POSE)))
    message[where % len(message)] = value
    try:
        read = read_message(bytes(message), 0)
    except InputError:
        return
    if isinstance(read, OperatorInput) and read.head is not None:
        assert np.isfinite(read.head).all()


def test_text_messages_are_read() -> None:
    hello = {"kind": "hello", "version": 1, "device": "Quest 3", "joint_streams": {"arm": ["a"]}}
    assert read_text(json.dumps(hello)) == PageHello("Quest 3", joint_streams={"arm": ("a",)})
    for command in COMMANDS:
        stop = json.dumps({"kind": "command", "command": command})
        assert read_text(stop) == PageCommand(command)
    assert read_text('{"kind": "ping", "sent_ms": 12.5}') == PagePing(12.5)
    told = '{"kind": "ping", "sent_ms": 1, "host_offset_ms": 1763510400000.5, "round_trip_ms": 2}'
    assert read_text(told) == PagePing(1.0, 1763510400000.5, 2.0)


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"kind": "jump"}', '{"kind": "command", "command": "jump"}',
        '{"kind": "command", "command": ["stop"]}', '{"kind": "hello", "version": 2}',
        '{"kind": "ping", "sent_ms": NaN}', '{"kind": "ping"}',
        '{"kind": "ping", "sent_ms": 1, "host_offset_ms": 9e13}', "[" * 9000, "x" * 20000,
        '{"kind": "hello", "version": 1, "joint_streams": {"a": []}}',
    ],
)  # fmt: skip
def test_text_that_says_nothing_known_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(InputError) as caught:
        read_text(text)
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 400
