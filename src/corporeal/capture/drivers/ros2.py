"""Live ROS 2 topics: over plain DDS without a ROS installation, or through rclpy."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Literal

from pydantic import Field

from corporeal.capture.clock import HostClock
from corporeal.capture.driver import ROBOT_CLOCK, Driver, DriverError, Mark, Rig, Sample
from corporeal.capture.ros.idl import dds_topic, dds_type, ros_topic, ros_type_name
from corporeal.capture.ros.mapper import Mapper, open_message
from corporeal.capture.ros.message import NotMappedError
from corporeal.capture.ros.message_type import decoder, public_fields
from corporeal.capture.ros.node import RosNode
from corporeal.capture.ros.stream import PROBLEMS, Key, StreamFit, TopicLane, fit_lanes, rig_schema
from corporeal.capture.ros.topic import Renaming, RosTopic, TopicList, known_pieces, parse_topic
from corporeal.dds.link import LOOPBACK, DdsLink, DomainId, Interface, Quality, Wire
from corporeal.embodiment import open_robot
from corporeal.schema import Part

SENDER_CLOCK = "sender"
HOST_CLOCK = "host"
_SLICE_S = 0.1
_ENOUGH = 20


class Ros2Options(Part):
    """Where to listen, and for what."""

    topics: TopicList = Field(
        default=(), description="NAME[:TYPE[:HEIGHTxWIDTH]][@HZ]; none: all that are discovered"
    )
    route: Literal["dds", "rclpy"] = "dds"
    interface: Interface = Field(default=LOOPBACK, description="for route dds, such as eth0")
    domain: DomainId = Field(default=0, description="ROS_DOMAIN_ID")
    quality: Quality = "best_effort"
    robot: str | None = Field(default=None, description="a robot: its joints shape JointState")
    rename: Renaming = Field(
        default_factory=dict, description="the first part of a stream's name: TOPIC=NAME,..."
    )
    listen_s: float = Field(default=2.0, gt=0, le=60, description="to learn what is not stated")
    give_up_s: float | None = Field(
        default=None, gt=0, description="end when silent for so long; by default wait for ever"
    )


def describe(options: Ros2Options) -> Rig:
    """The streams; the network is only listened to for what types and options do not tell."""
    topics, fits, problems = _plan(options.model_dump_json())
    robot = open_robot(options.robot) if options.robot is not None else None
    sources = {PROBLEMS.path: HOST_CLOCK}
    for (name, _, _), fit in fits.items():
        sources[fit.stream.path] = ROBOT_CLOCK if _has_header(topics[name]) else SENDER_CLOCK
    streams = [*(fit.stream for fit in fits.values()), PROBLEMS]
    schema = rig_schema("ros2", streams, "live ROS 2 topics")
    return Rig(schema, robot, sources=sources, problems=problems, is_networked=True)


def read(options: Ros2Options) -> Iterator[Sample | Mark]:
    """Samples as they arrive; a publisher that falls silent is waited for.

    A message is stamped by its header, or where that is empty by the time its sender put on it.
    """
    topics, fits, _ = _plan(options.model_dump_json())
    mapper, clock = Mapper(fits), HostClock()
    decoders = {name: decoder(kind, "", "", "cdr") for name, kind in topics.items()}
    with _open(options, topics) as link:
        heard_s = time.monotonic()
        while options.give_up_s is None or time.monotonic() - heard_s < options.give_up_s:
            wires = link.take(_SLICE_S)
            arrival_ns = clock.now_ns()
            for wire in wires:
                heard_s = time.monotonic()
                name = _name(wire)
                opened = partial(open_message, decoders[name], wire.data, topics[name])
                stamp = partial(_stamp, wire.sent_ns)
                yield from mapper.samples(name, arrival_ns, opened, stamp)


def _stamp(sent_ns: int, header_ns: int | None) -> int:
    return header_ns or sent_ns


def _name(wire: Wire) -> str:
    return ros_topic(wire.topic) or wire.topic


def _open(options: Ros2Options, topics: dict[str, str]) -> DdsLink | RosNode:
    if options.route == "rclpy":
        return RosNode(topics, domain=options.domain, quality=options.quality)
    types = {dds_topic(name): dds_type(kind) for name, kind in topics.items()}
    return DdsLink(
        types, domain=options.domain, interface=options.interface, quality=options.quality
    )


@lru_cache(maxsize=8)
def _plan(text: str) -> tuple[dict[str, str], dict[Key, StreamFit], tuple[str, ...]]:
    """Topics with their types, the streams for them, and problems; for describe and read alike."""
    options = Ros2Options.model_validate_json(text)
    problems: list[str] = []
    asked = _readable(_discovered(options, problems), problems)
    robot = open_robot(options.robot) if options.robot is not None else None
    joints = robot.joint_names if robot is not None else ()
    lanes: dict[Key, TopicLane] = {}
    known = {topic.name: known_pieces(topic, joints) for topic in asked}
    is_stated = len(asked) == len(options.topics) and None not in known.values()
    heard = set() if is_stated else _listen(options, asked, lanes, problems)
    for topic in asked:
        if topic.name in heard:
            continue
        for piece in known[topic.name] or ():
            key = (topic.name, piece.suffix, piece.variant)
            lanes.setdefault(key, TopicLane(key)).add(piece, 0)
        if known[topic.name] is None:
            problems.append(
                f"Topic {topic.name}: silent for {options.listen_s:g} s, so that its shape is "
                "unknown and it is not recorded."
            )
    fits, unfit = fit_lanes(lanes.values(), rename=options.rename, robot=robot)
    if not fits:
        raise DriverError(
            f"ROS 2 topics, got nothing that a stream can hold on domain {options.domain}; "
            f"expected at least one. {' '.join(problems) or 'Check interface and domain.'}"
        )
    rates = {topic.name: topic.rate_hz for topic in asked if topic.rate_hz is not None}
    fits = {key: _rated(fit, rates.get(key[0])) for key, fit in fits.items()}
    types = {topic.name: str(topic.type) for topic in asked}
    return types, fits, (*problems, *unfit)


def _discovered(options: Ros2Options, problems: list[str]) -> list[RosTopic]:
    """The topics asked for with the types that their publishers announce."""
    asked = [parse_topic(text) for text in options.topics]
    if asked and all(topic.type is not None for topic in asked):
        return asked
    found: dict[str, str] = {}
    with _open(options, {}) as link:
        for name, kind in link.publications(options.listen_s):
            heard = ros_topic(name) if options.route == "dds" else name
            message_type = ros_type_name(kind) if options.route == "dds" else kind
            if heard is not None and message_type is not None:
                found[heard] = message_type
    if not asked:
        return [RosTopic(name, kind) for name, kind in sorted(found.items())]
    for topic in asked:
        if topic.type is None and topic.name not in found:
            problems.append(
                f"Topic {topic.name}: nobody publishes it, so that its type is unknown."
            )
    return [
        replace(topic, type=topic.type or found[topic.name])
        for topic in asked
        if topic.type is not None or topic.name in found
    ]


def _readable(topics: list[RosTopic], problems: list[str]) -> list[RosTopic]:
    good = []
    for topic in topics:
        try:
            public_fields(str(topic.type))
            good.append(topic)
        except NotMappedError as error:
            problems.append(f"Topic {topic.name}: it is not read, because {error}.")
    return good


def _listen(
    options: Ros2Options, topics: list[RosTopic], lanes: dict[Key, TopicLane], problems: list[str]
) -> set[str]:
    """Hear a few messages of each topic to learn their shapes and rates; the topics heard."""
    types = {topic.name: str(topic.type) for topic in topics}
    heard = dict.fromkeys(types, 0)
    end = time.monotonic() + options.listen_s
    with _open(options, types) as link:
        while time.monotonic() < end and min(heard.values(), default=_ENOUGH) < _ENOUGH:
            for wire in link.take(_SLICE_S):
                name = _name(wire)
                heard[name] += 1
                try:
                    decode = decoder(types[name], "", "", "cdr")
                    stamp, pieces = open_message(decode, wire.data, types[name])
                except NotMappedError as error:
                    problems.append(f"Topic {name}: a message is not mapped because of {error}.")
                    continue
                for piece in pieces:
                    key = (name, piece.suffix, piece.variant)
                    lanes.setdefault(key, TopicLane(key)).add(piece, stamp or wire.sent_ns)
    return {name for name, count in heard.items() if count}


def _rated(fit: StreamFit, rate_hz: float | None) -> StreamFit:
    if rate_hz is None or fit.stream.kind == "text" or fit.stream.interpolation == "hold":
        return fit
    return replace(fit, stream=fit.stream.model_copy(update={"rate_hz": rate_hz}))


def _has_header(message_type: str) -> bool:
    entries: list[Any] = public_fields(message_type)[message_type][1]
    return any(name == "header" for name, _ in entries)


DRIVER = Driver(Ros2Options, describe, read, is_live=True)
