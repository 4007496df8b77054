"""Hands of a person as streams: joints in the head's frame, how sure, and where the head is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from corporeal.capture.driver import Sample
from corporeal.geometry import Array, matrix_from_quaternion
from corporeal.schema import Stream, roles
from corporeal.teleoperation.operator_input import HAND_JOINTS, SIDES, OperatorInput

_COUNT = len(HAND_JOINTS)


def hand_streams() -> tuple[Stream, ...]:
    """The streams of hands; a hand that was not seen has no sample, so none has a rate."""
    streams = []
    for side in SIDES:
        streams += [
            Stream(
                name=f"{side}_hand_joints", group="observations", shape=(_COUNT, 3), unit="m",
                components=roles.POSITION, frame="head", optional=True,
                description="26 joints of OpenXR; NaN where not known, no sample where not seen",
            ),
            Stream(
                name=f"{side}_glove_joints", group="observations", shape=(_COUNT, 3), unit="m",
                components=roles.POSITION, frame=f"{side}_wrist", optional=True,
                description="the same relative to a wrist whose place nobody told",
            ),
            Stream(
                name=f"{side}_hand_confidence", group="observations", shape=(_COUNT,),
                components=HAND_JOINTS, optional=True,
                description="how sure the device is of each joint, 0 to 1",
            ),
        ]  # fmt: skip
    head = Stream(
        name="head_pose", group="debug", shape=(7,), components=roles.POSE, unit=roles.POSE_UNITS,
        frame="world", optional=True, description="x ahead, y left, z up",
    )  # fmt: skip
    return (*streams, head)


def hand_samples(given: OperatorInput, source_ns: int, arrival_ns: int) -> Iterator[Sample]:
    """What one input tells of the head and of both hands.

    Joints in a room whose head is not known are left out: nobody could say where they are.
    """

    def sample(path: str, value: Array) -> Sample:
        return Sample(path, source_ns, arrival_ns, value)

    head = given.head
    if head is not None:
        yield sample("debug/head_pose", head)
    for side in SIDES:
        hand = given.hand(side)
        if hand is None or hand.joints is None:
            continue
        joints = hand.joints[:, :3]
        if hand.pose is None:
            yield sample(f"observations/{side}_glove_joints", joints)
        elif hand.is_tracked and head is not None:
            turn = matrix_from_quaternion(head[3:])
            yield sample(f"observations/{side}_hand_joints", (joints - head[:3]) @ turn)
        else:
            continue
        if hand.confidence is not None:
            sure = np.nan_to_num(hand.confidence)
            yield sample(f"observations/{side}_hand_confidence", sure)
