"""A bag as a source: surveyed once for its streams and defects, then read as samples."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from corporeal.capture.driver import ROBOT_CLOCK, DriverError, Rig, Sample
from corporeal.capture.ros.bag import Bag, BagRecord, open_bag, records
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
from corporeal.errors import UnknownNameError

BAG_CLOCK = "bag"


@dataclass
class _Topic:
    """What was seen of one topic."""

    type: str
    log: array[int] = field(default_factory=lambda: array("q"))
    header: array[int] = field(default_factory=lambda: array("q"))
    reasons: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class BagSurvey:
    """Everything known of a bag after one pass over it.

    `counts` is the number of messages by topic, `span_ns` the first and the last bag time.
    """

    bag: Bag
    fits: Mapping[Key, StreamFit]
    timings: Mapping[str, Timing]
    counts: Mapping[str, int]
    span_ns: tuple[int, int]
    problems: tuple[str, ...]


def survey(
    path: Path | str, *, topics: Iterable[str] = (), rename: Mapping[str, str] | None = None
) -> BagSurvey:
    """Read a bag once; the answer is kept while its files do not change."""
    bag = open_bag(path)
    state = tuple((part.stat().st_size, part.stat().st_mtime_ns) for part in bag.parts)
    names = tuple(sorted((rename or {}).items()))
    return _surveyed(bag, state, tuple(sorted(topics)), names)


@lru_cache(maxsize=8)
def _surveyed(
    bag: Bag, _state: tuple[Any, ...], chosen: tuple[str, ...], names: tuple[tuple[str, str], ...]
) -> BagSurvey:
    problems = list(bag.problems)
    topics: dict[str, _Topic] = {}
    lanes: dict[Key, TopicLane] = {}
    opener = _Opener()
    for record in records(bag, problems):
        if not chosen or record.channel.topic in chosen:
            _look_at(record, opener, topics, lanes)
    missing = [name for name in chosen if name not in topics]
    if missing:
        known = {record.channel.topic for record in records(bag, [])}
        raise UnknownNameError("topic in this bag", missing[0], known)
    timings = {name: _timing(name, topic) for name, topic in topics.items()}
    bursts = [name for name, timing in timings.items() if timing.is_burst]
    fits, unfit = fit_lanes(lanes.values(), bursts=bursts, rename=dict(names))
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
    counts = {name: len(topic.log) for name, topic in topics.items()}
    first = min(min(topic.log) for topic in topics.values())
    last = max(max(topic.log) for topic in topics.values())
    return BagSurvey(bag, fits, timings, counts, (first, last), (*problems, *unfit))


def _look_at(
    record: BagRecord, opener: _Opener, topics: dict[str, _Topic], lanes: dict[Key, TopicLane]
) -> None:
    name = record.channel.topic
    topic = topics.setdefault(name, _Topic(record.channel.type))
    topic.log.append(record.log_ns)
    try:
        stamp, pieces = opener.open(record)
    except NotMappedError as error:
        topic.reasons[str(error)] += 1
        return
    if stamp is not None:
        topic.header.append(stamp)
    for piece in pieces:
        key = (name, piece.suffix, piece.variant)
        lane = lanes.setdefault(key, TopicLane(key))
        lane.add(piece, piece.stamp_ns or stamp or record.log_ns)


class _Opener:
    """Opens messages in the order of the bag, since those of a coded video build on each other."""

    def __init__(self) -> None:
        self._films: dict[str, FilmDecoder] = {}

    def open(self, record: BagRecord) -> tuple[int | None, list[MessagePart]]:
        channel = record.channel
        decode = decoder(channel.type, channel.definition, channel.language, channel.encoding)
        film = self._films.setdefault(channel.topic, FilmDecoder())
        return open_message(decode, record.data, channel.type, film)


def _timing(name: str, topic: _Topic) -> Timing:
    log = np.frombuffer(topic.log, np.int64)
    header = np.frombuffer(topic.header, np.int64)
    # Messages that could not be read have no stamp; without the pairs only bag time is judged.
    return judge(name, log, header if len(header) == len(log) else None)


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
    found = survey(path, topics=topics, rename=rename)
    streams = [fit.stream for fit in found.fits.values()]
    embodiment = open_robot(robot) if robot is not None else None
    problems = list(found.problems)
    if embodiment is not None:
        problems += _joint_problems(found, embodiment.joint_names)
    first, last = found.span_ns
    facts = {"source": found.bag.path.name, "bag_start_ns": first, "bag_end_ns": last}
    return Rig(
        rig_schema(found.bag.path.stem, [*streams, PROBLEMS], f"what {found.bag.path.name} holds"),
        embodiment,
        sources={**_sources(found), PROBLEMS.path: BAG_CLOCK},
        metadata=facts,
        problems=tuple(problems),
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
        strangers = sorted(set(variant) - set(joints))
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
    for record in records(found.bag, []):
        timing = found.timings.get(record.channel.topic)
        if timing is not None:
            opened = partial(opener.open, record)
            stamp = partial(timing.stamp, log_ns=record.log_ns)
            yield from mapper.samples(record.channel.topic, record.log_ns, opened, stamp)
