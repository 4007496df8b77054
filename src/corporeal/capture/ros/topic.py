"""The topics a live ROS 2 source listens to: how they are written, and what is known of each."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator

from corporeal.capture.driver import DriverError
from corporeal.capture.ros.flatten import pieces_of
from corporeal.capture.ros.idl import is_fixed, zero_message
from corporeal.capture.ros.message import MessagePart
from corporeal.capture.ros.message_type import normal_type
from corporeal.capture.ros.picture import video_piece
from corporeal.schema.document import Name

_WRITTEN = re.compile(
    r"(?P<name>/?[A-Za-z_][\w/]*)"
    r"(:(?P<type>\w+/(msg/)?\w+)(:(?P<height>\d{1,5})x(?P<width>\d{1,5}))?)?"
    r"(@(?P<rate>\d+(\.\d+)?))?"
)


def _listed(value: Any) -> Any:
    """A list as the command line has it: parts between commas."""
    return tuple(part for part in value.split(",") if part) if isinstance(value, str) else value


def _paired(value: Any) -> Any:
    """A mapping as the command line has it: TOPIC=NAME between commas."""
    if not isinstance(value, str):
        return value
    return dict(part.partition("=")[::2] for part in value.split(",") if part)


TopicList = Annotated[tuple[str, ...], BeforeValidator(_listed)]
Renaming = Annotated[dict[str, Name], BeforeValidator(_paired)]


@dataclass(frozen=True)
class RosTopic:
    """One topic; a type of None is to be discovered, a size is (height, width) of its pictures."""

    name: str
    type: str | None = None
    size: tuple[int, int] | None = None
    rate_hz: float | None = None


def parse_topic(text: str) -> RosTopic:
    """A topic written as NAME, NAME:TYPE or NAME:TYPE:HEIGHTxWIDTH, each with @HZ if known."""
    match = _WRITTEN.fullmatch(text)
    if match is None:
        raise DriverError(
            f"topic, got {text!r}; expected NAME[:TYPE[:HEIGHTxWIDTH]][@HZ]. For example "
            "/joint_states:sensor_msgs/msg/JointState@100."
        )
    size = (int(match["height"]), int(match["width"])) if match["height"] else None
    return RosTopic(
        "/" + match["name"].lstrip("/"),
        normal_type(match["type"]) if match["type"] else None,
        size,
        float(match["rate"]) if match["rate"] and float(match["rate"]) > 0 else None,
    )


def known_pieces(topic: RosTopic, joints: tuple[str, ...]) -> list[MessagePart] | None:
    """What a topic's messages hold as far as its type, size and robot tell; None: listen first.

    NotMappedError when the type has no public definition.
    """
    if topic.type is None:
        return None
    name = topic.type.rpartition("/")[2]
    if name == "JointState" and joints:
        message = zero_message(topic.type)
        message.name = list(joints)
        for part in ("position", "velocity", "effort"):
            setattr(message, part, np.zeros(len(joints)))
        return pieces_of(message, topic.type)
    if name in ("Image", "CompressedImage") and topic.size is not None:
        black = np.zeros((*topic.size, 3), np.uint8)
        return [video_piece(topic.size, lambda: black, None)]
    if not is_fixed(topic.type):
        return None
    message = zero_message(topic.type)
    if name == "Imu":
        # An orientation of zeros would say that the sensor has none.
        message.orientation.w = 1.0
    return pieces_of(message, topic.type)
