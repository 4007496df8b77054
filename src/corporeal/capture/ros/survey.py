"""A bag as a source: surveyed once for its streams and defects, then read as samples."""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.capture.driver import ROBOT_CLOCK, DriverError, Rig, Sample
from corporeal.capture.ros.bag import Bag, open_bag, records
from corporeal.capture.ros.bag_record import BagRecord
from corporeal.capture.ros.foxglove import FilmDecoder
from corporeal.capture.ros.mapper import Mapper, open_message
from corporeal.capture.ros.message import MessagePart, NotMappedError
from corporeal.capture.ros.message_type import decoder, normal_type
from corporeal.capture.ros.stream import (
    PROBLEMS,
    Key,
    StreamFit,
    TopicLane,
    fit_lanes,
    rig_schema,
    stream_name,
)
from corporeal.capture.ros.timing import Timing, foreign_problems, judge
from corporeal.embodiment import open_robot
from corporeal.episode.facts import ASSUMED, STREAM_RATES
from corporeal.episode.recording import SOURCE_LEDGER, Ledger, SourceItem, left_out
from corporeal.errors import UnknownNameError
from corporeal.schema import roles
from corporeal.signal.recognition import is_instruction_label
from corporeal.units import SECOND_NS
from corporeal.words import some_of

BAG_CLOCK = "bag"
STATIC_TRANSFORMS = "static_transforms"
ROBOT_DESCRIPTION = "robot_description"
# A topic that keeps its last message for latecomers and speaks no more often says facts.
_LATCHED_HZ = 1.0
# Where ROS publishes transforms that never change, once for every listener.
_STATIC_TOPIC = "tf_static"


@dataclass
class _Topic:
    """What was seen of one topic."""

    type: str
    log: array[int] = field(default_factory=lambda: array("q"))
    header: array[int] = field(default_factory=lambda: array("q"))
    reasons: Counter[str] = field(default_factory=Counter)
    facts: dict[str, dict[str, Any]] = field(default_factory=dict)
    changed: Counter[str] = field(default_factory=Counter)
    texts: set[str] = field(default_factory=set)
    is_latched: bool = False
    is_chosen: bool = True

    def learn(self, kind: str, name: str, value: Any) -> None:
        """Remember a fact of some kind; one that says something new is counted."""
        known = self.facts.setdefault(kind, {})
        if name in known and known[name] != value:
            self.changed[f"{kind} {name}".strip()] += 1
        known[name] = value

    @property
    def is_document(self) -> bool:
        """Whether it says once what holds from then on, rather than what a sensor measures."""
        span_s = (max(self.log) - min(self.log)) / SECOND_NS
        return self.is_latched and (len(self.log) - 1) <= _LATCHED_HZ * span_s


@dataclass(frozen=True)
class BagSurvey:
    """Everything known of a bag after one pass over it.

    `counts` is the number of messages by topic, `span_ns` the first and the last bag time,
    `ledger` what became of each topic, `facts` what holds for the whole bag: the frames that are
    fixed, calibrations of cameras, the robot's description, an instruction.
    """

    bag: Bag
    fits: Mapping[Key, StreamFit]
    timings: Mapping[str, Timing]
    counts: Mapping[str, int]
    span_ns: tuple[int, int]
    problems: tuple[str, ...]
    ledger: Ledger
    facts: Mapping[str, Any]
    types: Mapping[str, str] = field(default_factory=dict)


def survey(
    path: Path | str,
    *,
    topics: Iterable[str] = (),
    rename: Mapping[str, str] | None = None,
    robot: str | None = None,
) -> BagSurvey:
    """Read a bag once; the answer is kept while its files do not change."""
    bag = open_bag(path)
    state = tuple((part.stat().st_size, part.stat().st_mtime_ns) for part in bag.parts)
    names = tuple(sorted((rename or {}).items()))
    return _surveyed(bag, state, tuple(sorted(topics)), names, robot)


@lru_cache(maxsize=8)
def _surveyed(
    bag: Bag,
    _state: tuple[Any, ...],
    chosen: tuple[str, ...],
    names: tuple[tuple[str, str], ...],
    robot: str | None,
) -> BagSurvey:
    problems = list(bag.problems)
    seen: dict[str, _Topic] = {}
    lanes: dict[Key, TopicLane] = {}
    opener = _Opener()
    for record in records(bag, problems):
        name = record.channel.topic
        topic = seen.setdefault(name, _Topic(record.channel.type))
        topic.is_latched = record.channel.is_latched
        topic.log.append(record.log_ns)
        topic.is_chosen = not chosen or name in chosen
        if topic.is_chosen:
            _look_at(record, opener, topic, lanes)
    missing = [name for name in chosen if name not in seen]
    if missing:
        raise UnknownNameError("topic in this bag", missing[0], set(seen))
    topics = {name: topic for name, topic in seen.items() if topic.is_chosen}
    documents = {name for name, topic in topics.items() if topic.is_document}
    for lane in lanes.values():
        lane.is_latched = lane.key[0] in documents
    events = {lane.key[0] for lane in lanes.values() if lane.usual.is_event} | documents
    timings = {name: _timing(name, topic, name in events) for name, topic in topics.items()}
    bursts = [name for name, timing in timings.items() if timing.is_burst]
    model = open_robot(robot) if robot is not None else None
    fits, unfit = fit_lanes(lanes.values(), bursts=bursts, rename=dict(names), robot=model)
    if not fits:
        reasons = [text for name, topic in topics.items() for text in _topic_problems(name, topic)]
        raise DriverError(
            f"bag, got {str(bag.path)!r} with no message that a stream can hold; expected at least "
            f"one. {' '.join(reasons[:3]) or 'It is empty.'}"
        )
    for name, topic in topics.items():
        problems += _topic_problems(name, topic)
        problems += timings[name].problems
    problems += foreign_problems(timings)
    return BagSurvey(
        bag,
        fits,
        timings,
        {name: len(topic.log) for name, topic in topics.items()},
        (
            min(min(topic.log) for topic in topics.values()),
            max(max(topic.log) for topic in topics.values()),
        ),
        (*problems, *unfit),
        Ledger(tuple(_item(name, topic, lanes, fits) for name, topic in seen.items())),
        _facts(topics, fits),
        {name: topic.type for name, topic in topics.items()},
    )


def _facts(topics: Mapping[str, _Topic], fits: Mapping[Key, StreamFit]) -> dict[str, Any]:
    """What holds for the whole bag, as metadata."""
    facts: dict[str, Any] = {}
    for topic in topics.values():
        for kind, named in topic.facts.items():
            facts.setdefault(kind, {}).update(named)
    for (name, _, _), fit in fits.items():
        texts = topics[name].texts
        if fit.stream.name == roles.INSTRUCTION and len(texts) == 1:
            facts[roles.INSTRUCTION] = next(iter(texts))
    return facts


def _describe_robot(text: str) -> dict[str, str] | None:
    """Name and hash of a robot's description in XML; None for other text."""
    named = re.search(r"<(?:robot|mujoco)\b[^>]*?\b(?:name|model)\s*=\s*[\"']([^\"']*)", text)
    if named is None or not text.lstrip().startswith("<"):
        return None
    return {"robot": named[1], "sha256": hashlib.sha256(text.encode()).hexdigest()}


def _item(
    name: str, topic: _Topic, lanes: Mapping[Key, TopicLane], fits: Mapping[Key, StreamFit]
) -> SourceItem:
    """What became of a topic, and of how many of its messages nothing did."""
    count = len(topic.log)
    if not topic.is_chosen:
        return left_out(name, "topic", "it was not asked for", samples=count)
    taken = tuple(fit.stream.path for key, fit in fits.items() if key[0] == name)
    taken = (*taken, *(f"metadata/{kind}" for kind in topic.facts))
    refused = {reason: f"{number} of {count} messages: {reason}"
               for reason, number in topic.reasons.most_common(3)}  # fmt: skip
    for fact, number in topic.changed.items():
        refused[fact] = f"{fact} changes {number} times; the last is kept"
    for key, fit in fits.items():
        if key[0] == name and fit.spare:
            refused[f"spare {key[1]}"] = f"{key[1]} of {some_of(fit.spare)}: no joint is there"
    for key, lane in lanes.items():
        odd = len(lane.times) - (lane.seen[fits[key].signature] if key in fits else 0)
        if key[0] == name and odd:
            refused[key[1]] = f"{odd} of {len(lane.times)} of its {key[1] or 'values'}: they have "\
                "another shape than the rest"  # fmt: skip
    reason = "; ".join(list(refused.values())[:4]) or None
    return SourceItem(name, "topic", count, taken, reason, lost=not taken,
                      lacking=int(not taken))  # fmt: skip


def _look_at(
    record: BagRecord, opener: _Opener, topic: _Topic, lanes: dict[Key, TopicLane]
) -> None:
    name = record.channel.topic
    try:
        stamp, pieces = opener.open(record)
    except NotMappedError as error:
        topic.reasons[str(error)] += 1
        return
    if stamp is not None:
        topic.header.append(stamp)
    is_static = name.rpartition("/")[2] == _STATIC_TOPIC and all(each.is_event for each in pieces)
    for piece in pieces:
        if is_static:
            fixed = {"parent": piece.frame, "pose": piece.load().tolist()}
            topic.learn(STATIC_TRANSFORMS, piece.suffix, fixed)
            continue
        if piece.fact is not None:
            topic.learn(piece.fact, name, json.loads(piece.load()))
            continue
        piece = _as_instruction(piece, topic, name)
        key = (name, piece.suffix, piece.variant)
        lane = lanes.setdefault(key, TopicLane(key))
        lane.add(piece, piece.stamp_ns or stamp or record.log_ns)


def _as_instruction(piece: MessagePart, topic: _Topic, name: str) -> MessagePart:
    """A text with what its topic, or the text itself, says that it is."""
    if piece.kind != "text" or piece.suffix or len(topic.texts) > 1:
        return piece
    text = str(piece.load())
    topic.texts.add(text)
    if (description := _describe_robot(text)) is not None:
        topic.learn(ROBOT_DESCRIPTION, name, description)
        return piece
    return replace(piece, role=roles.INSTRUCTION) if is_instruction_label(name) else piece


class _Opener:
    """Opens messages in the order of the bag, since those of a coded video build on each other."""

    def __init__(self) -> None:
        self._films: dict[str, FilmDecoder] = {}

    def open(self, record: BagRecord) -> tuple[int | None, list[MessagePart]]:
        channel = record.channel
        decode = decoder(channel.type, channel.definition, channel.language, channel.encoding)
        film = self._films.setdefault(channel.topic, FilmDecoder())
        return open_message(decode, record.data, channel.type, film, takes_ticks=True)


def _timing(name: str, topic: _Topic, is_event: bool) -> Timing:
    log = np.frombuffer(topic.log, np.int64)
    header = np.frombuffer(topic.header, np.int64)
    # Messages that could not be read have no stamp; without the pairs only bag time is judged.
    timing = judge(name, log, header if len(header) == len(log) else None)
    # What comes when it comes, from several senders, has neither an order nor gaps.
    return replace(timing, problems=()) if is_event or topic.facts else timing


def _topic_problems(name: str, topic: _Topic) -> list[str]:
    problems = [
        f"Topic {name} of type {topic.type}: {count} of {len(topic.log)} messages not mapped "
        f"because of {reason}."
        for reason, count in topic.reasons.most_common(8)
    ]
    if "/" in topic.type and "/msg/" not in topic.type:
        problems.append(
            f"Topic {name}: the type has its old name {topic.type}; it was read as "
            f"{normal_type(topic.type)}."
        )
    return problems


def describe_bag(
    path: Path | str,
    *,
    topics: Iterable[str] = (),
    rename: Mapping[str, str] | None = None,
    robot: str | None = None,
) -> Rig:
    """The streams, clocks and defects of a bag."""
    found = survey(path, topics=topics, rename=rename, robot=robot)
    streams = [fit.stream for fit in found.fits.values()]
    embodiment = open_robot(robot) if robot is not None else None
    problems = list(found.problems)
    if embodiment is not None:
        problems += _joint_problems(found, embodiment.joint_names)
    first, last = found.span_ns
    facts: dict[str, Any] = {
        "source": found.bag.path.name,
        "bag_start_ns": first,
        "bag_end_ns": last,
        "topic_types": dict(found.types),
        SOURCE_LEDGER: found.ledger.to_json(),
        ASSUMED: {STREAM_RATES: "the middle step of each topic: a bag states none"},
    }
    facts |= found.facts
    return Rig(
        rig_schema(found.bag.path.stem, [*streams, PROBLEMS], f"what {found.bag.path.name} holds"),
        embodiment,
        sources={**_sources(found), PROBLEMS.path: BAG_CLOCK},
        metadata=facts,
        problems=tuple(problems),
        is_networked=True,
    )


def _sources(found: BagSurvey) -> dict[str, str]:
    """Header stamps of the robot are the reference; without any, bag time is."""
    timings = found.timings.values()
    has_reference = any(timing.uses_header and not timing.is_foreign for timing in timings)
    clocks = {}
    for (topic, _, _), fit in found.fits.items():
        timing = found.timings[topic]
        if timing.uses_header and timing.is_foreign:
            clocks[fit.stream.path] = stream_name(topic)
        elif not timing.uses_header and has_reference:
            clocks[fit.stream.path] = BAG_CLOCK
        else:
            clocks[fit.stream.path] = ROBOT_CLOCK
    return clocks


def _joint_problems(found: BagSurvey, joints: tuple[str, ...]) -> list[str]:
    problems = []
    for (topic, suffix, variant), fit in found.fits.items():
        strangers = sorted(set(fit.stream.names if variant else ()) - set(joints))
        if strangers and suffix == "position":
            problems.append(
                f"Topic {topic}: {len(strangers)} of the joints of {fit.stream.path} are not "
                f"joints of this robot: {', '.join(strangers[:8])}."
            )
    return problems


def samples_of(found: BagSurvey) -> Iterator[Sample]:
    """The samples of a bag in the order of its files; a reason not to map is said once.

    `source_ns` is the header stamp where there is one, `arrival_ns` the bag's own time.
    """
    mapper, opener = Mapper(found.fits), _Opener()
    told = {item.name: item.taken_as for item in found.ledger.items}
    fixed = {name for name, paths in told.items()
             if paths and all(path.startswith("metadata/") for path in paths)}  # fmt: skip
    for record in records(found.bag, []):
        timing = found.timings.get(record.channel.topic)
        if timing is not None and record.channel.topic not in fixed:
            opened = partial(opener.open, record)
            stamp = partial(timing.stamp, log_ns=record.log_ns)
            yield from mapper.samples(record.channel.topic, record.log_ns, opened, stamp)
