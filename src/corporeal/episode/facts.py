"""What an episode says of itself, read from metadata, streams and labels in one place."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, Protocol, get_args

import numpy as np

from corporeal.episode.label_track import LabelTrack
from corporeal.errors import CorporealError, UnknownNameError
from corporeal.schema import Stream, roles
from corporeal.units import SECOND_NS

CollectionMode = Literal[
    "egocentric demonstration",
    "third-person demonstration",
    "teleoperation",
    "kinesthetic teaching",
    "correction of a policy",
    "autonomous rollout",
    "retargeted mocap",
    "synthetic",
]

RETARGETED_MOCAP: Final = "retargeted mocap"
SYNTHETIC: Final = "synthetic"
# What a reader says of a source that ends in the middle.
BREAKS_OFF = "breaks off after"
CORRECTION: Final = "correction of a policy"
TELEOPERATION: Final = "teleoperation"
AUTONOMOUS: Final = "autonomous rollout"
COLLECTION_MODES: tuple[CollectionMode, ...] = get_args(CollectionMode)
_OTHER_SPELLINGS: dict[str, CollectionMode] = {
    "egocentric": "egocentric demonstration",
    "third person": "third-person demonstration",
    "third person demonstration": "third-person demonstration",
    "teleop": "teleoperation",
    "teleoperated": "teleoperation",
    "kinesthetic": "kinesthetic teaching",
    "kinaesthetic teaching": "kinesthetic teaching",
    "correction": "correction of a policy",
    "intervention": "correction of a policy",
    "policy correction": "correction of a policy",
    "autonomous": "autonomous rollout",
    "rollout": "autonomous rollout",
    "policy rollout": "autonomous rollout",
    "retargeted": "retargeted mocap",
    "simulated": "synthetic",
    "simulation": "synthetic",
}


def read_mode(text: str) -> str:
    """The mode that the text names, however it is spelt; the text itself where it is none."""
    plain = re.sub(r"[\s_-]+", " ", text.strip().lower())
    for mode in COLLECTION_MODES:
        if plain == mode.replace("-", " "):
            return mode
    return _OTHER_SPELLINGS.get(plain, text)


def check_mode(text: str) -> str:
    """The mode that the text names; raises UnknownNameError, with the list, where it is none."""
    mode = read_mode(text)
    if mode not in COLLECTION_MODES:
        raise UnknownNameError("mode", text, COLLECTION_MODES)
    return mode


MISHAPS = ("drop", "slip", "fall", "missed_grasp")
"""What a recorder or an annotator may have written down as it happened."""
FAILURES = (*MISHAPS, "collision", "misplaced", "timeout")
"""Names of failures that say by themselves that the episode failed."""

_GOOD = ("success", "succeeded", "successful", "good", "ok", "true", "1", "1.0")
_BAD = ("failure", "failed", "fail", "unsuccessful", "bad", "false", "0", "0.0")
_NOTHING = ("", "none", "null", "unknown", "not stated")
_FLAG_NAMES = ("success", "is_success", "next_success")
_EVENT_NAMES = (roles.OUTCOME, "events", "event")
_LONGEST = 200


class Samples(Protocol):
    """A stream with its samples."""

    @property
    def spec(self) -> Stream:
        """What the stream is."""

    def __len__(self) -> int: ...

    def __getitem__(self, selection: Any) -> Any: ...


@dataclass(frozen=True)
class EpisodeOutcome:
    """Whether the task was done; None where nobody says, or in words that nobody knows.

    `failure` is the name of what went wrong, `measures` what it was judged by. `unclear` is what
    was written where it can be read as neither: it is told, never guessed.
    """

    success: bool | None = None
    failure: str | None = None
    measures: Mapping[str, Any] = field(default_factory=dict)
    unclear: str | None = None

    def __str__(self) -> str:
        if self.success:
            return "success"
        if self.success is False:
            reason = (self.failure or "").replace("_", " ")
            return f"failure: {reason}" if reason else "failure"
        return "not stated" if self.unclear is None else f"unclear: {self.unclear!r}"


def read_outcome(
    metadata: Mapping[str, Any],
    signals: Iterable[Samples] = (),
    labels: LabelTrack | None = None,
) -> EpisodeOutcome:
    """What people labelled, else what the metadata states, else what the streams say.

    The first of these that can be read counts.
    """
    if labels is not None and labels.success is not None:
        stated = read_stated(metadata.get("outcome"))
        failure = labels.failure_mode if not labels.success else None
        return EpisodeOutcome(labels.success, failure, stated.measures)
    unclear: EpisodeOutcome | None = None
    for outcome in _stated_outcomes(metadata, signals):
        if outcome.success is not None:
            return outcome
        unclear = unclear or (outcome if outcome.unclear or outcome.measures else None)
    return unclear or EpisodeOutcome()


def read_stated(value: Any) -> EpisodeOutcome:
    """One value that may say how it ended: a flag, a word, a number, or fields with those."""
    if isinstance(value, Mapping):
        measures = value.get("measures")
        return _judged(
            value.get("success"),
            value.get("failure"),
            measures if isinstance(measures, Mapping) else {},
        )
    return _judged(value)


def read_flag(value: Any) -> bool | None:
    """Whether a flag, number or word says success; None where it says neither."""
    if isinstance(value, list | tuple | np.ndarray) and np.size(value) == 1:
        value = np.asarray(value).reshape(-1)[0]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | float | np.number) and value in (0, 1):
        return bool(value)
    word = str(value).strip().lower() if isinstance(value, str) else ""
    return True if word in _GOOD else False if word in _BAD else None


def _judged(flag: Any, failure: Any = None, measures: Mapping[str, Any] | None = None
            ) -> EpisodeOutcome:  # fmt: skip
    reason = _word(failure)
    success = read_flag(flag)
    name = _word(flag)
    if success is None and name is not None and name.lower() in FAILURES:
        success, reason = False, reason or name.lower()
    if success is None and name is None and reason is not None:
        success = False
    return EpisodeOutcome(
        success,
        None if success else reason,
        measures or {},
        name[:_LONGEST] if success is None and name is not None else None,
    )


def _word(value: Any) -> str | None:
    """What somebody wrote, as text; None for nothing."""
    if value is None or isinstance(value, Mapping):
        return None
    text = str(value).strip()
    return None if text.lower() in _NOTHING else text


def _stated_outcomes(
    metadata: Mapping[str, Any], signals: Iterable[Samples]
) -> Iterator[EpisodeOutcome]:
    whole = read_stated(metadata.get("outcome"))
    flag = _judged(metadata.get("success"), metadata.get("failure"), whole.measures)
    yield (
        whole
        if whole.failure or whole.success is not False
        else replace(whole, failure=flag.failure)
    )
    yield (
        flag if flag.failure or flag.success is not False else replace(flag, failure=whole.failure)
    )
    for signal in signals:
        yield from _streamed(signal)


def _streamed(signal: Samples) -> Iterator[EpisodeOutcome]:
    """What a stream of events or a column of flags says; nothing where it cannot be read."""
    spec = signal.spec
    try:
        if spec.kind == "text" and spec.name in _EVENT_NAMES:
            for number in reversed(range(len(signal))):
                yield _event(str(signal[number]), is_outcome=spec.name == roles.OUTCOME)
        elif spec.kind == "array" and spec.name in _FLAG_NAMES and len(signal):
            flags = np.asarray(signal[:], np.float64)
            if np.isfinite(flags).all():
                yield EpisodeOutcome(bool((flags > 0).any()))
    except (CorporealError, ValueError, TypeError):
        return


def _event(line: str, *, is_outcome: bool) -> EpisodeOutcome:
    """A line of a stream: JSON or a word; of other events only those that say they are the end."""
    try:
        said = json.loads(line)
    except ValueError:
        said = line
    if not isinstance(said, Mapping):
        return read_stated(said) if is_outcome else EpisodeOutcome()
    name = said.get("event", said.get("name"))
    if name is None:
        return read_stated(said) if is_outcome else EpisodeOutcome()
    if name in ("outcome", "end"):
        return read_stated(said.get("outcome", said))
    return read_stated(name) if read_flag(name) is not None else EpisodeOutcome()


_MOST_TEXTS = 1000
_READ = ("task", "instruction", "instructions", "outcome", "success", "failure", "operator",
         "station", "session", "batch", "environment", "mode", "software", "marks",
         "assumed", "segments")  # fmt: skip
ASSUMED: Final = "assumed"
"""The field of metadata that has what a reader assumed and why, by what it is of."""
RATE: Final = "rate_hz"
ROBOT: Final = "robot"
JOINTS: Final = "joints"
"""Which joint each column is."""
STREAM_RATES: Final = "stream_rates"
"""What of the rates of single streams, where each is only what its own stamps come to."""
NOT_SEEN: Final = "not_seen"
"""Of a segment, what nobody saw in it, such as left_hand: what follows it stands still there."""


@dataclass(frozen=True)
class Assumption:
    """What the source of an episode does not say: of what, such as rate_hz or robot, and why."""

    of: str
    text: str


@dataclass(frozen=True)
class CollectionSegment:
    """A stretch of an episode that was collected in one mode.

    `source` is who or what moved the robot, such as a policy or a headset. In a correction of a
    policy, `policy_action` and `human_action` are the streams that hold what
    the policy wanted and what the person did. `not_seen` is what nobody saw in it, such as
    left_hand: the robot that follows it waits there, and shows nothing to learn from.
    """

    start_ns: int
    end_ns: int
    mode: str | None = None
    source: str | None = None
    note: str | None = None
    policy_action: tuple[str, ...] = ()
    human_action: tuple[str, ...] = ()
    not_seen: tuple[str, ...] = ()


@dataclass(frozen=True)
class EpisodeFacts:
    """What is known of an episode beside its samples; None where nobody says.

    `instruction` is what the operator was told first: the stream says what was said at the time,
    the metadata what was meant to be said, and the task names it. `instructions` are all of the
    first two. `marks_ns` are the recorder's marks by name, such as start and end. `assumed` is what
    the source does not say and its reader took for granted. `other` is whatever else the metadata
    states.
    """

    task: str | None = None
    instruction: str | None = None
    instructions: tuple[str, ...] = ()
    outcome: EpisodeOutcome = field(default_factory=EpisodeOutcome)
    operator: str | None = None
    station: str | None = None
    session: str | None = None
    batch: str | None = None
    environment: str | None = None
    mode: str | None = None
    software: str | None = None
    marks_ns: Mapping[str, int] = field(default_factory=dict)
    segments: tuple[CollectionSegment, ...] = ()
    assumed: tuple[Assumption, ...] = ()
    other: Mapping[str, Any] = field(default_factory=dict)

    @property
    def interventions(self) -> tuple[CollectionSegment, ...]:
        """The stretches in which a person corrected a policy."""
        return tuple(segment for segment in self.segments if segment.mode == CORRECTION)

    @property
    def demonstration_s(self) -> tuple[float, float] | None:
        """Start and end of the demonstration on the episode's clock, where both are marked."""
        start, end = self.marks_ns.get("start"), self.marks_ns.get("end")
        return None if start is None or end is None else (start / SECOND_NS, end / SECOND_NS)

    def assumptions_of(self, *premises: str) -> tuple[Assumption, ...]:
        """What was assumed of these, such as RATE: without it no speed and no duration is sure."""
        return tuple(each for each in self.assumed if each.of in premises)

    @property
    def are_rates_measured(self) -> bool:
        """Whether nobody stated the rates of the streams: each is what its stamps come to."""
        return any(each.of == STREAM_RATES for each in self.assumed)


def read_facts(
    metadata: Mapping[str, Any],
    signals: Iterable[Samples] = (),
    labels: LabelTrack | None = None,
) -> EpisodeFacts:
    """The facts of an episode; a value of an unknown kind is not stated, never guessed."""
    streams = tuple(signals)
    names = ("task", "operator", "station", "session", "batch", "environment", "software")
    plain = {name: _text(metadata.get(name)) for name in names}
    mode = _text(metadata.get("mode"))
    texts = tuple(dict.fromkeys(_instructions(metadata, streams)))
    return EpisodeFacts(
        **plain,
        instruction=texts[0] if texts else plain["task"],
        instructions=texts,
        outcome=read_outcome(metadata, streams, labels),
        mode=None if mode is None else read_mode(mode),
        marks_ns=dict(_marks(metadata.get("marks"))),
        segments=tuple(_segments(metadata.get("segments"))),
        assumed=tuple(_assumptions(metadata.get(ASSUMED))),
        other={name: value for name, value in metadata.items() if name not in _READ},
    )


def _text(value: Any) -> str | None:
    """A name as text; None for nothing, and for what is no name."""
    if value is None or value == "" or isinstance(value, Mapping | list | tuple):
        return None
    return str(value)


def _instructions(metadata: Mapping[str, Any], signals: Iterable[Samples]) -> Iterator[str]:
    for signal in signals:
        if signal.spec.name == roles.INSTRUCTION and signal.spec.kind == "text":
            try:
                given = [str(text) for text in signal[: min(len(signal), _MOST_TEXTS)]]
            except (CorporealError, ValueError):
                continue  # A stream that cannot be read says nothing; a check reports it.
            yield from (text for text in given if text.strip())
    stated = metadata.get("instruction")
    listed = metadata.get("instructions")
    for text in (stated, *(listed if isinstance(listed, list | tuple) else ())):
        if isinstance(text, str) and text.strip():
            yield text


def _assumptions(stated: Any) -> Iterator[Assumption]:
    for name, text in stated.items() if isinstance(stated, Mapping) else ():
        yield Assumption(str(name)[:_LONGEST], str(text)[:_LONGEST])


def _marks(marks: Any) -> Iterator[tuple[str, int]]:
    for mark in marks if isinstance(marks, list | tuple) else ():
        if isinstance(mark, Mapping):
            name, time_ns = mark.get("what"), mark.get("time_ns")
            if isinstance(name, str) and isinstance(time_ns, int | float):
                yield name, int(time_ns)


def _segments(segments: Any) -> Iterator[CollectionSegment]:
    for segment in segments if isinstance(segments, list | tuple) else ():
        if not isinstance(segment, Mapping):
            continue
        start, end, mode = (segment.get(name) for name in ("start_ns", "end_ns", "mode"))
        if isinstance(start, int) and isinstance(end, int):
            yield CollectionSegment(
                start,
                end,
                None if _text(mode) is None else read_mode(str(mode)),
                _text(segment.get("source")),
                _text(segment.get("note")),
                _paths(segment.get("policy_action")),
                _paths(segment.get("human_action")),
                _paths(segment.get(NOT_SEEN)),
            )


def _paths(paths: Any) -> tuple[str, ...]:
    return tuple(str(path) for path in paths) if isinstance(paths, list | tuple) else ()
